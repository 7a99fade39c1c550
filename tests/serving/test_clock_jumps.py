"""A clock that jumps forward is doubted for a while."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from untrackable.serving.clock_jumps import ClockJumpDetector

HOUR = 3600


@dataclass
class Clock:
    """A clock that tests set."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def looks(steady: ClockJumpDetector, clock: Clock, passing: Clock) -> Callable[[float, float], bool]:
    def look(passed: float, told: float) -> bool:
        passing.now += passed
        clock.now += told
        return steady.trusted_time() is not None

    return look


def test_a_clock_that_jumps_forward_is_doubted_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    clock, passing = Clock(), Clock(5.0)
    detector = ClockJumpDetector(clock, passing, log=logging.getLogger("x"), work="Closing of rounds")
    look = looks(detector, clock, passing)
    assert look(30, 30)
    assert look(30, 29)
    assert look(30, 60)  # set right by a little
    assert look(86_400, 86_400)  # nobody looked for a day
    assert not look(30, 30 + HOUR)
    assert caplog.messages == [
        "The clock jumped 3600 s forward. Closing of rounds waits for 600 s: check the clock."
    ]
    assert not look(30, 30)
    assert look(30, 30 - HOUR)  # and back
    assert caplog.messages[1:] == ["The clock is right again. Closing of rounds continues."]
    assert not look(30, 30 + HOUR)
    assert not look(599, 599)
    assert look(1, 1)  # it was right after all
    assert look(30, 30)
    assert look(30, 30 - HOUR)  # backward closes nothing
    assert not look(30, 30 + HOUR)
