"""Exact confidence bounds for a probability, from a number of hits and trials (Clopper and Pearson 1934)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks


def lower_bound(hits: ArrayLike, trials: ArrayLike, error: float) -> NDArray[np.float64]:
    """A one-sided bound: for every true probability, it is too large with probability at most `error`."""
    from scipy.special import betaincinv

    h, n = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    with np.errstate(invalid="ignore"):
        bound = betaincinv(np.maximum(h, 1e-300), n - h + 1, error)
    return np.where(h > 0, bound, 0.0)


def upper_bound(hits: ArrayLike, trials: ArrayLike, error: float) -> NDArray[np.float64]:
    """A one-sided bound: for every true probability, it is too small with probability at most `error`."""
    h, n = np.broadcast_arrays(np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    return 1.0 - lower_bound(n - h, n, error)


def clopper_pearson(hits: float, trials: int, level: float) -> tuple[float, float]:
    """A two-sided interval that contains the true probability with probability at least `level`."""
    level = checks.open_probability("level", level)
    if not 0 <= hits <= trials or trials < 1:
        raise ValueError(f"hits must be between 0 and trials, and trials at least 1; got {hits} of {trials}")
    tail = (1 - level) / 2
    return float(lower_bound(hits, trials, tail)), float(upper_bound(hits, trials, tail))


class Share(NamedTuple):
    """A share of hits among trials (sampled), with its two-sided Clopper-Pearson interval."""

    hits: int
    trials: int
    sampled: float
    lower: float
    upper: float

    @staticmethod
    def of(hits: int, trials: int, level: float) -> "Share":
        """The share and its interval at this level."""
        lower, upper = clopper_pearson(hits, trials, level)
        return Share(int(hits), int(trials), hits / trials, lower, upper)


@dataclass(frozen=True, slots=True)
class Matched:
    """A share or an area (sampled), with its confidence interval."""

    people: int
    sampled: float
    lower: float
    upper: float
    level: float
