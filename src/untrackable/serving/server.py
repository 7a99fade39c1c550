"""Runs an application with uvicorn in one process or several, on a socket that is bound first.

A server may also run in a process beside a program. Ctrl-C never reaches a child process and never leaves one
behind.
"""

import functools
import gc
import logging
import multiprocessing
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from types import FrameType
from typing import IO, Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from untrackable import strict_json
from untrackable.serving.connections import BoundedProtocol

_PERIOD_SECONDS = 60.0
"""The length of a period, in which the same line is written once."""
_MOST_LINES = 1000
"""The largest number of different lines of a period."""


class RepeatedLines(logging.Filter):
    """Lets a line pass if it was not written in this period. The next one says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._counting = threading.Lock()
        self._since, self._written, self._left_out = clock(), set[str](), 0

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        with self._counting:
            if not 0 <= self._clock() - self._since < _PERIOD_SECONDS:
                self._since, self._written = self._clock(), set()
            if text in self._written or len(self._written) >= _MOST_LINES:
                self._left_out += 1
                return False
            self._written.add(text)
            left_out, self._left_out = self._left_out, 0
        if left_out:
            record.msg, record.args = "%s (%d repeated lines were left out before)", (text, left_out)
        return True


_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(levelname)s: %(message)s"}},
    "filters": {"repeated": {"()": RepeatedLines}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["repeated"],
            "formatter": "plain",
            "stream": "ext://sys.stderr",
        }
    },
    "loggers": {
        "uvicorn.error": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
        "asyncio": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
        "untrackable": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
    },
}
"""The logging configuration.

There is no access log, so a sender's address is never written down. Bad requests are not logged either, because
anybody could fill the disk with them, and a line that repeats is written once a minute."""
_SHUTDOWN_SECONDS = 20
"""How long requests may still be answered when the server ends. Then the rest is refused."""
GAVE_UP = 1
"""The exit status of a process that could not finish its work in time."""
_OTHER_FILES = 384
"""The number of file descriptors for everything but connections: files, and those of refused connections."""
_UNREAD_MILLISECONDS = 20_000
"""How long the system keeps what somebody does not read, even after the connection is closed here."""
_BACKLOG = 2048
"""The largest number of connections that wait to be accepted."""


def bind(host: str, port: int) -> socket.socket:
    """Bind a socket. Connections wait until a process serves them. Port 0 picks a free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Its connections inherit it.
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MILLISECONDS)
        bound.bind((host, port))
        bound.listen(_BACKLOG)
    except OSError:
        bound.close()
        raise
    bound.set_inheritable(True)
    return bound


def address(bound: socket.socket) -> str:
    """The address of a socket for a browser."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(factory: Callable[[], Any], bound: socket.socket, *, http: type[BoundedProtocol], workers: int = 1) -> None:
    """Serve an application, which the factory makes in every process, over connections of the class `http`.

    SIGTERM ends it, and so does Ctrl-C. Both let it finish what it accepted; then Ctrl-C is a `KeyboardInterrupt`.
    """
    config = uvicorn.Config(
        functools.partial(_made, factory),
        factory=True,
        http=http,
        loop="uvloop",
        ws="none",
        lifespan="on",
        log_config=_LOGGING,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        workers=workers,
    )
    if workers == 1:
        server = _Single(config)
        for number in (signal.SIGINT, signal.SIGTERM):  # Signals end the server cleanly, even while it starts.
            signal.signal(number, server.handle_exit)
        server.run(sockets=[bound])
        interrupted = server.interrupted
    else:
        several = _Several(config, sockets=[bound])
        several.run()
        if any(process.exitcode == GAVE_UP for process in several.processes):
            sys.exit(GAVE_UP)
        interrupted = several.interrupted
    if interrupted:
        raise KeyboardInterrupt


_SWITCH_SECONDS = 0.0003
"""After this time a busy event loop lets the thread that stores run. With the usual 0.005, commits are late."""


def _made(factory: Callable[[], Any]) -> Any:
    """The application of one process."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    app = factory()
    gc.collect()
    gc.freeze()  # What is there now stays. Looking through it again and again would take a tenth of the time.
    return app


class _Single(uvicorn.Server):
    """A server that remembers whether Ctrl-C was the first signal to end it."""

    interrupted = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish what was accepted. A second Ctrl-C does not wait for it."""
        self.interrupted = self.interrupted or (sig == signal.SIGINT and not self.should_exit)
        super().handle_exit(sig, frame)


class _Several(Multiprocess):
    """Worker processes that are shielded from Ctrl-C, which only reaches the process that started them."""

    interrupted = False

    def handle_int(self) -> None:
        self.interrupted = True
        super().handle_int()

    def init_processes(self) -> None:
        with shielded_from_interrupts():
            super().init_processes()

    def keep_subprocess_alive(self) -> None:
        with shielded_from_interrupts():
            super().keep_subprocess_alive()


def end_on_signals() -> None:
    """Let Ctrl-C (SIGINT) and SIGTERM end the process cleanly at any time."""
    signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))


def _stop(number: int, frame: object) -> None:
    """Stop as Python does, but let nobody disturb the end with another Ctrl-C.

    It is ignored until the process is gone. A handler would be taken away while Python itself ends.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def affordable_connections(wanted: int) -> int:
    """The number of connections: fewer than wanted if there are not enough file descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return min(wanted, max(soft - _OTHER_FILES, soft // 2))
    return wanted


def end_with_parent() -> None:
    """Let this process end cleanly once the process that started it is gone. That one uses `multiprocessing`."""
    if (parent := multiprocessing.parent_process()) is not None:
        _end_after(parent.join)


def end_with_starter() -> None:
    """Let this process end cleanly once its standard input is closed, at the latest when its starter ends."""
    _end_after(lambda: [*iter(lambda: os.read(0, 1), b"")])


def _end_after(gone: Callable[[], object]) -> None:
    def wait() -> None:
        gone()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="starter", daemon=True).start()


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


_BESIDE = (
    "from untrackable.serving.server import end_with_starter; end_with_starter(); "
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
