"""A collector whose clock tests set, an application of another origin that embeds the client, and real Chromium."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import uvicorn

from tests.browser.people import Asking
from tests.collector.servers import SETTINGS, Clock
from tests.display.test_audit_page import browser as browser  # the same browser, as a fixture
from untrackable.collector.app import create_app
from untrackable.collector.settings import open_store

WAITING = "<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>An application</title>"
"""A page that waits for what tests put into it."""


@contextmanager
def application(page: str = WAITING) -> Iterator[str]:
    """The address of a running application, which answers every request with its only page."""

    class Application(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = page.encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("localhost", 0), Application)
    showing = threading.Thread(target=server.serve_forever)
    showing.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        showing.join()


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    """A running collector and application."""
    clock = Clock()
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    config = uvicorn.Config(create_app(store, clock=clock, settings=SETTINGS), port=0, log_level="error")
    server = uvicorn.Server(config)
    serving = threading.Thread(target=server.run)
    serving.start()
    try:
        while not server.started:
            assert serving.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        with application() as address:
            yield Asking(store, clock, f"http://127.0.0.1:{port}", address)
    finally:
        server.should_exit = True
        serving.join()
