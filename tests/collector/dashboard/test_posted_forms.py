"""Forms: strangers take little memory with them, and no time of those who send reports."""

import asyncio
from typing import Any
from urllib.parse import parse_qsl

import pytest

from tests.collector.dashboard.visitors import Visitor
from untrackable.collector.dashboard import campaign_form, posted_forms
from untrackable.collector.http.service import Service

LARGEST = 64 << 10
FORM = {"content-type": "application/x-www-form-urlencoded"}


def service(visitor: Visitor) -> Service:
    found: Service = visitor.http.app.state.service  # type: ignore[attr-defined]
    return found


def test_forms_of_strangers_are_small(visitor: Visitor) -> None:
    for path in ("/sign-in", "/sign-out", "/new", "/new/results", "/new/preview", "/new/create", "/keys"):
        answer = visitor.http.post(path, content=b"names=" + b"x" * (LARGEST - 5), headers=FORM)
        assert answer.status_code == 413, path
        answer = visitor.http.post(path, content=b"names=" + b"x" * (LARGEST - 6), headers=FORM)
        assert answer.status_code in (200, 303, 401, 403, 422), path


def test_what_was_typed_in_a_session_is_still_there_after_its_end(visitor: Visitor) -> None:
    names = "\n".join(f"answer {i}" for i in range(2000))
    answer = visitor.post("/new", "", kind="categories", names=names)
    assert "Your session is over" in answer.text
    assert "answer 1999" in answer.text
    visitor.sign_in()
    assert visitor.post("/keys", role="reader", unused="x" * (2 * LARGEST)).status_code == 201


def test_a_form_takes_its_share_of_the_memory_for_reports(visitor: Visitor) -> None:
    """While it arrives. Otherwise many that never end would take as much as there is."""
    found, held = service(visitor), list[int]()
    parts = iter([(b"key=" + b"x" * 3996, True), (b"y" * 1000, True), (b"", False)])

    async def receive() -> dict[str, Any]:
        held.append(found.metrics.total("waiting_bytes"))
        body, more = next(parts)
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(message: Any) -> None:
        sent.append(message)

    sent: list[Any] = []
    headers = {"host": "localhost", "sec-fetch-site": "same-origin", **FORM}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/sign-in",
        "query_string": b"",
        "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    visitor.http.portal.call(visitor.http.app, scope, receive, send)  # type: ignore[union-attr]
    assert held == [0, 4000, 5000]
    assert sent[0]["status"] == 403
    assert found.metrics.total("waiting_bytes") == 0


def test_forms_are_refused_if_there_is_no_memory(visitor: Visitor) -> None:
    writer, _ = service(visitor).writer, visitor.sign_in()
    room = service(visitor).settings.room - 10
    writer.reserve(room)
    token = visitor.token()
    assert visitor.post("/keys", token, role="reader").status_code == 503
    writer.release(room)
    assert visitor.post("/keys", token, role="reader").status_code == 201


def test_forms_are_read_apart_from_reports(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte of `%22` takes half a second to read, in which the event loop could not take a report."""
    read = []

    def parse(text: str, **options: Any) -> list[tuple[str, str]]:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        read.append(text)
        return parse_qsl(text, **options)

    monkeypatch.setattr(posted_forms, "parse_qsl", parse)
    monkeypatch.setattr(campaign_form, "parse_qsl", parse)
    for path in ("/sign-in", "/new", "/new/results"):
        assert visitor.http.post(path, data={"key": "x", "use": "rounds=3"}).status_code in (200, 403)
    assert len(read) == 3 + 2
