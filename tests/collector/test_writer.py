"""Bodies that are stored together do not suffer from each other."""

import logging
import secrets
from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collector.samples import BEGIN, DECK, HOUR, bodies, campaign, sealed
from tests.collector.servers import Collector, collecting
from tests.collector.test_app import problem
from tests.estimation.test_saved_sums import OTHERS
from tests.mechanisms.test_client_states import ONE_OF_EACH
from untrackable import Categories, Deck, Fading, InnerProduct
from untrackable.collector import writer as writer_module
from untrackable.collector.problems import Problem
from untrackable.collector.settings import Settings
from untrackable.collector.store import Round, Store
from untrackable.collector.writer import (
    AcceptedReports,
    CampaignAcceptance,
    FailureLog,
    as_reports,
    group_by_round,
    reason_not_collectable,
)
from untrackable.errors import StoreUnavailable
from untrackable.mechanisms.interface import Mechanism
from untrackable.protocol import wire
from untrackable.serving import group_commit
from untrackable.serving.problems import Refused


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
    waiting = [writer_module._Waiting(acceptance=acceptance, body=body, answer=answers.append) for body in sent]
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
    waiting = [writer_module._Waiting(acceptance=acceptance, body=body, answer=answers.append) for body in sent]
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
    assert asked[-1] == (17, group_commit._LONGEST_WAIT)
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
    writer._answer(
        [writer_module._Waiting(acceptance=acceptance, body=bytes(23), answer=each, reserved=23) for each in told]
    )
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


NOW = BEGIN + 10.0
ASKED = campaign()
READER = CampaignAcceptance(ASKED, Settings())
WIDE = [
    Deck(bits=100, slots=5, eps_report=0.5),
    InnerProduct(bits=63, slots=5, eps_report=0.5),
    Deck(bits=4, slots=5, eps_report=2.0, width=2),
    Deck(bits=12, slots=5, eps_report=4.0, width=6),
    Deck(bits=100, slots=5, eps_report=2.0, width=2),
]
ALL: list[Mechanism] = [*(mechanism for mechanism, _ in ONE_OF_EACH.values()), *OTHERS, *WIDE]


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    refused: Refused | None = None
    try:
        reports = READER.read(body, NOW)
        assert len(reports.rounds) * READER.wire.size == len(body)
    except Refused as error:
        refused = error
    if refused is not None:
        assert refused.problem in (Problem.MALFORMED_REPORTS, Problem.ROUND_OVER, Problem.ROUND_NOT_BEGUN)
        assert refused.detail


@given(
    st.lists(st.tuples(st.binary(min_size=16, max_size=16), st.integers(2, 31)), min_size=1, max_size=8), st.data()
)
def test_one_bit_changed_is_read_as_what_it_is_or_refused(
    reports: list[tuple[bytes, int]], data: st.DataObject
) -> None:
    body = bytearray(b"".join(READER.wire.encode(round=1, nonce=nonce, report=report) for nonce, report in reports))
    assert READER.read(bytes(body), NOW).rows.shape == (len(reports), 17)
    place = data.draw(st.integers(0, 8 * len(body) - 1))
    body[place // 8] ^= 1 << place % 8
    within = place // 8 % 22
    try:
        result = READER.read(bytes(body), NOW)
    except Refused:
        assert within < 5 or within == 21  # a changed nonce is another nonce
    else:
        assert within >= 5
        assert result.rows.reshape(-1).tobytes() == b"".join(
            bytes(body[i + 5 : i + 22]) for i in range(0, len(body), 22)
        )


@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: repr(m)[:40])
def test_check_raises_what_add_raises_and_adds_nothing(mechanism: Mechanism) -> None:
    """Any word of `report_bits` bits: taken by both, or refused by both in the same words."""
    rng = np.random.default_rng(3)
    layout = wire.of(mechanism)
    size = layout.size - 21
    refusals = 0
    for _ in range(300):
        row = rng.integers(0, 256, (1, size), dtype=np.uint8)
        if rng.integers(2):
            row[0, rng.integers(size) :] = 0
        row[0, -1] &= 0xFF >> (8 * size - mechanism.report_bits)
        sums = mechanism.aggregator(1)
        empty = sums.to_bytes()
        reports = as_reports(row, sums)
        said = []
        for step in (sums.check, sums.add):
            try:
                step(reports)
                said.append("")
            except ValueError as error:
                said.append(str(error))
            if step == sums.check:
                assert sums.to_bytes() == empty
        assert said[0] == said[1]
        refusals += bool(said[0])
    if type(mechanism).__name__ in ("Deck", "InnerProduct"):
        assert refusals > 0


@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: repr(m)[:40])
def test_reports_off_the_wire_are_those_that_were_sent(mechanism: Mechanism) -> None:
    if reason_not_collectable(campaign(mechanism)) is not None:
        return
    numbers = [mechanism.client(0).report(1) for _ in range(40)]
    asked = campaign(mechanism)
    reports = CampaignAcceptance(asked, Settings()).read(b"".join(sealed(asked, numbers)), NOW)
    sums = mechanism.aggregator(1)
    sums.add(as_reports(reports.rows[:, 16:], sums))
    assert sums.to_bytes() == mechanism.aggregator(1).add(numbers).to_bytes()


def test_rounds_by_the_clock() -> None:
    settings = Settings(early=60, grace=600)
    reader = CampaignAcceptance(ASKED, settings)
    assert reader.open_rounds(BEGIN - 61) == (1, 0)
    assert reader.open_rounds(BEGIN - 60) == (1, 1)
    assert reader.open_rounds(BEGIN + HOUR - 61) == (1, 1)
    assert reader.open_rounds(BEGIN + HOUR + 599) == (1, 2)
    assert reader.open_rounds(BEGIN + HOUR + 600) == (2, 2)
    assert reader.open_rounds(BEGIN + 30 * HOUR + 599) == (30, 30)
    assert reader.open_rounds(BEGIN + 30 * HOUR + 600) == (31, 30)


def test_a_round_of_which_no_sums_can_be_made_is_refused() -> None:
    """So late that its answers say nothing: accepted, it could never be closed."""
    faded = Fading(bits=4, eps=2.0, delta=1e-6, power=4.0)
    asked = campaign(faded, begin=0, seconds=5, rounds=None)
    number = asked.round_at(NOW)
    assert number is not None
    reader = CampaignAcceptance(asked, Settings())
    body = b"".join(sealed(asked, [faded.client(0).report(1)], round=number))
    for _ in range(2):
        with pytest.raises(Refused, match="its answers would be pure noise") as refused:
            reader.read(body, NOW)
        assert refused.value.problem is Problem.ROUND_OVER
    assert len(reader.read(b"".join(sealed(asked, [faded.client(0).report(1)])), 1.0).rounds) == 1


def test_stored_in_the_order_of_nonces() -> None:
    sent = bodies(ASKED, 200)
    reports = group_by_round("x", READER.read(b"".join(sent), NOW))
    rows = reports[Round("x", 1)]
    assert [row.tobytes() for row in rows] == sorted(body[5:] for body in sent)
    assert [row.tobytes() for row in rows] != [body[5:] for body in sent]


def test_rounds_are_told_apart() -> None:
    rounds = np.array([2, 1, 2], dtype=np.uint32)
    rows = np.frombuffer(secrets.token_bytes(3 * 17), dtype=np.uint8).reshape(3, 17)
    reports = group_by_round("x", AcceptedReports(rounds, rows))
    assert {key: len(value) for key, value in reports.items()} == {Round("x", 1): 1, Round("x", 2): 2}


def test_what_cannot_be_collected() -> None:
    reasons = {type(m).__name__: reason_not_collectable(campaign(m)) for m in ALL}
    assert {name for name, reason in reasons.items() if reason} == {"OneChange", "Votes"}
    assert reason_not_collectable(campaign(DECK, encoding=Categories(names=["a", "b"]))) is None


FULL = StoreUnavailable("SQLite: database or disk is full")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(caplog: pytest.LogCaptureFixture) -> Clock:
    caplog.set_level(logging.WARNING)
    return Clock()


def test_a_failure_and_its_end_are_logged_once(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    log = FailureLog(clock)
    log.worked()
    for _ in range(5):
        log.failed(FULL)
    for _ in range(5):
        log.worked()
    assert [record.message for record in caplog.records] == [
        f"The store fails, so reports are refused until it works again: {FULL}",
        "The store works again.",
    ]


def test_near_a_full_disk_the_log_does_not_grow_with_each_request(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Small bodies still fit, and large ones do not."""
    log = FailureLog(clock)
    for _ in range(10_000):
        log.failed(FULL)
        clock.now += 0.01
        log.worked()
        clock.now += 0.01
    assert len(caplog.records) == 3
    assert "fails again" in caplog.records[-1].message
    clock.now += 61
    log.worked()
    log.worked()
    assert [record.message for record in caplog.records[3:]] == ["The store works again."]
    clock.now += 61
    log.failed(FULL)
    assert "until it works again" in caplog.records[-1].message
