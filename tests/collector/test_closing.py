"""Closing rounds by themselves: one that cannot be closed keeps no other from it; no clock closes one too early."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from tests.collector.conftest import KINDS
from tests.collector.samples import BEGIN, HOUR, bodies, campaign
from tests.collector.servers import OCTETS, SETTINGS, Clock, Collector, process
from tests.collector.test_store import rows
from untrackable import Fading
from untrackable.cli import main
from untrackable.collector import api, closing
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import delete_campaign, end_campaign
from untrackable.collector.metrics import Metrics
from untrackable.collector.service import Service
from untrackable.collector.settings import Settings, open_store
from untrackable.collector.store import Round, RoundsClosed, Store, StoredCampaign
from untrackable.errors import StoreUnavailable
from untrackable.protocol.campaign import Campaign
from untrackable.serving.problems import Refused

LATER = BEGIN + HOUR + SETTINGS.grace


def with_report(store: Store, asked: Campaign, number: int = 1) -> Round:
    store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=True))
    store.add({(round := Round(asked.id, number)): rows(20, payload=1) % 30 + 2})
    return round


def states(store: Store, *rounds: Round) -> list[str]:
    records = [store.round(round) for round in rounds]
    return [each.state for each in records if each is not None]


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


def known(store: Store, asked: Campaign | None = None) -> Campaign:
    asked = asked or campaign()
    store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=True))
    return asked


def sent(collector: Collector, asked: Campaign, round: int) -> int:
    collector.clock.now = BEGIN + (round - 1) * HOUR + 10.0
    return collector.send(asked, b"".join(bodies(asked, 20, round=round))).status_code


def test_the_round_that_takes_reports_is_the_last_one(collector: Collector) -> None:
    asked = collector.create(campaign())
    assert (sent(collector, asked, 1), sent(collector, asked, 2)) == (204, 204)
    ended = collector.http.post(f"/campaigns/{asked.id}/end", headers=collector.keys["admin"])
    assert (ended.status_code, ended.json()) == (200, {"last_round": 2})
    assert sent(collector, asked, 2) == 204
    late = collector.send(asked, b"".join(bodies(asked, 1, round=3)))
    assert late.status_code == 409  # It has not begun.
    assert sent(collector, asked, 3) == 410
    again = collector.http.post(f"/campaigns/{asked.id}/end", headers=collector.keys["admin"])
    assert again.json() == {"last_round": 2}
    assert collector.close(asked, 2).status_code == 200
    assert collector.http.get(f"/campaigns/{asked.id}/rounds/2/estimate").json()["reports"] == 40
    assert collector.http.get(f"/campaigns/{asked.id}/rounds").json()["last_round"] == 2


def test_a_campaign_that_is_added_again_has_estimates_of_its_own(collector: Collector) -> None:
    """Even if it has as many reports as before, of other values."""
    asked = campaign()
    result = []
    for seed in (2, 3):
        collector.create(asked)
        assert collector.send(asked, b"".join(bodies(asked, 20, seed=seed))).status_code == 204
        assert collector.close(asked).status_code == 200
        result.append(collector.http.get(f"/campaigns/{asked.id}/estimate?beta=0.05").json())
        delete_campaign(collector.store, asked)
    assert [each["reports"] for each in result] == [20, 20]
    assert result[0]["values"] != result[1]["values"]


def test_only_an_admin_ends_a_campaign(collector: Collector) -> None:
    asked = collector.create(campaign())
    assert collector.http.post(f"/campaigns/{asked.id}/end").status_code == 401
    assert collector.http.post(f"/campaigns/{asked.id}/end", headers=collector.keys["reader"]).status_code == 403
    assert collector.http.get(f"/campaigns/{asked.id}/rounds").json()["last_round"] == asked.rounds
    missing = collector.http.post(f"/campaigns/{'0' * 64}/end", headers=collector.keys["admin"])
    assert missing.status_code == 404


@pytest.mark.parametrize(
    ("now", "last"),
    [
        (BEGIN - 100, 0),
        (BEGIN - 59, 1),  # Reports may come a minute early.
        (BEGIN, 1),
        (BEGIN + HOUR - 61, 1),
        (BEGIN + HOUR - 60, 2),
        (BEGIN + 29 * HOUR, 30),
        (BEGIN + 90 * HOUR, 30),
    ],
)
def test_the_last_round_follows_from_the_time(store: Store, now: float, last: int) -> None:
    asked = known(store)
    assert end_campaign(store, asked, now, SETTINGS) == last
    record = store.campaign(asked.id)
    assert record is not None
    assert record.last_round == last
    if last < 30:
        with pytest.raises(RoundsClosed):
            store.add({Round(asked.id, last + 1): rows(1)})
    assert end_campaign(store, campaign(question="Another?"), now, SETTINGS) is None


def test_a_later_round_that_has_reports_goes_on(store: Store) -> None:
    asked = known(store)
    store.add({Round(asked.id, 2): rows(5)})
    assert store.end_campaign(asked.id, 1) == 2
    store.add({Round(asked.id, 1): rows(5), Round(asked.id, 2): rows(9)})
    with pytest.raises(RoundsClosed) as refused:
        store.add({Round(asked.id, 2): rows(9), Round(asked.id, 3): rows(5)})
    assert refused.value.rounds == {Round(asked.id, 3)}


def test_nothing_of_a_deleted_campaign_is_left(store: Store) -> None:
    asked, other = known(store), known(store, campaign(question="Another?"))
    for which in (asked, other):
        store.add({Round(which.id, number): rows(20, payload=1) % 30 + 2 for number in (1, 2, 3)})
    store.stop(Round(asked.id, 1))
    delete_campaign(store, asked)
    delete_campaign(store, asked)  # It is gone already.
    assert store.campaign(asked.id) is None
    assert store.rounds(asked.id) == []
    assert store.sums(Round(asked.id, 1)) is None
    with pytest.raises(RoundsClosed):
        store.add({Round(asked.id, 2): rows(1)})
    assert [each.state for each in store.rounds(other.id)] == ["open"] * 3
    assert store.count(Round(other.id, 2)) == 20
    known(store, asked)  # It may be added again, and begins anew.
    store.add({Round(asked.id, 2): rows(20, payload=1) % 30 + 2})
    assert store.count(Round(asked.id, 2)) == 20


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_deletion_leaves_a_sound_store_and_can_go_on(
    kind: str, new_url: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_url(kind)
    store = open_store(url)
    asked = known(store)
    store.add({Round(asked.id, number): rows(20, payload=1) % 30 + 2 for number in (1, 2, 3)})
    finished, finish = [], store.finish

    def fail_later(round: Round, reports: int, sums: bytes) -> bool:
        finished.append(round)
        if len(finished) > 2:
            raise KeyboardInterrupt
        return finish(round, reports, sums)

    monkeypatch.setattr(store, "finish", fail_later)
    with pytest.raises(KeyboardInterrupt):
        delete_campaign(store, asked)
    store.close()
    again = open_store(url)  # It checks everything.
    assert [each.state for each in again.rounds(asked.id)] == ["closed", "closed", "closing"]
    delete_campaign(again, asked)
    assert again.campaigns() == []
    again.close()


def test_a_running_collector_notices_at_once(new_url: Callable[[str], str], tmp_path: Path) -> None:
    url = new_url("sqlite")
    store = open_store(url)
    ended, deleted = (
        campaign(begin=int(time.time()) - 5, seconds=10, question=each) for each in ("Ended?", "Deleted?")
    )
    for asked in (ended, deleted):
        create_campaign(store, asked.to_bytes())
    store.close()

    def run(*arguments: str, **more: str) -> str:
        done = CliRunner().invoke(main, [*arguments, "--store", url], **more)  # type: ignore[arg-type]
        assert done.exit_code == 0, done.output
        return done.stdout

    with process(url, "--early", "0", log=tmp_path / "log") as server:

        def send(asked: Campaign, round: int) -> int:
            address = f"{server.address}/campaigns/{asked.id}/reports"
            return httpx.post(address, content=bodies(asked, 1, round=round)[0], headers=OCTETS).status_code

        assert (send(ended, 1), send(deleted, 1)) == (204, 204)
        store = open_store(url)
        store.end_campaign(ended.id, 1)
        store.close()
        assert run("manage", "delete", deleted.id[:8], input="y\n") == f"{deleted.id} is deleted.\n"
        assert send(deleted, 1) == 410
        assert httpx.get(f"{server.address}/campaigns/{deleted.id}").status_code == 404
        assert "ended after round 1" in run("manage", "list")
        while ended.round_at(time.time()) == 1:
            time.sleep(0.1)
        assert send(ended, 2) == 410
        assert send(ended, 1) == 204
        assert server.end() == 0
    assert "Traceback" not in (tmp_path / "log").read_text()
    with sqlite3.connect(url.removeprefix("sqlite:///")) as reading:
        names = [row[0] for row in reading.execute("SELECT name FROM sqlite_master WHERE name LIKE 'reports_%'")]
    reading.close()
    assert len(names) == 1


def test_the_commands_ask_and_tell(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/x.db"
    store, asked = open_store(url), campaign(begin=int(time.time()) - 60)
    create_campaign(store, asked.to_bytes())

    def run(*arguments: str, answer: str = "") -> tuple[int, str, str]:
        done = CliRunner().invoke(main, [*arguments, "--store", url], input=answer)
        return done.exit_code, done.stdout, done.stderr

    assert run("manage", "end", asked.id[:8]) == (0, f"{asked.id} ends after round 1.\n", "")
    told = json.loads(run("manage", "end", asked.id[:8], "--json")[1])
    assert told == {"id": asked.id, "last_round": 1}
    status, _, asking = run("manage", "delete", asked.id[:8], answer="n\n")
    assert status == 1
    assert f"Delete {asked.id} ('Which page is yours?'), with reports and sums of 0 rounds?" in asking
    assert store.campaign(asked.id) is not None
    assert run("manage", "delete", asked.id, "--yes") == (0, f"{asked.id} is deleted.\n", "")
    assert store.campaign(asked.id) is None
    later = campaign(begin=int(time.time()) + HOUR)
    create_campaign(store, later.to_bytes())
    assert run("manage", "end", later.id)[1] == f"{later.id} ends before its first round.\n"
    store.close()
