"""Memoization of one symbol out of g, or of stored executions of a mechanism, which a client reports through noise.

The kept symbol s is the true one, u, with probability a, and each other one with probability c = (1-a)/(g-1). A
report is s with probability b and each other symbol with probability (1-b)/(g-1). Only the number n_s of reports of
each symbol matters: with ρ = b(g-1)/(1-b), π_u = a and π_s = c otherwise, the likelihood of a stream is
proportional to Σ_s π_s·ρ^(n_s). Symbols that are true in neither world are exchangeable, so only the multiset of
their counts matters.

Everything is computed from e_s = ρ^(n_s) - 1 in the log domain. 1 + Σ_s π_s·e_s is a sum of positive terms, and the
difference of two worlds leaves out their common terms. So no digits are lost, whether ρ is large or next to 1.

Stored executions are drawn with replacement, so a slot that shows up on both sides gives a person away. Their
experiments show the observer the whole pattern: which reports came from the same slot. That can only help the
observer, so the experiments dominate the mechanism's own for every base mechanism. They become exact as the base's
reports become unique.
"""

import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from untrackable.arrays import FloatArray, Integers
from untrackable.theory import kept_bit
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor
from untrackable.theory.kept_bit import Coin, Noise, masses

_NOTHING = 1e-290
"""Smaller losses are next to underflow and count as 0."""


@dataclass(frozen=True, slots=True)
class Response:
    """Generalised randomised response: the truth, or any of the other symbols with equal probability.

    `truth` is a, `lie` is 1-a and `eps` is ln(a(g-1)/(1-a)). Each has full relative precision.
    """

    symbols: int
    truth: float
    lie: float
    eps: float

    @staticmethod
    def of(symbols: int, truth: float) -> "Response":
        """Make a response from the probability of the truth."""
        odds = math.inf if truth == 1 else truth * (symbols - 1) / (1 - truth)
        return Response(symbols, truth, 1 - truth, math.log(odds))

    @property
    def other(self) -> float:
        """The probability c of each other symbol."""
        return self.lie / (self.symbols - 1)

    def then(self, later: "Response") -> float:
        """The probability that the true symbol comes out of this step followed by a later one."""
        return self.truth * later.truth + self.lie * later.other

    def coin(self) -> Coin:
        """With two symbols, the coin that is 1 for the true one."""
        return Coin(self.truth, self.lie, -self.truth * math.expm1(-self.eps))


def symbol_privacy_factor(step: Response) -> Factor:
    """One true symbol against another, seen through one response: the kept symbol, or a report of a kept one."""
    truth, other = step.truth, step.other
    rest = max(0.0, 1 - truth - other)
    if step.symbols == 2:
        return Factor([truth, other], [other, truth], [step.eps, -step.eps])
    return Factor([truth, other, rest], [other, truth, rest], [step.eps, -step.eps, 0.0])


# --- if the observer knows the kept symbols ---------------------------------------------------------------


def tracking_both_symbols_known(kept: Response) -> Factor:
    """One person against two with the same value, if the observer knows both sides' kept symbols (upper).

    One person keeps (s, s) with probability π_s. Two people keep (s, t) with probability π_s·π_t. Given these
    symbols, reports follow the same law in both worlds. So this dominates any number of reports, and is their
    limit.
    """
    truth, other, lie = kept.truth, kept.other, kept.lie
    if lie == 0:
        return Factor([1.0], [1.0])
    unequal = lie * (1 + truth - other)
    return Factor(
        [truth, lie, 0.0], [truth**2, lie * other, unequal], [-math.log(truth), -math.log(other), -math.inf]
    )


def detection_both_symbols_known(kept: Response) -> Factor:
    """Detection of a change if the observer knows both kept symbols; Q keeps (s, t) with π_s·π'_t (upper)."""
    truth, other = kept.truth, kept.other
    if other == 0:
        return Factor([1.0, 0.0], [0.0, 1.0])
    rest = (kept.symbols - 2) * other
    # The outcomes are: equal symbols other than the new one, which all have one loss; the new symbol twice; the
    # rest.
    equal, unequal = (truth + rest) * other, 1 - (2 * truth + rest) * other
    return Factor(
        [truth + rest, other, 0.0],
        [equal, truth * other, unequal],
        [-math.log(other), -math.log(truth), -math.inf],
    )


# --- from the counts of reported symbols ------------------------------------------------------------------


def tracking_factor(kept: Response, reported: Response, reports: int, split: int) -> Factor:
    """One person against two with the same value, by the true symbol's counts and the multiset of the others."""
    if kept.symbols == 2:
        return kept_bit.tracking_factor(kept.coin(), _noise(reported), reports, split)
    rows = _Others.of(kept.symbols - 1, reported.eps, split, reports - split)
    own = rows.left
    worlds = _Worlds.of(kept, reported.eps, own, rows.sums)
    ways = rows.ways - rows.factorials[own.first] - rows.factorials[own.second]
    return _factor(
        ways, worlds.together, worlds.first + worlds.second, worlds.loss, _error(reported, split, reports)
    )


def detection_factor(kept: Response, reported: Response, reports: int, split: int) -> Factor:
    """One person against two with different values, the second from report `split` on. `split` 0 gives privacy.

    Two symbols are special: the true one before and the true one after. The loss is the sum of the loss of tracking
    and of the loss of telling the two values apart by the later reports.
    """
    if kept.symbols == 2:
        coin = kept.coin()
        return kept_bit.detection_factor(coin, coin.mirrored(), _noise(reported), reports, split)
    rows = _Others.of(kept.symbols - 2, reported.eps, split, reports - split)
    own, new, row = _shared_out(*rows.left)
    grown = log_power_minus_one(reported.eps, reports)
    x, y = grown[new.first], grown[new.second]
    sums = _Sums(*(np.logaddexp(s[row], more) for s, more in zip(rows.sums, (x, y, x + y), strict=True)))
    worlds = _Worlds.of(kept, reported.eps, own, sums)
    changed = _log_mean(kept, y, np.logaddexp(rows.sums.second[row], grown[own.second]))
    # Σ(π-π')ρ^y = (a-c)(ρ^(y_u) - ρ^(y_v)), computed from the ratio of the two powers so that nothing cancels.
    step, apart = reported.eps, np.abs(own.second - new.second)
    gap = math.log(kept.truth) + _log_expm1(kept.eps) - kept.eps if kept.lie else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = gap + step * np.minimum(own.second, new.second) + _log_expm1(step * apart) - changed
        close = np.log1p(np.sign(own.second - new.second) * np.exp(np.minimum(excess, 700.0)))
        loss = np.where(np.abs(close) < 0.5, close, worlds.second - changed)
    ways = rows.ways[row]
    for counts in (own, new):
        ways = ways - rows.factorials[counts.first] - rows.factorials[counts.second]
    return _factor(
        ways, worlds.together, worlds.first + changed, worlds.loss + loss, _error(reported, split, reports)
    )


def tracking_one_symbol_known(kept: Response, reported: Response, reports: int) -> Factor:
    """One person against two, if the observer knows one side's kept symbol and has `reports` of the other side."""
    return _known_factor(kept, reported, reports, (kept.truth, kept.lie))


def detection_one_symbol_known(kept: Response, reported: Response, reports: int) -> Factor:
    """Detection of a change, if the observer knows the kept symbol before it and has `reports` after it."""
    return _known_factor(kept, reported, reports, (kept.other, 1 - kept.other))


def _known_factor(kept: Response, reported: Response, reports: int, weights: tuple[float, float]) -> Factor:
    """A known symbol s, and reports of it (P) or of somebody else's kept symbol (Q).

    The loss is ln(ρ^(n_s)/Σ_t π_t·ρ^(n_t)). `weights` are the probabilities that s is, and is not, the true symbol
    of the person who sends the reports in Q.
    """
    grown, parts = log_power_minus_one(reported.eps, reports), []
    rows = _Others.of(kept.symbols - 1, reported.eps, 0, reports)
    own = rows.left[1]
    parts.append((rows.ways - rows.factorials[own], own, _log_mean(kept, grown[own], rows.sums.second)))
    rows = _Others.of(kept.symbols - 2, reported.eps, 0, reports)
    true, known, row = _shared_out(*rows.left)
    ways = rows.ways[row] - rows.factorials[true.second] - rows.factorials[known.second]
    rest = np.logaddexp(rows.sums.second[row], grown[known.second])
    parts.append((ways, known.second, _log_mean(kept, grown[true.second], rest)))
    columns = [
        (weight * masses(ways + reported.eps * count), weight * masses(ways + mean), reported.eps * count - mean)
        for weight, (ways, count, mean) in zip(weights, parts, strict=True)
        if weight > 0
    ]
    p, q, loss = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Factor(p, q, loss, error=_error(reported, 0, reports))


def symbol_log_likelihood(
    kept: Response, reported: Response, streams: NDArray[Any], own: NDArray[Any]
) -> FloatArray:
    """The log probability ln(Σ_s π_s·ρ^(n_s)·((1-b)/(g-1))^k) of each row of k symbols with true symbol `own`."""
    ordered = np.sort(streams, axis=1)
    log_truth, log_other = _logs(kept)
    prior = np.where(ordered == own[:, None], log_truth, log_other)
    if reported.lie == 0:
        return np.where(ordered[:, 0] == ordered[:, -1], prior[:, 0], -np.inf)
    places = np.arange(ordered.shape[1])
    changes = ordered[:, 1:] != ordered[:, :-1]
    edge = np.ones((ordered.shape[0], 1), dtype=np.bool_)
    starts, ends = np.hstack((edge, changes)), np.hstack((changes, edge))
    length = places - np.maximum.accumulate(np.where(starts, places, 0), axis=1) + 1
    terms = np.where(ends, prior + log_power_minus_one(reported.eps, ordered.shape[1])[length], -np.inf)
    total: FloatArray = np.logaddexp(0.0, np.logaddexp.reduce(terms, axis=1))
    total += ordered.shape[1] * math.log(reported.other)
    return total


class _Counts(NamedTuple):
    """The number of reports of one symbol on the two sides, for every outcome."""

    first: Integers
    second: Integers


class _Sums(NamedTuple):
    """The logarithms of Σe, Σe' and Σe·e' over symbols, where e and e' belong to the two sides."""

    first: FloatArray
    second: FloatArray
    both: FloatArray


@dataclass(frozen=True, slots=True)
class _Others:
    """Every multiset of counts of the exchangeable symbols, one per row.

    `left` is the number of reports that remain for the special symbols. `ways` is ln(assignments/Π x_s!·y_s!).
    """

    left: _Counts
    ways: FloatArray
    sums: _Sums
    factorials: FloatArray

    @staticmethod
    def of(symbols: int, step: float, first: int, second: int) -> "_Others":
        """Multisets of at most `symbols` pairs of counts, none (0, 0), with sums of at most `first` and `second`.

        Rows grow pair by pair. A new pair is at least the last one in lexicographic order, so the possible pairs
        form a range of numbers.
        """
        factorials, grown = (
            gammaln(np.arange(max(first, second) + 1) + 1.0),
            log_power_minus_one(step, first + second),
        )
        a, b, x, y, run = (np.array([n], dtype=np.int64) for n in (first, second, 0, 1, 0))
        ways, sums = np.zeros(1), [np.full(1, -np.inf)] * 3
        levels: list[list[NDArray[Any]]] = [[a, b, ways, *sums]]
        for part in range(min(symbols, first + second)):
            # With the same x, y may be the last one or larger. With a larger x, any y may follow.
            same = np.where(x <= a, np.maximum(0, b - y + 1), 0)
            fan = same + np.maximum(0, a - x) * (b + 1)
            total = int(fan.sum())
            if total == 0:
                break
            row = np.repeat(np.arange(fan.size), fan)
            number = np.arange(total) - np.repeat(np.cumsum(fan) - fan + same, fan)
            width = b[row] + 1
            early = number < 0
            new_x = np.where(early, x[row], x[row] + 1 + number // width)
            new_y = np.where(early, y[row] + number + same[row], number % width)
            run = np.where((new_x == x[row]) & (new_y == y[row]), run[row] + 1, 1)
            x, y, a, b = new_x, new_y, a[row] - new_x, b[row] - new_y
            ways = ways[row] + math.log(symbols - part) - np.log(run) - factorials[x] - factorials[y]
            terms = grown[x], grown[y], grown[x] + grown[y]
            sums = [np.logaddexp(s[row], term) for s, term in zip(sums, terms, strict=True)]
            levels.append([a, b, ways, *sums])
        left, right, log_ways, *logs = (np.concatenate(column) for column in zip(*levels, strict=True))
        return _Others(_Counts(left, right), log_ways, _Sums(*logs), factorials)


@dataclass(frozen=True, slots=True)
class _Worlds:
    """The logarithms of Σπ·ρ^(x+y), Σπ·ρ^x and Σπ·ρ^y, and the loss of one person against two, per outcome."""

    together: FloatArray
    first: FloatArray
    second: FloatArray
    loss: FloatArray

    @staticmethod
    def of(kept: Response, step: float, own: _Counts, rest: _Sums) -> "_Worlds":
        """Compute them from the true symbol's counts and the sums over all others.

        P - Q is the covariance of e and e' under π, which is
        a(1-a)·e_u·e'_u + c·Σee' - a·c·(e_u·Σe' + e'_u·Σe) - c²·Σe·Σe', with sums over the other symbols.
        """
        truth, other = _logs(kept)
        grown = log_power_minus_one(step, int((own.first + own.second).max()))
        x, y = grown[own.first], grown[own.second]
        first, second = _log_mean(kept, x, rest.first), _log_mean(kept, y, rest.second)
        all_rest = np.logaddexp(rest.both, np.logaddexp(rest.first, rest.second))
        together = _log_mean(kept, grown[own.first + own.second], all_rest)
        apart = first + second
        lie = math.log(kept.lie) if kept.lie else -math.inf
        covariance = np.exp(truth + lie + x + y - apart) + np.exp(other + rest.both - apart)
        covariance -= np.exp(truth + other + x + rest.second - apart)
        covariance -= np.exp(truth + other + y + rest.first - apart)
        covariance -= np.exp(2 * other + rest.first + rest.second - apart)
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.where(covariance > -0.5, np.log1p(covariance), together - apart)
        return _Worlds(together, first, second, loss)


def _shared_out(first: Integers, second: Integers) -> tuple[_Counts, _Counts, Integers]:
    """Every way to share the remaining reports of each row between two symbols, and the row each way belongs to."""
    height, width = first + 1, second + 1
    row = np.repeat(np.arange(first.size), height * width)
    number = np.arange(row.size) - np.repeat(np.cumsum(height * width) - height * width, height * width)
    x, y = number // width[row], number % width[row]
    return _Counts(x, y), _Counts(first[row] - x, second[row] - y), row


def _logs(step: Response) -> tuple[float, float]:
    """The logarithms of a and of c."""
    return math.log(step.truth), math.log(step.other) if step.other else -math.inf


def _log_mean(kept: Response, own: FloatArray, rest: FloatArray) -> FloatArray:
    """ln(1 + a·e_u + c·Σe) from the logarithms of e_u and of Σe over the others."""
    truth, other = _logs(kept)
    return np.logaddexp(0.0, np.logaddexp(truth + own, other + rest))


def log_power_minus_one(step: float, most: int) -> FloatArray:
    """ln(ρ^n - 1) for n = 0 … most."""
    return np.asarray(_log_expm1(step * np.arange(most + 1.0)))


def _log_expm1(exponent: Any) -> Any:
    """ln(e^z - 1) for z ≥ 0."""
    with np.errstate(divide="ignore"):
        return exponent + np.log(-np.expm1(-exponent))


def _noise(reported: Response) -> Noise:
    """With two symbols, the noise of a report as a coin that shows the true one."""
    coin = reported.coin()
    return Noise(coin, coin.mirrored(), reported.eps, -reported.eps)


def _error(reported: Response, split: int, reports: int) -> float:
    """The relative error of the masses: they come from logarithms of this size that are rounded a few times."""
    size = (
        math.lgamma(split + 1)
        + math.lgamma(reports - split + 1)
        + reports * (reported.eps + math.log(reported.symbols))
    )
    return 8 * float(np.finfo(np.float64).eps) * size


def _factor(ways: FloatArray, log_p: FloatArray, log_q: FloatArray, loss: FloatArray, error: float) -> Factor:
    loss = np.where(np.abs(loss) < _NOTHING, 0.0, loss)
    return Factor(masses(ways + log_p), masses(ways + log_q), loss, error=error)


# --- the number of outcomes, which decides whether they can be enumerated ---------------------------------

MOST_OUTCOMES = 2_000_000
"""The largest number of outcomes that is enumerated for one question, over all of its splits."""


def can_enumerate(symbols: int, special: int, sides: Iterable[tuple[int, int]]) -> bool:
    """Whether all these splits together have at most `MOST_OUTCOMES` outcomes."""
    numbers = (count_outcomes(symbols, special, *sorted(side)) for side in sides)
    return all(total <= MOST_OUTCOMES for total in itertools.accumulate(numbers))


def can_enumerate_one_symbol_known(symbols: int, reports: int) -> bool:
    """Whether the outcomes can be enumerated if one side's kept symbol is known and the other has these reports."""
    return count_outcomes(symbols, 1, 0, reports) + count_outcomes(symbols, 2, 0, reports) <= MOST_OUTCOMES


@lru_cache(maxsize=4096)
def count_outcomes(symbols: int, special: int, first: int, second: int) -> int:
    """The number of different counts on two sides, or `MOST_OUTCOMES` + 1 if there are more than that.

    All but `special` symbols are exchangeable.
    """
    many = MOST_OUTCOMES + 1
    if symbols == 2:
        return min(many, (first + 1) * (second + 1))
    others, reports = symbols - special, first + second
    most = min(others, reports)
    # A multiset of n counts has at most n! orders, so ordered counts divided by n! are a lower bound for every n.
    for n in range(min(most, 40) + 1):
        size = special + n - 1
        if math.comb(first + size, size) * math.comb(second + size, size) > MOST_OUTCOMES * math.factorial(n):
            return many
    ways = np.zeros((most + 1, first + 1, second + 1))  # This counts multisets of n counts with given sums.
    ways[0, 0, 0] = 1
    for x in range(first + 1):
        for y in range(0 if x else 1, second + 1):
            for n in range(1, most + 1):
                ways[n, x:, y:] += ways[n - 1, : first + 1 - x, : second + 1 - y]
        if ways.sum() > MOST_OUTCOMES:
            return many
    left, right = np.arange(first + 1, 0, -1.0), np.arange(second + 1, 0, -1.0)
    chosen = np.multiply.outer(left, right) if special == 2 else np.ones((first + 1, second + 1))
    return int(min(many, (ways.sum(axis=0) * chosen).sum()))


# --- stored executions, drawn with replacement ------------------------------------------------------------

_REMEMBERED = 2048
"""Laws of up to this number of draws are cached, because a search over splits needs all of them."""
_COUNTED = 1500
"""Up to this many reports, slots that show up on both sides are counted for every split."""
_NEGLIGIBLE = 1e-18
"""Patterns rarer than this are counted as if they gave the person away."""


def stored_tracking(slots: int, reports: int, split: int) -> Experiment:
    """One person against two: the observer sees a cross, or the number of distinct slots on each side (upper).

    A pattern without a cross that has m and m' distinct slots on the two sides has
    P/Q = (L-m)!(L-m')! / ((L-m-m')! L!), which is at most 1.
    """
    p, q, loss = (table.ravel() for table in _patterns(slots, reports, split))
    usual = (p > _NEGLIGIBLE) & (q > _NEGLIGIBLE)
    q_lone = float(q[~usual].sum())
    p_lone = cross_probability(slots, reports, split) + float(p[~usual].sum())
    scale = (1 - p_lone) / p[usual].sum() if usual.any() else 0.0
    lone = [(p_lone, 0.0, np.inf)] * (p_lone > 0) + [(0.0, q_lone, -np.inf)] * (q_lone > 0)
    masses = np.array([*zip(scale * p[usual], q[usual], loss[usual], strict=True), *lone])
    return Experiment([Factor(*masses.T)], certainty="upper")


def stored_privacy(base: Factor, slots: int, reports: int) -> Mixture:
    """One fixed value against another, seen through the distinct slots among `reports` draws (upper)."""
    law = occupancy(reports, slots)
    rare = law <= _NEGLIGIBLE
    moved, law[rare] = law[rare].sum(), 0.0
    law[-1] += moved  # More slots reveal more, so this only overstates what is seen.
    return Mixture([(w, w, Experiment([(base, m)], certainty="upper")) for m, w in enumerate(law) if w > 0])


def stored_detection(base: Factor, slots: int, reports: int, split: int) -> Mixture:
    """One person against two with different values, the second of whom sends all but `split` reports (upper)."""
    p, q, loss = _patterns(slots, reports, split)
    p_lone, q_lone = cross_probability(slots, reports, split), 0.0
    components: list[tuple[float, float, Experiment]] = []
    for m in range(q.shape[1]):
        usual = (p[:, m] > _NEGLIGIBLE) & (q[:, m] > _NEGLIGIBLE)
        p_lone += float(p[~usual, m].sum())
        q_lone += float(q[~usual, m].sum())
        if not usual.any():
            continue
        in_p, in_q = p[usual, m], q[usual, m]
        w_p, w_q = float(in_p.sum()), float(in_q.sum())
        # The mixture adds ln(w_p/w_q) to every loss of the component, so the factor itself must not contain it.
        pattern = Factor(in_p / w_p, in_q / w_q, loss[usual, m] - np.log(w_p / w_q))
        components.append((w_p, w_q, Experiment([pattern, (base, m)], certainty="upper")))
    lone = Experiment(certainty="upper")
    return Mixture([*components, (p_lone, 0.0, lone), (0.0, q_lone, lone)])


def _patterns(slots: int, reports: int, split: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Masses in P and in Q and losses of the patterns without a cross, by distinct slots on the two sides."""
    left, right = occupancy(split, slots), occupancy(reports - split, slots)
    drawn, avoided = np.arange(left.size - 1)[:, None], np.arange(right.size)[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        one_by_one = np.where(avoided < slots - drawn, np.log1p(-avoided / (slots - drawn)), -np.inf)
    loss = np.vstack((np.zeros((1, right.size)), np.cumsum(one_by_one, axis=0)))
    q = np.outer(left, right)
    return q * np.exp(loss), q, loss


def cross_probability(slots: int, reports: int, split: int) -> float:
    """P(cross) = 1 - E[(1 - M/L)^(k-j)], the probability that some slot is drawn on both sides of the split.

    L is the number of slots, k of reports, j of reports before the split, and M is the number of distinct slots
    among the first j draws. P(cross) ≤ j(k-j)/L always holds; [NV, tracking of RNIP] has k²/L + L²/2^d instead.
    """
    if split in (0, reports):
        return 0.0
    law = occupancy(split, slots)
    with np.errstate(divide="ignore"):
        missed = (reports - split) * np.log1p(-np.arange(law.size) / slots)
    return float(law @ -np.expm1(missed))


def crossing_upper(slots: int, reports: int) -> float:
    """P(cross) of the worst split; of very many reports the bound j(k-j)/L.

    It is delta at every gamma ≥ 0, as other patterns are likelier of two people.
    """
    half = reports // 2
    if reports > _COUNTED:
        return min(1.0, half * (reports - half) / slots)
    return max((cross_probability(slots, reports, split) for split in range(1, half + 1)), default=0.0)


def repeat_probability(slots: int, draws: int) -> float:
    """The probability that some slot is drawn at least twice."""
    if draws > slots:
        return 1.0
    return float(-np.expm1(np.sum(np.log1p(-np.arange(draws) / slots))))


def occupancy(draws: int, slots: int) -> FloatArray:
    """The law of the number M of distinct slots among uniform draws, indexed by M = 0 … min(draws, slots)."""
    if slots == 1 and draws > 0:
        return np.array([0.0, 1.0])
    remembered = draws <= _REMEMBERED
    laws = _occupancies(1 << draws.bit_length(), slots)[: draws + 1] if remembered else _each_draw(draws, slots)
    (law,) = deque(laws, maxlen=1)
    return np.array(law[: min(draws, slots) + 1])


@lru_cache(maxsize=4)
def _occupancies(draws: int, slots: int) -> list[FloatArray]:
    return list(_each_draw(draws, slots))


def _each_draw(draws: int, slots: int) -> Iterator[FloatArray]:
    """The laws after 0, 1, …, `draws` draws."""
    law: FloatArray = np.eye(1, min(draws, slots) + 1)[0]
    distinct = np.arange(law.size)
    yield law
    for _ in range(draws):
        after = law * distinct / slots
        after[1:] += law[:-1] * (slots - distinct[:-1]) / slots
        law = after
        yield law
