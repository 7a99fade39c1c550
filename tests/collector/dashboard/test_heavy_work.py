"""Heavy work: done once and in order, bounded, in a process that is replaced when it dies."""

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from untrackable.collector.dashboard import heavy_work
from untrackable.collector.dashboard.heavy_work import HeavyWork, Job, WorkFailed, WorkOutdated, awaited
from untrackable.collector.problems import Problem
from untrackable.serving.problems import Refused


class Slow:
    """Runs jobs when it is told to, and notes them."""

    def __init__(self) -> None:
        self.go, self.begun, self.done = threading.Event(), threading.Event(), list[Any]()

    def __call__(self, job: Job, arguments: tuple[Any, ...]) -> Any:
        self.begun.set()
        assert self.go.wait(30)
        self.done.append(arguments)
        return job(*arguments)


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def work(slow: Slow) -> Iterator[HeavyWork]:
    result = HeavyWork(slow)
    yield result
    slow.go.set()
    result.stop()


def test_the_same_question_is_answered_once(work: HeavyWork, slow: Slow) -> None:
    first, again, other = work.submit(pow, 2, 3), work.submit(pow, 2, 3), work.submit(pow, 2, 4)
    assert first is again
    slow.go.set()
    assert (first.result(30), other.result(30)) == (8, 16)
    assert work.submit(pow, 2, 3).result(0) == 8
    assert slow.done == [(2, 3), (2, 4)]


def test_only_the_newest_question_of_somebody_waits(work: HeavyWork, slow: Slow) -> None:
    running = work.submit(pow, 1, 0, asker="a")
    assert slow.begun.wait(30)
    old, others, new = (work.submit(pow, 1, i, asker=who) for i, who in ((1, "a"), (2, "b"), (3, "a")))
    assert old.cancelled()
    with pytest.raises(Refused, match="longer than expected"):
        awaited(old, 1)
    slow.go.set()
    assert [future.result(30) for future in (running, others, new)] == [1, 1, 1]
    assert slow.done == [(1, 0), (1, 2), (1, 3)]
    assert work.submit(pow, 1, 1, asker="a").result(30) == 1  # What was cancelled may be asked again.


def test_too_many_questions_are_refused(work: HeavyWork, slow: Slow) -> None:
    work.submit(pow, 0, 1)
    assert slow.begun.wait(30)
    for i in range(heavy_work._WAITING):
        work.submit(pow, 1, i)
    with pytest.raises(Refused) as refused:
        work.submit(pow, 2, 2)
    assert refused.value.problem is Problem.BUSY


def test_results_are_forgotten_if_there_are_many(work: HeavyWork, slow: Slow) -> None:
    slow.go.set()
    for i in range(heavy_work._REMEMBERED + 3):
        work.submit(pow, 1, i).result(30)
    assert len(work._known) <= heavy_work._REMEMBERED + 1
    work.submit(pow, 1, 0).result(30)
    assert slow.done.count((1, 0)) == 2


def test_failures_are_tried_again_after_a_while(
    work: HeavyWork, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow.go.set()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            work.submit(divmod, 1, 0).result(30)
    assert len(slow.done) == 1
    monkeypatch.setattr(heavy_work, "_FAILED_SECONDS", -1.0)
    with pytest.raises(ZeroDivisionError):
        work.submit(divmod, 1, 0).result(30)
    assert len(slow.done) == 2


def test_who_waits_when_it_ends_is_told(slow: Slow) -> None:
    work = HeavyWork(slow)
    work.submit(pow, 0, 1)
    assert slow.begun.wait(30)
    waiting = work.submit(pow, 1, 1)
    ending = threading.Thread(target=work.stop)
    ending.start()
    with pytest.raises(CancelledError):
        waiting.result(30)
    slow.go.set()
    ending.join(30)
    with pytest.raises(Refused):
        work.submit(pow, 2, 2)


@pytest.mark.slow
def test_the_process(capfd: pytest.CaptureFixture[str]) -> None:
    """It is another process with lower priority; it reports failures, and a new one replaces one that died."""
    work = HeavyWork()
    try:
        number = work.submit(os.getpid).result(60)
        assert number != os.getpid()
        assert os.getpriority(os.PRIO_PROCESS, number) >= min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)
        with pytest.raises(WorkFailed, match="invalid literal"):
            work.submit(int, "x").result(60)
        for dividend in range(3):
            with pytest.raises(Refused, match="fault of the collector"):
                awaited(work.submit(divmod, dividend, 0), 60)
        [line] = capfd.readouterr().err.splitlines()  # which strangers cannot make repeat
        assert line.startswith("ERROR: A page's computation failed because of a fault: ZeroDivisionError at ")
        with pytest.raises(WorkFailed, match="too long or needed too much memory"):
            work.submit(os._exit, 3).result(60)
        replaced = work.submit(os.getpgid, 0).result(60)
        assert replaced != number
        endless = work.submit(time.sleep, 600)
        while not endless.running():
            time.sleep(0.01)
    finally:
        work.stop()
    with pytest.raises(WorkFailed):
        endless.result(30)
    for process in (number, replaced):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


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
def process() -> Iterator[HeavyWork]:
    result = HeavyWork()
    yield result
    result.stop()


def test_the_newest_question_stops_the_one_that_runs(process: HeavyWork) -> None:
    first = process.submit(endless, "first", asker="a")
    while not first.running():
        time.sleep(0.01)
    process.submit(named, "other", asker="b")
    assert not first.done()
    second = process.submit(named, "second", asker="a")
    with pytest.raises(WorkOutdated):
        first.result(100)
    assert second.result(100) == "second"
    assert process.submit(endless, "first", asker="a") is not first  # It is not remembered as done.
    assert process.submit(named, "third", asker="a").result(100) == "third"


def test_a_job_that_does_not_stop_is_killed(process: HeavyWork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.collector.dashboard.heavy_work._STOP_SECONDS", 0.1)
    process.submit(named, "warm").result(100)
    first = process.submit(deaf, "first", asker="a")
    while not first.running():
        time.sleep(0.01)
    second = process.submit(named, "second", asker="a")
    with pytest.raises(WorkOutdated):
        first.result(100)
    assert second.result(100) == "second"


def test_a_late_message_stops_no_later_job(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = multiprocessing.Pipe()
    monkeypatch.setattr(heavy_work.Asked, "pipe", theirs)
    monkeypatch.setattr(heavy_work.Asked, "running", 5)
    ours.send((4, None, ()))
    heavy_work.stop_if_outdated()
    ours.send((5, None, ()))
    with pytest.raises(heavy_work.Outdated):
        heavy_work.stop_if_outdated()
    heavy_work.stop_if_outdated()
