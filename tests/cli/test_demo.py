"""The demonstration: the whole system, on a smaller crowd than the README's command has."""

import csv
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
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from untrackable.cli.research import demo, has_window
from untrackable.demo.demo import HOMEPAGES, JOINED, LEFT, WEEKS, DemoResult, run
from untrackable.theory.turns import right_matches

CLIENTS, SIMULATED = 40, 50_000
COMMAND = [sys.executable, "-m", "untrackable", "demo"]


def kept_in(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder)}


def read(address: str) -> str:
    text: str = urllib.request.urlopen(address).read().decode()  # noqa: S310
    return text


@pytest.fixture(scope="module")
def outcome() -> Iterator[DemoResult]:
    with run(clients=CLIENTS, simulated=SIMULATED) as result:
        yield result


class Given(NamedTuple):
    """What the command gives for a result: its words, its numbers, a table and a picture."""

    words: str
    json: dict[str, object]
    rows: list[dict[str, str]]
    picture: bytes


@pytest.fixture
def given(outcome: DemoResult, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Given:
    ended = []

    @contextmanager
    def ran(**_: object) -> Iterator[DemoResult]:
        yield outcome
        ended.append(True)

    monkeypatch.setattr("untrackable.demo.demo.run", ran)
    monkeypatch.setattr("untrackable.serving.server.end_on_signals", lambda: None)
    monkeypatch.setattr("signal.pause", lambda: pytest.fail("it waits"))
    table, picture = tmp_path / "demo.csv", tmp_path / "demo.png"
    options = ["--once", "--export", str(table), "--plot", str(picture)]
    text = CliRunner().invoke(demo, options, catch_exceptions=False).stdout
    numbers = CliRunner().invoke(demo, ["--once", "--json"], catch_exceptions=False).stdout
    assert len(ended) == 2
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return Given(" ".join(text.split()), json.loads(numbers), rows, picture.read_bytes())


@pytest.mark.slow
@pytest.mark.xdist_group("demo")
def test_everybody_is_counted_once_and_intervals_hold(outcome: DemoResult) -> None:
    people = CLIENTS + SIMULATED
    for collected in (outcome.directly, outcome.relayed, outcome.few):
        assert collected.people == (people // 10 if collected is outcome.few else people)
        assert collected.accepted == collected.spans["year"].reports == collected.people
        for learned in collected.spans.values():
            expected = (learned.last - learned.first + 1) / WEEKS
            # Beyond seven standard deviations lies less than 1e-11.
            away = 7 * math.sqrt(collected.people * expected * (1 - expected))
            assert abs(learned.reports - collected.people * expected) <= away
            assert learned.active["lower"] <= collected.people <= learned.active["upper"]
            assert len(learned.values) == len(HOMEPAGES)
            for value, row in learned.values.items():
                assert row["lower"] <= learned.truth[value] <= row["upper"]
    week, quarter, year, few = (
        learned.values[LEFT]["upper"] - learned.values[LEFT]["lower"]
        for learned in (*outcome.directly.spans.values(), outcome.few.spans["year"])
    )
    assert week > 2.5 * quarter > 4 * year
    assert 2.5 < few / year < 4
    first, *_, last = outcome.quarters
    assert first.values[LEFT]["lower"] > last.values[LEFT]["upper"]
    assert first.values[JOINED]["upper"] < last.values[JOINED]["lower"]


@pytest.mark.slow
@pytest.mark.xdist_group("demo")
def test_a_relay_changes_the_view_of_the_collector_and_nothing_else(outcome: DemoResult) -> None:
    directly, relayed = outcome.directly.campaign, outcome.relayed.campaign
    assert directly.mechanism == relayed.mechanism
    assert directly.guarantee.eps == relayed.guarantee.eps
    crowd = relayed.guarantee.crowd
    assert crowd is not None
    assert crowd.eps < directly.guarantee.eps / 4
    assert crowd.reports < (CLIENTS + SIMULATED) / WEEKS
    assert outcome.relayed.clients == CLIENTS


@pytest.mark.slow
@pytest.mark.xdist_group("demo")
def test_those_who_answer_every_week_are_found_and_those_with_one_turn_are_not(outcome: DemoResult) -> None:
    rappor, deck, once = outcome.followed
    assert rappor.by_reports is not None
    assert deck.by_reports is not None
    assert rappor.by_reports.sampled > 0.98
    assert rappor.by_attendance.sampled > 0.99
    assert deck.by_reports.sampled == pytest.approx(0.001)
    assert deck.by_attendance.sampled > 0.99
    assert once.by_reports is None
    assert once.by_attendance.lower < right_matches(1000, 500, 500).all_at_once / 1000 < once.by_attendance.upper


@pytest.mark.slow
@pytest.mark.xdist_group("demo")
def test_words_numbers_a_table_and_a_picture(outcome: DemoResult, given: Given) -> None:
    for words in ("Each person answers once", "(upper)", "Shares are sampled", "one turn", "through a relay"):
        assert words in given.words
    assert set(given.json) >= {"directly", "relayed", "few", "quarters", "matched_sampled", "recognition_upper"}
    assert len(given.rows) == 3 * 3 * len(HOMEPAGES)
    assert given.rows[0]["value"] in HOMEPAGES
    assert float(given.rows[0]["lower"]) == outcome.directly.spans["week"].values[LEFT]["lower"]
    assert given.picture.startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.xdist_group("demo")
def test_it_keeps_running_for_visitors_until_it_is_interrupted(tmp_path: Path) -> None:
    """A dashboard, a page to answer, and nothing left behind."""
    command = [*COMMAND, "--clients", "2", "--simulated", "20000", "--json", "--no-browser"]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with (
        (tmp_path / "printed").open("w+") as printed,
        subprocess.Popen(  # noqa: S603
            command, stdout=printed, stderr=subprocess.PIPE, text=True, env=kept_in(scratch)
        ) as running,
        ExitStack() as ending,
    ):
        ending.callback(running.kill)
        assert running.stderr is not None
        said = ""
        for line in running.stderr:  # how long it takes, if the machine is slow, and in the end where to look
            said += line
            if "see your report go out" in line:
                break
        result = re.search(r"^The collector is running at (http://\S+) \(Ctrl-C ends it\)\.$", said, re.M)
        own = re.search(r"see your report go out: (http://\S+)", said)
        assert result, said
        assert own
        assert re.search(r"with the key ut_\S+", said)
        answering = read(own[1])
        assert f"{result[1]}/client/untrackable-" in answering
        page = read(result[1])
        assert "Which homepage is yours?" in page
        asked = set(re.findall(r"/view/[0-9a-f]{64}", page))
        assert len(asked) == 4
        assert all("news" in read(result[1] + path) for path in asked)
        running.send_signal(signal.SIGINT)
        _, rest = running.communicate(timeout=60)
        printed.seek(0)
        assert json.load(printed)["directly"]["people"] == 20_002
    assert running.returncode == 130
    assert rest == "Stopped.\n"
    assert list(scratch.iterdir()) == []


def test_pages_open_only_where_there_is_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser in the terminal would take it from the demonstration."""
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not has_window()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert has_window()


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
        limit = time.monotonic() + 60
        while run.poll() is None and time.monotonic() < limit:  # Somebody is impatient, which disturbs nothing.
            os.killpg(run.pid, signal.SIGINT)
            time.sleep(0.002)
        assert run.poll() == 130
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
