"""One symbol out of many that a client keeps for ever and reports through noise.

The kept symbol s is the true one, u, with probability a and each other one with c = (1-a)/(g-1); a report is s with
probability b and each other symbol with (1-b)/(g-1). Only how often each symbol was reported matters: with
ρ = b(g-1)/(1-b) and n_s reports of s, a stream has likelihood proportional to Σ_s π_s·ρ^(n_s), π_u = a and π_s = c.
Symbols that neither world singles out are exchangeable, so what remains of their counts is a multiset.

Everything is computed from e_s = ρ^(n_s) - 1 in the log domain: 1 + Σ_s π_s·e_s is a sum of positive terms, and the
difference of two worlds is written without the terms that they share, so that neither a large ρ nor one next to 1
loses digits.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from untrackable.theory import coordinate
from untrackable.theory.coordinate import Coin, Noise
from untrackable.theory.factor import Factor, FloatArray

Integers = NDArray[np.int64]

MOST_OUTCOMES = 2_000_000
"""Outcomes that are enumerated for one question, over all splits that it is about."""

_NOTHING = 1e-290
"""Losses next to underflow, which are none."""


@dataclass(frozen=True, slots=True)
class Response:
    """Generalised randomised response: the truth, or any of the other symbols, each with the same probability.

    `truth` is a, `lie` is 1-a and `eps` is ln(a(g-1)/(1-a)), each known to full relative precision.
    """

    symbols: int
    truth: float
    lie: float
    eps: float

    @staticmethod
    def of(symbols: int, truth: float) -> "Response":
        """From the probability of the truth."""
        odds = math.inf if truth == 1 else truth * (symbols - 1) / (1 - truth)
        return Response(symbols, truth, 1 - truth, math.log(odds))

    @property
    def other(self) -> float:
        """Probability c of each other symbol."""
        return self.lie / (self.symbols - 1)

    def then(self, later: "Response") -> float:
        """Probability that the truth survives this step and a later one."""
        return self.truth * later.truth + self.lie * later.other

    def coin(self) -> Coin:
        """Of two symbols, whether it is the true one."""
        return Coin(self.truth, self.lie, -self.truth * math.expm1(-self.eps))


def response_pair(step: Response) -> Factor:
    """One symbol against another, seen through one step: what is kept, for ever; or one report of what is kept."""
    truth, other = step.truth, step.other
    rest = max(0.0, 1 - truth - other)
    if step.symbols == 2:
        return Factor([truth, other], [other, truth], [step.eps, -step.eps])
    return Factor([truth, other, rest], [other, truth, rest], [step.eps, -step.eps, 0.0])


# --- the kept symbols granted to the observer ------------------------------------------------------------------


def granted_tracking(kept: Response) -> Factor:
    """Both sides' kept symbols in the clear, one user against two of the same value.

    One user: (s, s) with probability π_s. Two: (s, t) with π_s·π_t. Reports are made of the granted symbols alike
    in both worlds, so this dominates any number of reports, and many reports on both sides attain it.
    """
    truth, other, lie = kept.truth, kept.other, kept.lie
    if lie == 0:
        return Factor([1.0], [1.0])
    unequal = lie * (1 + truth - other)
    return Factor(
        [truth, lie, 0.0], [truth**2, lie * other, unequal], [-math.log(truth), -math.log(other), -math.inf]
    )


def granted_detection(kept: Response) -> Factor:
    """The same for a change of value: two users keep (s, t) with probability π_s·π'_t."""
    truth, other = kept.truth, kept.other
    if other == 0:
        return Factor([1.0, 0.0], [0.0, 1.0])
    rest = (kept.symbols - 2) * other
    # (u, u) and pairs of symbols that were never true, of one loss; the new symbol twice; unequal ones.
    equal, unequal = (truth + rest) * other, 1 - (2 * truth + rest) * other
    return Factor(
        [truth + rest, other, 0.0],
        [equal, truth * other, unequal],
        [-math.log(other), -math.log(truth), -math.inf],
    )


# --- how many outcomes there are -------------------------------------------------------------------------------


def few(symbols: int, special: int, sides: Iterable[tuple[int, int]]) -> bool:
    """Whether all these splits together have at most `MOST_OUTCOMES` outcomes."""
    numbers = (outcomes(symbols, special, *sorted(side)) for side in sides)
    return all(total <= MOST_OUTCOMES for total in itertools.accumulate(numbers))


def few_known(symbols: int, reports: int) -> bool:
    """The same for one side of so many reports, the kept symbol of the other side being known."""
    return outcomes(symbols, 1, 0, reports) + outcomes(symbols, 2, 0, reports) <= MOST_OUTCOMES


@lru_cache(maxsize=4096)
def outcomes(symbols: int, special: int, first: int, second: int) -> int:
    """Different counts on two sides, all but `special` symbols being alike; or `MOST_OUTCOMES` + 1, if fewer."""
    many = MOST_OUTCOMES + 1
    if symbols == 2:
        return min(many, (first + 1) * (second + 1))
    others, reports = symbols - special, first + second
    most = min(others, reports)
    # Ordered counts of n others, each multiset of which has at most n! orders: a lower bound for every n.
    for n in range(min(most, 40) + 1):
        size = special + n - 1
        if math.comb(first + size, size) * math.comb(second + size, size) > MOST_OUTCOMES * math.factorial(n):
            return many
    ways = np.zeros((most + 1, first + 1, second + 1))  # multisets of n counts with given sums
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


# --- exact ------------------------------------------------------------------------------------------------------


def tracking_factor(kept: Response, told: Response, reports: int, split: int) -> Factor:
    """One user against two of the same value: by the true symbol's counts and the multiset of the others'."""
    if kept.symbols == 2:
        return coordinate.tracking_factor(kept.coin(), _noise(told), reports, split)
    rows = _Others.of(kept.symbols - 1, told.eps, split, reports - split)
    own = _Counts(rows.left[0], rows.left[1])
    worlds = _Worlds.of(kept, told.eps, own, rows.sums)
    ways = rows.ways - rows.factorials[own.first] - rows.factorials[own.second]
    return _factor(ways, worlds.together, worlds.first + worlds.second, worlds.loss, _error(told, split, reports))


def detection_factor(kept: Response, told: Response, reports: int, split: int) -> Factor:
    """One user against one of another value from report `split` on; with `split` 0, one value against another.

    Two symbols are singled out, the true ones before and after. The loss is that of tracking, and that of telling
    the two values apart by the later reports.
    """
    if kept.symbols == 2:
        coin = kept.coin()
        return coordinate.detection_factor(coin, coin.mirrored(), _noise(told), reports, split)
    rows = _Others.of(kept.symbols - 2, told.eps, split, reports - split)
    own, new, row = _shared_out(*rows.left)
    grown = growth_log(told.eps, reports)
    x, y = grown[new.first], grown[new.second]
    sums = _Sums(*(np.logaddexp(s[row], more) for s, more in zip(rows.sums.parts, (x, y, x + y), strict=True)))
    worlds = _Worlds.of(kept, told.eps, own, sums)
    changed = _log_mean(kept, y, np.logaddexp(rows.sums.second[row], grown[own.second]))
    # Σ(π-π')ρ^y = (a-c)(ρ^(y_u) - ρ^(y_v)), the difference being between 0 and the larger of the two.
    step, apart = told.eps, np.abs(own.second - new.second)
    gap = math.log(kept.truth) + _log_expm1(kept.eps) - kept.eps if kept.lie else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = gap + step * np.minimum(own.second, new.second) + _log_expm1(step * apart) - changed
        close = np.log1p(np.sign(own.second - new.second) * np.exp(np.minimum(excess, 700.0)))
        loss = np.where(np.abs(close) < 0.5, close, worlds.second - changed)
    ways = rows.ways[row]
    for counts in (own, new):
        ways = ways - rows.factorials[counts.first] - rows.factorials[counts.second]
    return _factor(ways, worlds.together, worlds.first + changed, worlds.loss + loss, _error(told, split, reports))


def known_tracking(kept: Response, told: Response, reports: int) -> Factor:
    """One user against two, of whom one side's kept symbol is granted, and `reports` reports of the other side."""
    return _known_factor(kept, told, reports, (kept.truth, kept.lie))


def known_detection(kept: Response, told: Response, reports: int) -> Factor:
    """The same for a change of value: the kept symbol from before it is granted, and `reports` reports after it."""
    return _known_factor(kept, told, reports, (kept.other, 1 - kept.other))


def _known_factor(kept: Response, told: Response, reports: int, weights: tuple[float, float]) -> Factor:
    """A known symbol s, and reports of it (P) or of what somebody else keeps (Q): ln(ρ^(n_s)/Σ_t π_t·ρ^(n_t)).

    `weights` are the probabilities that s is the true symbol of the reports' sender in Q, and that it is not.
    """
    grown, parts = growth_log(told.eps, reports), []
    rows = _Others.of(kept.symbols - 1, told.eps, 0, reports)
    own = rows.left[1]
    parts.append((rows.ways - rows.factorials[own], own, _log_mean(kept, grown[own], rows.sums.second)))
    rows = _Others.of(kept.symbols - 2, told.eps, 0, reports)
    true, known, row = _shared_out(*rows.left)
    ways = rows.ways[row] - rows.factorials[true.second] - rows.factorials[known.second]
    rest = np.logaddexp(rows.sums.second[row], grown[known.second])
    parts.append((ways, known.second, _log_mean(kept, grown[true.second], rest)))
    found = [
        (weight * _masses(ways + told.eps * count), weight * _masses(ways + mean), told.eps * count - mean)
        for weight, (ways, count, mean) in zip(weights, parts, strict=True)
        if weight > 0
    ]
    p, q, loss = (np.concatenate(column) for column in zip(*found, strict=True))
    return Factor(p, q, loss, error=_error(told, 0, reports))


def stream_likelihood(kept: Response, told: Response, streams: NDArray[Any], own: NDArray[Any]) -> FloatArray:
    """Log probability of each row of symbols, `own` being its true symbol: ln Σ_s π_s·ρ^(n_s)·((1-b)/(g-1))^k."""
    ordered = np.sort(streams, axis=1)
    log_truth, log_other = _logs(kept)
    prior = np.where(ordered == own[:, None], log_truth, log_other)
    if told.lie == 0:
        return np.where(ordered[:, 0] == ordered[:, -1], prior[:, 0], -np.inf)
    places = np.arange(ordered.shape[1])
    changes = ordered[:, 1:] != ordered[:, :-1]
    edge = np.ones((ordered.shape[0], 1), dtype=np.bool_)
    starts, ends = np.hstack((edge, changes)), np.hstack((changes, edge))
    length = places - np.maximum.accumulate(np.where(starts, places, 0), axis=1) + 1
    terms = np.where(ends, prior + growth_log(told.eps, ordered.shape[1])[length], -np.inf)
    total: FloatArray = np.logaddexp(0.0, np.logaddexp.reduce(terms, axis=1))
    total += ordered.shape[1] * math.log(told.other)
    return total


@dataclass(frozen=True, slots=True)
class _Counts:
    """How often one symbol was reported on the two sides, in every outcome."""

    first: Integers
    second: Integers


@dataclass(frozen=True, slots=True)
class _Sums:
    """Ln of Σe, Σe' and Σe·e' over symbols, e and e' being those of the two sides."""

    first: FloatArray
    second: FloatArray
    both: FloatArray

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.first, self.second, self.both


@dataclass(frozen=True, slots=True)
class _Others:
    """Every multiset of counts of exchangeable symbols, in rows: what is left for the others, and how many ways.

    `ways` is ln(assignments to symbols/Π x_s!·y_s!).
    """

    left: tuple[Integers, Integers]
    ways: FloatArray
    sums: _Sums
    factorials: FloatArray

    @staticmethod
    def of(symbols: int, step: float, first: int, second: int) -> "_Others":
        """Multisets of at most `symbols` pairs, none (0, 0), with sums of at most `first` and `second`.

        Grown part by part: the next part of a row is no smaller than its last one in lexicographic order, so the
        parts that may follow are a range of numbers.
        """
        factorials, grown = gammaln(np.arange(max(first, second) + 1) + 1.0), growth_log(step, first + second)
        a, b, x, y, run = (np.array([n], dtype=np.int64) for n in (first, second, 0, 1, 0))
        ways, sums = np.zeros(1), [np.full(1, -np.inf)] * 3
        levels: list[list[NDArray[Any]]] = [[a, b, ways, *sums]]
        for part in range(min(symbols, first + second)):
            # With the same x, y from the last one on; with every larger x, any y.
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
        return _Others((left, right), log_ways, _Sums(*logs), factorials)


@dataclass(frozen=True, slots=True)
class _Worlds:
    """Ln of Σπ·ρ^(x+y), Σπ·ρ^x and Σπ·ρ^y, and the loss of one user against two, in every outcome."""

    together: FloatArray
    first: FloatArray
    second: FloatArray
    loss: FloatArray

    @staticmethod
    def of(kept: Response, step: float, own: _Counts, rest: _Sums) -> "_Worlds":
        """From the true symbol's counts and the sums over all others.

        P - Q is the covariance of e and e' under π:
        a(1-a)·e_u·e'_u + c·Σee' - a·c·(e_u·Σe' + e'_u·Σe) - c²·Σe·Σe', the sums being over the others.
        """
        truth, other = _logs(kept)
        grown = growth_log(step, int((own.first + own.second).max()))
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
    """Every way to share what is left of each row between two symbols; and which row each is of."""
    height, width = first + 1, second + 1
    row = np.repeat(np.arange(first.size), height * width)
    number = np.arange(row.size) - np.repeat(np.cumsum(height * width) - height * width, height * width)
    x, y = number // width[row], number % width[row]
    return _Counts(x, y), _Counts(first[row] - x, second[row] - y), row


def _logs(step: Response) -> tuple[float, float]:
    """Ln of a and of c."""
    return math.log(step.truth), math.log(step.other) if step.other else -math.inf


def _log_mean(kept: Response, own: FloatArray, rest: FloatArray) -> FloatArray:
    """ln(1 + a·e_u + c·Σe) from the logs of e_u and of Σe over the others."""
    truth, other = _logs(kept)
    mean: FloatArray = np.logaddexp(0.0, np.logaddexp(truth + own, other + rest))
    return mean


def growth_log(step: float, most: int) -> FloatArray:
    """ln(ρ^n - 1) for n = 0 … most."""
    growth: FloatArray = _log_expm1(step * np.arange(most + 1.0))
    return growth


def _log_expm1(exponent: Any) -> Any:
    """ln(e^z - 1) for z ≥ 0."""
    with np.errstate(divide="ignore"):
        return exponent + np.log(-np.expm1(-exponent))


def _noise(told: Response) -> Noise:
    """Of two symbols, the law of a report that shows the true one."""
    coin = told.coin()
    return Noise(coin, coin.mirrored(), told.eps, -told.eps)


def _error(told: Response, split: int, reports: int) -> float:
    """Logarithms of this size, each rounded a few times, become relative errors of the masses."""
    size = math.lgamma(split + 1) + math.lgamma(reports - split + 1) + reports * (told.eps + math.log(told.symbols))
    return 8 * float(np.finfo(np.float64).eps) * size


def _factor(ways: FloatArray, log_p: FloatArray, log_q: FloatArray, loss: FloatArray, error: float) -> Factor:
    loss = np.where(np.abs(loss) < _NOTHING, 0.0, loss)
    return Factor(_masses(ways + log_p), _masses(ways + log_q), loss, error=error)


def _masses(logs: FloatArray) -> FloatArray:
    """Masses known up to a common factor, which normalising removes."""
    mass: FloatArray = np.exp(logs - logs.max())
    mass /= mass.sum()
    return mass
