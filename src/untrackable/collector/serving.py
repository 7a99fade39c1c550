"""Running the service: uvicorn on a socket that is bound first, in one process or in several."""

import functools
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.supervisors import Multiprocess

from untrackable.collector.app import create_app
from untrackable.collector.metrics import Metrics
from untrackable.collector.protocol import LimitedProtocol
from untrackable.collector.settings import Settings
from untrackable.collector.stores.opening import open_store

_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(levelname)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stderr"}},
    "loggers": {
        "uvicorn.error": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        "untrackable": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
    },
}
"""No access log: an address is never written down."""
_SHUTDOWN_SECONDS = 30
_BACKLOG = 2048
_SWITCH_SECONDS = 0.001
"""After which a busy event loop lets the writer's thread go on: with the usual 0.005, commits would wait for it."""


def bind(host: str, port: int) -> socket.socket:
    """A socket that takes connections, which wait until a process serves them; port 0 finds a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(_BACKLOG)
    except OSError:
        bound.close()
        raise
    bound.set_inheritable(True)
    return bound


def address(bound: socket.socket) -> str:
    """Where a socket is, for a browser."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(store: str, bound: socket.socket, settings: Settings, *, workers: int = 1) -> None:
    """Serve until the process is told to end; several processes share the socket, and each has its own writer."""
    if workers == 1:
        run(functools.partial(application, store, settings), bound)
        return
    with tempfile.TemporaryDirectory(prefix="untrackable-") as folder:  # where they count together
        run(functools.partial(application, store, settings, Path(folder) / "counts"), bound, workers=workers)


def run(factory: Callable[[], Any], bound: socket.socket, *, workers: int = 1) -> None:
    """Serve the application that a factory makes in every process."""
    config = uvicorn.Config(
        factory,
        factory=True,
        http=LimitedProtocol,
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
        uvicorn.Server(config).run(sockets=[bound])
    else:
        Multiprocess(config, sockets=[bound]).run()


def end_on_signals() -> None:
    """Let SIGINT and SIGTERM end the process cleanly at any time; uvicorn raises them again when it is done."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(0)


def application(store: str, settings: Settings, counts: Path | None = None) -> Starlette:
    """The application of one process."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    LimitedProtocol.seconds, LimitedProtocol.largest_head = settings.request_seconds, settings.largest_head
    return create_app(open_store(store, check=False), clock=time.time, settings=settings, metrics=Metrics(counts))
