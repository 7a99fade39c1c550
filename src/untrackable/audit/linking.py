"""The attack that untrackability is about: match reports seen in one place with reports seen in another."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from untrackable import checks


@dataclass(frozen=True, slots=True)
class Matched:
    """Share of people matched correctly (sampled), with an exact confidence interval (Clopper-Pearson)."""

    people: int
    sampled: float
    lower: float
    upper: float
    level: float


def match(scores: NDArray[np.float64], level: float = 0.95) -> Matched:
    """Match each row to its highest-scoring column; person i is row i and column i.

    `scores` are log-likelihood ratios of one user against two. Ties are broken at random, so a person tied with
    m - 1 others counts as 1/m.
    """
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1]:
        raise ValueError(f"scores must be a square matrix, got shape {scores.shape}")
    level = checks.open_probability("level", level)
    best = scores == scores.max(axis=1, keepdims=True)
    hits = float((np.diag(best) / best.sum(axis=1)).sum())
    people = scores.shape[0]
    tail = (1 - level) / 2
    lower = float(betaincinv(hits, people - hits + 1, tail)) if hits > 0 else 0.0
    upper = float(betaincinv(hits + 1, people - hits, 1 - tail)) if hits < people else 1.0
    return Matched(people, hits / people, lower, upper, level)
