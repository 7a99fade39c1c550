"""Bodies that are stored together do not suffer from each other."""

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from tests.collector.samples import bodies, campaign
from tests.collector.servers import Collector, collecting
from tests.collector.test_app import problem
from untrackable.collector import writer as writer_module
from untrackable.collector.problems import Refused
from untrackable.collector.settings import Settings
from untrackable.collector.store import Round, Store


def test_large_bodies_leave_room_for_small_ones(store: Store) -> None:
    small = Settings(minimum_reports=10, sweep=3600.0, largest_body=30_000, room=40_000)
    with collecting(store, small) as collector:
        asked = collector.create(campaign())
        service = collector.http.app.state.service  # type: ignore[attr-defined]
        for _ in range(60):
            service.writer.reserve(500, large=True)
        with pytest.raises(Refused):
            service.writer.reserve(1, large=True)
        large, body = b"".join(bodies(asked, 200)), bodies(asked, 1)[0]
        assert problem(collector.send(asked, large)) == (503, "busy")
        assert collector.send(asked, body).status_code == 204
        service.writer.release(service.writer._held)
        assert collector.send(asked, large).status_code == 204


def test_two_halves_of_a_report_are_not_a_report(collector: Collector) -> None:
    """Even if the writer reads both bodies together."""
    asked = collector.create(campaign())
    service = collector.http.app.state.service  # type: ignore[attr-defined]
    acceptance, (whole, other) = service.acceptance(asked.id), bodies(asked, 2)
    answers: list[object] = []
    sent = (whole[:10], whole[10:], other)
    waiting = [writer_module._Waiting(acceptance, body, answers.append) for body in sent]
    service.writer._store_group(waiting)
    assert [one.outcome is None for one in waiting] == [False, False, True]
    assert collector.store.count(Round(asked.id, 1)) == 1


@pytest.mark.parametrize("place", [0, 100, 255])
def test_a_bad_report_costs_the_good_ones_of_its_group_little(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    asked = collector.create(campaign())
    service = collector.http.app.state.service  # type: ignore[attr-defined]
    acceptance = service.acceptance(asked.id)
    sent = bodies(asked, 256)
    sent[place] = b"\2" + sent[place][1:]
    read, readings = acceptance.read, 0

    def counted(body: bytes, now: float) -> object:
        nonlocal readings
        readings += 1
        return read(body, now)

    monkeypatch.setattr(acceptance, "read", counted)
    answers: list[object] = []
    waiting = [writer_module._Waiting(acceptance, body, answers.append) for body in sent]
    service.writer._store_group(waiting)
    assert [i for i, one in enumerate(waiting) if one.outcome is not None] == [place]
    assert collector.store.count(Round(asked.id, 1)) == 255
    assert readings <= 2 * 8 + 1


def test_the_writer_waits_for_more_only_if_that_is_worth_it(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time that most of those who were answered do not come, it waits more rarely."""
    writer = collector.http.app.state.service.writer  # type: ignore[attr-defined]
    asked: list[tuple[int, float]] = []
    come = 0

    def wait(count: int, seconds: float) -> None:
        asked.append((count, seconds))
        monkeypatch.setattr(writer, "_waiting", deque([None] * (3 + come)))

    monkeypatch.setattr(writer, "_wait_for", wait)
    for come in (16, 14, 8):  # noqa: B007 - `wait` uses it
        writer._wait_for_more(3, 16, 0.002)
    assert asked == [(3 + 16 - 2, 0.002)] * 3
    come = 7
    pauses = []
    for _ in range(8):
        before = len(asked)
        writer._wait_for_more(3, 16, 3.0)
        pauses.append(writer._without_wait)
        for _ in range(pauses[-1]):
            writer._wait_for_more(3, 16, 3.0)
        assert len(asked) == before + 1
    assert pauses == [1, 3, 7, 15, 31, 31, 31, 31]
    assert asked[-1] == (17, writer_module._LONGEST_WAIT)
    come = 16
    writer._wait_for_more(3, 16, 0.002)
    assert writer._without_wait == 0
    monkeypatch.undo()


def test_a_request_that_cannot_be_answered_leaves_the_others_theirs(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    asked = collector.create(campaign())
    writer = collector.http.app.state.service.writer  # type: ignore[attr-defined]
    acceptance = collector.http.app.state.service.acceptance(asked.id)  # type: ignore[attr-defined]
    answers: list[object] = []

    def fail(outcome: object) -> None:
        raise RuntimeError("private")

    told = (fail, answers.append)
    writer._held += 46
    writer._answer([writer_module._Waiting(acceptance, bytes(23), each, 23) for each in told])
    assert answers == [None]
    assert writer._held == 0
    assert "could not be answered because of a fault" in caplog.text
    assert "private" not in caplog.text


def test_reports_are_acknowledged_before_they_are_rearranged_and_whatever_comes_of_that(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = collector.create(campaign())
    writer = collector.http.app.state.service.writer  # type: ignore[attr-defined]
    loop, steps = writer._loop, []

    def rearrange() -> None:
        steps.append("rearranged")
        raise RuntimeError("private")

    def schedule(call: Any, *arguments: Any) -> None:
        steps.append("answered")
        loop.call_soon_threadsafe(call, *arguments)

    monkeypatch.setattr(collector.store, "rearrange", rearrange)
    instead = SimpleNamespace(call_soon_threadsafe=schedule, create_future=loop.create_future)
    monkeypatch.setattr(writer, "_loop", instead)
    for body in bodies(asked, 3):
        assert collector.send(asked, body).status_code == 204
    assert steps[:5] == ["answered", "rearranged", "answered", "rearranged", "answered"]
    assert "could not be rearranged because of a fault" in caplog.text
    assert "private" not in caplog.text
