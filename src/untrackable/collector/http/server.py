"""Runs the collector: every process makes its own application on the same store."""

import functools
import gc
import logging
import os
import socket
import sys
import time
from dataclasses import replace

from starlette.applications import Starlette

from untrackable.collector.http.app import create_app
from untrackable.collector.http.connections import LimitedProtocol
from untrackable.collector.metrics import Metrics, SharedCounters
from untrackable.collector.settings import Settings
from untrackable.collector.stores.store_address import open_store
from untrackable.serving import http_server, server_process

_SWITCH_SECONDS = 0.0003
"""After this time a busy event loop lets the writer's thread run. With the usual 0.005, commits would be late."""


def serve(store: str, bound: socket.socket, settings: Settings, *, workers: int = 1) -> None:
    """Serve until the process is told to end. Several processes share the socket, and each has its own writer."""
    counts = SharedCounters() if workers > 1 else None
    made = functools.partial(application, store, settings, counts)
    http_server.run(made, bound, http=LimitedProtocol, workers=workers)


def application(store: str, settings: Settings, counts: SharedCounters | None = None) -> Starlette:
    """Make the application of one process."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    settings = replace(settings, connections=http_server.affordable_connections(settings.connections))
    metrics = Metrics(counts)
    LimitedProtocol.settings, LimitedProtocol.metrics = settings, metrics
    server_process.end_with_parent()
    app = create_app(
        open_store(store, check=False), clock=time.time, settings=settings, metrics=metrics, give_up=_give_up
    )
    LimitedProtocol.upload = app.state.upload
    gc.collect()
    gc.freeze()  # What is there now stays. Looking through it again and again would take a tenth of the time.
    return app


def _give_up() -> None:
    """End the process at once, even if a thread hangs."""
    logging.shutdown()
    os._exit(http_server.GAVE_UP)
