"""The share of a search that is done: from 0 to 1, and only ever more, by the prefixes that are looked at."""

from itertools import pairwise

import pytest

from untrackable import DiscoveredStrings
from untrackable.discovery.discovery import search_seconds, search_share

WORDS = DiscoveredStrings(salt=bytes(16), alphabet="abcdefgh", longest=6, prefixes=[2, 4, 6, 6], bucket_bits=12)


@pytest.mark.parametrize("passes", [3, 5])
def test_shares_go_from_0_to_1(passes: int) -> None:
    shown = [
        search_share(WORDS, 64, number, level, done)
        for number in range(1, passes + 1)
        for level in range(1, WORDS.levels + 1)
        for done in (0.0, 0.5, 1.0)
    ]
    within = len(shown) if passes == 3 else 3 * 3 * WORDS.levels
    assert shown[0] == 0.0
    assert shown[-1] == pytest.approx(1.0)
    assert shown[:within] == sorted(shown[:within])
    assert all(0 <= share <= 1 for share in shown)


def test_a_further_pass_is_not_as_if_nothing_were_done() -> None:
    assert 0.5 < search_share(WORDS, 64, 4, 1, 0.0) < search_share(WORDS, 64, 3, WORDS.levels, 1.0)


def test_a_level_counts_by_the_prefixes_that_it_looks_at() -> None:
    """A beam that is twice as wide takes twice as long at every level but the first."""
    level = [search_share(WORDS, 1 << 16, 1, number, 0.0) for number in range(1, WORDS.levels + 1)]
    first, second, third = (after - before for before, after in pairwise(level))
    assert first < second == pytest.approx(third)
    assert search_seconds(WORDS, 1 << 18) == pytest.approx(2 * search_seconds(WORDS, 1 << 17), rel=0.1)
