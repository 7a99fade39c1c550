"""An attack on untrackability: match reports from one place with reports from another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from untrackable import checks
from untrackable.auditing.confidence import Matched, clopper_pearson
from untrackable.auditing.different_values import matched_upper
from untrackable.brackets import Bracket
from untrackable.kernels.engine import Engine, in_main_memory, on_gpu, running_on
from untrackable.mechanisms.interface import Mechanism
from untrackable.progress import Progress, no_progress

FloatArray = NDArray[np.float64]

LARGEST_ASSIGNMENT = 4000
"""Up to this many people are also matched all at once. That takes the whole table of scores, and cubic time."""
_SCORES = 1 << 22
"""With more people, about this many scores are kept at a time."""
_SCORES_ON_GPU = 1 << 29
"""The same on a GPU: 4 GiB, and about three times as much while they are computed."""
_STRANGERS = 1 << 22
"""About this many pairs of two different people are scored, to compare with each person's own score."""
_SHORT = 5
"""The length of the short list of best matches: `top5` is the share of people whose right match is on it."""
_IMPOSSIBLE = -1e9
"""The score of an impossible match. It is finite, because the assignment needs finite scores."""


@dataclass(frozen=True, slots=True)
class Linked:
    """How well the attack recognised people (sampled), and bounds from the engine.

    `top1` and `top5` are the shares of people whose right match came first, or among the first five. Each person is
    matched alone, and ties are broken at random. `assignment` is the share of right matches if all people are
    matched at once. It is None for more than `LARGEST_ASSIGNMENT` people. `auc` is the probability that a person's
    own reports score higher than those of another person. `top1_bound`, `top5_bound` and `auc_bound` hold if each
    person is matched alone. An attack that matches all people at once may do better. For a distribution of values
    there is no `auc_bound`.
    """

    people: int
    reports: int
    top1: Matched
    top5: Matched
    auc: Matched
    assignment: Matched | None
    top1_bound: Bracket | None
    top5_bound: Bracket | None
    auc_bound: Bracket | None


def link(
    mechanism: Mechanism,
    *,
    people: int = 1000,
    reports: int = 10,
    value: Any = 0,
    distribution: Sequence[float] | None = None,
    seed: int = 1,
    level: float = 0.95,
    engine: Engine = "local",
    progress: Progress = no_progress,
) -> Linked:
    """Simulate `people` who send `reports` reports from each of two places, and match them by likelihood.

    All people hold `value`, as in the definition. With a `distribution`, each person holds a random value 0, 1, …;
    the observer knows the distribution, but not the values. The engine `cuda` matches them on a GPU; scores are not
    integers, so those that are nearly equal may change places there.
    """
    people, reports = checks.integer("people", people, low=2), checks.integer("reports", reports, low=1)
    level = checks.open_probability("level", level)
    weights = None if distribution is None else _weights(distribution)
    # Simulation draws from [seed, number of the first client], so this stream is independent of it.
    rng = np.random.default_rng([checks.integer("seed", seed, low=0), 1, people])
    values = np.full(people, value) if weights is None else rng.choice(weights.size, size=people, p=weights)
    sent = []
    for batch in mechanism.simulate(values, rounds=2 * reports, seed=seed):
        sent.append(batch.reports)
        progress("reports", min(1.0, (batch.start + len(batch.reports)) / people))
    both = np.concatenate(sent)
    # The columns are shuffled, because their order must not reveal the right match where scores tie.
    order = rng.permutation(people)
    first, second = both[:, :reports], both[order, reports:]
    progress("matching", 0.0)
    rows = _rows(mechanism, first, second, value, weights)
    with running_on(engine):
        matched = _matched(rows, np.argsort(order), rng, level, progress)
    bounds = (
        _bounds(mechanism, value, people, reports)
        if weights is None
        else _bounds_apart(mechanism, weights, people, reports)
    )
    return Linked(people, reports, *matched, *bounds)


def _matched(
    rows: Callable[[slice], FloatArray],
    places: NDArray[np.int64],
    rng: np.random.Generator,
    level: float,
    progress: Progress,
) -> tuple[Matched, Matched, Matched, Matched | None]:
    """Match the person of each row, whose own column is at `places`; by parts of the table, if it is large."""
    people = places.size
    size = people if people <= LARGEST_ASSIGNMENT else max(1, (_SCORES_ON_GPU if on_gpu() else _SCORES) // people)
    table = np.empty((0, 0))
    ranks, own, others = [], [], []
    for start in range(0, people, size):
        mine = places[start : start + size]
        table = rows(slice(start, start + size))
        ranks.append(ranks_of_own(table, mine))
        own.append(in_main_memory(table[np.arange(len(mine)), mine]))
        others.append(_strangers(table, mine, rng))
        progress("matching", min(1.0, (start + size) / people))
    above, ties = np.concatenate(ranks, axis=1)
    return (
        share(np.clip((1 - above) / ties, 0, 1), level),
        share(np.clip((_SHORT - above) / ties, 0, 1), level),
        area(np.concatenate(own), np.concatenate(others), level),
        _assigned(in_main_memory(table), places, level) if size == people else None,
    )


def match(scores: FloatArray, level: float = 0.95) -> Matched:
    """Match each row to its highest-scoring column. Person i is row i and column i.

    `scores` are log-likelihood ratios of one person against two. Ties are broken at random, so a person tied with
    m - 1 others counts as 1/m.
    """
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1]:
        raise ValueError(f"scores must be a square matrix, got shape {scores.shape}")
    above, ties = ranks_of_own(scores, np.arange(scores.shape[0]))
    return share(np.clip((1 - above) / ties, 0, 1), level)


def _weights(distribution: Sequence[float]) -> FloatArray:
    weights = np.asarray(distribution, dtype=np.float64)
    if weights.ndim != 1 or weights.size == 0 or not np.all(weights >= 0) or not 0 < weights.sum() < np.inf:
        raise ValueError("distribution must be a list of weights, none negative and not all 0")
    result: FloatArray = weights / weights.sum()
    return result


def _rows(
    mechanism: Mechanism, first: NDArray[Any], second: NDArray[Any], value: Any, weights: FloatArray | None
) -> Callable[[slice], FloatArray]:
    """A function that computes the scores of some rows against all columns."""
    if weights is None:
        return lambda some: mechanism.link_scores(first[some], second, value)
    held = [v for v, weight in enumerate(weights) if weight > 0]
    if len(held) == 1:
        return lambda some: mechanism.link_scores(first[some], second, held[0])
    reports = first.shape[1]
    sides = first, range(1, reports + 1), second, range(reports + 1, 2 * reports + 1)
    logs = np.log(weights[held])[:, None]
    left, right = (
        logs + np.array([mechanism.log_likelihood(side, v, list(rounds)) for v in held])
        for side, rounds in (sides[:2], sides[2:])
    )
    alone = logsumexp(left, axis=0), logsumexp(right, axis=0)

    def mixed(some: slice) -> FloatArray:
        """ln[Σ π(u)·P(a, b | u) / (Σ π(u)·P(a | u) · Σ π(u)·P(b | u))], summed over the values u."""
        total = np.full((left[:, some].shape[1], second.shape[0]), -np.inf)
        for i, v in enumerate(held):
            scores = in_main_memory(mechanism.link_scores(first[some], second, v))
            np.logaddexp(total, scores + left[i, some, None] + right[i, None, :] - logs[i], out=total)
        return total - alone[0][some, None] - alone[1][None, :]

    return mixed


def ranks_of_own(scores: FloatArray, places: NDArray[np.int64]) -> FloatArray:
    """For each row, how many columns score higher than the right one, and how many score the same as it."""
    own = scores[np.arange(len(places)), places][:, None]
    counts = [in_main_memory(which.sum(axis=1)) for which in (scores > own, scores == own)]
    return np.array(counts, dtype=np.float64)


def share(hits: FloatArray, level: float) -> Matched:
    """The share with its Clopper-Pearson interval, as if people were independent, although they share a crowd."""
    people = hits.size
    lower, upper = clopper_pearson(float(hits.sum()), people, level)
    return Matched(people, float(hits.mean()), lower, upper, level)


def _strangers(scores: FloatArray, places: NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
    """Scores of people against other people: all scores, or a random sample if there are many."""
    columns = scores.shape[1]
    each = min(columns - 1, max(1, _STRANGERS // columns))
    steps = np.arange(1, columns) if each == columns - 1 else rng.integers(1, columns, size=(len(places), each))
    return in_main_memory(scores[np.arange(len(places))[:, None], (places[:, None] + steps) % columns]).reshape(-1)


def area(own: FloatArray, others: FloatArray, level: float) -> Matched:
    """The area under the curve: the mean share of other people's scores that are below a person's own.

    It has the empirical Bernstein interval (Maurer and Pontil 2009), which assumes independent people.
    """
    ordered = np.sort(others)
    below, upto = (np.searchsorted(ordered, own, side) for side in ("left", "right"))
    placements = (below + upto) / (2 * ordered.size)
    people, mean = placements.size, float(placements.mean())
    weight = np.log(4 / (1 - level))
    reach = float(np.sqrt(2 * placements.var(ddof=1) * weight / people) + 7 * weight / (3 * (people - 1)))
    return Matched(people, mean, max(0.0, mean - reach), min(1.0, mean + reach), level)


def _assigned(scores: FloatArray, places: NDArray[np.int64], level: float) -> Matched:
    rows, columns = linear_sum_assignment(np.maximum(scores, _IMPOSSIBLE), maximize=True)
    return share((columns[np.argsort(rows)] == places).astype(np.float64), level)


def _bounds_apart(
    mechanism: Mechanism, weights: FloatArray, people: int, reports: int
) -> tuple[Bracket | None, Bracket | None, None]:
    """The same for people with random values; none if the engine takes no such question."""
    try:
        first, five = matched_upper(mechanism, reports, weights, (1 / people, min(1.0, _SHORT / people)))
    except ValueError:
        return None, None, None
    return first, five, None


def _bounds(mechanism: Mechanism, value: Any, people: int, reports: int) -> tuple[Bracket, Bracket, Bracket]:
    """The best power at false positive rates 1/M and 5/M, and the area below the curve.

    An attack that picks one of M candidates is a test of one person against two. If none of the candidates is the
    right person, all M are alike, and the attack picks each with probability 1/M.
    """
    pair = mechanism.tracking_of(value, rounds=range(1, 2 * reports + 1), first=range(1, reports + 1))
    return pair.power(1 / people), pair.power(min(1.0, _SHORT / people)), pair.auc()
