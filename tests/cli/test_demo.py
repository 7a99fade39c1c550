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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from untrackable import strict_json
from untrackable.auditing.confidence import Matched
from untrackable.cli.demo import demo, has_window
from untrackable.demo.demo_run import Collected, DemoResult
from untrackable.demo.homepage_question import HOMEPAGES
from untrackable.demo.observer import Followed
from untrackable.protocol.campaign import Campaign

CLIENTS, SIMULATED = 40, 30_000
COMMAND = [sys.executable, "-m", "untrackable", "demo"]


def kept_in(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder)}


def read(address: str) -> str:
    text: str = urllib.request.urlopen(address).read().decode()  # noqa: S310
    return text


class Shown(NamedTuple):
    """What the command printed, the pages that it serves, the picture, and what was left behind."""

    data: dict[str, Any]
    page: str
    questions: list[str]
    answering: str
    picture: bytes
    left: list[Path]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The command, left running for a browser until it is interrupted."""
    picture, scratch = tmp_path_factory.mktemp("demo") / "demo.png", tmp_path_factory.mktemp("scratch")
    command = [*COMMAND, "--clients", str(CLIENTS), "--simulated", str(SIMULATED), "--json", "--plot", str(picture)]
    with subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=kept_in(scratch)
    ) as run:
        assert run.stderr is not None
        said = ""
        for line in run.stderr:  # how long it takes, if the machine is slow, and in the end where to look
            said += line
            if "see your report go out" in line:
                break
        found = re.search(r"^The collector is running at (http://\S+) \(Ctrl-C ends it\)\.$", said, re.M)
        own = re.search(r"see your report go out: (http://\S+)", said)
        assert found, said
        assert own
        assert re.search(r"with the key ut_\S+", said)
        page = read(found[1])
        questions = [read(found[1] + path) for path in set(re.findall(r"/view/[0-9a-f]{64}", page))]
        answering = read(own[1])
        assert f"{found[1]}/client/untrackable-" in answering
        run.send_signal(signal.SIGINT)
        printed, rest = run.communicate(timeout=60)
    assert run.returncode == 130
    assert rest == "Stopped.\n"
    return Shown(json.loads(printed), page, questions, answering, picture.read_bytes(), list(scratch.iterdir()))


@pytest.mark.slow
@pytest.mark.xdist_group("demo")
def test_everything_that_was_accepted_is_counted(shown: Shown) -> None:
    """Numbers on standard output, a page, a picture, nothing left behind."""
    data = shown.data
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
    assert "Which homepage is yours?" in shown.page
    assert len(shown.questions) == 3
    assert all("news" in each for each in shown.questions)
    assert 'src="/answer_page.js"' in shown.answering
    assert shown.picture.startswith(b"\x89PNG")
    assert shown.left == []


def test_pages_open_only_where_there_is_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser in the terminal would take it from the demonstration."""
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not has_window()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert has_window()


def result_of(data: dict[str, Any]) -> DemoResult:
    """The result that was printed, without the homepages that are not shown."""

    def collected(asked: dict[str, Any]) -> Collected:
        declared = {name: part for name, part in asked["campaign"].items() if name != "id"}
        rows = {row["value"]: {k: v for k, v in row.items() if k != "truth"} for row in asked["values"]}
        campaign = Campaign.from_bytes(strict_json.canonical(declared))
        return Collected(campaign, asked["accepted"], asked["reports"], asked["beta"], rows)

    alone, crowd = collected(data["alone"]), collected(data["crowd"])
    truth = np.zeros(len(HOMEPAGES))
    for row in data["alone"]["values"]:
        truth[row["value"]] = row["truth"]
    followed = (
        Followed(one["client"], Matched(**one["by_reports"]), Matched(**one["by_attendance"]))
        for one in data["matched_sampled"]
    )
    promised = crowd.campaign.guarantee.crowd
    assert promised is not None
    return DemoResult(
        data["address"],
        "ut_key",
        "http://127.0.0.1",
        data["clients"],
        data["relayed_clients"],
        data["people"],
        truth,
        alone,
        crowd,
        promised,
        list(crowd.values),
        tuple(followed),
    )


@pytest.mark.slow
@pytest.mark.xdist_group("demo")
def test_numbers_in_words_and_an_end_without_being_asked(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    @contextmanager
    def run(**_: object) -> Iterator[DemoResult]:
        yield result_of(shown.data)
        ended.append(True)

    monkeypatch.setattr("untrackable.demo.demo_run.run", run)
    monkeypatch.setattr("untrackable.serving.http_server.end_on_signals", lambda: None)
    monkeypatch.setattr("signal.pause", lambda: pytest.fail("it waits"))
    again = CliRunner().invoke(demo, ["--once", "--json"], catch_exceptions=False)
    assert json.loads(again.stdout) == shown.data
    text = CliRunner().invoke(demo, ["--once"], catch_exceptions=False).stdout
    assert len(ended) == 2
    words = " ".join(text.split())
    assert "(exact)" in text
    assert "sampled; 95 % interval" in words
    assert "Deck, one day in twenty" in text
    assert "independent from day to day" in words
    assert "upper" in text
    assert "This trusts the relay" in words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("beginning", "files"), [("*", 1), ("*/demo.db", 1), ("*people*", 1), ("*people*/*/*", 10)]
)
def test_it_can_be_interrupted_at_any_time(beginning: str, files: int, tmp_path: Path) -> None:
    """While the collector or the clients start or work; the signal is sent to all processes, as a terminal does."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    command = [*COMMAND, "--clients", "2000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=kept_in(folder), start_new_session=True) as run:  # noqa: S603
        while len(list(folder.glob(beginning))) < files:
            assert run.poll() is None
            time.sleep(0.01)
        time.sleep(0.3)  # in the middle of it
        os.killpg(run.pid, signal.SIGINT)
        os.killpg(run.pid, signal.SIGINT)  # Somebody is impatient, which disturbs nothing.
        assert run.wait(60) == 130
        assert run.stderr is not None
        assert run.stderr.read().splitlines()[-1] == b"Stopped."
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_nothing_runs_on_if_it_is_killed(tmp_path: Path) -> None:
    """Its servers and workers have its standard error open until they end."""
    command = [*COMMAND, "--clients", "2000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=kept_in(tmp_path)) as run:  # noqa: S603
        while len(list(tmp_path.glob("*people*/*/*"))) < 10:
            assert run.poll() is None
            time.sleep(0.01)
        run.kill()
        run.communicate(timeout=60)
