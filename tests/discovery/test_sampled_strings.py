"""The error of a found string counts who answered, and whose report was about the whole string."""

import math

import numpy as np
from scipy.stats import chi2

from untrackable import DiscoveredStrings, Fresh
from untrackable.discovery.discovery import _levels, _measured, string_estimate
from untrackable.estimation.estimate import share_heard
from untrackable.theory.turns import Turns

ALARM, TIMES, PEOPLE = 1e-6, 300, 4_000


def test_standard_errors_are_the_spread_of_the_estimates() -> None:
    """One round of four of a fixed population; without the sample, the error would be too small."""
    encoding = DiscoveredStrings(longest=2, prefixes=(1, 2), salt=bytes(16), bucket_bits=8)
    mechanism, turns = Fresh(encoding.local(6.0)), Turns(rounds=4)
    held = encoding.encode_many(["ab", "cd"] * (PEOPLE // 2))
    rng = np.random.default_rng(1)
    found, said, noise = (np.zeros(TIMES) for _ in range(3))
    for seed in range(TIMES):
        answering = held[rng.random(PEOPLE) < float(turns.chance)]
        sums = mechanism.aggregator()
        for batch in mechanism.simulate(answering, rounds=1, seed=seed):
            sums.add(batch.reports)
        levels = _levels(encoding, sums)
        entries = levels.entries()
        (one,) = _measured(encoding, levels, entries, {"ab": 0.0}, 0.05, share_heard(turns, 1))
        alone = string_estimate(levels, entries, held[0].astype(np.int64), np.array([False, True]))
        assert alone is not None
        found[seed], said[seed], noise[seed] = one.frequency, one.standard_error, alone.standard_error
        assert one.frequency == alone.frequency
        assert one.lower <= 0.5 <= one.upper
    low, high = (math.sqrt(float(chi2.ppf(rate, TIMES - 1)) / (TIMES - 1)) for rate in (ALARM, 1 - ALARM))
    assert low < found.std() / math.sqrt(np.mean(said**2)) < high
    assert found.std() / math.sqrt(np.mean(noise**2)) > high
    assert share_heard(None, 5) == 1
    assert share_heard(turns, 2) == 0
