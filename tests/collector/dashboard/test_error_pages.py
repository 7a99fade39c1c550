"""Errors as pages where people read them, and as problems where programs do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collector.http.test_app import problem
from tests.collector.servers import Collector, collecting
from untrackable.collector.stores.store_address import open_store
from untrackable.errors import StoreUnavailable

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db")) as found:
        yield found


def test_people_get_pages_and_programs_get_problems(collector: Collector) -> None:
    for path, headers in (("/view/x", {}), ("/nothing", BROWSER), ("/new/nothing", {})):
        response = collector.http.get(path, headers=headers)
        assert response.status_code == 404
        assert "<h1>There is nothing at this address</h1>" in response.text
        assert "All campaigns" in response.text
        assert "default-src 'none'" in response.headers["content-security-policy"]
    for path, headers in (("/nothing", {}), ("/campaigns/x", BROWSER), ("/client/x", BROWSER)):
        assert problem(collector.http.get(path, headers=headers)) == (404, "not-found")


def test_a_store_that_is_away_says_what_to_do(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(collector.store, "campaigns", away)
    response = collector.http.get("/")
    assert response.status_code == 503
    assert response.headers["retry-after"] == "5"
    assert "Wait a few seconds, then load it again." in response.text


def test_a_fault_shows_nothing_of_it(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(collector.store, "campaigns", broken)
    response = collector.http.get("/")
    assert response.status_code == 500
    assert "its log says where it failed" in response.text
    assert "secret" not in response.text


def test_a_wrong_method(collector: Collector) -> None:
    response = collector.http.post("/")
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD" or set(response.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert "<h1>This address does not allow the method</h1>" in response.text
