"""Styles and scripts: at addresses that name their content, and cached for ever."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collector.http.test_app import problem
from tests.collector.servers import Collector, collecting
from untrackable.collector.dashboard.static_files import static_address
from untrackable.collector.stores.store_address import open_store


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db")) as found:
        yield found


def test_files_at_addresses_that_never_change(collector: Collector) -> None:
    style = collector.http.get(static_address("dashboard.css"))
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert style.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "--accent: #2a78b5" in style.text  # the theme that the other pages have, too
    script = collector.http.get(static_address("search.js"))
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert static_address("dashboard.css") in collector.http.get("/").text


def test_nothing_else(collector: Collector) -> None:
    for name in ("dashboard.css", "..%2Fsessions.py", "dashboard-0000000000000000.css"):
        assert problem(collector.http.get(f"/static/{name}")) == (404, "not-found")
