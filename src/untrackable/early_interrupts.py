"""Ctrl-C: while the command line is loaded there is nothing to clean up yet, and a traceback would help nobody."""

import os
import signal

INTERRUPTED = 130
"""The exit status of what Ctrl-C ended: 128 and the number of the signal."""


def end_at_once() -> None:
    """Let Ctrl-C end this process with one line, until `raise_interrupts`. A process that ignores it still does.

    Before this, Python itself is loaded. `make demo` holds Ctrl-C back until here.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    if hasattr(signal, "pthread_sigmask"):  # Windows has none.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def raise_interrupts() -> None:
    """Let Ctrl-C be a `KeyboardInterrupt` again, so that a command can clean up."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def settle_interrupt() -> None:
    """Let this process end with an exit status of its own after a `KeyboardInterrupt` that was handled.

    If one passed through `exec`, as when a dataclass is made, CPython remembers it until the next `exec`, and would
    end itself by SIGINT.
    """
    exec("")  # noqa: S102


def _end(number: int, frame: object) -> None:
    os.write(2, b"\nStopped.\n" if os.isatty(2) else b"Stopped.\n")  # A terminal shows ^C first.
    os._exit(INTERRUPTED)
