"""Rounds of a crowd that is too small: published nowhere, and what lacks is told only once they are over."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.collector.dashboard.visitors import Visitor, visiting
from tests.collector.samples import BEGIN, HOUR, bodies, campaign
from tests.collector.servers import SETTINGS, Collector
from tests.collector.test_app import problem
from tests.protocol.test_crowd_declaration import GATEWAY
from untrackable.cli import main
from untrackable.collector.closing import close_round
from untrackable.collector.estimates import fewest_reports, reports_missing
from untrackable.collector.metrics import Metrics
from untrackable.collector.settings import Settings, open_store
from untrackable.collector.store import Round, Store, StoredCampaign, StoredRound
from untrackable.protocol.campaign import Campaign, CrowdGuarantee


def crowded(begin: int = BEGIN) -> Campaign:
    """At least 50 reports a round."""
    plain = campaign(begin=begin)
    crowd = CrowdGuarantee(eps=1.0, delta=1e-6, reports=50)
    return replace(plain, guarantee=replace(plain.guarantee, crowd=crowd), gateway=GATEWAY)


def filled(store: Store, asked: Campaign, **reports: int) -> None:
    """A campaign with so many reports of some rounds, whatever it promises."""
    store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=True))
    for name, count in reports.items():
        number = int(name.removeprefix("round"))
        raw = b"".join(bodies(asked, count, round=number))
        rows = np.frombuffer(raw, dtype=np.uint8).reshape(count, -1)[:, 5:]
        store.add({Round(asked.id, number): rows})


def test_the_larger_of_both_minima_counts() -> None:
    assert fewest_reports(campaign(), SETTINGS) == SETTINGS.minimum_reports
    assert fewest_reports(crowded(), SETTINGS) == 50
    assert fewest_reports(crowded(), Settings(minimum_reports=80)) == 80


@pytest.mark.parametrize(("reports", "missing"), [(0, 50), (49, 1), (50, None), (60, None), (None, None)])
def test_what_lacks_is_told_once_the_round_is_over(reports: int | None, missing: int | None) -> None:
    asked, known = crowded(), StoredRound(2, "closed", reports)
    assert reports_missing(asked, known, BEGIN + 2 * HOUR) == missing
    assert reports_missing(asked, known, BEGIN + 2 * HOUR - 1) is None
    assert reports_missing(campaign(), known, BEGIN + 2 * HOUR) is None


def test_nothing_of_a_small_round_is_published(collector: Collector) -> None:
    asked = crowded()
    filled(collector.store, asked, round1=49, round2=50, round3=30)
    for number in (1, 2, 3):
        collector.clock.now = asked.begins(number) + 1
        assert collector.close(asked, number).status_code == 200
    path = f"/campaigns/{asked.id}"

    def rounds() -> list[dict[str, Any]]:
        keys = ("round", "reports", "withheld", "missing")
        shown = collector.http.get(f"{path}/rounds", headers=collector.keys["reader"]).json()["rounds"]
        return [{key: row[key] for key in keys} for row in shown]

    assert rounds() == [
        {"round": 1, "reports": None, "withheld": True, "missing": 1},
        {"round": 2, "reports": 50, "withheld": False, "missing": None},
        {"round": 3, "reports": None, "withheld": True, "missing": None},  # closed early, and not over
    ]
    pooled = collector.http.get(f"{path}/estimate").json()
    assert (pooled["rounds"], pooled["reports"]) == ([2], 50)
    for asked_for, number in (("rounds/1/estimate", 1), ("rounds/3/estimate", 3), ("estimate?rounds=1-2", 1)):
        refused = collector.http.get(f"{path}/{asked_for}", headers=collector.keys["admin"])
        assert problem(refused) == (409, "withheld")
        detail = f"round {number} has fewer than 50 reports, so no estimate is given"
        assert refused.json()["detail"] == detail
    collector.clock.now = asked.begins(4)
    assert rounds()[2]["missing"] == 20


@pytest.mark.parametrize("asked", [crowded(), campaign()], ids=["crowd", "no crowd"])
def test_strangers_learn_nothing_of_the_size_of_a_withheld_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: Campaign
) -> None:
    """Whatever they ask for, they get the same bytes for every size."""
    monkeypatch.setattr("untrackable.collector.dashboard.campaign_page._PATIENCE", 60.0)
    one, seen = f"/campaigns/{asked.id}", []
    pages = [f"/view/{asked.id}{query}" for query in ("", "?done=closed&number=1", "?round=1", "?part=answers")]
    files = [f"/view/{asked.id}/{name}" for name in ("download.csv", "download.json", "picture.svg")]
    answers = [f"{one}/{which}" for which in ("rounds", "estimate", "estimate?rounds=1", "rounds/1/estimate")]
    addresses = ["/", "/campaigns", "/metrics/estimates", *pages, *files, *answers]
    for reports in (1, SETTINGS.minimum_reports - 1):
        with visiting(open_store(f"sqlite:///{tmp_path}/{reports}.db")) as stranger:
            filled(stranger.store, asked, round1=reports)
            close_round(stranger.store, asked, 1)
            for when in ("while it goes on", "when it is over"):
                responses = [stranger.get(address) for address in addresses]
                seen.append({(when, each.url): (each.status_code, each.text, each.headers) for each in responses})
                stranger.clock.now += HOUR
    for few, many in zip(seen[:2], seen[2:], strict=True):
        assert [where for where, told in few.items() if told != many[where]] == []


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    with visiting(open_store(f"sqlite:///{tmp_path}/x.db")) as result:
        yield result


def test_the_page_says_to_those_who_signed_in_how_many_more_it_would_have_taken(visitor: Visitor) -> None:
    asked, page = crowded(), f"/view/{crowded().id}"
    filled(visitor.store, asked, round1=31)
    close_round(visitor.store, asked, 1)
    visitor.sign_in()
    said = visitor.http.get(page).text
    assert (
        "No closed round has the 50 reports that an estimate needs, which is the crowd that it promises. " in said
    )
    assert "would have taken" not in said
    visitor.clock.now = BEGIN + HOUR
    assert "The last one would have taken 19 more." in visitor.http.get(page).text
    refused = visitor.http.get(f"/campaigns/{asked.id}/estimate")
    assert refused.json()["detail"] == "no closed round has the 50 reports that an estimate needs"


def test_direct_reports_are_refused_and_say_why(collector: Collector) -> None:
    asked = crowded()
    filled(collector.store, asked)
    for _ in range(2):
        refused = collector.send(asked, bodies(asked, 1)[0])
        assert problem(refused) == (403, "sealed-needed")
        assert "through a relay" in refused.json()["detail"]
    assert collector.store.count(Round(asked.id, 1)) == 0


def test_small_rounds_are_counted(store: Store) -> None:
    asked, metrics = crowded(), Metrics()
    filled(store, asked, round1=49, round2=50)
    for number in (1, 2, 1):
        close_round(store, asked, number, metrics)
    assert metrics.total("rounds_closed") == 2
    assert metrics.total("small_rounds_closed") == 1


def test_commands_say_the_same(tmp_path: Path) -> None:
    url, asked = f"sqlite:///{tmp_path}/x.db", crowded(begin=int(time.time()) - 2 * HOUR)
    store = open_store(url)
    filled(store, asked, round1=49, round2=50)
    store.close()

    def run(*words: str) -> str:
        done = CliRunner().invoke(main, [*words, "--store", url])
        assert done.exit_code == 0, done.output
        return done.stdout

    told = json.loads(run("manage", "close", asked.id, "1", "--json"))
    assert told == {"round": 1, "state": "closed", "reports": 49, "missing": 1}
    assert run("manage", "close", asked.id, "1") == (
        "Round 1 is closed, with 49 reports. It is not published: its campaign promises a crowd that sends 50.\n"
    )
    assert run("manage", "close", asked.id, "2") == "Round 2 is closed, with 50 reports.\n"
    assert "rounds: 2 closed (1 too small for its crowd), 0 open of 30" in run("manage", "list")
    assert json.loads(run("manage", "list", "--json"))[0]["small"] == 1
