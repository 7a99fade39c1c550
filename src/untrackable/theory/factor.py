"""A factor: one small observation and its law in each of two worlds; and the table of a total loss.

`Factor` has two probability vectors over the same outcomes. `LossTable` is the law of the sum of many losses in
both worlds, with the divergences and the distribution function that follow from it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks
from untrackable.arrays import FloatArray

World = Literal["P", "Q"]
"""One of the two worlds that an observer tries to tell apart."""
Ends = tuple[float, float]
"""The lower and the upper end of a bracket; or the largest losses ln(P/Q) and ln(Q/P)."""
MACHINE_EPSILON = float(np.finfo(np.float64).eps)
"""The distance from 1 to the next larger float."""
_SUM_TOLERANCE = 1e-9
"""Probabilities may differ from a sum of 1 by this much."""
_DIGITS = 2.0**48
"""Losses count as equal if they agree in this many steps of their leading digits."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Factor:
    """Two probability vectors over the same outcomes, and the loss ln(p/q) of each outcome.

    A caller may give the loss if it is known more precisely than the ratio of two rounded masses. It must be +inf
    where world Q cannot produce the outcome and -inf where P cannot. `error` bounds the relative error of the
    masses if that is more than a few roundings.
    """

    p: FloatArray
    q: FloatArray
    loss: FloatArray
    error: float

    def __init__(self, p: ArrayLike, q: ArrayLike, loss: ArrayLike | None = None, *, error: float = 0.0) -> None:
        p = _probabilities("p", p)
        q = _probabilities("q", q)
        if p.shape != q.shape:
            raise ValueError(f"p and q must have the same length, got {p.size} and {q.size}")
        if loss is None:
            keep = (p > 0) | (q > 0)
            p, q = p[keep], q[keep]
            loss = log_ratio(p, q)
        else:
            loss = np.asarray(loss, dtype=np.float64)
            if loss.shape != p.shape:
                raise ValueError(f"loss must have the length of p, {p.size}, got {loss.size}")
        for name, array in (("p", p), ("q", q), ("loss", loss)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "error", error)

    def reversed(self) -> "Factor":
        """This observation with the two worlds exchanged."""
        return Factor(self.q, self.p, -self.loss, error=self.error)

    def merged(self) -> "Factor":
        """This factor with outcomes of equal loss pooled, which leaves the sufficient statistic.

        Losses are equal if they agree in the first 48 binary digits. Losses of different sign are never pooled.
        """
        digits, exponent = np.frexp(self.loss)
        digits = np.where(np.isfinite(self.loss), np.rint(digits * _DIGITS) / _DIGITS, self.loss)
        with np.errstate(invalid="ignore"):
            coarse = np.where(np.isfinite(self.loss), np.ldexp(digits, exponent), self.loss)
        _, first, group = np.unique(coarse, return_index=True, return_inverse=True)
        return Factor(np.bincount(group, self.p), np.bincount(group, self.q), self.loss[first], error=self.error)

    @property
    def finite(self) -> NDArray[np.bool_]:
        """The outcomes that both worlds can produce."""
        return np.isfinite(self.loss)

    @property
    def key(self) -> bytes:
        """Bytes that are equal for equal factors."""
        return self.p.tobytes() + self.q.tobytes() + self.loss.tobytes()

    def __repr__(self) -> str:
        return f"Factor({self.p.size} outcomes, loss {self.loss.min():.6g} … {self.loss.max():.6g})"


def log_ratio(p: FloatArray, q: FloatArray) -> FloatArray:
    """ln(p/q), accurate even if p and q nearly agree; ±inf where one of them is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relative = (p - q) / q
        near = np.abs(relative) < 0.5
        return np.where(near, np.log1p(np.where(near, relative, 0.0)), np.log(p) - np.log(q))


def response_factor(eps: float) -> Factor:
    """Randomised response, with losses +eps and -eps. It dominates every eps-private pair of worlds."""
    eps = checks.non_negative("eps", eps)
    if eps == np.inf:
        return Factor([1.0, 0.0], [0.0, 1.0])
    truth, lie = 1 / (1 + np.exp(-eps)), np.exp(-eps) / (1 + np.exp(-eps))
    return Factor([truth, lie], [lie, truth], [eps, -eps])


def persistent_factor(possibilities: float) -> Factor:
    """Something visible that never changes and has m equally likely possibilities: a cohort, seed or bucket set.

    One person certainly shows the same on both sides; two people do with probability 1/m. The factor is exact if
    everything else that is seen is independent of it.
    """
    possibilities = checks.positive("possibilities", possibilities)
    if possibilities < 1:
        raise ValueError(f"possibilities must be at least 1, got {possibilities}")
    if possibilities == 1:
        return Factor([1.0], [1.0])
    return Factor([1.0, 0.0], [1 / possibilities, 1 - 1 / possibilities], [np.log(possibilities), -np.inf])


def _probabilities(name: str, given: ArrayLike | Sequence[float]) -> FloatArray:
    array = np.array(given, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty vector, got shape {array.shape}")
    if not np.all(array >= 0):
        raise ValueError(f"{name} must be non-negative, got a minimum of {array.min()}")
    total = float(array.sum())
    if abs(total - 1) > _SUM_TOLERANCE:
        raise ValueError(f"{name} must sum to 1, got {total}")
    return array / total


# --- several repeated factors, before their joint law is computed -----------------------------------------

RepeatedFactor = tuple[Factor, int]
"""A factor, and the number of times that it is observed independently."""
WORLDS: tuple[World, World] = ("P", "Q")
SYMMETRY_ERROR = 2 * MACHINE_EPSILON
"""Masses of a factor and its mirror image may differ by this share and still count as equal."""


def total_mass_error(factors: Sequence[RepeatedFactor]) -> float:
    """The relative error of a product of the factors' masses."""
    return sum(count * factor.error for factor, count in factors)


def finite_masses(factor: Factor, world: World) -> FloatArray:
    """The masses, in one world, of the outcomes that both worlds can produce."""
    return (factor.p if world == "P" else factor.q)[factor.finite]


def one_sided_masses(factors: Sequence[RepeatedFactor]) -> tuple[float, float]:
    """The probabilities in P and in Q that some factor shows an outcome that only that world can produce."""
    p_only = q_only = 0.0
    for factor, count in factors:
        p_only = _at_least_once(p_only, float(factor.p[factor.loss == np.inf].sum()), count)
        q_only = _at_least_once(q_only, float(factor.q[factor.loss == -np.inf].sum()), count)
    return p_only, q_only


def is_symmetric(factors: Sequence[RepeatedFactor]) -> bool:
    """Whether every factor looks the same with its worlds exchanged, up to the last digits of its masses.

    Then the law in one world gives the law in the other, with a relative error of `SYMMETRY_ERROR` for each draw.
    """
    return all(
        np.array_equal(f.loss, -f.loss[::-1]) and bool(np.all(np.abs(f.p - f.q[::-1]) <= SYMMETRY_ERROR * f.p))
        for f, _ in factors
    )


def _at_least_once(before: float, chance: float, count: int) -> float:
    """The probability of an event of probability `before`, or of any of `count` independent events."""
    if count > 1 and chance < 1:
        chance = -math.expm1(count * math.log1p(-chance))
    return before + chance - before * chance


# --- the law of a total loss ------------------------------------------------------------------------------

ROUNDING = 1e-11
"""The relative error that floating point may cause in a sum that is otherwise exact."""
RAREST = 1e-16
"""The smallest probability with which a bound on rounding errors is allowed to fail."""
_CURVE = 1e-9
"""The probability with which a bound on rounding errors may fail at one point of a curve."""
_QUANTILE_FAILURES = (1e-6, RAREST)
"""The failure probabilities of the two rounding bounds that are tried for a distribution function."""


@dataclass
class RoundingShift:
    """The true loss minus the tabulated one: a sum of independent rounding errors of known law."""

    mean: float = 0.0
    variance: float = 0.0
    largest: float = 0.0
    """The largest distance of a single error from its mean."""
    total: float = 0.0
    """The largest distance of the sum of all errors from its mean."""
    fixed: float = 0.0
    """A bound on further errors whose law is not known."""

    def add(self, error: FloatArray, mass: FloatArray, count: int) -> None:
        """Add `count` independent errors of this law."""
        total = float(mass.sum())
        if total == 0:
            return
        mean = float(np.sum(error * mass)) / total
        about = error - mean
        self.mean += count * mean
        self.variance += count * float(np.sum(about**2 * mass)) / total
        single = float(np.abs(about).max())
        self.largest = max(self.largest, single)
        self.total += count * single

    def reflected(self) -> "RoundingShift":
        """The shift of the losses with the worlds exchanged."""
        return replace(self, mean=-self.mean)

    def slack(self, failure: float) -> float:
        """Bernstein's bound: the sum is farther than this from its mean with probability at most `failure`."""
        weight = math.log(2 / failure)
        linear = self.largest * weight / 3
        return self.fixed + min(self.total, linear + math.sqrt(linear**2 + 2 * weight * self.variance))


@dataclass(frozen=True)
class LossTable:
    """Masses of both worlds on a sorted list of losses.

    `p_only` and `q_only` are the masses at loss +inf and -inf. An exact table needs nothing else. In a table on a
    grid, the true loss differs from the tabulated one by a `RoundingShift`, and `lost_mass` bounds the mass that is
    missing or spurious because of truncated tails and FFT noise.
    """

    loss: FloatArray
    p: FloatArray
    q: FloatArray
    p_only: float = 0.0
    q_only: float = 0.0
    p_shift: RoundingShift = field(default_factory=RoundingShift)
    q_shift: RoundingShift = field(default_factory=RoundingShift)
    lost_mass: float = 0.0
    loss_error: float = 0.0
    """A bound on the rounding error of a total loss in an exact table."""
    mass_error: float = ROUNDING
    """A bound on the relative rounding error of a mass or of a sum of masses."""

    def delta_forward(self, gamma: float) -> Ends:
        """A bracket of the hockey-stick divergence of P from Q: the maximum over T of P(T) - e^gamma·Q(T)."""
        return self._delta(self.loss, self.p, gamma - self.p_shift.mean, self.p_shift, self.p_only)

    def delta_backward(self, gamma: float) -> Ends:
        """A bracket of the hockey-stick divergence of Q from P."""
        return self._delta(-self.loss[::-1], self.q[::-1], gamma + self.q_shift.mean, self.q_shift, self.q_only)

    def deltas_forward(self, gammas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`delta_forward` for many gammas at once, with an absolute error of 1e-9. That is enough for a curve."""
        shifted = bool(self.p_shift.total or self.p_shift.fixed)
        slack = self.loss_error + (self.p_shift.slack(_CURVE) if shifted else 0.0)
        with np.errstate(over="ignore", divide="ignore"):
            there = np.where(self.p > 0, np.exp(np.log(self.p) - self.loss), 0.0)
            tails = [np.append(np.cumsum(mass[::-1])[::-1], 0.0) for mass in (self.p, there)]
        ends = []
        for level in (gammas - self.p_shift.mean + slack, gammas - self.p_shift.mean - slack):
            above = self.loss.searchsorted(level, "right")
            with np.errstate(over="ignore", invalid="ignore"):
                ends.append(tails[0][above] - np.where(tails[1][above] > 0, np.exp(level) * tails[1][above], 0.0))
        lost_mass = self.lost_mass + self.mass_error + _CURVE * shifted
        lower = self.p_only + np.clip(ends[0] - lost_mass, 0.0, 1.0)
        return lower, np.maximum(lower, np.minimum(1.0, self.p_only + np.clip(ends[1] + lost_mass, 0.0, 1.0)))

    def _delta(self, loss: FloatArray, mass: FloatArray, level: float, shift: RoundingShift, only: float) -> Ends:
        failure, slack = 0.0, 0.0
        if shift.total or shift.fixed:
            slack = shift.slack(RAREST)
            # The bound may fail with a ten-thousandth of the answer's own probability at no visible cost.
            failure = max(RAREST, 1e-4 * _excess(loss, mass, level - slack))
            slack = shift.slack(failure)
        lost_mass, slack = self.lost_mass + failure, slack + self.loss_error
        low = _excess(loss, mass, level + slack)
        high = _excess(loss, mass, level - slack) if slack else low
        lower = only + max(0.0, low * (1 - self.mass_error) - lost_mass)
        return lower, max(lower, min(1.0, only + high * (1 + self.mass_error) + lost_mass))

    def cdf(self, loss: float, world: World) -> Ends:
        """A bracket of the probability that the total loss is at most `loss`."""
        cumulative, mean, slacks = self._cumulative[world]
        loss_error = self._loss_error
        low, high = 0.0, 1.0
        for failure, slack in slacks:
            below = self.loss.searchsorted(loss - mean - slack - loss_error, "right")
            upto = self.loss.searchsorted(loss - mean + slack + loss_error, "right")
            low = max(low, cumulative.item(below) * (1 - self.mass_error) - self.lost_mass - failure)
            high = min(high, cumulative.item(upto) * (1 + self.mass_error) + self.lost_mass + failure)
        return low, high

    @cached_property
    def _loss_error(self) -> float:
        """The loss error, plus the last digits in which a loss that a caller computed may differ from the table."""
        return self.loss_error + 1e-12 * float(np.abs(self.loss[[0, -1]]).max())

    @cached_property
    def _cumulative(self) -> dict[World, "_Cumulative"]:
        return {"P": _cumulative(self.p, 0.0, self.p_shift), "Q": _cumulative(self.q, self.q_only, self.q_shift)}


_Cumulative = tuple[FloatArray, float, list[tuple[float, float]]]
"""The masses up to each loss, the mean shift, and pairs of a failure probability and its slack."""


def _cumulative(mass: FloatArray, start: float, shift: RoundingShift) -> _Cumulative:
    slacks = [(failure, shift.slack(failure)) for failure in _QUANTILE_FAILURES]
    if not shift.total and not shift.fixed:
        slacks = [(0.0, 0.0)]
    return start + np.concatenate(([0.0], np.cumsum(mass))), shift.mean, slacks


def _excess(loss: FloatArray, mass: FloatArray, level: float) -> float:
    """Σ mass·(1 - e^(level - loss)) over the losses above the level. All terms are positive, so none cancel."""
    start = int(np.searchsorted(loss, level, "right"))
    if start == loss.size:
        return 0.0
    return float(np.sum(mass[start:] * -np.expm1(level - loss[start:])))
