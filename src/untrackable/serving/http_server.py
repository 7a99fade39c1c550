"""Runs an application with uvicorn in one process or several, on a socket that is bound first."""

import resource
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from untrackable.serving.bounded_connections import BoundedProtocol
from untrackable.serving.repeated_lines import RepeatedLines
from untrackable.serving.server_process import shielded_from_interrupts

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
    """Serve an application, which the factory makes anew in every process, over connections of the class `http`.

    SIGTERM ends it, and so does Ctrl-C. Both let it finish what it accepted; then Ctrl-C is a `KeyboardInterrupt`.
    """
    config = uvicorn.Config(
        factory,
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
        """End all processes, because of Ctrl-C."""
        self.interrupted = True
        super().handle_int()

    def init_processes(self) -> None:
        """Start the processes."""
        with shielded_from_interrupts():
            super().init_processes()

    def keep_subprocess_alive(self) -> None:
        """Replace processes that died."""
        with shielded_from_interrupts():
            super().keep_subprocess_alive()


def end_on_signals() -> None:
    """Let Ctrl-C (SIGINT) and SIGTERM end the process cleanly at any time."""
    signal.signal(signal.SIGINT, _stop)
    signal.signal(signal.SIGTERM, _leave)


def _stop(number: int, frame: object) -> None:
    """Stop as Python does, but let nobody disturb the end with another Ctrl-C."""
    signal.signal(signal.SIGINT, lambda number, frame: None)
    raise KeyboardInterrupt


def _leave(number: int, frame: object) -> None:
    raise SystemExit(0)


def affordable_connections(wanted: int) -> int:
    """The number of connections, which is lower than wanted if there are not enough file descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return min(wanted, max(soft - _OTHER_FILES, soft // 2))
    return wanted
