"""Runs the service with uvicorn in one process or several, on a socket that is bound first."""

import functools
import logging
import multiprocessing
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.supervisors import Multiprocess

from untrackable.collector.http.app import create_app
from untrackable.collector.http.connections import LimitedProtocol
from untrackable.collector.metrics import Metrics, SharedCounters
from untrackable.collector.server_process import shielded_from_interrupts
from untrackable.collector.settings import Settings
from untrackable.collector.stores.store_address import open_store

_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(levelname)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stderr"}},
    "loggers": {
        "uvicorn.error": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
        "asyncio": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
        "untrackable": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
    },
}
"""The logging configuration.

There is no access log, so a sender's address is never written down. Bad requests are not logged either, because
anybody
could fill the disk with them."""
_SHUTDOWN_SECONDS = 20
"""How long requests may still be answered when the collector ends. Then the rest is refused."""
_GAVE_UP = 1
"""The exit status if accepted reports could not be stored in time."""
_OTHER_FILES = 384
"""The number of file descriptors for everything but connections: the store's, and those of refused connections."""
_BACKLOG = 2048
"""The largest number of connections that wait to be accepted."""
_SWITCH_SECONDS = 0.0003
"""After this time a busy event loop lets the writer's thread run. With the usual 0.005, commits would be late."""


def bind(host: str, port: int) -> socket.socket:
    """Bind a socket. Connections wait until a process serves them. Port 0 picks a free port."""
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
    """The address of a socket for a browser."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(store: str, bound: socket.socket, settings: Settings, *, workers: int = 1) -> None:
    """Serve until the process is told to end. Several processes share the socket, and each has its own writer."""
    counts = SharedCounters() if workers > 1 else None
    run(functools.partial(application, store, settings, counts), bound, workers=workers)


def run(factory: Callable[[], Any], bound: socket.socket, *, workers: int = 1) -> None:
    """Serve an application, which the factory makes anew in every process."""
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
        server = uvicorn.Server(config)
        for number in (signal.SIGINT, signal.SIGTERM):  # Signals end the server cleanly, even while it starts.
            signal.signal(number, server.handle_exit)
        server.run(sockets=[bound])
    else:
        several = _Several(config, sockets=[bound])
        several.run()
        if any(process.exitcode == _GAVE_UP for process in several.processes):
            sys.exit(_GAVE_UP)


class _Several(Multiprocess):
    """Worker processes that are shielded from Ctrl-C, which only reaches the process that started them."""

    def init_processes(self) -> None:
        """Start the processes."""
        with shielded_from_interrupts():
            super().init_processes()

    def keep_subprocess_alive(self) -> None:
        """Replace processes that died."""
        with shielded_from_interrupts():
            super().keep_subprocess_alive()


def end_on_signals() -> None:
    """Let SIGINT and SIGTERM end the process cleanly at any time. uvicorn raises them again when it is done."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(0)


def application(store: str, settings: Settings, counts: SharedCounters | None = None) -> Starlette:
    """Make the application of one process."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    settings = replace(settings, connections=_connections(settings.connections))
    metrics = Metrics(counts)
    LimitedProtocol.settings, LimitedProtocol.metrics = settings, metrics
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
    app = create_app(
        open_store(store, check=False), clock=time.time, settings=settings, metrics=metrics, give_up=_give_up
    )
    LimitedProtocol.upload = app.state.upload
    return app


def _end_with(parent: Any) -> None:
    """End this process cleanly once the process that started it is gone."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _give_up() -> None:
    """End the process at once, even if a thread hangs."""
    logging.shutdown()
    os._exit(_GAVE_UP)


def _connections(wanted: int) -> int:
    """The number of connections, which is lower than wanted if there are not enough file descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return min(wanted, max(soft - _OTHER_FILES, soft // 2))
    return wanted
