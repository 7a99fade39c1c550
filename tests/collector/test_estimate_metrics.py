"""Published estimates for Prometheus: those of closed rounds with enough reports, as its own parser reads them."""

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.collector.dashboard.test_campaign_page import filled
from tests.collector.samples import BEGIN, HOUR, campaign
from tests.collector.servers import Collector
from untrackable import Categories, HashedStrings
from untrackable.collector import api
from untrackable.collector.api import ADDRESS, create_campaign

STORES = ("sqlite",)

AWKWARD = ['with "quotes"', "back\\slash", *(f"page {i}" for i in range(2, 12))]


def samples(collector: Collector) -> dict[str, list[tuple[dict[str, str], float]]]:
    response = collector.http.get(ADDRESS)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    result: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(response.text):  # type: ignore[no-untyped-call]
        assert family.documentation
        result[family.name] = [(sample.labels, sample.value) for sample in family.samples]
    return result


def test_the_samples_are_the_published_estimate(collector: Collector) -> None:
    asked = campaign(encoding=Categories(names=AWKWARD), question='Which "page"\\?')
    filled(collector.store, asked)
    metrics = samples(collector)
    shown = collector.http.get(f"/campaigns/{asked.id}/rounds/1/estimate").json()
    rows = {row["label"]: row for row in shown["values"]}
    assert set(rows) == set(AWKWARD)
    for name, key in (("", "frequency"), ("_tells", "tells"), ("_lower", "lower"), ("_upper", "upper")):
        given = metrics[f"untrackable_estimate{name}"]
        assert [labels["value"] for labels, _ in given] == AWKWARD, "in the order of the list, whatever the answer"
        assert {labels["value"]: value for labels, value in given} == {k: row[key] for k, row in rows.items()}
        assert all(labels["campaign"] == asked.id for labels, _ in given)
        assert all(labels["question"] == 'Which "page"\\?' for labels, _ in given)
    (_, miss), *others = metrics["untrackable_estimate_miss_probability"]
    assert (miss, others) == (shown["beta"], [])
    assert metrics["untrackable_estimate_reports"][0][1] == shown["reports"]
    assert metrics["untrackable_estimate_round"][0][1] == 1
    assert metrics["untrackable_estimate_round_end_seconds"][0][1] == BEGIN + HOUR


def test_what_is_not_published_small_open_long_or_without_a_list_is_left_out(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden, small, long = (campaign(question=f"{word}?") for word in ("Hidden", "Small", "Long"))
    hashed = campaign(encoding=HashedStrings.fresh(bits=4, longest=9))
    for asked, people in ((hidden, 1000), (small, 3), (long, 1000), (hashed, 1000)):
        filled(collector.store, asked, people)
    collector.store.publish(hidden.id, False)
    create_campaign(collector.store, campaign(question="Open?").to_bytes(), published=True)
    assert {labels["question"] for labels, _ in samples(collector)["untrackable_estimate_lower"]} == {"Long?"}
    monkeypatch.setattr(api, "MOST_VALUES", len(AWKWARD) - 1)
    metrics = samples(collector)
    assert metrics
    assert not any(metrics.values())
