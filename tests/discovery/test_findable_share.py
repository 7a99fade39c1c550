"""From which share on strings are found, and intervals of few strings in few buckets."""

from collections import Counter

import pytest
from scipy.stats import binom

from tests.discovery.test_string_discovery import collected
from untrackable import DiscoveredStrings, discover

FIVE = ["abcaab", "hgfeab", "bbbbab", "cafeab", "gageab"]
TEN = [f"{i * 25:08b}".replace("0", "a").replace("1", "b") for i in range(1, 11)]


def words(bucket_bits: int, prefixes: list[int]) -> DiscoveredStrings:
    return DiscoveredStrings(
        salt=bytes(16), alphabet="abcdefgh", longest=6, prefixes=prefixes, bucket_bits=bucket_bits
    )


def test_with_few_buckets_no_share_is_enough() -> None:
    """2^27 places for a string are too few for 8^6 strings of seven lengths at this error rate."""
    encoding = words(9, [3, 6, 6])
    found = discover(encoding, collected(encoding, ["abcaab"] * 5000, 4.0, seed=1))
    assert found.strings == ()
    assert found.findable is None
    assert '"findable":null' in found.to_json().replace(" ", "")


@pytest.mark.parametrize(("bucket_bits", "prefixes"), [(9, [3, 5, 6, 6]), (9, [3, 6, 6, 6]), (12, [3, 6, 6])])
def test_five_strings_hide_each_other_in_few_buckets(bucket_bits: int, prefixes: list[int]) -> None:
    encoding = words(bucket_bits, prefixes)
    found = discover(encoding, collected(encoding, [string for string in FIVE for _ in range(4000)], 4.0, seed=1))
    assert len(found.strings) < 5
    assert found.findable is not None
    assert 0.19 < found.findable < 0.24
    alone = discover(encoding, collected(encoding, ["abcaab"] * 20_000, 4.0, seed=1))
    assert [entry.string for entry in alone.strings] == ["abcaab"]
    assert alone.findable is not None
    assert alone.findable < 0.02


@pytest.mark.parametrize(("reports", "eps"), [(20_000, 4.0), (4000, 4.0), (4000, 2.0)])
def test_strings_are_found_from_about_that_share_on(reports: int, eps: float) -> None:
    """Twice the share is nearly always found, a third of it hardly ever."""
    encoding, others = words(16, [3, 6, 6]), ["bbbbab", "gageab"]
    share = discover(encoding, collected(encoding, [others[i % 2] for i in range(reports)], eps, seed=1)).findable
    assert share is not None
    for factor, often in ((2.0, True), (1 / 3, False)):
        held = round(factor * share * reports)
        people = ["abcaab"] * held + [others[i % 2] for i in range(reports - held)]
        found = 0
        for seed in range(10):
            strings = discover(encoding, collected(encoding, people, eps, seed=seed), leads=0).strings
            found += any(entry.string == "abcaab" for entry in strings)
        assert found >= 9 if often else found <= 1


def test_intervals_hold_for_few_strings_that_collide() -> None:
    """Ten strings in 2^10 buckets: in about one of eleven populations two of them share a bucket."""
    runs, alpha, missed, counts = 150, 0.02, 0, Counter(TEN)
    for run in range(runs):
        encoding = DiscoveredStrings(
            salt=run.to_bytes(16, "big"), longest=8, shortest=8, prefixes=(4, 8, 8), alphabet="ab", bucket_bits=10
        )
        found = discover(encoding, collected(encoding, TEN * 1500, 6.0, seed=run), alpha=alpha, beam=64, leads=0)
        missed += any(not e.lower <= counts[e.string] / len(TEN) <= e.upper for e in found.strings)
    assert binom.sf(missed - 1, runs, alpha) > 1e-3, f"{missed} of {runs}"
