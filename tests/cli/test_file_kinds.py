"""The wrong kind of file: one line says what it is, and which command reads it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from untrackable import Deck
from untrackable.cli import main
from untrackable.cli.file_kinds import kind_of, wrong_kind

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
