"""Servers that run in a process beside a program, and how Ctrl-C neither hits child processes nor leaves any."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import IO, Any

from untrackable import strict_json

_BESIDE = (
    "from untrackable.serving.server_process import end_with_starter; end_with_starter(); "
    "from untrackable.cli import run; run()"
)
"""The `untrackable` command, which ends when the program that started it is gone."""


@dataclass(slots=True, eq=False)
class ServerProcess:
    """A running `untrackable serve` or `untrackable relay`: its process, its address, and its standard output."""

    process: "subprocess.Popen[bytes]"
    address: str
    output: bytes

    def end(self, seconds: float = 60.0) -> int:
        """Ask it to finish what it accepted and to end. Returns its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self._ended(seconds)

    def kill(self) -> int:
        """End it at once. Returns its exit status."""
        self.process.kill()
        return self._ended(60.0)

    def _ended(self, seconds: float) -> int:
        status = self.process.wait(timeout=seconds)
        if self.process.stdout is not None and not self.process.stdout.closed:
            self.output += self.process.stdout.read()
        _close_pipes(self.process)
        return status


def start_server(
    store: str, *options: str, errors: IO[bytes] | None = None, environment: Mapping[str, str] | None = None
) -> ServerProcess:
    """Start a collector on a free port of this machine. `options` are those of `untrackable serve`."""
    return _started(["serve", "--store", store, "--port", "0", *options], errors, environment)


def start_relay(
    *options: str, errors: IO[bytes] | None = None, environment: Mapping[str, str] | None = None
) -> ServerProcess:
    """Start a relay on a free port of this machine. `options` are those of `untrackable relay`."""
    return _started(["relay", "--port", "0", *options], errors, environment)


def _started(
    arguments: list[str], errors: IO[bytes] | None, environment: Mapping[str, str] | None
) -> ServerProcess:
    command = [sys.executable, "-c", _BESIDE, *arguments, "--json"]
    process = subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.PIPE,  # Nothing is ever written. The system closes it when this process ends in any way.
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, **(environment or {})},
        start_new_session=True,  # Ctrl-C only reaches the program that started it, which then ends it cleanly.
    )
    try:
        output = _startup_output(process)
    except BaseException:  # This includes an interrupt while it starts.
        process.kill()
        process.wait()
        _close_pipes(process)
        raise
    return ServerProcess(process, str(strict_json.parse(output)["address"]), output)


def _startup_output(process: "subprocess.Popen[bytes]") -> bytes:
    """The output that a server prints once it has started."""
    output = b""
    while process.stdout is not None and not output.rstrip().endswith(b"}"):
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server did not start: it ended with status {process.wait()}")
        output += line
    return output


def _close_pipes(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def end_with_parent() -> None:
    """Let this process end cleanly once the process that started it is gone. That one uses `multiprocessing`."""
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def end_with_starter() -> None:
    """Let this process end cleanly once its standard input is closed, at the latest when its starter ends."""
    threading.Thread(target=_end_with_input, name="starter", daemon=True).start()


def _end_with_input() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def shielded_from_interrupts() -> Iterator[None]:
    """Processes and threads that are started within the block never see Ctrl-C. This process sees it afterwards."""
    resource_tracker.ensure_running()  # If it were started within the block, it would lift the block.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def postponed_signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM take effect after the block, so that whatever it starts is also put down to be ended."""
    if threading.current_thread() is not threading.main_thread():  # Only the main thread is ever interrupted.
        yield
        return
    noted: list[int] = []
    before = {
        number: signal.signal(number, lambda seen, frame: noted.append(seen))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if noted:
            signal.raise_signal(noted[0])
