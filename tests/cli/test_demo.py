"""The demonstration: the whole system, on a smaller crowd than the README's command has."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from untrackable.cli.demo import has_window

CLIENTS, SIMULATED = 40, 30_000
COMMAND = [sys.executable, "-m", "untrackable", "demo", "--clients", str(CLIENTS), "--simulated", str(SIMULATED)]


def kept_in(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder)}


@pytest.mark.slow
def test_everything_that_was_accepted_is_counted(tmp_path: Path) -> None:
    """Numbers on standard output, a picture, nothing on standard error, nothing left behind."""
    picture, scratch = tmp_path / "demo.png", tmp_path / "scratch"
    scratch.mkdir()
    command = [*COMMAND, "--once", "--json", "--plot", str(picture)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=kept_in(scratch))  # noqa: S603
    assert run.stderr == ""
    data = json.loads(run.stdout)
    assert data["people"] == CLIENTS + SIMULATED
    answers = data["days"] * data["people"]
    for way in ("alone", "crowd"):
        asked = data[way]
        # Each answers a day with probability 1/20: beyond seven standard deviations lies less than 1e-11.
        assert asked["accepted"] == asked["reports"]
        assert abs(asked["reports"] - answers / 20) < 7 * math.sqrt(answers * 0.05 * 0.95)
        assert asked["campaign"]["attendance"]["participation"] == "1/20"
        assert data["recognition_upper"]["1"] <= asked["campaign"]["guarantee"]["recognition"] <= 0.01
        assert all(row["lower"] <= row["truth"] <= row["upper"] for row in asked["values"])
        assert asked["values"][0]["label"] == "news"
        assert asked["values"][0]["stands_out"]
    promised = data["crowd"]["campaign"]["guarantee"]
    assert promised["crowd"]["eps"] < data["alone"]["campaign"]["guarantee"]["eps"] < promised["eps"]
    assert data["crowd"]["campaign"]["guarantee"]["crowd"]["people"] < data["people"]
    wide, narrow = (data[way]["values"][0]["upper"] - data[way]["values"][0]["lower"] for way in ("alone", "crowd"))
    assert narrow < wide / 5
    assert data["relayed_clients"] == CLIENTS
    rappor, every_day, by_chance = data["matched_sampled"]
    assert rappor["by_reports"]["sampled"] > 0.98
    assert rappor["by_attendance"]["sampled"] > 0.99
    assert every_day["by_reports"]["sampled"] == pytest.approx(0.001)
    assert every_day["by_attendance"]["sampled"] > 0.99
    assert by_chance["client"] == "Deck, one day in twenty"
    assert by_chance["by_attendance"]["lower"] < 0.002
    assert by_chance["by_attendance"]["sampled"] < 0.004
    assert data["recognition_upper"]["7"] == pytest.approx(0.020, abs=1e-3)
    assert data["recognition_upper"]["30"] == pytest.approx(0.179, abs=1e-3)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert list(scratch.iterdir()) == []


def test_pages_open_only_where_there_is_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser in the terminal would take it from the demonstration."""
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not has_window()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert has_window()


def read(address: str) -> str:
    text: str = urllib.request.urlopen(address).read().decode()  # noqa: S310
    return text


@pytest.mark.slow
def test_the_collector_is_left_running_for_a_browser(tmp_path: Path) -> None:
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True, env=kept_in(tmp_path)) as run:  # noqa: S603
        assert run.stdout is not None
        text = ""
        while not (own := re.search(r"see your report go out: (http://\S+)", text)):
            line = run.stdout.readline()
            assert line, text
            text += line
        found = re.search(r"running at (http://\S+)", text)
        assert found
        page = read(found[1])
        questions = [read(found[1] + path) for path in set(re.findall(r"/view/[0-9a-f]{64}", page))]
        answering = read(own[1])
        run.send_signal(signal.SIGINT)
        assert run.wait(60) == 0
    assert "(exact)" in text
    assert "sampled; 95 % interval" in " ".join(text.split())
    assert "Deck, one day in twenty" in text
    assert "independent from day to day" in " ".join(text.split())
    assert "upper" in text
    assert "This trusts the relay" in " ".join(text.split())
    assert "Which homepage is yours?" in page
    assert len(questions) == 3
    assert sum("news" in each for each in questions) == 3
    assert 'src="/answer_page.js"' in answering
    assert f"{found[1]}/client/untrackable-" in answering
    assert re.search(r"with the key ut_\S+", text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("beginning", "files"), [("*", 1), ("*/demo.db", 1), ("*people*", 1), ("*people*/*/*", 10)]
)
def test_it_can_be_interrupted_at_any_time(beginning: str, files: int, tmp_path: Path) -> None:
    """While the collector or the clients start or work; the signal is sent to all processes, as a terminal does."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    command = [*COMMAND[:4], "--clients", "2000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=kept_in(folder), start_new_session=True) as run:  # noqa: S603
        while len(list(folder.glob(beginning))) < files:
            assert run.poll() is None
            time.sleep(0.01)
        time.sleep(0.3)  # in the middle of it
        os.killpg(run.pid, signal.SIGINT)
        assert run.wait(60) == 0
        assert run.stderr is not None
        assert run.stderr.read() == b""
    assert list(folder.iterdir()) == []
