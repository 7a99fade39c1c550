"""One symbol out of g that a client keeps for ever and reports through noise.

The kept symbol s is the true one, u, with probability a, and each other one with probability c = (1-a)/(g-1). A
report is s with probability b and each other symbol with probability (1-b)/(g-1). Only the number n_s of reports of
each symbol matters: with ρ = b(g-1)/(1-b), π_u = a and π_s = c otherwise, the likelihood of a stream is
proportional to Σ_s π_s·ρ^(n_s). Symbols that are true in neither world are exchangeable, so only the multiset of
their counts matters.

Everything is computed from e_s = ρ^(n_s) - 1 in the log domain. 1 + Σ_s π_s·e_s is a sum of positive terms, and the
difference of two worlds leaves out their common terms. So no digits are lost, whether ρ is large or next to 1.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from untrackable.theory import kept_bit
from untrackable.theory.factor import Factor, FloatArray
from untrackable.theory.kept_bit import Coin, Noise

Integers = NDArray[np.int64]

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


# --- if the observer knows the kept symbols --------------------------------------------------------------------


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


# --- from the counts of reported symbols -----------------------------------------------------------------------


def tracking_factor(kept: Response, reported: Response, reports: int, split: int) -> Factor:
    """One person against two with the same value, by the true symbol's counts and the multiset of the others."""
    if kept.symbols == 2:
        return kept_bit.tracking_factor(kept.coin(), _noise(reported), reports, split)
    rows = _Others.of(kept.symbols - 1, reported.eps, split, reports - split)
    own = _Counts(rows.left[0], rows.left[1])
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
    sums = _Sums(*(np.logaddexp(s[row], more) for s, more in zip(rows.sums.parts, (x, y, x + y), strict=True)))
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
    found = [
        (weight * _masses(ways + reported.eps * count), weight * _masses(ways + mean), reported.eps * count - mean)
        for weight, (ways, count, mean) in zip(weights, parts, strict=True)
        if weight > 0
    ]
    p, q, loss = (np.concatenate(column) for column in zip(*found, strict=True))
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


@dataclass(frozen=True, slots=True)
class _Counts:
    """The number of reports of one symbol on the two sides, for every outcome."""

    first: Integers
    second: Integers


@dataclass(frozen=True, slots=True)
class _Sums:
    """The logarithms of Σe, Σe' and Σe·e' over symbols, where e and e' belong to the two sides."""

    first: FloatArray
    second: FloatArray
    both: FloatArray

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.first, self.second, self.both


@dataclass(frozen=True, slots=True)
class _Others:
    """Every multiset of counts of the exchangeable symbols, one per row.

    `left` is the number of reports that remain for the special symbols. `ways` is ln(assignments/Π x_s!·y_s!).
    """

    left: tuple[Integers, Integers]
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
        return _Others((left, right), log_ways, _Sums(*logs), factorials)


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
    mean: FloatArray = np.logaddexp(0.0, np.logaddexp(truth + own, other + rest))
    return mean


def log_power_minus_one(step: float, most: int) -> FloatArray:
    """ln(ρ^n - 1) for n = 0 … most."""
    growth: FloatArray = _log_expm1(step * np.arange(most + 1.0))
    return growth


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
    return Factor(_masses(ways + log_p), _masses(ways + log_q), loss, error=error)


def _masses(logs: FloatArray) -> FloatArray:
    """Normalised masses from logarithms that are known up to a common constant."""
    mass: FloatArray = np.exp(logs - logs.max())
    mass /= mass.sum()
    return mass
