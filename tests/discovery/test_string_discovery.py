"""Strings that nobody listed: found when frequent, and hardly ever made up.

Rates are over seeds that are fixed, so that nothing is left to chance; the bounds are those that a right program
would miss with probability below 1e-6 over the draw of seeds.
"""

import json
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binom

from untrackable import Deck, DiscoveredStrings, Fresh, NoisyInnerProduct, discover
from untrackable.discovery import discovery
from untrackable.discovery.discovery import Discovered, Evidence
from untrackable.discovery.prefix_search import BucketTables, KeptPrefixes
from untrackable.mechanisms.string_levels import LevelAggregator

SMALL = {"longest": 6, "shortest": 6, "prefixes": (3, 6, 6), "alphabet": "ab", "bucket_bits": 7}


def collected(encoding: DiscoveredStrings, people: Sequence[str], eps: float, seed: int) -> LevelAggregator:
    mechanism = Fresh(encoding.local(eps))
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(encoding.encode_many(people), rounds=1, seed=seed):
        sums.add(batch.reports)
    assert isinstance(sums, LevelAggregator)
    return sums


def small_runs(runs: int, alpha: float, people: Sequence[str]) -> int:
    """How many searches call a string certain that nobody holds."""
    wrong = 0
    for run in range(runs):
        encoding = DiscoveredStrings(salt=run.to_bytes(16, "big"), **SMALL)  # type: ignore[arg-type]
        found = discover(encoding, collected(encoding, people, 1.0, seed=run), alpha=alpha, beam=64, leads=0)
        wrong += any(entry.string not in people for entry in found.strings)
    return wrong


POPULATIONS = {
    "one heavy": ["aabbab"] * 500 + ["bbbbbb"] * 20,
    "two that share a prefix": ["aabbab"] * 400 + ["aabaaa"] * 300,
    "five": [s for s in ("aabbab", "babbab", "abbaba", "bbabba", "aaaaaa") for _ in range(150)],
    "none": ["abababab"[i % 2 : i % 2 + 6] for i in range(2)],
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_stated_rate_of_false_strings_is_kept(name: str) -> None:
    runs, alpha = 150, 0.1
    wrong = small_runs(runs, alpha, POPULATIONS[name])
    assert binom.sf(wrong - 1, runs, alpha) > 1e-6, f"{wrong} of {runs}"


def test_with_one_test_of_the_mean_the_rate_would_not_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same test finds out a program that forgets how many strings there are, and that prefixes are shared."""

    def naive(encoding: DiscoveredStrings, tables: BucketTables, kept: list[KeptPrefixes]) -> Evidence:
        alone = tables.null.tail(0, len(kept), kept[-1].steps.sum(axis=1))
        return Evidence(alone, alone, alone)

    monkeypatch.setattr(discovery, "string_evidence", naive)
    wrong = small_runs(60, 0.1, POPULATIONS["one heavy"])
    assert binom.sf(wrong - 1, 60, 0.1) < 1e-6


def test_all_tables_of_all_passes_share_one_error_rate() -> None:
    tables = [len(discovery.LIMITS) ** (k - 1) for k in range(1, 60)]
    shares = [count * discovery.table_share(k) for k, count in enumerate(tables, 1)]
    assert shares[:4] == pytest.approx([0.4, 0.4, 0.1, 0.05])
    assert sum(shares) == pytest.approx(1, abs=1e-12)
    assert sum(shares) <= 1 + 1e-12


@pytest.fixture(scope="module")
def population() -> dict[str, int]:
    rng = np.random.default_rng(5)
    weights = np.arange(1, 20_000) ** -1.3
    counts = rng.multinomial(60_000, weights / weights.sum())
    names = rng.choice(16**6, counts.size, replace=False)
    return {f"{name:06x}": int(count) for name, count in zip(names, counts, strict=True) if count}


@pytest.fixture(scope="module")
def hexadecimal() -> DiscoveredStrings:
    return DiscoveredStrings(
        salt=bytes(range(16)),
        longest=6,
        shortest=6,
        prefixes=(4, 6, 6),
        alphabet="0123456789abcdef",
        bucket_bits=16,
    )


@pytest.fixture(scope="module")
def searched(population: dict[str, int], hexadecimal: DiscoveredStrings) -> Discovered:
    people = [name for name, count in population.items() for _ in range(count)]
    return discover(hexadecimal, collected(hexadecimal, people, 2.0, seed=1), beam=512)


def test_every_frequent_string_is_found(
    searched: Discovered, population: dict[str, int], hexadecimal: DiscoveredStrings
) -> None:
    accuracy = Fresh(hexadecimal.local(2.0)).accuracy(60_000, beta=0.05 / 16**6)
    limit = accuracy.radius + 3 * accuracy.standard_error
    frequent = {name for name, count in population.items() if count / 60_000 > limit}
    found = {entry.string for entry in searched.strings}
    assert len(frequent) >= 2
    assert frequent <= found
    assert found <= set(population)


def test_frequencies_lie_in_their_intervals(searched: Discovered, population: dict[str, int]) -> None:
    for entry in searched.strings:
        truth = population[entry.string] / 60_000
        assert entry.lower <= truth <= entry.upper
        assert abs(entry.frequency - truth) < 6 * entry.standard_error
        assert entry.p_value <= searched.alpha
    shares = [entry.frequency for entry in searched.strings]
    assert shares == sorted(shares, reverse=True)


def test_leads_come_after_what_is_certain(searched: Discovered) -> None:
    assert len(searched.leads) == 10
    assert all(entry.p_value > searched.alpha for entry in searched.leads)
    assert searched.best(3) == [*searched.strings, *searched.leads][:3]
    assert len({entry.string[:4] for entry in searched.leads}) == 10
    assert searched.passes >= 2
    assert searched.tried > 16**4


def test_written_down(searched: Discovered) -> None:
    read = json.loads(searched.to_json())
    assert read["strings"][0]["string"] == searched.strings[0].string
    assert (read["n"], read["alpha"]) == (60_000, 0.05)
    assert read["certainty"]["p_value"] == "upper"


def test_unicode_strings_of_any_length() -> None:
    encoding = DiscoveredStrings(salt=bytes(16), longest=8, prefixes=(2, 4, 6, 8, 8), bucket_bits=18)
    people = ["日本"] * 6000 + ["é"] * 5000 + [""] * 4000 + [f"{i:x}" for i in range(2000)]
    found = discover(encoding, collected(encoding, people, 6.0, seed=2), beam=64)
    assert [entry.string for entry in found.strings] == ["日本", "é", ""]
    letters = DiscoveredStrings(salt=bytes(16), longest=6, prefixes=(3, 6, 6), alphabet="абвгдеё", bucket_bits=14)
    people = ["где"] * 3000 + ["а"] * 2000 + ["гдебе"] * 2000 + ["ё" * 6] * 1000
    found = discover(letters, collected(letters, people, 5.0, seed=3), beam=64)
    assert {entry.string for entry in found.strings} == {"где", "а", "гдебе", "ё" * 6}


def test_no_heavy_hitter() -> None:
    encoding = DiscoveredStrings(
        salt=bytes(16), longest=6, shortest=6, prefixes=(4, 6, 6), alphabet="0123456789abcdef", bucket_bits=16
    )
    people = [f"{name:06x}" for name in np.random.default_rng(1).choice(16**6, 20_000, replace=False)]
    found = discover(encoding, collected(encoding, people, 2.0, seed=4), leads=3)
    assert found.strings == ()
    assert len(found.leads) == 3


@pytest.mark.parametrize("people", [1, 2, 5])
def test_few_reports_say_nothing(people: int) -> None:
    encoding = DiscoveredStrings(salt=bytes(16), **SMALL)  # type: ignore[arg-type]
    found = discover(encoding, collected(encoding, ["ababab"] * people, 1.0, seed=5))
    assert found.n == people
    assert found.strings == ()


def test_progress_is_told() -> None:
    encoding = DiscoveredStrings(salt=bytes(16), **SMALL)  # type: ignore[arg-type]
    told: list[tuple[int, int, float]] = []
    found = discover(
        encoding, collected(encoding, ["ababab"] * 2000, 4.0, seed=6), progress=lambda *step: told.append(step)
    )
    assert told == sorted(told)
    assert told[-1] == (found.passes, 3, 1.0)
    assert [string.string for string in found.strings] == ["ababab"]


def test_cards_of_many_rounds_are_pooled() -> None:
    """A deck: everyone answers forty rounds, all of them together with a stated privacy."""
    encoding = DiscoveredStrings(salt=bytes(16), **SMALL)  # type: ignore[arg-type]
    deck = encoding.deck(slots=40, eps=4.0, delta=1e-6)
    sums = deck.aggregator()
    for batch in deck.simulate(encoding.encode_many(["babbab"] * 1500 + ["aaaaaa"] * 500), rounds=40, seed=7):
        sums.add(batch.reports)
    found = discover(encoding, sums)
    assert [entry.string for entry in found.strings] == ["babbab", "aaaaaa"]
    assert found.n == 80_000


def test_what_does_not_belong_together_is_refused() -> None:
    encoding = DiscoveredStrings(salt=bytes(16), **SMALL)  # type: ignore[arg-type]
    other = DiscoveredStrings(salt=bytes(16), **{**SMALL, "prefixes": (3, 6)})  # type: ignore[arg-type]
    sums = collected(encoding, ["ababab"] * 10, 1.0, seed=1)
    with pytest.raises(ValueError, match="sums must be of 2 levels of 7 bits, as the encoding, got 3 of 7"):
        discover(other, sums)
    with pytest.raises(ValueError, match="no reports"):
        discover(encoding, Fresh(encoding.local(1.0)).aggregator())
    with pytest.raises(TypeError, match="sums must be those of reports with levels"):
        discover(encoding, Deck(bits=7, slots=1, eps_report=1.0).aggregator())
    with pytest.raises(TypeError, match="encoding must be DiscoveredStrings, not NoisyInnerProduct"):
        discover(NoisyInnerProduct(bits=7, eps=1.0), sums)  # type: ignore[arg-type]
    for name, given in (("alpha", 0.0), ("leads", -1), ("beam", 0)):
        with pytest.raises(ValueError, match=f"{name} must be"):
            discover(encoding, sums, **{name: given})  # type: ignore[arg-type]


def test_strings_that_share_a_prefix_do_not_count_for_each_other() -> None:
    """A fifth hold one string, as many others begin like it and are too rare to be found; intervals still hold."""
    encoding = DiscoveredStrings(salt=bytes(16), alphabet="abcdefgh", longest=6, prefixes=[3, 6, 6], bucket_bits=16)
    rng = np.random.default_rng(5)
    letters = np.array(list(encoding.alphabet))
    others = ["".join(row) for row in letters[rng.integers(0, 8, (30_000, 6))]]
    begun = ["abc" + "".join(row) for row in letters[rng.integers(0, 8, (10_000, 3))]]
    people = ["abcabc"] * 10_000 + begun + others
    mechanism = Fresh(encoding.local(6.0))
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(encoding.encode_many(people), rounds=1, seed=1):
        sums.add(batch.reports)
    (first, *_) = discover(encoding, sums).strings
    truth = people.count("abcabc") / len(people)
    assert first.string == "abcabc"
    assert first.lower <= truth <= first.upper < 1.3 * truth
    assert abs(first.frequency - truth) < 6 * first.standard_error
