"""Estimates over HTTP are those of the library, for every kind of sums: dense, for candidates, hashed, pooled."""

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest

from tests.collector.samples import BEGIN, HOUR, NAMES, answers, campaign, sealed
from tests.collector.servers import Collector
from tests.collector.test_app import problem
from untrackable import (
    Bit,
    Categories,
    Dealt,
    Deck,
    DiscoveredStrings,
    Fresh,
    HashedStrings,
    InnerProduct,
    Memoized,
    Rappor,
)
from untrackable.answers.answer import Question, answer, number_summary
from untrackable.collector.store import Round, StoredCampaign
from untrackable.discovery import discovery
from untrackable.discovery.discovery import Discovered, FoundString, discover
from untrackable.encodings.encoding import Presence
from untrackable.encodings.numbers import IntegerRange, buckets_from_text
from untrackable.estimation import Rounds
from untrackable.estimation.rounds import active_people
from untrackable.mechanisms import CountMeanSketch, Lgrr, Present, RandomizedResponse
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local import OneBitMean
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.turns import Turns

STORES = ("sqlite",)

WORDS = ["red", "green", "blue", "yellow"]
SALT = bytes(range(16))


def collected(
    collector: Collector, mechanism: Mechanism, reports: dict[int, list[int]], encoding: object = None
) -> Campaign:
    """A campaign of a mechanism, whatever it promises, with the reports of some rounds, all closed."""
    asked = campaign(mechanism, encoding=encoding)  # type: ignore[arg-type]
    collector.store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=True))
    for round, given in reports.items():
        collector.clock.now = BEGIN + (round - 1) * HOUR + 1
        assert collector.send(asked, b"".join(sealed(asked, given, round=round))).status_code == 204
        assert collector.close(asked, round).status_code == 200
    return asked


def clients(mechanism: Mechanism, values: list[int], round: int = 1) -> list[int]:
    return [mechanism.client(value).report(round) for value in values]


def test_hashed_strings_with_all_buckets(collector: Collector) -> None:
    encoding = HashedStrings(bits=6, salt=SALT, longest=20)
    deck = Deck(bits=6, slots=30, eps_report=2.0)
    values = encoding.encode_many([WORDS[i % 3] for i in range(600)])
    sent = answers(deck, values)
    asked = collected(collector, deck, {1: sent}, encoding)
    estimate = collector.http.get(
        f"/campaigns/{asked.id}/estimate", params={"candidate": WORDS, "beta": 0.3}
    ).json()
    expected = encoding.candidates(deck.aggregator().add(sent).estimate(0.3 / 3), WORDS)
    told = {row["label"]: row["unclamped"] for row in estimate["values"]}
    assert told == dict(zip(WORDS, expected.frequencies.tolist(), strict=True))
    assert estimate["beta"] == pytest.approx(0.3)
    buckets = collector.http.get(f"/campaigns/{asked.id}/estimate", params={"top": 3}).json()["values"]
    assert {row["label"] for row in buckets} == {encoding.label(encoding.encode(word)) for word in WORDS[:3]}


def test_numbers_have_a_mean_and_quantiles(collector: Collector) -> None:
    """They are those of the library, in the form that the description of the API declares."""
    encoding = buckets_from_text("50ms:20s:14:log", below="clamp", above="clamp")
    deck = Deck(bits=4, slots=30, eps_report=3.0)
    sent = answers(deck, encoding.encode_many([70, 300, 300, 900, 4000] * 120))
    asked = collected(collector, deck, {1: sent}, encoding)
    result = collector.http.get(f"/campaigns/{asked.id}/estimate").json()
    estimate = Question(deck, encoding).estimate(deck.aggregator().add(sent), 0.05)
    summary = number_summary(encoding, estimate)
    assert summary is not None
    assert result["numbers"] == summary.to_json()
    assert result["numbers"]["quantiles"][0]["lower"] <= 300 <= result["numbers"]["quantiles"][0]["upper"]
    schemas = collector.http.get("/openapi.json").json()["components"]["schemas"]
    declared = {**schemas["Estimate"], "components": {"schemas": schemas}}
    jsonschema.validate(result, declared)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**result, "numbers": {**result["numbers"], "mode": 1}}, declared)


def test_where_only_the_mean_is_told_no_value_has_a_share(collector: Collector) -> None:
    deck = Dealt(OneBitMean(values=101, eps=3.0), 30)
    sent = clients(deck, [20, 30, 40] * 20)
    asked = collected(collector, deck, {1: sent}, IntegerRange(low=0, high=100))
    result = collector.http.get(f"/campaigns/{asked.id}/estimate").json()
    estimate = Question(deck, asked.encoding).estimate(deck.aggregator().add(sent), 0.05)
    assert result["reports"] == 60
    assert result["values"] == []
    assert result["numbers"]["mean"]["value"] == pytest.approx(estimate.mean().value)
    assert collector.http.get(f"/view/{asked.id}").status_code == 200


def test_wide_values_for_candidates_only(collector: Collector) -> None:
    """Where sums of all values are impossible, the sums are the reports, and answer for named strings."""
    encoding = HashedStrings(bits=100, salt=SALT, longest=20)
    deck = Deck(bits=100, slots=30, eps_report=3.0)
    sent = clients(deck, [encoding.encode(WORDS[i % 2]) for i in range(200)])
    asked = collected(collector, deck, {1: sent}, encoding)
    path = f"/campaigns/{asked.id}/rounds/1/estimate"
    assert problem(collector.http.get(path)) == (422, "candidates-needed")
    content = collector.http.get(path, params={"candidate": WORDS}).json()
    values = [encoding.encode(word) for word in WORDS]
    sums: Any = deck.aggregator().add(sent)
    alone = sums.estimate(0.05 / 3, candidates=values)
    expected = encoding.candidates(alone, WORDS, of=values)
    told = {row["label"]: row["unclamped"] for row in content["values"]}
    assert told == dict(zip(WORDS, expected.frequencies.tolist(), strict=True))
    assert problem(collector.http.get(path, params={"candidate": ["red", "red"]})) == (400, "malformed-request")
    assert problem(collector.http.get(path, params={"candidate": "x" * 21})) == (400, "malformed-request")
    assert (
        problem(collector.http.get(path, params={"candidate": [str(i) for i in range(1001)]}))[1]
        == "malformed-request"
    )


def test_rappor_and_the_names_of_a_list(collector: Collector) -> None:
    rappor = Rappor(bloom_bits=32, hashes=2, f=0.2, p=0.2, q=0.8)
    sent = clients(rappor, [i % 4 for i in range(300)])
    asked = collected(collector, rappor, {1: sent})
    estimate = collector.http.get(f"/campaigns/{asked.id}/estimate").json()
    expected = rappor.aggregator().add(sent).estimate(candidates=list(range(12)))
    told = {row["value"]: row["unclamped"] for row in estimate["values"]}
    assert told == pytest.approx(dict(enumerate(expected.frequencies.tolist())))
    assert {row["label"] for row in estimate["values"]} == set(NAMES)


@pytest.mark.parametrize(
    "mechanism",
    [
        InnerProduct(bits=4, slots=9, eps_report=2.0),
        Lgrr(values=12, keep=0.9, tell=0.9),
        Deck(bits=4, slots=2, eps_report=1.0, when_empty="replay"),
    ],
    ids=lambda m: type(m).__name__,
)
def test_rounds_whose_sums_do_not_add_up_are_pooled_as_the_library_does(
    collector: Collector, mechanism: Mechanism
) -> None:
    sent = {round: answers(mechanism, np.arange(400) % 12, round=round, seed=round) for round in (1, 2, 3)}
    asked = collected(collector, mechanism, sent)
    estimate = collector.http.get(f"/campaigns/{asked.id}/estimate").json()
    alone = {round: mechanism.aggregator(round).add(given).estimate() for round, given in sent.items()}
    expected = Rounds(mechanism, alone).pooled()
    for row in estimate["values"]:
        assert row["unclamped"] == pytest.approx(expected.frequencies[row["value"]])
        share = expected.shares()[row["value"]]
        assert row["tells"] == (not np.isnan(share))
        assert row["frequency"] == (pytest.approx(share) if row["tells"] else None)
        assert row["standard_error"] == pytest.approx(expected.standard_error[row["value"]])
    assert estimate["reports"] == 1200


def test_estimates_that_cannot_be_pooled_are_refused_with_the_reason(collector: Collector) -> None:
    sketch = Memoized(CountMeanSketch(hashes=4, width=16, eps=2.0, values=12))
    asked = collected(collector, sketch, {r: answers(sketch, np.arange(60) % 12, round=r, seed=r) for r in (1, 2)})
    refused = collector.http.get(f"/campaigns/{asked.id}/estimate")
    assert problem(refused) == (400, "malformed-request")
    assert "cannot be pooled" in refused.json()["detail"]
    assert collector.http.get(f"/campaigns/{asked.id}/rounds/2/estimate").status_code == 200


def test_values_that_the_encoding_does_not_have_are_left_out(collector: Collector) -> None:
    deck = Deck(bits=4, slots=30, eps_report=3.0)
    sent = answers(deck, [15] * 300)  # a dishonest crowd
    asked = collected(collector, deck, {1: sent}, Categories(names=WORDS))
    estimate = collector.http.get(f"/campaigns/{asked.id}/estimate?top=1000").json()
    assert sorted(row["label"] for row in estimate["values"]) == sorted(WORDS)


def test_strings_that_nobody_listed_are_discovered(collector: Collector) -> None:
    encoding = DiscoveredStrings(salt=bytes(16), longest=4, prefixes=(2, 4, 4), alphabet="abcdef", bucket_bits=12)
    mechanism = Dealt(encoding.local(5.0), 30)
    values = encoding.encode_many(["cafe"] * 2400 + ["bead"] * 1600)
    sent = {round: answers(mechanism, values, round=round, seed=round) for round in (1, 2)}
    asked = collected(collector, mechanism, sent, encoding)
    estimate = collector.http.get(f"/campaigns/{asked.id}/estimate").json()
    expected = discover(encoding, mechanism.aggregator().add(sent[1]).add(sent[2]), alpha=0.05, leads=0)
    assert [(row["label"], row["frequency"]) for row in estimate["values"]] == [
        (each.string, each.share) for each in expected.strings
    ]
    assert [row["label"] for row in estimate["values"]] == ["cafe", "bead"]
    assert estimate["reports"] == 8000
    refused = collector.http.get(f"/campaigns/{asked.id}/estimate", params={"candidate": "cafe"})
    assert problem(refused) == (400, "malformed-request")
    assert "cafe" in collector.http.get(f"/view/{asked.id}").text


def test_a_discovered_string_stands_out_if_its_interval_excludes_zero(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody holds each of them, and yet the interval of a share may start at 0."""
    encoding = DiscoveredStrings(salt=bytes(16), longest=4, prefixes=(2, 4, 4), alphabet="abcdef", bucket_bits=12)
    mechanism = Dealt(encoding.local(5.0), 30)
    asked = collected(collector, mechanism, {1: answers(mechanism, encoding.encode_many(["cafe"] * 50))}, encoding)
    strings = (FoundString("cafe", 0.6, 0.1, 0.2, 0.9, 1e-9), FoundString("bead", 0.3, 0.1, 0.0, 0.7, 1e-3))
    result = Discovered(strings, (), n=50, alpha=0.05, passes=1, tried=2, findable=None, longest=4)
    monkeypatch.setattr(discovery, "discover", lambda *_, **__: result)
    rows = collector.http.get(f"/campaigns/{asked.id}/estimate").json()["values"]
    assert [(row["label"], row["lower"], row["stands_out"]) for row in rows] == [
        ("cafe", 0.2, True),
        ("bead", 0.0, False),
    ]


def test_an_answer_is_made_once(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    deck = Deck(bits=4, slots=30, eps_report=3.0)
    asked = collected(collector, deck, {1: answers(deck, [1] * 100)})
    path = f"/campaigns/{asked.id}/rounds/1/estimate"
    first = collector.http.get(path).json()
    taken: list[Round] = []
    real = collector.store.sums

    def noted(round: Round) -> bytes | None:
        taken.append(round)
        return real(round)

    monkeypatch.setattr(collector.store, "sums", noted)
    assert collector.http.get(path).json() == first
    assert taken == []
    collector.http.get(path, params={"top": 3})
    assert taken == [Round(asked.id, 1)]


def test_estimates_do_not_take_all_threads(collector: Collector) -> None:
    deck = Deck(bits=4, slots=30, eps_report=3.0)
    asked = collected(collector, deck, {1: answers(deck, [1] * 100)})
    service = collector.http.app.state.service  # type: ignore[attr-defined]
    while service._queue.acquire(blocking=False):
        pass
    refused = collector.http.get(f"/campaigns/{asked.id}/estimate")
    assert problem(refused) == (503, "busy")
    assert int(refused.headers["retry-after"]) > 0
    assert "too many estimates" in collector.http.get(f"/view/{asked.id}").text
    service._queue.release()
    assert collector.http.get(f"/campaigns/{asked.id}/estimate").status_code == 200


def test_turns_are_of_all_who_were_active_and_count_them(collector: Collector) -> None:
    """In JSON and for Prometheus, with a question and without; pooled rounds have the mean of their people."""
    turns = Turns(rounds=30)
    for mechanism, encoding in ((Fresh(RandomizedResponse(eps=4.0)), Bit()), (Fresh(Present()), Presence())):
        asked = campaign(mechanism, encoding=encoding, turns=turns, guarantee=Guarantee(eps=5))
        collector.store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=True))
        sums = {}
        for round, people in ((1, 200), (2, 400)):
            sent = answers(mechanism, [0] * people)
            sums[round] = mechanism.aggregator(round).add(sent)
            collector.clock.now = BEGIN + (round - 1) * HOUR + 1
            assert collector.send(asked, b"".join(sealed(asked, sent, round=round))).status_code == 204
            assert collector.close(asked, round).status_code == 200
        question = Question(mechanism, encoding, turns=turns)
        whole = answer(question, sums)
        pooled = collector.http.get(f"/campaigns/{asked.id}/estimate").json()
        second = collector.http.get(f"/campaigns/{asked.id}/rounds/2/estimate").json()
        assert (pooled["chance"], pooled["reports"]) == ("1/30", 600)
        assert pooled["people"] == whole.people().to_json()
        assert pooled["people"]["value"] == 300 * 30
        assert second["people"] == active_people([400], turns).to_json()
        rows = {row["label"]: row for row in second["values"]}
        assert set(rows) == ({"no", "yes"} if encoding.values == 2 else set())
        if rows:
            assert rows["no"]["upper"] == whole.rounds[2].interval(simultaneous=True).upper[0]
            assert rows["no"]["standard_error"] == whole.rounds[2].standard_error[0]
        schemas = collector.http.get("/openapi.json").json()["components"]["schemas"]
        jsonschema.validate(pooled, {**schemas["Estimate"], "components": {"schemas": schemas}})
        shown = collector.http.get("/metrics/estimates").text
        assert f'untrackable_estimate_people{{campaign="{asked.id}"' in shown
        assert str(second["people"]["upper"]) in shown
