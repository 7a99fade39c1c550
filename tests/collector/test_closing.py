"""Closing rounds by themselves: one that cannot be closed keeps no other from it; no clock closes one too early."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from tests.collector.samples import BEGIN, HOUR, campaign
from tests.collector.servers import SETTINGS, Clock
from tests.collector.test_store import rows
from untrackable import Fading
from untrackable.collector import api, closing
from untrackable.collector.closing import ClockJumpDetector
from untrackable.collector.metrics import Metrics
from untrackable.collector.problems import Refused
from untrackable.collector.service import Service
from untrackable.collector.settings import Settings
from untrackable.collector.store import Round, Store, StoredCampaign
from untrackable.errors import StoreUnavailable
from untrackable.protocol.campaign import Campaign

LATER = BEGIN + HOUR + SETTINGS.grace


def with_report(store: Store, asked: Campaign, number: int = 1) -> Round:
    store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=True))
    store.add({(round := Round(asked.id, number)): rows(20, payload=1) % 30 + 2})
    return round


def states(store: Store, *rounds: Round) -> list[str]:
    found = [store.round(round) for round in rounds]
    return [each.state for each in found if each is not None]


def test_a_round_that_cannot_be_closed_keeps_no_other_from_being_closed(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    first = with_report(store, campaign(question="first?"))
    faded = Fading(bits=4, eps=2.0, delta=1e-6, power=4.0)
    poison = campaign(faded, begin=0, seconds=5, rounds=None)
    bad = with_report(store, poison, 350_000_000)
    unreadable = with_report(store, campaign(question="unreadable?"))
    with store._transaction(write=True) as run:
        run("UPDATE campaigns SET document = ? WHERE id = ?", (b"RECOGNISABLE", unreadable.campaign))
    last = with_report(store, campaign(question="last?"))
    metrics = Metrics()
    for closed in (2, 0):
        assert closing.close_overdue(store, LATER, SETTINGS, metrics) == closed
    assert states(store, first, unreadable, last) == ["closed", "open", "closed"]
    assert metrics.total("closings_failed") == 4
    assert metrics.total("rounds_closed") == 2
    assert f"Round 350000000 of campaign {bad.campaign} could not be closed: ValueError at " in caplog.text
    assert "CampaignError at " in caplog.text
    assert "RECOGNISABLE" not in caplog.text
    with pytest.raises(Refused, match="its answers would be pure noise"):
        api.close(store, poison, 340_000_000, LATER)
    assert store.round(Round(poison.id, 340_000_000)) is None


def test_a_store_that_fails_for_one_round_is_used_for_the_others(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first, last = (with_report(store, campaign(question=question)) for question in ("first?", "last?"))
    real = store.stop

    def stop(round: Round) -> str:
        if round == first:
            raise StoreUnavailable("locked")
        return real(round)

    monkeypatch.setattr(store, "stop", stop)
    assert closing.close_overdue(store, LATER, SETTINGS, Metrics()) == 1
    assert states(store, first, last) == ["open", "closed"]
    assert f"Round 1 of campaign {first.campaign} could not be closed: locked" in caplog.text


def test_whatever_goes_wrong_in_a_sweep_the_next_one_is_made_and_the_end_is_clean(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service(store, Clock(), Settings(sweep=0.01))
    sweeps: list[int] = []

    def fails(now: float) -> int:
        sweeps.append(1)
        raise ZeroDivisionError("RECOGNISABLE")

    monkeypatch.setattr(service, "close_overdue", fails)

    async def live() -> None:
        async with service.running():
            while len(sweeps) < 3:
                await asyncio.sleep(0.01)

    asyncio.run(live())
    assert not service.writer._thread.is_alive()
    assert "Rounds could not be closed because of a fault: ZeroDivisionError at " in caplog.text
    assert "RECOGNISABLE" not in caplog.text


def looks(steady: ClockJumpDetector, clock: Clock, passing: Clock) -> Callable[[float, float], bool]:
    def look(passed: float, told: float) -> bool:
        passing.now += passed
        clock.now += told
        return steady.trusted_time() is not None

    return look


def test_a_clock_that_jumps_forward_is_doubted_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    clock, passing = Clock(), Clock(5.0)
    look = looks(ClockJumpDetector(clock, passing), clock, passing)
    assert look(30, 30)
    assert look(30, 29)
    assert look(30, 60)  # set right by a little
    assert look(86_400, 86_400)  # nobody looked for a day
    assert not look(30, 30 + HOUR)
    assert caplog.messages == [
        "The clock jumped 3600 s forward. No round is closed in the next 600 s: check the clock."
    ]
    assert not look(30, 30)
    assert look(30, 30 - HOUR)  # and back
    assert caplog.messages[1:] == ["The clock is right again. Closing of rounds continues."]
    assert not look(30, 30 + HOUR)
    assert not look(599, 599)
    assert look(1, 1)  # it was right after all
    assert look(30, 30)
    assert look(30, 30 - HOUR)  # backward closes nothing
    assert not look(30, 30 + HOUR)


def test_no_round_is_closed_while_the_clock_is_doubted(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    round = with_report(store, campaign())
    clock = Clock()
    service = Service(store, clock, Settings(sweep=0.01, grace=SETTINGS.grace))

    async def live() -> None:
        async with service.running():
            await asyncio.sleep(0.1)
            clock.now = LATER + 1
            while "The clock jumped" not in caplog.text:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            assert states(store, round) == ["open"]

    asyncio.run(live())


def test_a_jump_after_the_check_closes_nothing(store: Store) -> None:
    """The sweep closes by the time that it found to be right, whatever the clock says afterwards."""
    round = with_report(store, campaign())
    clock = Clock()
    service = Service(store, clock, Settings(sweep=0.01, grace=SETTINGS.grace))
    measured = service.measure_store

    def jump() -> None:
        clock.now = LATER + 1
        measured()

    service.measure_store = jump  # type: ignore[method-assign]

    async def live() -> None:
        async with service.running():
            await asyncio.sleep(0.1)
            assert states(store, round) == ["open"]

    asyncio.run(live())
