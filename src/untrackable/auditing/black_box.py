"""Audits without knowing the mechanism: lower bounds on what reports reveal, by attacks on held-out people.

One half of the people is used to choose an attack, which is then tried once on the other half. So its rates are
binomial, and their Clopper-Pearson bounds are exact. The only assumption is that people, or clients, are
independent of each other. Two exact sign tests check that, with clients of one value. `audit_client` makes many
clients of any kind, collects their reports, and applies all of these bounds.
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
from untrackable.auditing.streams import Factory, Index, Streams, Window, collect, halves, scorers, similarities
from untrackable.errors import AuditError
from untrackable.notebook_view import NotebookTable
from untrackable.progress import Progress, no_progress
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


def value_leak(samples: Sequence[Streams], *, level: float = 0.99, delta: float = 0.0, seed: int = 0) -> ValueLeak:
    """A lower bound on eps from clients of two or more values, and the share of values that are guessed right.

    The bound is by the two values that differ most. (eps, delta) privacy means
    P(event | a) ≤ e^eps·P(event | b) + delta, and so eps ≥ ln((P(event | a) - delta)/P(event | b)). This assumes
    that clients are independent, and that those of one value follow one law. A quarter of the clients is used to
    fit scores, a quarter to choose an event, and the rest to test this event.
    """
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
        (*_event(one[:, a] - one[:, b], two[:, a] - two[:, b], (trials, trials), level, delta), name, a, b)
        for name, scores in tables.items()
        for (a, one), (b, two) in itertools.permutations(enumerate(scores), 2)
    )
    inside, outside = (table[:, a] - table[:, b] >= cut for table in map(known[name], (test[a], test[b])))
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


# --- the audit of a client --------------------------------------------------------------------------------

_CLAIMED = ("claimed_eps", "claimed_eps_one", "claimed_delta", "claimed_advantage", "claimed_gamma")
_KEPT = ("refuted", "chance", "persists", "averages_out", "shares_randomness")
_TOLD = ("values", "reports", "level", *_CLAIMED, *_KEPT)
_TESTED = ("eps", "eps_one", "gamma", "tracking", "persistence", "sharing")
"""What an audit says as JSON: numbers and truths as they are, and tests as objects of their own."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClientAudit(NotebookTable):
    """The result of `audit_client`. Each bound is a lower bound and holds with confidence `level`.

    `eps` is about all reports of a client, `eps_one` about its first. `tracking` and `gamma` compare the first half
    of its reports with the second. `recovered` and `recovered_one` are the shares of held-out clients whose value
    was guessed right, from all reports and from the first.
    """

    values: int
    clients: int
    reports: int
    level: float
    claimed_eps: float | None
    claimed_eps_one: float | None
    claimed_delta: float
    claimed_advantage: float | None
    claimed_gamma: float | None
    eps: LossBound
    eps_one: LossBound
    gamma: LossBound
    tracking: Advantage
    recovered: Share
    recovered_one: Share
    persistence: SignTest
    sharing: SignTest
    identical: bool

    @property
    def refuted_claims(self) -> tuple[str, ...]:
        """The claims that are certainly wrong: eps, eps_one, advantage, gamma.

        The bound is larger than the claim. A claim that nothing at all links reports is also wrong
        if something persists.
        """
        above = [name for name, lower, claimed in self._claims() if claimed is not None and lower > claimed]
        return tuple(name for name, *_ in self._claims() if name in above or name in self.refuted_by_persistence)

    @property
    def refuted_by_persistence(self) -> tuple[str, ...]:
        """The claims of a tracking advantage of 0, or of gamma = 0 with delta = 0, if something persists."""
        nothing = {"advantage": self.claimed_advantage, "gamma": self.claimed_gamma}
        if self.claimed_delta > 0:
            del nothing["gamma"]
        return tuple(name for name, claimed in nothing.items() if claimed == 0 and self.persists)

    @property
    def refuted(self) -> bool:
        """Whether any claim is refuted."""
        return bool(self.refuted_claims)

    @property
    def trackable(self) -> bool:
        """Whether nothing was claimed about tracking, and the advantage is certainly above TRACKING_LIMIT."""
        unclaimed = self.claimed_advantage is None and self.claimed_gamma is None
        return unclaimed and self.tracking.lower > TRACKING_LIMIT

    @property
    def failures(self) -> tuple[str, ...]:
        """Why the client fails a check: refuted claims, tracking, shared_randomness. Empty if it passes."""
        also = {"tracking": self.trackable, "shared_randomness": self.shares_randomness}
        return self.refuted_claims + tuple(name for name, failed in also.items() if failed)

    @property
    def false_alarm_upper(self) -> float:
        """A client whose claims are true, or that nobody follows, fails a check at most with this probability."""
        claims = [name for name, _, claimed in self._claims() if claimed is not None]
        tests = len(claims) + (self.claimed_advantage is None and self.claimed_gamma is None)
        return min(1.0, tests * (1 - self.level) + 2 * ALARM)

    def _claims(self) -> tuple[tuple[str, float, float | None], ...]:
        return (
            ("eps", self.eps.lower, self.claimed_eps),
            ("eps_one", self.eps_one.lower, self.claimed_eps_one),
            ("advantage", self.tracking.lower, self.claimed_advantage),
            ("gamma", self.gamma.lower, self.claimed_gamma),
        )

    @property
    def chance(self) -> float:
        """The share of values that a guess without any report gets right."""
        return 1 / self.values

    @property
    def persists(self) -> bool:
        """Whether a client's reports are correlated: it keeps something, such as permanent noise."""
        return self.persistence.found

    @property
    def averages_out(self) -> bool:
        """Whether noise is fresh: nothing seems to persist, and many reports reveal more than one does."""
        return not self.persists and self.recovered.lower > self.recovered_one.upper

    @property
    def shares_randomness(self) -> bool:
        """Whether clients are not independent. Then the bounds do not hold."""
        return self.identical or self.sharing.found

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON data. Names say which numbers are lower bounds and which are sampled."""
        return {
            **{name: getattr(self, name) for name in _TOLD},
            "clients_per_value": self.clients,
            "check": {
                "passed": not self.failures,
                "failures": list(self.failures),
                "tracking_limit": TRACKING_LIMIT,
                "false_alarm_upper": self.false_alarm_upper,
            },
            "eps_lower": self.eps.lower,
            "eps_one_lower": self.eps_one.lower,
            "gamma_lower": self.gamma.lower,
            "advantage_lower": self.tracking.lower,
            **{name: getattr(self, name).as_dict() for name in _TESTED},
            "recovered": self.recovered._asdict(),
            "recovered_one": self.recovered_one._asdict(),
            "identical_streams": self.identical,
        }


def audit_client(
    factory: Factory,
    values: Sequence[Any],
    *,
    reports: int,
    claimed_eps: float | None = None,
    claimed_eps_one: float | None = None,
    claimed_delta: float = 0.0,
    claimed_advantage: float | None = None,
    claimed_gamma: float | None = None,
    clients: int = 2000,
    level: float = 0.99,
    seed: int = 0,
    progress: Progress = no_progress,
) -> ClientAudit:
    """Audit clients made by `factory(value)`, without knowing how they work.

    A client is a function that returns one report after another, or an object with `.report(round)`, which is
    called for rounds 1, 2, …. `clients` is the number of clients for each value. `claimed_eps` is about all
    `reports` together, `claimed_eps_one` about one. `claimed_advantage` and `claimed_gamma` are about tracking: can
    two halves of one client's reports be told from halves of two clients? `claimed_delta` belongs to each eps and
    to gamma. `failures` of the result says whether the client fails a check, and why. `seed` decides which clients
    are held out, not what clients send. The bounds assume that clients are independent, which is tested too.
    """
    if not callable(factory):
        raise TypeError(f"factory must be callable, not {type(factory).__name__}")
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"values must be a sequence of values, not {type(values).__name__}")
    if len(values) < 2:
        raise ValueError(f"there must be at least two values, got {len(values)}")
    reports = checks.integer("reports", reports, low=2, high=checks.MOST_ROUNDS)
    clients = checks.integer("clients", clients, low=4 * FEWEST_PEOPLE)
    level = checks.open_probability("level", level)
    delta = checks.probability("claimed_delta", claimed_delta)
    claimed, claimed_one, gamma = (
        None if given is None else checks.non_negative(name, given)
        for name, given in (
            ("claimed_eps", claimed_eps),
            ("claimed_eps_one", claimed_eps_one),
            ("claimed_gamma", claimed_gamma),
        )
    )
    if claimed_advantage is not None:
        claimed_advantage = checks.probability("claimed_advantage", claimed_advantage)
    rng = np.random.default_rng(checks.integer("seed", seed, low=0))
    samples = collect(factory, values, clients, reports, progress)
    progress("looking for leaks", None)
    every, one = (
        value_leak(taken, level=level, delta=delta, seed=seed)
        for taken in (samples, [sample.between(0, 1) for sample in samples])
    )
    tracking, loss = _tracking(samples, level, delta, seed)
    return ClientAudit(
        values=len(values),
        clients=clients,
        reports=reports,
        level=level,
        claimed_eps=claimed,
        claimed_eps_one=claimed_one,
        claimed_delta=delta,
        claimed_advantage=claimed_advantage,
        claimed_gamma=gamma,
        eps=every.eps,
        eps_one=one.eps,
        gamma=loss,
        tracking=tracking,
        recovered=every.recovered,
        recovered_one=one.recovered,
        persistence=persistence(samples, rng),
        sharing=sharing(samples),
        identical=identical(samples),
    )


def _tracking(samples: Sequence[Streams], level: float, delta: float, seed: int) -> tuple[Advantage, LossBound]:
    """The largest bounds over all values. Each has a higher level, so that of all values holds at this level."""
    each = 1 - (1 - level) / len(samples)
    windows = [halves(sample) for sample in samples]
    advantages = [advantage_lower(*two, level=each, seed=seed) for two in windows]
    losses = [gamma_lower(*two, level=each, delta=delta, seed=seed) for two in windows]
    return (
        max(advantages, key=lambda advantage: (advantage.lower, advantage.sampled)),
        max(losses, key=lambda loss: (loss.lower, loss.sampled)),
    )
