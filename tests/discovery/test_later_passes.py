"""Later passes of a search: they find what heavier strings hid, and keep the stated rate of false strings.

Rates are over fixed seeds. A right program would miss the bounds with probability below 1e-6 over their draw.
"""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from tests.discovery.test_string_discovery import collected
from untrackable import DiscoveredStrings, discover
from untrackable.arrays import FloatArray
from untrackable.discovery import discovery
from untrackable.discovery.discovery import Evidence, levels_to_reach, string_evidence
from untrackable.discovery.prefix_search import BucketTables, KeptPrefixes, search

ALPHA = 0.5
RUNS = 120
# Shares fall by half, many share prefixes, and everyone's strings are close to those that nobody holds.
FALLING = [
    s for i, s in enumerate(("aabbabaa", "aabbabbb", "babaabab", "babaaaaa", "abbbabab")) for _ in range(2560 >> i)
]
SIBLINGS = ["aabb" + f"{i % 5:04b}".replace("0", "a").replace("1", "b") for i in range(4000)]
POPULATIONS = {"falling": FALLING, "siblings": [*SIBLINGS, *["bbbbbbbb"] * 800]}


def encoding(run: int) -> DiscoveredStrings:
    return DiscoveredStrings(
        salt=run.to_bytes(16, "big"), longest=8, shortest=8, prefixes=(4, 8, 8), alphabet="ab", bucket_bits=8
    )


def searches(people: Sequence[str]) -> tuple[int, list[int]]:
    """How many searches accept a string that nobody holds, and how many passes each took."""
    wrong, passes = 0, []
    for run in range(RUNS):
        words = encoding(run)
        found = discover(words, collected(words, people, 2.0, seed=run), alpha=ALPHA, beam=64, leads=0)
        wrong += any(entry.string not in people for entry in found.strings)
        passes.append(found.passes)
    return wrong, passes


@pytest.mark.parametrize("name", POPULATIONS)
def test_the_stated_rate_holds_for_all_passes_together(name: str) -> None:
    wrong, passes = searches(POPULATIONS[name])
    assert binom.sf(wrong - 1, RUNS, ALPHA) > 1e-6, f"{wrong} of {RUNS}"
    assert np.mean(np.array(passes) >= 3) > 0.25, "later passes must happen to be tested"


def test_the_rate_would_not_hold_if_later_passes_had_one_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above notices a program that forgets in later passes how many strings there are."""

    def careless(words: DiscoveredStrings, tables: BucketTables, kept: list[KeptPrefixes]) -> Evidence:
        found = string_evidence(words, tables, kept)
        first = tables.steps.max() > 24 * 12  # The heaviest string has not been taken out yet.
        return found if first else found._replace(adjusted=tables.null.tail(0, 3, kept[-1].steps.sum(axis=1)))

    monkeypatch.setattr(discovery, "string_evidence", careless)
    wrong, _ = searches(FALLING)
    assert binom.sf(wrong - 1, RUNS, ALPHA) < 1e-6, f"{wrong} of {RUNS}"


def test_no_other_string_has_an_influence_on_what_is_taken_out() -> None:
    """Without prefixes that nobody shares, ranks and adjusted p-values change; what is taken out does not."""
    words = encoding(3)
    entries = discovery._levels(words, collected(words, FALLING, 2.0, seed=3)).entries()
    tables = BucketTables(entries, levels_to_reach(words, ALPHA))
    kept = search(words, tables, 64, lambda level, done: None)
    shared = {tuple("ab".index(symbol) + 1 for symbol in string[:4]) for string in FALLING}
    stays = np.array([tuple(row[:4]) in shared for row in kept[0].symbols.tolist()])
    assert 0 < stays.sum() < stays.size
    fewer = _without(kept, stays)
    before, after = string_evidence(words, tables, kept), string_evidence(words, tables, fewer)
    left = stays[kept[1].parents][kept[2].parents]
    assert np.array_equal(before.own[left], after.own)
    assert not np.array_equal(before.adjusted[left], after.adjusted)


def test_a_search_takes_out_what_no_other_string_has_an_influence_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search asks by the strings' own evidence, and takes out nothing besides what is clear."""
    own: list[FloatArray] = []
    asked: list[FloatArray] = []

    def noted(words: DiscoveredStrings, tables: BucketTables, kept: list[KeptPrefixes]) -> Evidence:
        found = string_evidence(words, tables, kept)
        own.append(found.own)
        return found

    def nothing(given: FloatArray, alpha: float, names: list[str | None], accepted: dict[str, float]) -> set[str]:
        asked.append(given)
        return set()

    monkeypatch.setattr(discovery, "string_evidence", noted)
    monkeypatch.setattr(discovery, "_clear", nothing)
    words = encoding(3)
    found = discover(words, collected(words, FALLING, 2.0, seed=3), alpha=ALPHA, beam=64, leads=0)
    assert found.strings
    assert found.passes == len(asked) == 1
    assert np.array_equal(asked[0], own[0] / discovery.table_share(1))


def _without(kept: list[KeptPrefixes], stays: NDArray[np.bool_]) -> list[KeptPrefixes]:
    """The same search, had the other first prefixes not been kept."""
    found = []
    for level, prefixes in enumerate(kept):
        if level:
            numbers = np.cumsum(stays) - 1
            parents, stays = prefixes.parents, stays[prefixes.parents]
            parents = numbers[parents]
        else:
            parents = prefixes.parents
        found.append(
            KeptPrefixes(
                prefixes.symbols[stays],
                prefixes.ends[stays],
                prefixes.states[stays],
                prefixes.steps[stays],
                parents[stays],
                prefixes.tried,
            )
        )
    return found


def test_a_string_is_taken_out_only_with_all_that_are_as_clear() -> None:
    own = np.array([1e-9, 1e-3, 1e-3, 0.3])
    names: list[str | None] = ["a", "b", "c", "d"]
    clear = discovery._clear
    assert clear(own, 0.5, names, dict.fromkeys("abcd", 0.1)) == {"a", "b", "c", "d"}
    assert clear(own, 0.5, names, dict.fromkeys("abc", 0.1)) == {"a", "b", "c"}
    assert clear(own, 0.5, names, dict.fromkeys("abd", 0.1)) == {"a"}
    assert clear(own, 0.5, names, dict.fromkeys("bcd", 0.1)) == set()
