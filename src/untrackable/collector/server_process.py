"""Processes beside a program: a collector, and workers that leave Ctrl-C to whoever started them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import IO

from untrackable import strict_json


@dataclass(slots=True, eq=False)
class Server:
    """A running `untrackable serve`: its process, its address, and what it has said on standard output."""

    process: "subprocess.Popen[bytes]"
    address: str
    said: bytes

    def end(self, seconds: float = 60.0) -> int:
        """Ask it to store what it accepted and end; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self._ended(seconds)

    def kill(self) -> int:
        """End it at once."""
        self.process.kill()
        return self._ended(60.0)

    def _ended(self, seconds: float) -> int:
        status = self.process.wait(timeout=seconds)
        if self.process.stdout is not None and not self.process.stdout.closed:
            self.said += self.process.stdout.read()
            self.process.stdout.close()
        return status


def start(
    store: str, *options: str, errors: IO[bytes] | None = None, environment: Mapping[str, str] | None = None
) -> Server:
    """Start a collector at a free port of this machine; `options` are those of `untrackable serve`."""
    command = [sys.executable, "-m", "untrackable", "serve", "--store", store, "--port", "0", "--json", *options]
    process = subprocess.Popen(  # noqa: S603
        command,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, **(environment or {})},
        start_new_session=True,  # Ctrl-C is for the program that started it, which ends it in order
    )
    try:
        said = _said(process)
    except BaseException:  # such as an interrupt, while it starts
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        raise
    return Server(process, str(strict_json.parse(said)["address"]), said)


def _said(process: "subprocess.Popen[bytes]") -> bytes:
    """What it says when it has begun."""
    said = b""
    while process.stdout is not None and not said.rstrip().endswith(b"}"):
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the collector ended with status {process.wait()} before it had begun")
        said += line
    return said


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Processes and threads that are started within never see Ctrl-C; this one sees it afterwards."""
    resource_tracker.ensure_running()  # or it would be started within, and lift the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
