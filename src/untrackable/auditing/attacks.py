"""Attacks on a mechanism, simulated, with the bounds of the engine beside them.

- `link` attacks untrackability: it matches reports from one place with reports from another.
- `find_changes` attacks undetectability: it finds whether and when a person's value changed.
- `match_by_attendance` matches people by the rounds that they answer. A client answers a round once, so nobody is
  seen at two places in one round. The reports themselves are not needed.
- `followed` is `link` as reports grow, by a mechanism that can be linked and by one that cannot.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.brackets import Bracket
from untrackable.kernels.engine import Engine, in_main_memory, on_gpu, running_on
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.interface import Mechanism, Pair
from untrackable.mechanisms.rappor import Rappor
from untrackable.progress import Progress, no_progress
from untrackable.theory.accuracy import Matched, clopper_pearson
from untrackable.theory.turns import AMONG, recognition

# --- linking ----------------------------------------------------------------------------------------------

LEVEL = 0.95
"""The confidence of the interval of a sampled number."""
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
    engine: Engine = "local",
    progress: Progress = no_progress,
) -> Linked:
    """Simulate `people` who send `reports` reports from each of two places, and match them by likelihood.

    All people hold `value`, as in the definition. With a `distribution`, each person holds a random value 0, 1, …;
    the observer knows the distribution, but not the values. The engine `cuda` matches them on a GPU; scores are not
    integers, so those that are nearly equal may change places there.
    """
    people, reports = checks.integer("people", people, low=2), checks.integer("reports", reports, low=1)
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
        matched = _matched(rows, np.argsort(order), rng, progress)
    return Linked(people, reports, *matched, *_bounds(mechanism, value, weights, people, reports))


def _matched(
    rows: Callable[[slice], FloatArray], places: NDArray[np.int64], rng: np.random.Generator, progress: Progress
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
    both = np.concatenate(ranks, axis=1)
    return (
        share(_among_first(1, both)),
        share(_among_first(_SHORT, both)),
        area(np.concatenate(own), np.concatenate(others)),
        _assigned(in_main_memory(table), places) if size == people else None,
    )


def match(scores: FloatArray) -> Matched:
    """Match each row to its highest-scoring column. Person i is row i and column i.

    `scores` are log-likelihood ratios of one person against two. Ties are broken at random, so a person tied with
    m - 1 others counts as 1/m.
    """
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1]:
        raise ValueError(f"scores must be a square matrix, got shape {scores.shape}")
    return share(first_choices(scores, np.arange(scores.shape[0])))


def _weights(distribution: Sequence[float]) -> FloatArray:
    weights = np.asarray(distribution, dtype=np.float64)
    if weights.ndim != 1 or weights.size == 0 or not np.all(weights >= 0) or not 0 < weights.sum() < np.inf:
        raise ValueError("distribution must be a list of weights, none negative and not all 0")
    return np.asarray(weights / weights.sum())


def _rows(
    mechanism: Mechanism, first: NDArray[Any], second: NDArray[Any], value: Any, weights: FloatArray | None
) -> Callable[[slice], FloatArray]:
    """A function that computes the scores of some rows against all columns."""
    from scipy.special import logsumexp

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
    """For each row, the numbers of columns that score higher than the right one, and the same as it."""
    own = scores[np.arange(len(places)), places][:, None]
    counts = [in_main_memory(which.sum(axis=1)) for which in (scores > own, scores == own)]
    return np.array(counts, dtype=np.float64)


def _among_first(count: int, ranks: FloatArray) -> FloatArray:
    """The probability that the right column is among the first, if ties are broken at random."""
    above, ties = ranks
    return np.asarray(np.clip((count - above) / ties, 0, 1))


def share(hits: FloatArray, level: float = LEVEL) -> Matched:
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


def area(own: FloatArray, others: FloatArray) -> Matched:
    """The area under the curve: the mean share of other people's scores that are below a person's own.

    It has the empirical Bernstein interval (Maurer and Pontil 2009), which assumes independent people.
    """
    ordered = np.sort(others)
    below, upto = (np.searchsorted(ordered, own, side) for side in ("left", "right"))
    placements = (below + upto) / (2 * ordered.size)
    people, mean = placements.size, float(placements.mean())
    weight = np.log(4 / (1 - LEVEL))
    reach = float(np.sqrt(2 * placements.var(ddof=1) * weight / people) + 7 * weight / (3 * (people - 1)))
    return Matched(people, mean, max(0.0, mean - reach), min(1.0, mean + reach), LEVEL)


def _assigned(scores: FloatArray, places: NDArray[np.int64]) -> Matched:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(np.maximum(scores, _IMPOSSIBLE), maximize=True)
    return share((columns[np.argsort(rows)] == places).astype(np.float64))


def _bounds(
    mechanism: Mechanism, value: Any, weights: FloatArray | None, people: int, reports: int
) -> list[Bracket | None]:
    """The best power at false positive rates 1/M and 5/M, and the area below the curve.

    An attack that picks one of M candidates is a test of one person against two. If none of the candidates is the
    right person, all M are alike, and the attack picks each with probability 1/M. For people with random values
    there is no area, and nothing if the engine takes no such question.
    """
    rates = 1 / people, min(1.0, _SHORT / people)
    if weights is None:
        pair = mechanism.tracking_of(value, rounds=range(1, 2 * reports + 1), first=range(1, reports + 1))
        return [*map(pair.power, rates), pair.auc()]
    try:
        return [*matched_upper(mechanism, reports, weights, rates), None]
    except ValueError:
        return [None, None, None]


# --- people with different values: a bound for all who know how common values are -------------------------

_GAMMAS = (0.0, *(0.01 * 1.2**i for i in range(48)))
"""Where delta of one value against another is asked for. Between them it is below the chord, over e^γ."""
_VALUES = 8
"""People hold at most this many different values, unless the caller says how common values are."""
_STEPS = 400
"""The number of likelihood ratios that are tried for the best bound."""


def zipf_weights(mechanism: Mechanism) -> list[float]:
    """The weights 1, 1/2, 1/3, … of a few values, the most common first."""
    return [1 / rank for rank in range(1, min(mechanism.capacity or _VALUES, _VALUES) + 1)]


def matched_upper(
    mechanism: Mechanism, reports: int, weights: FloatArray, rates: tuple[float, ...]
) -> list[Bracket]:
    """Bounds on the power of every test of one person against two, at these false positive rates.

    Values have the probabilities `weights`, and the observer has `reports` reports from each of two places. P is
    one person at both places, P' are two people with the same value, Q are two people with random values. Tell the
    observer the first person's value u. Then P' against Q is the law P(u) of `reports` reports against the mixture
    of the laws of all values v, w(u)·P(u) + Σ w(v)·P(v). For α·w(u) < 1, its δ at α = e^γ is
    (1 - α·w(u))·δ'(α·(1 - w(u))/(1 - α·w(u))), where δ' is that of P(u) against the mixture of all others, and at
    most that of the two values that are easiest to tell apart. For other α it is 0. A test with rate x has a power
    of at most y = δ(α) + α·x against P', for every α, and against P at most what tracking allows at rate y.
    """
    pair = mechanism.privacy(reports=reports)
    alphas = np.exp(_GAMMAS)
    deltas = np.array([pair.delta(gamma).upper for gamma in _GAMMAS])
    linked = None if mechanism.independent else _halves(mechanism, reports)
    return [Bracket(0.0, _power(alphas, deltas, weights[weights > 0], rate, linked)) for rate in rates]


def _halves(mechanism: Mechanism, reports: int) -> Pair:
    """Tracking with this many reports on each side, of the value that is easiest to track."""
    if not mechanism.values_alike:
        return mechanism.worst_tracking(2 * reports)
    return mechanism.tracking(rounds=range(1, 2 * reports + 1), first=range(1, reports + 1))


def _power(alphas: FloatArray, deltas: FloatArray, weights: FloatArray, rate: float, linked: Pair | None) -> float:
    tried = np.exp(np.linspace(0.0, math.log(1 / rate), _STEPS))
    kinds, counts = np.unique(weights, return_counts=True)
    rest = 1 - np.outer(tried, kinds)
    with np.errstate(divide="ignore"):
        ratio = np.where(rest > 0, tried[:, None] * (1 - kinds) / np.maximum(rest, 1e-300), np.inf)
    # Beyond the last point, δ' is at most its value there.
    apart = np.interp(ratio, alphas, deltas) * np.maximum(rest, 0.0)
    same_value = min(1.0, float(((apart * (kinds * counts)).sum(axis=1) + tried * rate).min()))
    return same_value if linked is None or same_value == 1 else linked.power(same_value).upper


# --- changes ----------------------------------------------------------------------------------------------

FALSE_ALARMS = 0.05
"""The attack's threshold is such that this share of people without a change is suspected."""
_CERTAIN = 1e6
"""The log-likelihood ratio of a change that reports prove. It is finite, so that sums of scores stay numbers."""
_GRID = 1 << 14
"""Grid points of the engine. They are enough for a bound that is compared with a simulation."""


@dataclass(frozen=True, slots=True)
class Changed:
    """How well the attack found changes (sampled), and a bound for any attack (from the engine).

    `found` is the share of changes that the attack finds, with 5 % false alarms. `auc` is the probability that a
    person whose value changed has a higher score than a person whose value did not. `when` is the share of changes
    for which the attack names the right round. `auc_bound` is a bound on `auc`. It even holds for an observer who
    knows in which round the value may have changed.
    """

    people: int
    reports: int
    found: Matched
    auc: Matched
    when: Matched
    auc_bound: Bracket


def find_changes(
    mechanism: Mechanism,
    *,
    people: int = 1000,
    reports: int = 10,
    seed: int = 1,
    progress: Progress = no_progress,
) -> Changed:
    """Simulate people of whom half change from value 0 to value 1 at a random time, and look for the changes.

    After the change, a fresh client sends the reports. The observer knows both values. The score of a person is the
    likelihood ratio of a change, averaged over all times at which it may have happened.
    """
    from scipy.special import logsumexp

    people, reports = checks.integer("people", people, low=8), checks.integer("reports", reports, low=2)
    # Simulation draws from [seed, number of the first client], so this stream is independent of it.
    rng = np.random.default_rng([checks.integer("seed", seed, low=0), 1, people])
    before, after = (
        np.concatenate([b.reports for b in mechanism.simulate(np.full(people, v), rounds=reports, seed=seed + v)])
        for v in (0, 1)
    )
    times = rng.integers(1, reports, size=people)
    changes = np.arange(people) % 2 == 1
    late = changes[:, None] & (np.arange(reports) >= times[:, None])
    sent = np.where(late.reshape(late.shape + (1,) * (before.ndim - 2)), after, before)
    ratios = _ratios(mechanism, sent, progress)
    score = logsumexp(ratios, axis=0) - np.log(len(ratios))
    stayed, moved = score[~changes], score[changes]
    threshold = np.quantile(stayed, 1 - FALSE_ALARMS, method="higher")
    named = ratios[:, changes] == ratios[:, changes].max(axis=0)
    right = named[times[changes] - 1, np.arange(moved.size)] / named.sum(axis=0)
    return Changed(
        people,
        reports,
        share((moved > threshold).astype(np.float64)),
        area(moved, stayed),
        share(right),
        _bound(mechanism, reports),
    )


def _ratios(mechanism: Mechanism, sent: NDArray[Any], progress: Progress) -> FloatArray:
    """The log-likelihood ratios of a change after t reports against no change, for t = 1 … k-1."""
    rounds = list(range(1, sent.shape[1] + 1))
    unchanged = mechanism.log_likelihood(sent, 0, rounds)
    ratios = []
    for t in rounds[:-1]:
        early = mechanism.log_likelihood(sent[:, :t], 0, rounds[:t])
        late = mechanism.log_likelihood(sent[:, t:], 1, rounds[t:])
        # Some reports are impossible without a change. They show that there was one, but not when.
        ratios.append(early + late + np.where(np.isneginf(unchanged), _CERTAIN, -unchanged))
        progress("changes", t / (len(rounds) - 1))
    return np.array(ratios)


def _bound(mechanism: Mechanism, reports: int) -> Bracket:
    """The area under the curve for an observer who knows the time of the change, averaged over all times."""
    rounds = range(1, reports + 1)
    pairs = (mechanism.detection(rounds=rounds, first=range(1, t + 1)) for t in range(1, reports))
    areas = [pair.with_grid(_GRID).auc() for pair in pairs]
    lower, upper = (float(np.mean([getattr(a, end) for a in areas])) for end in ("lower", "upper"))
    return Bracket(lower, upper)


# --- attendance -------------------------------------------------------------------------------------------

Seen = NDArray[np.bool_]
"""Whether each person (row) was seen in each round (column) at one place."""


@dataclass(frozen=True, slots=True)
class AttendanceMatched:
    """How well people were recognised by their attendance (sampled), and the bound.

    `alone` is the share of people for whom the right match came first by attendance alone, and `alone_bound` its
    bound. `together` uses what the reports say, too; None if no mechanism was given. Each person is matched alone,
    and ties are broken at random.
    """

    people: int
    rounds: int
    alone: Matched
    alone_bound: Bracket
    together: Matched | None


def match_by_attendance(
    *,
    rounds: int,
    people: int = AMONG,
    mechanism: Mechanism | None = None,
    value: Any = 0,
    seed: int = 1,
) -> AttendanceMatched:
    """Simulate people who answer every round, each time from one of two places, and match them by these rounds.

    With a mechanism, all people hold `value`, and the observer reads their reports as well.
    """
    rounds, people = checks.integer("rounds", rounds, low=1), checks.integer("people", people, low=2)
    seed = checks.integer("seed", seed, low=0)
    first, _ = attend(rounds, people, np.random.default_rng([seed, 2, people]))
    # A view of the second place fits one of the first if it has just the other rounds: so do those of all people
    # with the same rounds, and nobody else's.
    _, kinds, counts = np.unique(np.packbits(first, axis=1), axis=0, return_inverse=True, return_counts=True)
    alone = 1 / counts[kinds]
    together = None if mechanism is None else _with_reports(mechanism, first, kinds, value, seed)
    return AttendanceMatched(
        people,
        rounds,
        share(alone),
        recognition(rounds, people),
        None if together is None else share(together),
    )


def attend(rounds: int, people: int, rng: np.random.Generator) -> tuple[Seen, Seen]:
    """Simulate which rounds each person is seen to answer, at the first place and at the second."""
    first: Seen = rng.random((people, rounds)) < 0.5
    return first, ~first


def _with_reports(mechanism: Mechanism, first: Seen, kinds: NDArray[np.int64], value: Any, seed: int) -> FloatArray:
    """For each person, the probability that the right one is chosen by its reports among all whose rounds fit."""
    people, rounds = first.shape
    sent = mechanism.simulate(np.full(people, value), rounds=rounds, seed=seed)
    reports: NDArray[Any] = np.concatenate([batch.reports for batch in sent])
    chances = np.empty(people)
    for kind in range(kinds.max() + 1):
        same = np.flatnonzero(kinds == kind)
        here = first[same[0]]
        scores: FloatArray = np.zeros((same.size, same.size))
        if here.any() and not here.all():
            left, right = reports[same][:, here], reports[same][:, ~here]
            # Scores that differ by rounding alone are equal.
            scores = np.round(in_main_memory(mechanism.link_scores(left, right, value)), 9)
        chances[same] = first_choices(scores, np.arange(same.size))
    return chances


def first_choices(scores: FloatArray, own: NDArray[np.int64]) -> FloatArray:
    """For each row, the probability that its own column is chosen: the one that scores highest, or one of those."""
    return _among_first(1, ranks_of_own(scores, own))


# --- how well people are followed as reports grow ---------------------------------------------------------

PEOPLE = 300
"""The number of people that the attack matches."""
_REPORTS = (1, 2, 4, 8)
_SLOTS, _CROWD = 2 * _REPORTS[-1], 100_000
"""The rounds and the people of the deck that a crowd hides with eps = 1."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The share of people whose right match came first (sampled), with this many reports from each of two places.

    `different` says whether people hold different values, of which the observer knows how common they are.
    `bound` is the most that anybody who matches each person alone can reach; None if it is not known.
    """

    name: str
    different: bool
    reports: int
    matched: Matched
    bound: Bracket | None


def followed_beside(name: str, mechanism: Mechanism, seed: int = 1) -> list[Followed]:
    """This mechanism beside one of the other kind: RAPPOR, which can be linked, or a deck that a crowd hides."""
    if mechanism.independent:
        return [*followed(name, mechanism, seed), *followed("RAPPOR, as published", Rappor.preset("paper"), seed)]
    return [*followed(name, mechanism, seed), *followed(f"deck, crowd of {_CROWD:,}", _deck(), seed)]


def followed(name: str, mechanism: Mechanism, seed: int = 1, *, rounds: int | None = None) -> list[Followed]:
    """The attack with several numbers of reports, on people with the same value and with different ones.

    There are at most as many reports as the mechanism has, or as there are `rounds`. The observer is granted which
    reports of one place are one person's. In a crowd, linking them is the first step.
    """
    ends = [end for end in (mechanism.last_round, rounds) if end is not None]
    results = []
    for reports in _REPORTS:
        if 2 * reports > min(ends, default=2 * reports):
            break
        same = link(mechanism, people=PEOPLE, reports=reports, seed=seed)
        apart = link(mechanism, people=PEOPLE, reports=reports, distribution=zipf_weights(mechanism), seed=seed)
        results += [
            Followed(name, different, reports, linked.top1, linked.top1_bound)
            for different, linked in ((False, same), (True, apart))
        ]
    return results


@lru_cache(maxsize=1)
def _deck() -> Deck:
    return Deck.for_crowd(bits=3, slots=_SLOTS, people=_CROWD, eps=1.0, delta=1e-6)
