"""Units, crontab lines and commands of the documents are real ones, and the nightly job keeps sums."""

import json
import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests import documented_output
from tests.collector.loads import fresh
from tests.collector.servers import OCTETS, process
from tests.collector.test_faults import on_now
from untrackable.collector.api import create_campaign, new_key
from untrackable.collector.closing import close_round
from untrackable.collector.settings import open_store

DOCS = Path(__file__).parent.parent / "docs"
PAGES = "".join((DOCS / name).read_text(encoding="utf-8") for name in ("client.md", "operations.md"))
RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
"""Minute, hour, day of the month, month and day of the week."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGES, re.DOTALL)


def is_field(text: str, low: int, high: int) -> bool:
    """Whether this is `*`, a number or `*/step` of a crontab within its range."""
    found = re.fullmatch(r"\*(?:/(\d+))?|(\d+)", text)
    return found is not None and all(low <= int(number) <= high for number in found.groups() if number)


def cron_command(line: str) -> str:
    """The command of a crontab line. ValueError if it is none."""
    if line.startswith("@reboot "):
        return line.removeprefix("@reboot ")
    *fields, command = line.split(maxsplit=5)
    if len(fields) != 5 or not all(is_field(each, *limits) for each, limits in zip(fields, RANGES, strict=True)):
        raise ValueError(line)
    if "%" in command:
        raise ValueError("cron takes % for a line break")
    return command.removeprefix("root ")


def test_crontab_lines_are_read_as_cron_does() -> None:
    lines = [line for block in blocks("crontab") for line in block.splitlines()]
    assert len(lines) == 3
    for line in lines:
        command = cron_command(line)
        if "untrackable send" in command:
            documented_output.check_command(command.split("/bin/untrackable ")[1])
        assert subprocess.run(["sh", "-n", "-c", command]).returncode == 0  # noqa: S603, S607
    for wrong in ("60 0 * * * x", "* * * * x", "* 24 * * * x", "*/99 * * * * x"):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            cron_command(wrong)


def test_the_file_for_launchd_starts_a_command_that_exists() -> None:
    (text,) = blocks("xml")
    found = plistlib.loads(text.encode())
    assert found["RunAtLoad"]
    documented_output.check_command(shlex.join(found["ProgramArguments"][1:]))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_knows_the_units(tmp_path: Path) -> None:
    (unit,) = blocks("ini")
    program = "%h/.local/bin/untrackable send"
    documented_output.check_command(re.findall("ExecStart=%h/.local/bin/untrackable (.*)", unit)[0])
    mine = tmp_path / "untrackable-send.service"
    mine.write_text(unit.replace(program, "/bin/true send"))
    names = ("untrackable-nightly.service", "untrackable-nightly.timer")
    for name in names:
        assert (DOCS / "deploy" / name).read_text().startswith(f"# /etc/systemd/system/{name}\n")
        shutil.copy(DOCS / "deploy" / name, tmp_path)
    for mode, files in (("--user", [mine.name]), ("--system", names)):
        said = subprocess.run(  # noqa: S603
            ["systemd-analyze", mode, "verify", "--man=no", *(str(tmp_path / name) for name in files)],  # noqa: S607
            capture_output=True,
            text=True,
            env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        )
        assert (said.returncode, said.stdout, said.stderr) == (0, "", "")


@pytest.mark.skipif(not shutil.which("curl") or not shutil.which("sqlite3"), reason="needs curl and sqlite3")
def test_the_nightly_job_keeps_sums_answers_and_a_backup(tmp_path: Path) -> None:
    url, asked, folder = f"sqlite:///{tmp_path}/x.db", on_now(), tmp_path / "nightly"
    store = open_store(url)
    create_campaign(store, asked.to_bytes(), published=True)
    store.close()
    settings = {
        **os.environ,
        "UNTRACKABLE_STORE": url,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }

    def nightly(address: str, campaigns: tuple[str, ...] = (asked.id,)) -> int:
        job = ["sh", str(DOCS / "deploy" / "nightly.sh"), address, str(folder), *campaigns]
        return subprocess.run(job, env=settings, cwd=tmp_path, capture_output=True).returncode  # noqa: S603

    with process(url, "--minimum-reports", "3") as server:
        for _ in range(4):
            sent = httpx.post(f"{server.address}/campaigns/{asked.id}/reports", content=fresh(1), headers=OCTETS)
            assert sent.status_code == 204
        assert nightly(server.address) == 0
        assert [file.name for file in (folder / asked.id).iterdir()] == [], "an open round is not exported"
        old = folder / "backup-2020-01-01.db"
        old.touch()
        os.utime(old, (time.time() - 8 * 86_400,) * 2)
        store = open_store(url)
        close_round(store, asked, 1)
        store.close()
        for _ in range(2):
            assert nightly(server.address) == 0
            assert {file.name for file in (folder / asked.id).iterdir()} == {"round-1.parquet", "answers.json"}
        assert json.loads((folder / asked.id / "answers.json").read_text())["reports"] == 4
        store = open_store(url)
        store.publish(asked.id, False)
        key = new_key(store, "reader")[1]
        store.close()
        (folder / asked.id / "answers.json").unlink()
        assert nightly(server.address) != 0, "to strangers, it looks as if it did not exist"
        settings["READER_KEY"] = key
        assert nightly(server.address) == 0
        assert {file.name for file in (folder / asked.id).iterdir()} == {"round-1.parquet", "answers.json"}
        (backup,) = folder.glob("backup-*")
        assert backup.stat().st_mode & 0o077 == 0
        copied = open_store(f"sqlite:///{backup}")
        assert [each.state for each in copied.rounds(asked.id)] == ["closed"]
        copied.close()
        assert server.end() == 0
    assert nightly("http://127.0.0.1:9") != 0, "a collector that does not answer is an error"
    settings["UNTRACKABLE_STORE"] = f"sqlite:///{tmp_path}/missing.db"
    assert nightly("http://127.0.0.1:9", campaigns=()) != 0
    assert not (tmp_path / "missing.db").exists()
