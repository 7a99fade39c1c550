"""The collector as the user that systemd makes for it: it does its work, and reaches nobody else's files."""

import os
import re
import shutil
import site
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.collector.loads import fresh
from tests.collector.test_faults import on_now
from tests.distribution import ROOT, said
from untrackable import strict_json

DEPLOY = ROOT / "docs" / "deploy"
SYSUSERS, SETPRIV, ANALYZE = (shutil.which(name) for name in ("systemd-sysusers", "setpriv", "systemd-analyze"))
PATH = os.pathsep.join([str(ROOT / "src"), *site.getsitepackages()])

pytestmark = pytest.mark.skipif(
    SYSUSERS is None or SETPRIV is None or ANALYZE is None or os.geteuid() != 0,
    reason="needs systemd-sysusers, systemd-analyze, setpriv and root",
)


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A root of its own that every user may enter, unlike pytest's folders."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for part in ("etc/sysusers.d", "etc/systemd/system", "etc/untrackable", "opt/untrackable/bin", "var/lib"):
            (folder / part).mkdir(parents=True)
        shutil.copy(DEPLOY / "untrackable.sysusers", folder / "etc/sysusers.d/untrackable.conf")
        shutil.copy(DEPLOY / "untrackable.service", folder / "etc/systemd/system")
        yield folder


@pytest.fixture
def user(scratch: Path) -> list[str]:
    """What runs a command as the user, with the rights that the unit leaves it."""
    assert SYSUSERS is not None
    assert SETPRIV is not None
    said([SYSUSERS, f"--root={scratch}"], scratch)
    (line,) = [row for row in (scratch / "etc/passwd").read_text().splitlines() if row.startswith("untrackable:")]
    _, _, uid, gid, _, home, shell = line.split(":")
    assert home == "/var/lib/untrackable"
    assert shell.endswith("nologin")
    state = scratch / "var/lib/untrackable"
    state.mkdir(mode=0o700)
    os.chown(state, int(uid), int(gid))
    return [SETPRIV, f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]


def python_of(user: list[str]) -> str:
    """A Python that this user may run and that finds the project."""
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        tried = [*user, "env", f"PYTHONPATH={PATH}", python, "-c", "import untrackable.cli, starlette, uvloop"]
        if subprocess.run(tried, cwd="/", capture_output=True).returncode == 0:  # noqa: S603
            return python
    pytest.skip("needs a Python that every user may read")


def test_systemd_accepts_the_unit_with_its_user(scratch: Path, user: list[str]) -> None:
    assert ANALYZE is not None
    program = scratch / "opt/untrackable/bin/untrackable"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    checked = said(
        [ANALYZE, "verify", "--man=no", f"--root={scratch}", "--recursive-errors=no", "untrackable.service"],
        scratch,
    )
    assert not re.search("untrackable.service:", checked), checked
    program.chmod(0o644)
    with pytest.raises(AssertionError, match="not executable"):
        said(
            [ANALYZE, "verify", "--man=no", f"--root={scratch}", "--recursive-errors=no", "untrackable.service"],
            scratch,
        )


def test_the_user_collects_and_reaches_nothing_else(scratch: Path, user: list[str]) -> None:
    state, secret = scratch / "var/lib/untrackable", scratch / "etc/untrackable/environment"
    secret.write_text("UNTRACKABLE_STORE='sqlite:///reports.db'\n")
    secret.chmod(0o600)
    asked = on_now()
    document = scratch / "etc/untrackable/campaign.json"
    document.write_bytes(asked.to_bytes())
    document.chmod(0o644)
    command = [python_of(user), "-c", "import os, untrackable.cli; os.umask(0o077); untrackable.cli.run()"]
    environment = {"PYTHONPATH": PATH, "UNTRACKABLE_STORE": "sqlite:///reports.db", "HOME": str(state)}
    said([*user, *command, "manage", "add", str(document), "--published"], state, **environment)
    with subprocess.Popen(  # noqa: S603
        [*user, *command, "serve", "--port", "0", "--json"],
        cwd=state,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdout is not None
        address = strict_json.parse(server.stdout.readline().decode())["address"]
        sent = httpx.post(
            f"{address}/campaigns/{asked.id}/reports",
            content=fresh(1),
            headers={"content-type": "application/octet-stream"},
        )
        assert sent.status_code == 204
        owner = state.stat().st_uid
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert re.search(rf"^Uid:(\t{owner}){{4}}$", status, re.M), "no way back to root"
        assert re.search(r"^CapEff:\t0+$", status, re.M)
        server.terminate()
        assert server.wait(timeout=60) == 0
    files = [file for file in state.iterdir() if file.is_file()]
    assert {"reports.db"} <= {file.name for file in files}
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 and file.stat().st_uid == owner for file in files)
    for reading in (f"open({str(secret)!r})", f"open({str(scratch / 'etc' / 'new')!r}, 'w')"):
        with pytest.raises(AssertionError, match="PermissionError"):
            said([*user, command[0], "-c", reading], state)
