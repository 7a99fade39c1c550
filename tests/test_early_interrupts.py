"""Ctrl-C while the command line is loaded shows one line and no traceback."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from untrackable.cli.terminal import PlainCommand
from untrackable.early_interrupts import INTERRUPTED, end_at_once, raise_interrupts

LOADED = "import os, signal; signal.raise_signal(signal.SIGINT); os.write(1, b'went on'); os._exit(0)"
"""Takes the place of a package that the command line loads, and is interrupted."""


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    "starting",
    [["-m", "untrackable"], ["-c", "from untrackable.__main__ import run; run()"]],
    ids=["module", "script"],
)
@pytest.mark.parametrize("ignored", [False, True])
def test_one_line_and_no_traceback(starting: list[str], ignored: bool, tmp_path: Path) -> None:
    """Those who ignore Ctrl-C, as in the background of a shell, are not disturbed."""
    (tmp_path / "click.py").write_text(LOADED)
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # The new process inherits it.
    done = subprocess.run(  # noqa: S603
        [sys.executable, *starting, "demo"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    expected = (0, "went on", "") if ignored else (INTERRUPTED, "", "Stopped.\n")
    assert (done.returncode, done.stdout, done.stderr) == expected


def test_what_was_held_back_until_then_is_not_lost() -> None:
    held = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [2]); signal.raise_signal(2); "
    command = [sys.executable, "-c", f"{held}from untrackable.__main__ import run; run()", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "Stopped.\n")


def test_a_command_can_clean_up() -> None:
    end_at_once()
    assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    command = PlainCommand("work", callback=lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        command.invoke(click.Context(command))


def test_handlers_of_others_are_left_alone() -> None:
    def own(number: int, frame: object) -> None:
        """Another program's way to end."""

    signal.signal(signal.SIGINT, own)
    end_at_once()
    raise_interrupts()
    assert signal.getsignal(signal.SIGINT) is own


def test_the_exit_status_after_an_interrupt_within_exec(tmp_path: Path) -> None:
    """Of Python itself it is that of a process ended by the signal, whatever the program says."""
    for settled, expected in (("pass", -signal.SIGINT), ("settle_interrupt()", INTERRUPTED)):
        (tmp_path / "interrupted.py").write_text(
            "import sys\nfrom untrackable.early_interrupts import settle_interrupt\n"
            "try:\n    exec('raise KeyboardInterrupt')\nexcept KeyboardInterrupt:\n"
            f"    {settled}\nsys.exit({INTERRUPTED})\n"
        )
        done = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, timeout=60, check=False)
        assert done.returncode == expected
