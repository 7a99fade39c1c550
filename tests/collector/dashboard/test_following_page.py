"""Could a campaign be used to follow somebody: computed once, apart, and beside RAPPOR at the same eps."""

import math
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.auditing.test_turns_audit import turns_campaign
from tests.collector.conftest import in_this_process
from tests.collector.samples import campaign
from tests.collector.servers import Collector, collecting
from untrackable.collector.dashboard.campaign_page import following_parts
from untrackable.collector.dashboard.heavy_work import HeavyWork, Job
from untrackable.collector.dashboard.jobs import attacked, shown_audit
from untrackable.collector.settings import open_store


class Held:
    """Heavy work that waits until it is let go."""

    def __init__(self) -> None:
        self.go, self.asked = threading.Event(), 0

    def __call__(self, job: Job, arguments: tuple[Any, ...]) -> Any:
        if job is following_parts:
            self.asked += 1
            self.go.wait(30)
        return in_this_process(job, arguments)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    gate = Held()
    monkeypatch.setattr("untrackable.collector.app.HeavyWork", lambda: HeavyWork(gate))
    return gate


@pytest.fixture
def collector(tmp_path: Path, held: Held) -> Iterator[Collector]:
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db")) as result:
        yield result
        held.go.set()


def finished(collector: Collector, path: str) -> str:
    for _ in range(600):
        response = collector.http.get(path)
        if response.status_code != 202:
            return str(response.text)
        threading.Event().wait(0.05)
    raise AssertionError


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    return shown_audit(campaign(rounds=4).to_bytes())


def test_loading_then_the_answer(
    collector: Collector, held: Held, shown: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = collector.create(campaign(rounds=4))
    path = f"/view/{asked.id}/following"
    for _ in range(3):
        waiting = collector.http.get(path)
        assert waiting.status_code == 202
        assert '<meta http-equiv="refresh" content="3">' in waiting.text
    monkeypatch.setattr("tests.collector.conftest.done", lambda job, arguments: (True, shown))
    held.go.set()
    text = finished(collector, path)
    assert held.asked == 1
    assert "refresh" not in text
    assert "the chance of picking the right one is 1/1,000, as for a guess (exact)" in text
    assert "With RAPPOR, an attack that has 2 reports from each of two places matches " in text
    assert "(eps = 8)" in text
    assert text.count("<polyline ") == 4
    legend = text.split('<p class="legend">')[1].split("</p>")[0]
    for name in (
        "this campaign",
        "RAPPOR, the same privacy",
        "people with different values",
        "95 % interval",
        "a guess",
    ):
        assert f"</svg> {name}</span>" in legend
    drawn = re.findall(r'<path class="reach" d="M(\S+) ', text.split('<p class="legend">')[0])
    assert len(set(drawn)) == len(drawn) == 8  # no interval hides another
    assert len(re.findall("<td>[12]</td>", text)) == 4


def test_an_audit_that_fails_says_what_to_do(
    collector: Collector, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.collector.conftest.done", lambda job, arguments: (False, "it took too long"))
    asked = collector.create(campaign())
    held.go.set()
    text = finished(collector, f"/view/{asked.id}/following")
    assert "The audit could not be made.</strong> The reason: <bdi>it took too long</bdi>." in text
    assert "Load this page again in a minute" in text


def test_rappor_has_the_same_privacy() -> None:
    """Its eps is 2h·ln((1-f/2)/(f/2)), whatever the campaign's deck is."""
    asked = campaign(rounds=4)
    own, rival, _ = attacked(asked)
    assert asked.guarantee.eps == 8
    assert {point.reports for point in own} == {point.reports for point in rival} == {1, 2}
    best = max(point.matched.lower for point in rival if not point.different)
    assert best > 10 / 300
    assert all(point.matched.lower <= 1 / 300 for point in own if not point.different)
    f = 2 / (1 + math.exp(8 / 4))
    assert 2 * 2 * math.log((1 - f / 2) / (f / 2)) == pytest.approx(8)


def test_one_round_has_nothing_to_follow() -> None:
    assert attacked(campaign(rounds=1)) == ([], [], "following takes at least two rounds")


def test_one_turn_has_no_attack(collector: Collector, held: Held) -> None:
    asked = collector.create(turns_campaign())
    held.go.set()
    text = finished(collector, f"/view/{asked.id}/following")
    assert "Nobody sends two reports, so there is nothing to link (exact)." in text
    assert "It cannot be made on this campaign: nobody sends two reports" in text
    assert "It excludes people and does not find them." in text
