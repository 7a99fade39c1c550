"""Lower bounds on what reports reveal, by attacks on held-out people. They assume nothing about the mechanism.

One half of the people is used to choose an attack, which is then tried once on the other half. So its rates are
binomial, and their Clopper-Pearson bounds are exact. The only assumption is that people, or clients, are
independent of each other. Two exact sign tests check that, with clients of one value.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, binomtest

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.auditing.streams import Index, Streams, Window, scorers, similarities
from untrackable.errors import AuditError
from untrackable.theory.accuracy import Share, lower_bound, upper_bound

FEWEST_PEOPLE = 16
"""With fewer people, there are too few to choose an attack, or too few to try it on."""
TRACKING_LIMIT = 0.1
"""A check fails if people are certainly followed with a larger advantage, unless something else was claimed."""
POWER = 0.99
"""An attack that is said to be found is found with at least this probability."""
WEAK = 0.5
"""A comparison that may miss a larger advantage than this one is too weak to say that nobody can be followed."""
_CELLS = 100
"""Rates of false alarms are looked at in this many intervals. More of them make `smallest_found` sharper."""


# --- following people -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Advantage:
    """The tracking advantage of an attack: `lower` holds with confidence `level`, `sampled` is what was observed.

    `same` is the share of times that the attack said "one person" about two windows of one person, `different` the
    share about two people. Each has a two-sided interval at `level`.
    """

    similarity: str
    level: float
    sampled: float
    lower: float
    same: Share
    different: Share

    @staticmethod
    def of(similarity: str, same: NDArray[np.bool_], different: NDArray[np.bool_], level: float) -> "Advantage":
        """Compute it from the attack's answers about independent pairs, of one person and of two people."""
        hits, alarms = int(same.sum()), int(different.sum())
        error = (1 - level) / 2
        lower = float(lower_bound(hits, same.size, error) - upper_bound(alarms, different.size, error))
        return Advantage(
            similarity=similarity,
            level=level,
            sampled=hits / same.size - alarms / different.size,
            lower=max(0.0, lower),
            same=Share.of(hits, same.size, level),
            different=Share.of(alarms, different.size, level),
        )

    @property
    def found_from(self) -> float | None:
        """An attack of this advantage or more is shown by this number of pairs; None if none is. See POWER."""
        return smallest_found(self.same.trials, self.different.trials, self.level)

    @property
    def weak(self) -> bool:
        """Whether there are too few pairs to say anything if nothing was found."""
        return self.found_from is None or self.found_from > WEAK

    def as_dict(self) -> dict[str, Any]:
        """The bound as JSON data."""
        shares = {"same": self.same._asdict(), "different": self.different._asdict()}
        return {**asdict(self), **shares, "found_from_upper": self.found_from}


@lru_cache(maxsize=256)
def smallest_found(same: int, different: int, level: float) -> float | None:
    """An advantage from which on `Advantage.of` gives a positive `lower` with probability at least POWER (upper).

    It holds for every rate of false alarms f. More hits and fewer false alarms never make the bound smaller. So for
    f in an interval, the probability is at least that with hits at its left end and false alarms at its right end.
    The result is None if there are too few pairs even for a perfect attack.
    """
    error = (1 - level) / 2
    least = lower_bound(np.arange(same + 1), same, error)
    most = upper_bound(np.arange(different + 1), different, error)
    needed = np.searchsorted(least, most, side="right")

    def is_shown(advantage: float) -> bool:
        for cell in range(math.floor((1 - advantage) * _CELLS) + 1):
            rate = min((cell + 1) / _CELLS, 1 - advantage)
            few, many = (int(binom.ppf(tail, different, rate)) for tail in (1e-9, 1 - 1e-9))
            alarms = np.arange(max(0, few), many + 1)
            hits = binom.sf(needed[alarms] - 1, same, min(1.0, cell / _CELLS + advantage))
            if binom.pmf(alarms, different, rate) @ hits < POWER:
                return False
        return True

    if not is_shown(1.0):
        return None
    low, high = 0.0, 1.0
    while high - low > 1 / 1024:
        middle = (low + high) / 2
        low, high = (low, middle) if is_shown(middle) else (middle, high)
    return high


class People(Protocol):
    """What was seen of people in one window."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of times that each person was seen."""

    def take(self, people: Index) -> Self:
        """Some of the people."""


Seen = TypeVar("Seen", bound=People)
Score = Callable[[Seen, Seen], FloatArray]
"""A score for person i in the first window and person i in the second; higher is more alike."""


def advantage_lower(first: Window, second: Window, *, level: float = 0.99, seed: int = 0) -> Advantage:
    """A lower bound on the tracking advantage, the total variation between two windows of one person and of two.

    Row i of both windows is person i. The only assumption is that people are independent draws from one population.
    The first quarter of the people is used to fit the similarities, the second to choose one and its threshold. The
    rest is used for the test: half of them give a pair of their own windows, and the others, each used once, give
    pairs of two people.
    """
    return held_out_advantage(first, second, similarities, level=level, seed=seed)


def held_out_advantage(
    first: Seen, second: Seen, fitted: Callable[[Seen, Seen], Mapping[str, Score[Seen]]], *, level: float, seed: int
) -> Advantage:
    """The bound of `advantage_lower` by the best of several scores, which `fitted` makes for some people."""
    level = checks.open_probability("level", level)
    fit, choose, test = held_out_parts(first.counts.size, seed)
    same, left, right = disjoint_pairs(test)
    known = fitted(first.take(fit), second.take(fit))
    best: tuple[float, str, float] = (-math.inf, "", math.inf)
    for name, similarity in known.items():
        bound, threshold = _threshold(similarity, first.take(choose), second.take(choose), level, same.size)
        if bound > best[0]:
            best = bound, name, threshold
    _, name, threshold = best
    score = known[name]
    hits = score(first.take(same), second.take(same)) >= threshold
    alarms = score(first.take(left), second.take(right)) >= threshold
    return Advantage.of(name, hits, alarms, level)


def held_out_parts(people: int, seed: int) -> tuple[Index, Index, Index]:
    """A quarter of the people to fit scores, a quarter to choose one, and the others to try it on."""
    if people < FEWEST_PEOPLE:
        raise AuditError(f"at least {FEWEST_PEOPLE} people seen in both windows are needed, there are {people}")
    order = np.random.default_rng(checks.integer("seed", seed, low=0)).permutation(people)
    return order[: people // 4], order[people // 4 : people // 2], order[people // 2 :]


def disjoint_pairs(people: Index) -> tuple[Index, Index, Index]:
    """Pair half of the people with themselves, and the others with each other, each used once."""
    same, others = people[: people.size // 2], people[people.size // 2 :]
    half = others.size // 2
    return same, others[:half], others[half : 2 * half]


def _threshold(
    similarity: Score[Seen], first: Seen, second: Seen, level: float, trials: int
) -> tuple[float, float]:
    """The bound to expect from `trials` pairs of one person, and the threshold that gives it."""
    same, different = _pair_scores(similarity, first, second)
    cuts = _cuts(same)
    tpr, fpr = _at_least(same, cuts), _at_least(different, cuts)
    error = (1 - level) / 2
    bounds = lower_bound(tpr * trials, trials, error) - upper_bound(fpr * trials / 2, trials / 2, error)
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(cuts[best])


def _pair_scores(similarity: Score[Seen], first: Seen, second: Seen) -> tuple[FloatArray, FloatArray]:
    """The scores of pairs of one person and of two people, to choose an attack.

    Here pairs of two people may overlap: everyone is paired with the next few. Only the choice depends on them, and
    not the bound.
    """
    people = first.counts.size
    shifts = [np.roll(np.arange(people), shift) for shift in range(1, min(5, people))]
    return similarity(first, second), np.concatenate([similarity(first, second.take(shift)) for shift in shifts])


def _cuts(scores: FloatArray) -> FloatArray:
    """At most a few hundred thresholds to try, midway between neighbouring scores."""
    levels = np.unique(scores)
    # Scores that differ only by rounding count as one. A cut between them would depend on the order of the sums.
    apart = np.diff(levels) > 1e-9 * (1 + np.abs(levels[1:]))
    levels = levels[np.concatenate(([True], apart))]
    if levels.size > 256:
        levels = np.unique(np.quantile(levels, np.linspace(0, 1, 256)))
    below = levels[:1] - 1e-6 * (1 + np.abs(levels[:1]))
    return np.concatenate([below, (levels[1:] + levels[:-1]) / 2])


def _at_least(scores: FloatArray, cuts: FloatArray) -> FloatArray:
    return 1 - np.searchsorted(np.sort(scores), cuts) / scores.size


# --- bounds on gamma and eps ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LossBound:
    """A lower bound on eps (or gamma) at `delta`, from one event: `lower` holds with confidence `level`.

    `inside` is the share of clients of one value with the event, `outside` that of clients of the other (for
    gamma: with the reports of one client, and with those of two). The event is that the score called `score` is
    large, or for gamma perhaps small. `sampled` is the log of the observed ratio. It is infinite if the event never
    happened outside.
    """

    score: str
    level: float
    delta: float
    sampled: float
    lower: float
    inside: Share
    outside: Share

    def as_dict(self) -> dict[str, Any]:
        """The bound as JSON data."""
        return {**asdict(self), "inside": self.inside._asdict(), "outside": self.outside._asdict()}


def gamma_lower(
    first: Window, second: Window, *, level: float = 0.99, delta: float = 0.0, seed: int = 0
) -> LossBound:
    """A lower bound on gamma of (gamma, delta) untrackable, with the people and pairs of `advantage_lower`.

    It means P(event | one) ≤ e^gamma·P(event | two) + delta, and the same with one and two exchanged. So a score
    that is large with one person counts, and also one that is small with two people.
    """
    level = checks.open_probability("level", level)
    delta = checks.probability("delta", delta)
    fit, choose, test = held_out_parts(first.counts.size, seed)
    same, left, right = disjoint_pairs(test)
    known = similarities(first.take(fit), second.take(fit))
    chosen: list[tuple[float, float, str, bool]] = []
    for name, similarity in known.items():
        one, two = _pair_scores(similarity, first.take(choose), second.take(choose))
        alike = _event(one, two, (same.size, left.size), level, delta)
        unlike = _event(-two, -one, (left.size, same.size), level, delta)
        chosen += [(*alike, name, True), (*unlike, name, False)]
    _, cut, name, large = max(chosen)
    one, two = (known[name](first.take(a), second.take(b)) for a, b in ((same, same), (left, right)))
    inside, outside = (one >= cut, two >= cut) if large else (-two >= cut, -one >= cut)
    return _bound(name, inside, outside, level, delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueLeak:
    """How much reports reveal about the value: a bound on eps, and the share of held-out values guessed right."""

    eps: LossBound
    recovered: Share


def eps_lower(samples: Sequence[Streams], *, level: float = 0.99, delta: float = 0.0, seed: int = 0) -> LossBound:
    """A lower bound on eps from clients of two or more values, by the two values that differ most.

    (eps, delta) privacy means P(event | a) ≤ e^eps·P(event | b) + delta, and so
    eps ≥ ln((P(event | a) - delta)/P(event | b)). This assumes that clients are independent, and that those of one
    value follow one law. A quarter of the clients is used to fit scores, a quarter to choose an event, and the rest
    to test this event.
    """
    return value_leak(samples, level=level, delta=delta, seed=seed).eps


def value_leak(samples: Sequence[Streams], *, level: float = 0.99, delta: float = 0.0, seed: int = 0) -> ValueLeak:
    """The bound of `eps_lower`, and the share of held-out clients whose value is guessed right."""
    level = checks.open_probability("level", level)
    delta = checks.probability("delta", delta)
    if len(samples) < 2:
        raise ValueError(f"there must be samples of at least two values, got {len(samples)}")
    rng = np.random.default_rng(checks.integer("seed", seed, low=0))
    fit, choose, test = [], [], []
    for sample in samples:
        clients = sample.tokens.shape[0]
        if clients < FEWEST_PEOPLE:
            raise AuditError(f"each value needs at least {FEWEST_PEOPLE} clients, but one has {clients}")
        order = rng.permutation(clients)
        fit.append(sample.take(order[: clients // 4]))
        choose.append(sample.take(order[clients // 4 : clients // 2]))
        test.append(sample.take(order[clients // 2 :]))
    trials = min(sample.tokens.shape[0] for sample in test)
    known = scorers(fit)
    tables = {name: [scorer(sample) for sample in choose] for name, scorer in known.items()}
    right = {
        name: np.mean([np.mean(_guess(table, rng) == i) for i, table in enumerate(scores)])
        for name, scores in tables.items()
    }
    guesser = known[max(right, key=lambda name: right[name])]
    _, cut, name, a, b = max(
        (*_event(_ratio(scores[a], a, b), _ratio(scores[b], a, b), (trials, trials), level, delta), name, a, b)
        for name, scores in tables.items()
        for a, b in itertools.permutations(range(len(samples)), 2)
    )
    scorer = known[name]
    inside = _ratio(scorer(test[a]), a, b) >= cut
    outside = _ratio(scorer(test[b]), a, b) >= cut
    hits = sum(int(np.sum(_guess(guesser(sample), rng) == i)) for i, sample in enumerate(test))
    recovered = Share.of(hits, sum(sample.tokens.shape[0] for sample in test), level)
    return ValueLeak(eps=_bound(name, inside, outside, level, delta), recovered=recovered)


def _bound(
    name: str, inside: NDArray[np.bool_], outside: NDArray[np.bool_], level: float, delta: float
) -> LossBound:
    hits, alarms, error = int(inside.sum()), int(outside.sum()), (1 - level) / 2
    least = float(lower_bound(hits, inside.size, error)) - delta
    most = float(upper_bound(alarms, outside.size, error))
    share = hits / inside.size - delta
    seen = -math.inf if share <= 0 else math.log(share * outside.size / alarms) if alarms else math.inf
    return LossBound(
        score=name,
        level=level,
        delta=delta,
        sampled=max(0.0, seen),
        lower=max(0.0, math.log(least / most)) if least > 0 else 0.0,
        inside=Share.of(hits, inside.size, level),
        outside=Share.of(alarms, outside.size, level),
    )


def _ratio(table: FloatArray, a: int, b: int) -> FloatArray:
    return np.asarray(table[:, a] - table[:, b])


def _guess(table: FloatArray, rng: np.random.Generator) -> Index:
    """The likeliest value of each client. Ties are broken at random."""
    best = table == table.max(axis=1, keepdims=True)
    return np.asarray(np.argmax(best * rng.random(table.shape), axis=1), dtype=np.int64)


def _event(
    inside: FloatArray, outside: FloatArray, trials: tuple[int, int], level: float, delta: float
) -> tuple[float, float]:
    """The bound to expect from the best event {score ≥ cut} for these trials inside and outside, and the cut."""
    cuts = _cuts(inside)
    error = (1 - level) / 2
    least = lower_bound(_at_least(inside, cuts) * trials[0], trials[0], error) - delta
    most = upper_bound(_at_least(outside, cuts) * trials[1], trials[1], error)
    bounds = np.log(np.maximum(least, 1e-300) / most)
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(cuts[best])


# --- sign tests: does a client keep anything, and do two clients share randomness? ------------------------

ALARM = 1e-6
"""The largest probability of a false alarm: that a test finds something where there is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignTest:
    """The number of quadruples with a positive sign, among those `decided`. `p_value` is exact and one-sided.

    A test looks at quadruples (a, b; c, d) of rows of numbers and at the sign of ⟨a - c, b - d⟩. It is positive if
    b resembles a and d resembles c. Without any such connection, exchanging b and d changes only the sign. The sign
    is then a fair coin, whatever the law of the rows. Every client is used once, so the coins are independent.
    """

    positive: int
    decided: int
    p_value: float

    @staticmethod
    def of(products: NDArray[np.float64]) -> "SignTest":
        """The test of these products. A product of zero decides nothing."""
        positive, decided = int(np.sum(products > 0)), int(np.count_nonzero(products))
        p = binomtest(positive, decided, alternative="greater").pvalue if decided else 1.0
        return SignTest(positive=positive, decided=decided, p_value=float(p))

    @property
    def found(self) -> bool:
        """Whether the result is hardly due to chance: fair coins give it with probability at most ALARM."""
        return self.p_value <= ALARM

    def as_dict(self) -> dict[str, Any]:
        """The test as JSON data."""
        return {**asdict(self), "found": self.found, "alarm": ALARM}


def persistence(samples: Sequence[Streams], rng: np.random.Generator) -> SignTest:
    """Do the two halves of a client's reports resemble each other more than those of two clients do?"""
    products = []
    for sample in samples:
        clients, reports = sample.tokens.shape
        order = rng.permutation(clients)[: clients // 2 * 2]
        left, right = sample.between(0, reports // 2).means(), sample.between(reports // 2, reports).means()
        a, c = order[::2], order[1::2]
        products.append(((left[a] - left[c]) * (right[a] - right[c])).sum(axis=1))
    return SignTest.of(_cleaned(products))


def sharing(samples: Sequence[Streams]) -> SignTest:
    """Do clients made one right after the other agree, report by report, more than other clients do?"""
    products = []
    for sample in samples:
        pairs = sample.tokens.shape[0] // 2
        for start in range(pairs // 2):
            a, c = 2 * start, 2 * (start + pairs // 2)
            rows = sample.bits[[a, a + 1, c, c + 1]].reshape(4, -1).astype(np.int16)
            products.append(np.array([float(((rows[0] - rows[2]) * (rows[1] - rows[3])).sum())]))
    return SignTest.of(_cleaned(products))


def identical(samples: Sequence[Streams]) -> bool:
    """Whether all clients of a value sent the same reports, although the reports of a client vary."""
    return any(
        bool(np.all(sample.tokens == sample.tokens[0])) and bool(np.any(sample.tokens[0] != sample.tokens[0, 0]))
        for sample in samples
    )


def _cleaned(products: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The products, with 0 for those that differ from 0 only by rounding."""
    together = np.concatenate(products)
    return np.where(np.abs(together) < 1e-9, 0.0, together)
