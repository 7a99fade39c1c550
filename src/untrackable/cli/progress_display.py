"""What long work shows on standard error: how long it takes, what is done and what is left."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import click

from untrackable.cli.remaining_time import RemainingTime, roughly

_LONG = 10.0
"""Work of fewer seconds is not announced, and has no lines where there is no terminal."""
_SIZING = 2.0
"""Seconds of work from which the length of all of it is computed."""
_PAUSE, _LONGEST_PAUSE = 10.0, 300.0
"""Seconds between lines where there is no terminal: at first, and at most."""
_TICK = 0.25
_ONE_STEP: Mapping[str, float] = {}


class ShowProgress(Protocol):
    """Shows what is being done and, where it is known, which share of it is done."""

    def __call__(self, what: str, done: float | None = None) -> None:
        """Show it; `done` goes from 0 to 1."""


@contextmanager
def progress(sizes: Mapping[str, float] = _ONE_STEP) -> Iterator[ShowProgress]:
    """Show work on standard error: a bar on a terminal, and a line now and then elsewhere.

    `sizes` are the steps that are expected, in their order, with their relative sizes. Work of one step needs none.
    As soon as the pace is known, it says roughly how long all of it takes.
    """
    time, lock = RemainingTime(sizes), threading.Lock()

    def show(what: str, done: float | None = None) -> None:
        with lock:
            time.update(what, done)

    with _bar(time) if sys.stderr.isatty() else _lines(time) as tick, _ticking(tick, lock):
        yield show


@contextmanager
def _ticking(tick: Callable[[], None], lock: threading.Lock) -> Iterator[None]:
    """Call a function a few times a second, also while the work itself says nothing."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(_TICK):
            with lock:
                tick()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _bar(time: RemainingTime) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, announced = bar.add_task("", total=None, left=""), False

        def tick() -> None:
            nonlocal announced
            left, share = time.left(), time.share()
            if not announced and (length := _long(time)):
                announced = True
                bar.console.print(f"This takes {length}.", highlight=False)
            words = "" if left is None else f"{roughly(left)} left"
            bar.update(
                task,
                description=time.step,
                total=None if share is None else 1.0,
                completed=share or 0.0,
                left=words,
            )

        yield tick


@contextmanager
def _lines(time: RemainingTime) -> Iterator[Callable[[], None]]:
    announced, pause, next_line = False, _PAUSE, _LONG

    def tick() -> None:
        nonlocal announced, pause, next_line
        if not announced and (length := _long(time)):
            announced = True
            click.echo(f"This takes {length}.", err=True)
        if time.elapsed >= next_line:
            click.echo(line(time), err=True)
            pause = min(_LONGEST_PAUSE, 1.5 * pause)
            next_line = time.elapsed + pause

    yield tick


def _long(time: RemainingTime) -> str:
    """How long all of the work takes, if it is long, as soon as that is known."""
    left = time.left()
    if left is None or time.elapsed < _SIZING or time.elapsed + left < _LONG:
        return ""
    return roughly(time.elapsed + left)


def line(time: RemainingTime) -> str:
    """What is being done, how much of all work is done, and what is left."""
    left, share = time.left(), time.share()
    step = time.step or "working"
    if left is None or share is None:
        return f"{step}: {roughly(time.elapsed)} so far"
    return f"{step}: {100 * share:.0f} % of all is done, {roughly(left)} left"
