"""The program of the guide: nothing before somebody agrees, one report afterwards, nothing after leaving."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.client.samples import turns_campaign
from tests.client.test_take_part import HOUR, Collector, collector, wait_until
from untrackable.client import quiet
from untrackable.client.client import Member
from untrackable.client.ledger import read_ledger
from untrackable.encodings.encoding import Categories
from untrackable.protocol.campaign import Campaign

__all__ = ["collector"]
TOOL = Path(__file__).parents[2] / "docs" / "examples" / "count_lines.py"


def tool(place: Path, server: str, *words: str, **environment: str) -> str:
    places = {"HOME": str(place), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "LOCALAPPDATA": str(place / "state")}
    known = {**os.environ, **places, "COUNT_LINES_SERVER": server, **environment}
    command = [sys.executable, str(place / TOOL.name), *words]
    run = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, timeout=60, check=False, env=known
    )
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def shipped(place: Path, asked: Campaign) -> None:
    (place / TOOL.name).write_text(TOOL.read_text())
    (place / "campaign.json").write_bytes(asked.to_bytes())
    (place / "text").write_text("a\nb\n")


@pytest.mark.skipif(sys.platform == "win32", reason="it looks for the folder of Unix")
def test_the_program_of_the_guide(tmp_path: Path, collector: Collector) -> None:
    first = int(time.time()) + HOUR
    sizes = Categories(names=["small", "medium", "large"])
    asked = turns_campaign(rounds=1, first_round=first, round_seconds=24 * HOUR, encoding=sizes)
    shipped(tmp_path, asked)
    text = str(tmp_path / "text")
    before = sorted(tmp_path.iterdir())
    assert tool(tmp_path, collector.address, text) == "2\n"
    assert "An example of a report" in tool(tmp_path, collector.address, "stats", "show")
    assert sorted(tmp_path.iterdir()) == before
    tool(tmp_path, collector.address, "stats", "on")
    assert tool(tmp_path, collector.address, text, DO_NOT_TRACK="1") == "2\n"
    mac = tmp_path / "Library" / "Application Support" / "untrackable"
    state = mac if sys.platform == "darwin" else tmp_path / ".local" / "state" / "untrackable"
    assert not state.exists()
    assert tool(tmp_path, collector.address, text) == "2\n"
    wait_until(lambda: quiet.next_look(state, asked.id) > first)
    assert read_ledger(state).accounts[asked.id].life
    tool(tmp_path, collector.address, "stats", "off")
    assert Member(asked, state).due() is None
    assert not read_ledger(state).accounts[asked.id].life
    assert collector.bodies == []
