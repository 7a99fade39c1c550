"""The law of the total loss in both worlds, and what follows from it."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from untrackable.theory.factor import FloatArray

World = Literal["P", "Q"]
Ends = tuple[float, float]

ROUNDING = 1e-11
"""Relative error allowed for in sums that are exact but for floating point."""

RAREST = 1e-16
"""The smallest probability with which a bound on rounding errors is allowed to fail."""

_CURVE = 1e-9
_QUANTILE_FAILURES = (1e-6, RAREST)


@dataclass
class Shift:
    """By how much the true loss exceeds the tabulated one: a sum of independent errors of known law."""

    mean: float = 0.0
    variance: float = 0.0
    largest: float = 0.0
    """The largest single error, about its mean."""
    total: float = 0.0
    """The largest possible sum, about its mean."""
    fixed: float = 0.0
    """What further errors of unknown law may amount to."""

    def add(self, error: FloatArray, mass: FloatArray, count: int) -> None:
        """Include `count` independent errors of this law."""
        total = float(mass.sum())
        if total == 0:
            return
        mean = float(error @ mass) / total
        about = error - mean
        self.mean += count * mean
        self.variance += count * float(about**2 @ mass) / total
        single = float(np.abs(about).max())
        self.largest = max(self.largest, single)
        self.total += count * single

    def reflected(self) -> "Shift":
        """Of the losses with the worlds exchanged."""
        return replace(self, mean=-self.mean)

    def slack(self, failure: float) -> float:
        """Bernstein: the sum strays from its mean by more than this with probability at most `failure`."""
        weight = math.log(2 / failure)
        linear = self.largest * weight / 3
        return self.fixed + min(self.total, linear + math.sqrt(linear**2 + 2 * weight * self.variance))


@dataclass(frozen=True)
class LossTable:
    """Masses of both worlds on a sorted list of losses.

    `p_only` and `q_only` are the masses at loss +inf and -inf. In an exact table nothing else is needed. In
    a table on a grid, the true loss differs from the tabulated one by a `Shift`, and `lost` bounds the mass that
    truncated tails and FFT noise account for.
    """

    loss: FloatArray
    p: FloatArray
    q: FloatArray
    p_only: float = 0.0
    q_only: float = 0.0
    p_shift: Shift = field(default_factory=Shift)
    q_shift: Shift = field(default_factory=Shift)
    lost: float = 0.0
    hair: float = 0.0
    """By how much floating point may have moved a total loss."""
    rounding: float = ROUNDING
    """By how much, relatively, floating point may have changed a mass or a sum of masses."""

    def delta_forward(self, gamma: float) -> Ends:
        """Bracket of sup_T P(T) - e^gamma Q(T), the hockey-stick divergence of P from Q."""
        return self._delta(self.loss, self.p, gamma - self.p_shift.mean, self.p_shift, self.p_only)

    def delta_backward(self, gamma: float) -> Ends:
        """The same with the worlds exchanged."""
        return self._delta(-self.loss[::-1], self.q[::-1], gamma + self.q_shift.mean, self.q_shift, self.q_only)

    def deltas_forward(self, gammas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same for many gammas at once, to an absolute error of 1e-9: enough for a curve."""
        shifted = bool(self.p_shift.total or self.p_shift.fixed)
        slack = self.hair + (self.p_shift.slack(_CURVE) if shifted else 0.0)
        with np.errstate(over="ignore", divide="ignore"):
            there = np.where(self.p > 0, np.exp(np.log(self.p) - self.loss), 0.0)
        tails = [np.append(np.cumsum(mass[::-1])[::-1], 0.0) for mass in (self.p, there)]
        ends = []
        for level in (gammas - self.p_shift.mean + slack, gammas - self.p_shift.mean - slack):
            above = self.loss.searchsorted(level, "right")
            with np.errstate(over="ignore", invalid="ignore"):
                ends.append(tails[0][above] - np.where(tails[1][above] > 0, np.exp(level) * tails[1][above], 0.0))
        lost = self.lost + self.rounding + _CURVE * shifted
        lower = self.p_only + np.clip(ends[0] - lost, 0.0, 1.0)
        return lower, np.maximum(lower, np.minimum(1.0, self.p_only + np.clip(ends[1] + lost, 0.0, 1.0)))

    def _delta(self, loss: FloatArray, mass: FloatArray, level: float, shift: Shift, only: float) -> Ends:
        failure, slack = 0.0, 0.0
        if shift.total or shift.fixed:
            slack = shift.slack(RAREST)
            # A bound that fails with a ten-thousandth of the answer's own probability costs no accuracy.
            failure = max(RAREST, 1e-4 * _excess(loss, mass, level - slack))
            slack = shift.slack(failure)
        lost, slack = self.lost + failure, slack + self.hair
        low = _excess(loss, mass, level + slack)
        high = _excess(loss, mass, level - slack) if slack else low
        lower = only + max(0.0, low * (1 - self.rounding) - lost)
        return lower, max(lower, min(1.0, only + high * (1 + self.rounding) + lost))

    def cdf(self, loss: float, world: World) -> Ends:
        """Bracket of the probability that the total loss is at most `loss`."""
        cumulative, mean, slacks = self._p_cumulative if world == "P" else self._q_cumulative
        hair = self._hair
        low, high = 0.0, 1.0
        for failure, slack in slacks:
            below = self.loss.searchsorted(loss - mean - slack - hair, "right")
            upto = self.loss.searchsorted(loss - mean + slack + hair, "right")
            low = max(low, cumulative.item(below) * (1 - self.rounding) - self.lost - failure)
            high = min(high, cumulative.item(upto) * (1 + self.rounding) + self.lost + failure)
        return low, high

    @cached_property
    def _hair(self) -> float:
        """A loss computed by the caller may differ from the table's in the last digits."""
        return self.hair + 1e-12 * float(np.abs(self.loss[[0, -1]]).max())

    @cached_property
    def _p_cumulative(self) -> "_Cumulative":
        return _cumulative(self.p, 0.0, self.p_shift)

    @cached_property
    def _q_cumulative(self) -> "_Cumulative":
        return _cumulative(self.q, self.q_only, self.q_shift)


_Cumulative = tuple[FloatArray, float, list[tuple[float, float]]]
"""Masses up to each loss, the mean shift, and slacks with the probabilities at which they fail."""


def _cumulative(mass: FloatArray, start: float, shift: Shift) -> _Cumulative:
    slacks = [(failure, shift.slack(failure)) for failure in _QUANTILE_FAILURES]
    if not shift.total and not shift.fixed:
        slacks = [(0.0, 0.0)]
    return start + np.concatenate(([0.0], np.cumsum(mass))), shift.mean, slacks


def _excess(loss: FloatArray, mass: FloatArray, level: float) -> float:
    """Σ mass·(1 - e^(level - loss)) over the losses above the level: sums of positive terms only."""
    start = int(np.searchsorted(loss, level, "right"))
    if start == loss.size:
        return 0.0
    return float(np.sum(mass[start:] * -np.expm1(level - loss[start:])))
