"""Tracking people whose values change, where a client keeps an independent state for each value."""

from collections import Counter
from functools import lru_cache
from typing import Literal, Protocol

from untrackable.theory.dominating_experiment import dominating_experiment
from untrackable.theory.experiment import Experiment, Mixture, Worst
from untrackable.theory.tracking_bounds import reports_of_two_values

MOST_VALUES = 100_000
"""The largest number of changing values that is bounded."""
_FEW = 32
"""Up to this many reports of one value are counted exactly; larger numbers are rounded up to a power of two."""


class WorstTracking(Protocol):
    """A function that bounds tracking by reports of one value, for the worst split."""

    def __call__(self, reports: int, *, gammas: Literal["one", "many"] = "one") -> Experiment | Mixture | Worst:
        """Tracking by this many reports, to be asked for one gamma or for many."""


def tracking_of_states(one_value: WorstTracking, reports: int, values: int) -> Experiment | Mixture | Worst:
    """One person against two people, who change between the same values at the same rounds (upper).

    The reports of each value are an experiment of their own, independent of the others. The i-th most frequent
    value has at most k/i of k reports, and at most k-2 unless it is the only one with two of them. A value with
    fewer than two reports reveals nothing. So one experiment of one value, or the product of the experiments of all
    values, dominates every sequence of values (docs/client.md).
    """
    values = min(values, reports // 2)
    if values < 2:
        return one_value(reports)
    if values > MOST_VALUES:
        raise ValueError(
            f"{values:,} values may be reported twice each; at most {MOST_VALUES:,} changing values are bounded"
        )
    alone = one_value(reports)
    cases = [*(alone.members if isinstance(alone, Worst) else [alone])]
    one = lru_cache(lambda size: dominating_experiment(one_value(size, gammas="many")))
    if values == 2:
        cases += [one(fewer) + one(more) for fewer, more in reports_of_two_values(reports)]
    else:
        sizes = Counter(min(reports - 2, _rounded(reports // i)) for i in range(1, values + 1))
        cases.append(sum((one(size) * count for size, count in sizes.items()), Experiment(certainty="upper")))
    return Worst(cases)


def _rounded(size: int) -> int:
    """The size rounded up, so that few different sizes have to be computed."""
    return size if size <= _FEW else 1 << (size - 1).bit_length()
