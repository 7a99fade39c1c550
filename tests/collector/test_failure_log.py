"""What the log says about a store that fails: each change once, and little if it changes all the time."""

import logging

import pytest

from untrackable.collector.writer import FailureLog
from untrackable.errors import StoreUnavailable

FULL = StoreUnavailable("SQLite: database or disk is full")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(caplog: pytest.LogCaptureFixture) -> Clock:
    caplog.set_level(logging.WARNING)
    return Clock()


def test_a_failure_and_its_end_are_logged_once(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    log = FailureLog(clock)
    log.worked()
    for _ in range(5):
        log.failed(FULL)
    for _ in range(5):
        log.worked()
    assert [record.message for record in caplog.records] == [
        f"The store fails, so reports are refused until it works again: {FULL}",
        "The store works again.",
    ]


def test_near_a_full_disk_the_log_does_not_grow_with_each_request(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Small bodies still fit, and large ones do not."""
    log = FailureLog(clock)
    for _ in range(10_000):
        log.failed(FULL)
        clock.now += 0.01
        log.worked()
        clock.now += 0.01
    assert len(caplog.records) == 3
    assert "fails again" in caplog.records[-1].message
    clock.now += 61
    log.worked()
    log.worked()
    assert [record.message for record in caplog.records[3:]] == ["The store works again."]
    clock.now += 61
    log.failed(FULL)
    assert "until it works again" in caplog.records[-1].message
