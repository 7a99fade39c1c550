"""Pages are made one at a time, errors are pages where people read them, and files are cached for ever."""

import threading

import pytest

from tests.collector.servers import Collector
from tests.collector.test_app import problem
from untrackable.collector.dashboard import rendering
from untrackable.collector.dashboard.rendering import page_turn, static_address
from untrackable.collector.problems import Problem
from untrackable.errors import StoreUnavailable
from untrackable.serving.problems import Refused


def test_one_at_a_time() -> None:
    inside, most, together = 0, 0, threading.Barrier(8)

    def make() -> None:
        nonlocal inside, most
        together.wait(30)
        with page_turn():
            inside += 1
            most = max(most, inside)
            threading.Event().wait(0.002)
            inside -= 1

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (inside, most) == (0, 1)


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_room", threading.BoundedSemaphore(1))
    with page_turn(), pytest.raises(Refused) as refused, page_turn():
        pass
    assert refused.value.problem is Problem.BUSY
    with page_turn():
        pass


BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


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
