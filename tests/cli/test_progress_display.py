"""What long work shows on standard error."""

import threading

import pytest

from untrackable.cli import progress_display
from untrackable.cli.progress_display import progress
from untrackable.cli.remaining_time import RemainingTime


class Ticks:
    """Tells the display that time passes, in place of a clock and a thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(progress_display, "_LONG", 10.0)

    def time(self) -> RemainingTime:
        return RemainingTime({}, lambda: self.now)


def test_lines_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ticks = Ticks(monkeypatch)
    time = ticks.time()
    with progress_display._lines(time) as tick:
        time.update("reading", 0.0)
        for second in range(1, 101):
            ticks.now = float(second)
            time.update("reading", second / 100)
            tick()
    out, err = capsys.readouterr()
    assert out == ""
    first, *lines = err.splitlines()
    assert first == "This takes about 2 minutes."
    assert lines[0] == "reading: 10 % of all is done, about 90 seconds left"
    assert lines[-1].startswith("reading: ")
    assert 3 <= len(lines) <= 6, "fewer and fewer"


def test_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ticks = Ticks(monkeypatch)
    time = ticks.time()
    with progress_display._lines(time) as tick:
        for second in range(1, 9):
            ticks.now = float(second)
            time.update("reading", second / 9)
            tick()
    assert capsys.readouterr().err == ""


def test_work_of_unknown_length_says_how_long_it_took_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = Ticks(monkeypatch)
    time = ticks.time()
    time.update("looking for leaks", None)
    ticks.now = 25.0
    assert progress_display.line(time) == "looking for leaks: about 30 seconds so far"


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ticks = Ticks(monkeypatch)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    time = ticks.time()
    with progress_display._bar(time) as tick:
        time.update("reading", 0.0)
        ticks.now = 5.0
        time.update("reading", 0.1)
        tick()
    out, err = capsys.readouterr()
    assert out == ""
    assert "This takes about 50 seconds." in err
    assert "reading" in err
    assert "about 50 seconds left" in err


def test_an_error_inside_ends_the_display() -> None:
    before = set(threading.enumerate())

    def work() -> None:
        with progress() as show:
            show("working", 0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert set(threading.enumerate()) <= before
