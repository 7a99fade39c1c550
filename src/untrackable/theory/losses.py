"""The law of the total loss in both worlds as a table, with the divergences and quantiles that follow from it."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from untrackable.theory.factor import FloatArray

World = Literal["P", "Q"]
"""One of the two worlds that an observer tries to tell apart."""
Ends = tuple[float, float]
"""The lower and the upper end of a bracket; or the largest losses ln(P/Q) and ln(Q/P)."""

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
        cumulative, mean, slacks = self._p_cumulative if world == "P" else self._q_cumulative
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
    def _p_cumulative(self) -> "_Cumulative":
        return _cumulative(self.p, 0.0, self.p_shift)

    @cached_property
    def _q_cumulative(self) -> "_Cumulative":
        return _cumulative(self.q, self.q_only, self.q_shift)


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
