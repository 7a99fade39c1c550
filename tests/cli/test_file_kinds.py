"""The wrong kind of file: one line says what it is, and which command reads it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.collector.samples import campaign
from tests.limited_memory import in_little_memory
from untrackable import Deck, IntegerRange
from untrackable.cli import main
from untrackable.cli.file_kinds import kind_of, wrong_kind
from untrackable.mechanisms import Unary

CONTENTS = {
    "table": b"PAR1 and so on",
    "picture": b"\x89PNG\r\n\x1a\n",
    "page": b"\n<!DOCTYPE html>",
    "store": b"SQLite format 3\0",
    "campaign": b'{"question": "Dark?", "mechanism": {}}',
    "plan": b'{"options": [], "campaign": {"mechanism": {}}}',
    "directory": b'{"campaigns": [], "version": 1}',
    "mechanism": json.dumps(Deck(bits=2, slots=3, eps_report=1.0).to_json()).encode(),
}
ASKING = {
    "estimate": "table",
    "discover": "table",
    "audit-file": "table",
    "campaign show": "campaign",
    "campaign verify": "campaign",
    "manage add": "campaign",
    "answer": "campaign",
    "audit": "mechanism",
    "simulate --people 9 --out x.csv": "mechanism",
    "estimate reports.csv --mechanism": "mechanism",
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_kinds_are_told_by_their_content(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(CONTENTS[kind])
    assert kind_of(path) == kind
    assert wrong_kind(path, kind) == ""
    assert wrong_kind(path, "thing").startswith(f"{path} is not a thing, but ")


@pytest.mark.parametrize("content", [b"", b"id,report\n1,2\n", b"{", b'{"a": 1}', b"\x00\xff"])
def test_what_is_not_recognised_is_not_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert kind_of(path) is None
    assert wrong_kind(path, "table") == ""
    assert kind_of(tmp_path) is None


@pytest.mark.parametrize("command", ASKING)
def test_every_command_says_what_it_was_given(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, content in CONTENTS.items():
        if kind == ASKING[command] or (ASKING[command] == "mechanism" and kind == "campaign"):
            continue
        Path(f"{kind}.json").write_bytes(content)
        done = CliRunner().invoke(main, [*command.split(), f"{kind}.json"])
        assert done.exit_code == 1
        assert f"{kind}.json is not a {ASKING[command]}, but " in done.stderr, done.output
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("rounds", [10**7, 10**9, 10**18])
def test_a_campaign_of_very_many_rounds_takes_little_memory(rounds: int, tmp_path: Path) -> None:
    """Its rounds are counted before anything is computed."""
    path = tmp_path / "campaign.json"
    unary = Unary(values=9, keep=0.9, add=0.2, q=0.8, p=0.3)
    document = campaign(unary, encoding=IntegerRange(low=0, high=8), rounds=3).to_bytes()
    path.write_bytes(document.replace(b'"rounds":3', b'"rounds":%d' % rounds))
    done = in_little_memory("campaign", "verify", path)
    wrong = f"{path}: the campaign is not valid: rounds must be between 1 and 100000, got {rounds}"
    assert (done.returncode, done.stderr) == (1, f"Error: {wrong}\n")


@pytest.mark.parametrize(
    "command",
    [
        "campaign verify FILE",
        "campaign directory FILE",
        "campaign new x.json --question Smoking? --rounds 9 --categories FILE",
        "campaign new x.json --question Smoking? --plan FILE",
        "manage add FILE",
        "serve --config FILE",
        "estimate x.csv --encoding FILE",
    ],
)
def test_files_without_end_are_refused(command: str) -> None:
    done = in_little_memory(*command.replace("FILE", "/dev/zero").split())
    assert done.returncode == 1
    assert "cannot read /dev/zero: it has more than 4,194,304 bytes, the most that are read" in done.stderr
    assert done.stderr.count("\n") == 1
