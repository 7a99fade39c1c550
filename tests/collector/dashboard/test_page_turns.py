"""Pages are made one at a time, and too many readers are asked to come back."""

import threading

import pytest

from untrackable.collector.dashboard import page_turns
from untrackable.collector.dashboard.page_turns import page_turn
from untrackable.collector.http.problems import Problem, Refused


def test_one_at_a_time() -> None:
    inside, most, together = 0, 0, threading.Barrier(8)

    def make() -> None:
        nonlocal inside, most
        together.wait(30)
        with page_turn():
            inside += 1
            most = max(most, inside)
            threading.Event().wait(0.002)
            inside -= 1

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (inside, most) == (0, 1)


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_turns, "_room", threading.BoundedSemaphore(1))
    with page_turn(), pytest.raises(Refused) as refused, page_turn():
        pass
    assert refused.value.problem is Problem.BUSY
    with page_turn():
        pass
