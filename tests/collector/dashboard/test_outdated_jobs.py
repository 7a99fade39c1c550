"""The newest question of somebody stops the one that is being computed for them, in the real process."""

import time
from collections.abc import Iterator

import pytest

from untrackable.collector.dashboard import heavy_work
from untrackable.collector.dashboard.heavy_work import HeavyWork, WorkOutdated


def endless(name: str) -> str:
    """A job that ends only if it is told to."""
    while True:
        heavy_work.stop_if_outdated()
        time.sleep(0.01)


def deaf(name: str) -> str:
    """A job that never looks whether anybody wants it."""
    while True:
        time.sleep(0.01)


def named(name: str) -> str:
    return name


@pytest.fixture
def work() -> Iterator[HeavyWork]:
    found = HeavyWork()
    yield found
    found.stop()


def test_the_newest_question_stops_the_one_that_runs(work: HeavyWork) -> None:
    first = work.submit(endless, "first", asker="a")
    while not first.running():
        time.sleep(0.01)
    work.submit(named, "other", asker="b")
    assert not first.done()
    second = work.submit(named, "second", asker="a")
    with pytest.raises(WorkOutdated):
        first.result(100)
    assert second.result(100) == "second"
    assert work.submit(endless, "first", asker="a") is not first  # It is not remembered as done.
    assert work.submit(named, "third", asker="a").result(100) == "third"


def test_a_job_that_does_not_stop_is_killed(work: HeavyWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.collector.dashboard.heavy_work._STOP_SECONDS", 0.1)
    work.submit(named, "warm").result(100)
    first = work.submit(deaf, "first", asker="a")
    while not first.running():
        time.sleep(0.01)
    second = work.submit(named, "second", asker="a")
    with pytest.raises(WorkOutdated):
        first.result(100)
    assert second.result(100) == "second"


def test_a_late_message_stops_no_later_job() -> None:
    heavy_work.begin(5)
    heavy_work.stop(4)
    heavy_work.stop_if_outdated()
    heavy_work.stop(5)
    with pytest.raises(heavy_work.Outdated):
        heavy_work.stop_if_outdated()
    heavy_work.begin(6)
    heavy_work.stop_if_outdated()
    heavy_work.begin(0)
    heavy_work.stop(0)
