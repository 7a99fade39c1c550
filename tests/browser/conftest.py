"""A collector whose clock tests set, an application of another origin that embeds the client, and real Chromium."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import uvicorn

from tests.browser.people import Asking
from tests.collector.servers import SETTINGS, Clock
from tests.display.test_audit_page import browser as browser  # the same browser, as a fixture
from untrackable.collector.http.app import create_app
from untrackable.collector.stores.store_address import open_store


class _Application(BaseHTTPRequestHandler):
    """Answers every request with a page that waits for what tests put into it."""

    def do_GET(self) -> None:
        body = b"<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>An application</title>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    """A running collector and application."""
    clock = Clock()
    store = open_store(f"sqlite:///{tmp_path}/store.db")
    config = uvicorn.Config(create_app(store, clock=clock, settings=SETTINGS), port=0, log_level="error")
    server = uvicorn.Server(config)
    serving = threading.Thread(target=server.run)
    serving.start()
    application = ThreadingHTTPServer(("localhost", 0), _Application)
    showing = threading.Thread(target=application.serve_forever)
    showing.start()
    try:
        while not server.started:
            assert serving.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Asking(store, clock, f"http://127.0.0.1:{port}", f"http://localhost:{application.server_port}")
    finally:
        application.shutdown()
        application.server_close()
        server.should_exit = True
        serving.join()
        showing.join()
