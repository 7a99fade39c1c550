"""Running the service: uvicorn on a socket that is bound first, in one process or in several."""

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
from untrackable.collector.metrics import Metrics, Shared
from untrackable.collector.server_process import uninterrupted
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
"""No access log: an address is never written down. Nor a line for each bad request: anybody could fill the disk."""
_SHUTDOWN_SECONDS = 20
"""For answering what was accepted, before the rest is turned away."""
_GAVE_UP = 1
_OTHER_FILES = 384
"""Descriptors for all but connections: those that are turned away, and the store's."""
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
    counts = Shared() if workers > 1 else None  # where they count together
    run(functools.partial(application, store, settings, counts), bound, workers=workers)


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
        server = uvicorn.Server(config)
        for number in (signal.SIGINT, signal.SIGTERM):  # from now on they end it in order, also while it starts
            signal.signal(number, server.handle_exit)
        server.run(sockets=[bound])
    else:
        several = _Several(config, sockets=[bound])
        several.run()
        if any(process.exitcode == _GAVE_UP for process in several.processes):
            sys.exit(_GAVE_UP)


class _Several(Multiprocess):
    """Processes that leave Ctrl-C to the one that started them."""

    def init_processes(self) -> None:
        """Start them."""
        with uninterrupted():
            super().init_processes()

    def keep_subprocess_alive(self) -> None:
        """Start others in place of those that died."""
        with uninterrupted():
            super().keep_subprocess_alive()


def end_on_signals() -> None:
    """Let SIGINT and SIGTERM end the process cleanly at any time; uvicorn raises them again when it is done."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def _leave(number: int, frame: object) -> None:
    raise SystemExit(0)


def application(store: str, settings: Settings, counts: Shared | None = None) -> Starlette:
    """The application of one process."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    settings = replace(settings, connections=_connections(settings.connections))
    metrics = Metrics(counts)
    LimitedProtocol.settings, LimitedProtocol.metrics = settings, metrics
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
    return create_app(
        open_store(store, check=False), clock=time.time, settings=settings, metrics=metrics, give_up=_give_up
    )


def _end_with(parent: Any) -> None:
    """End in order if the process that started this one is gone."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _give_up() -> None:
    """Whatever hangs cannot keep the process."""
    logging.shutdown()
    os._exit(_GAVE_UP)


def _connections(wanted: int) -> int:
    """So many, or as many as there are descriptors for, beside those that the store needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return min(wanted, max(soft - _OTHER_FILES, soft // 2))
    return wanted
