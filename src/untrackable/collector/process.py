"""A collector in a process of its own, for programs that want one beside them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO


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
    said = b""
    while process.stdout is not None and not said.rstrip().endswith(b"}"):
        line = process.stdout.readline()
        if not line:
            process.stdout.close()
            raise RuntimeError(f"the collector ended with status {process.wait()} before it had begun")
        said += line
    return Server(process, str(json.loads(said)["address"]), said)
