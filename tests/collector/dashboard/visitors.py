"""People who look at the dashboard: with a cookie of their own, and with the headers that a browser sends."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import httpx

from tests.collector.conftest import in_this_process
from tests.collector.servers import SETTINGS, Clock, TestClient
from untrackable.collector.api import new_key
from untrackable.collector.app import create_app
from untrackable.collector.dashboard.heavy_work import HeavyWork
from untrackable.collector.settings import Settings
from untrackable.collector.store import Store

HOST = "http://localhost"


@dataclass
class Visitor:
    """Somebody with a browser."""

    http: TestClient
    store: Store
    clock: Clock

    def get(self, path: str) -> httpx.Response:
        response: httpx.Response = self.http.get(path)
        return response

    def post(self, path: str, token: str | None = None, **fields: str) -> httpx.Response:
        """Send a form, with the token that this session's pages have unless another one is given."""
        sent = {"token": self.token() if token is None else token, **fields}
        response: httpx.Response = self.http.post(path, data=sent)
        return response

    def token(self) -> str:
        response = re.search(r'name="token" value="([0-9a-f]+)"', self.get("/").text)
        return "" if response is None else response[1]

    def sign_in(self, role: str = "admin") -> str:
        """Sign in with a new key, and return its id."""
        id, key = new_key(self.store, role)
        assert self.post("/sign-in", "", key=key).status_code == 303
        return id

    def is_signed_in(self) -> bool:
        return "Sign out" in self.get("/").text


def in_a_thread() -> HeavyWork:
    """Heavy work without a process of its own."""
    return HeavyWork(in_this_process)


@contextmanager
def visiting(
    store: Store, *, clock: Clock | None = None, host: str = HOST, settings: Settings = SETTINGS
) -> Iterator[Visitor]:
    """A visitor of a collector within this process. Heavy work is done in a thread."""
    clock = Clock() if clock is None else clock
    with patch("untrackable.collector.app.HeavyWork", in_a_thread):
        app = create_app(store, clock=clock, settings=settings)
    client = TestClient(app, base_url=host, headers={"origin": host}, follow_redirects=False)
    with client as http, patch("untrackable.collector.dashboard.new_campaign._WAIT_SECONDS", 300.0):
        yield Visitor(http, store, clock)
