"""Rounds whose reports a relay holds: they stay open until the release had time to come, and pages say so."""

from dataclasses import replace

import pytest

from tests.collector.samples import BEGIN, HOUR
from tests.collector.servers import Collector
from tests.collector.test_retention import DAY
from tests.collector.test_small_rounds import crowded
from tests.collector.test_store import rows
from untrackable.collector import closing
from untrackable.collector.metrics import Metrics
from untrackable.collector.settings import Settings
from untrackable.collector.store import Round, Store, StoredCampaign
from untrackable.collector.writer import CampaignAcceptance
from untrackable.protocol.campaign import Campaign, HoldingRelay

DELAY, WAIT = 900, 7200.0
SETTINGS = Settings(early=60, grace=600, release_wait=WAIT)
CLOSED = BEGIN + HOUR + DELAY + WAIT


def held(delay: int = DELAY) -> Campaign:
    asked = crowded()
    assert asked.gateway is not None
    return replace(
        asked, gateway=replace(asked.gateway, relay=HoldingRelay("https://relay.example/gateways/x", delay))
    )


def test_a_campaign_says_when_its_reports_leave() -> None:
    assert held().leaves(3) == BEGIN + 3 * HOUR + DELAY
    assert crowded().leaves(3) == BEGIN + 3 * HOUR
    assert (crowded().relay, held().relay) == (None, HoldingRelay("https://relay.example/gateways/x", DELAY))
    assert Campaign.from_bytes(held().to_bytes()) == held()
    assert held().id != held(delay=DELAY + 1).id


def test_reports_of_rounds_that_are_over_are_taken_until_the_release_had_time() -> None:
    acceptance = CampaignAcceptance(held(), SETTINGS)
    assert acceptance.open_rounds(BEGIN + HOUR) == (1, 2)
    assert acceptance.open_rounds(CLOSED - 1) == (1, 4)
    assert acceptance.open_rounds(CLOSED) == (2, 4)
    plain = CampaignAcceptance(crowded(), SETTINGS)
    assert plain.open_rounds(BEGIN + HOUR + 600) == (2, 2)


@pytest.mark.parametrize("asked", [held(), crowded()], ids=["held", "at once"])
def test_a_round_is_closed_when_no_report_of_it_is_taken_any_more(store: Store, asked: Campaign) -> None:
    published(store, asked)
    store.add({(round := Round(asked.id, 1)): rows(20, payload=1) % 30 + 2})
    acceptance = CampaignAcceptance(asked, SETTINGS)
    closed = CLOSED if asked.relay else BEGIN + HOUR + 600
    for now in (BEGIN + HOUR, closed - 1):
        assert acceptance.open_rounds(now)[0] == 1
        assert closing.overdue_rounds(store, now, SETTINGS) == []
        assert closing.close_overdue(store, now, SETTINGS, Metrics()) == 0
    assert acceptance.open_rounds(closed)[0] == 2
    assert closing.overdue_rounds(store, closed, SETTINGS) == [round]
    assert closing.close_overdue(store, closed, SETTINGS, Metrics()) == 1


def test_sums_are_kept_for_their_days_from_the_time_at_which_their_round_is_closed(store: Store) -> None:
    asked, hour = published(store, held()), replace(SETTINGS, keep_sums=HOUR / DAY)
    store.add({(round := Round(asked.id, 1)): rows(20, payload=1) % 30 + 2})
    assert closing.close_overdue(store, CLOSED, hour, Metrics()) == 1
    assert closing.drop_old_sums(store, CLOSED + HOUR - 1, hour) == 0
    assert store.sums(round) is not None
    assert closing.drop_old_sums(store, CLOSED + HOUR, hour) == 1


def published(store: Store, asked: Campaign) -> Campaign:
    store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=True))
    return asked


def test_the_page_says_that_a_round_waits_for_the_relay(collector: Collector) -> None:
    asked = published(collector.store, held())
    waits = "waits for the relay: its release"

    def page(now: float) -> str:
        collector.clock.now = now
        return " ".join(collector.http.get(f"/view/{asked.id}").text.split())

    wait = Settings().release_wait
    assert waits not in page(BEGIN + 100)
    assert f"Round 1 is over and {waits} comes on" in page(BEGIN + HOUR)
    assert f"Round 1 is over and {waits} was on" in page(BEGIN + HOUR + DELAY)
    assert f"Round 2 is over and {waits} comes on" in page(BEGIN + 2 * HOUR)
    end = BEGIN + 30 * HOUR + DELAY + wait
    assert f"Round 30 is over and {waits} was on" in page(end - 1)
    assert waits not in page(end)
    plain = published(collector.store, crowded())
    collector.clock.now = BEGIN + HOUR
    assert waits not in collector.http.get(f"/view/{plain.id}").text


def test_trust_is_about_the_named_relay(collector: Collector) -> None:
    asked = published(collector.store, held())
    said = collector.http.get(f"/view/{asked.id}").text
    assert "sent to the relay https://relay.example/gateways/x" in said
    assert "once, shuffled, 15 minutes after the end of the round" in said
    assert "You name the relay" not in said
