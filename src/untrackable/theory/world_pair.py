"""A pair of worlds, and the questions that anybody can ask about it: delta, gamma, advantage, power and others."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.notebook_view import NotebookTable
from untrackable.theory.factor import FloatArray
from untrackable.theory.losses import Ends, World
from untrackable.theory.roc import Roc, best_power, roc_curve
from untrackable.theory.root_finding import inverse_parabola

Direction = Literal["forward", "backward", "both"]
"""Which divergence is asked for: of P from Q, of Q from P, or the larger of the two."""

_NARROW = 1e-14
"""The relative width of the interval in which gamma is found."""
_FARTHEST = 1e9
"""Losses beyond this are called infinite."""
_AREAS = 2000
"""The area below a ROC curve is cut into this number of strips."""
_HALVINGS = 200
"""The largest number of bisection steps; a point still next to 0 after them is called 0."""


class WorldPair(NotebookTable, ABC):
    """A pair of worlds P and Q. Each subclass supplies four primitives, from which all questions are answered.

    `certainty` is "exact" if the worlds are the mechanism's own. It is "upper" if they dominate the mechanism's
    own; then every upper end also holds for the mechanism, and lower ends are reported as 0.
    """

    certainty: Literal["exact", "upper"]

    @property
    def has_lower_end(self) -> bool:
        """Whether lower ends hold for the mechanism. For worlds that dominate its own, they usually do not."""
        return self.certainty == "exact"

    @abstractmethod
    def _pure(self) -> Ends:
        """The largest ln(P/Q) and the largest ln(Q/P)."""

    @abstractmethod
    def _delta(self, gamma: float, direction: Literal["forward", "backward"]) -> Ends:
        """A bracket of the hockey-stick divergence at any real gamma."""

    @abstractmethod
    def _cdf(self, loss: float, world: World) -> Ends:
        """A bracket of the probability that the loss ln(P/Q) is at most `loss`."""

    @abstractmethod
    def _smallest_resolved(self) -> float:
        """The probability below which the computation cannot tell a mass from zero."""

    def pure(self) -> float:
        """The largest |ln(P/Q)| over all outcomes, which is gamma at delta = 0. It may be infinite."""
        return max(0.0, *self._pure())

    def delta(self, gamma: float, direction: Direction = "both") -> Bracket:
        """The smallest delta with P ≤ e^gamma·Q + delta (forward), Q ≤ e^gamma·P + delta (backward), or both."""
        gamma = checks.non_negative("gamma", gamma)
        return self._bracket(*self._delta_ends(gamma, direction))

    def advantage(self) -> Bracket:
        """The best observer's edge over guessing: the total variation distance, which is delta at gamma = 0."""
        return self.delta(0.0)

    def gamma(self, delta: float, direction: Direction = "both") -> Bracket:
        """The smallest gamma ≥ 0 at which `delta` suffices; infinite if it never does."""
        delta = checks.probability("delta", delta)
        checks.choice("direction", direction, ("forward", "backward", "both"))
        forward, backward = self._pure()
        pure = max(0.0, {"forward": forward, "backward": backward}.get(direction, max(forward, backward)))
        exact = self.has_lower_end
        if delta == 0:
            return Bracket(pure if exact else 0.0, pure)
        upper = _crossing(lambda g: self._delta_ends(g, direction)[1], delta, pure)[1]
        lower = _crossing(lambda g: self._delta_ends(g, direction)[0], delta, upper)[0]
        return Bracket(min(lower, upper) if exact else 0.0, upper)

    def loss_quantiles(self, levels: Sequence[float], world: World = "P") -> list[Bracket]:
        """Quantiles of the loss ln(P/Q) if `world` is the true one.

        Only an exact experiment has them. Worlds that dominate others are easier to tell apart, but their losses
        need not be larger at every quantile.
        """
        checks.choice("world", world, ("P", "Q"))
        if self.certainty == "upper":
            raise TypeError("only an exact experiment has loss quantiles; this one is an upper bound")
        if not isinstance(levels, Iterable):
            raise TypeError(f"levels must be a sequence of numbers, not {type(levels).__name__}")
        return [self._quantile(checks.open_probability("level", level), world) for level in levels]

    def roc(self, points: int = 201) -> Roc:
        """The best observer's true positive rate at evenly spaced false positive rates."""
        points = checks.integer("points", points, low=2)
        fpr, lower, upper = roc_curve(self._deltas, self._pure(), self._corners(), points)
        return Roc(fpr, lower if self.has_lower_end else fpr, upper, self.certainty)

    def power(self, fpr: float) -> Bracket:
        """The largest probability of recognising P for an observer who mistakes Q for P with probability `fpr`.

        For example, an observer has one person's reports from one place and must find the same person among M
        people at another place. If all M are equally likely, the observer is right with probability at most
        power(1/M).
        """
        fpr = checks.probability("fpr", fpr)
        if self.pure() == 0:
            return Bracket.point(fpr)
        lower, upper = best_power(self._deltas, self._pure(), fpr)
        return Bracket(lower if self.has_lower_end else 0.0, upper)

    def auc(self) -> Bracket:
        """The probability that an observation from P looks more like P than one from Q; a tie counts as one half.

        This is the area below the ROC curve. The curve is concave, so trapezoids give a lower bound and a staircase
        gives an upper bound.
        """
        if self.pure() == 0:
            return Bracket.point(0.5)
        curve = self.roc(_AREAS + 1)
        lower = float((curve.lower[1:] + curve.lower[:-1]).sum()) / (2 * _AREAS)
        upper = max(lower, float(curve.upper[1:].sum()) / _AREAS)
        return Bracket(lower if self.has_lower_end else 0.0, upper)

    def _deltas(self, gammas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the forward divergence at many gammas, for curves."""
        ends = np.array([self._delta(float(gamma), "forward") for gamma in gammas])
        return ends[:, 0], ends[:, 1]

    def _corners(self) -> FloatArray | None:
        """All gammas at which delta has a corner, or None if they are unknown or too many."""
        return None

    def _delta_ends(self, gamma: float, direction: Direction) -> Ends:
        checks.choice("direction", direction, ("forward", "backward", "both"))
        if direction == "both":
            forward, backward = self._delta_ends(gamma, "forward"), self._delta_ends(gamma, "backward")
            return max(forward[0], backward[0]), max(forward[1], backward[1])
        if self._pure()[0 if direction == "forward" else 1] <= min(gamma, _FARTHEST):
            return 0.0, 0.0
        return self._delta(gamma, direction)

    def _bracket(self, lower: float, upper: float) -> Bracket:
        noise = self._smallest_resolved()
        resolved = lower > 0 or not 0 < upper <= 4 * noise
        return Bracket(lower if self.has_lower_end else 0.0, upper, resolved=resolved)

    def _quantile(self, level: float, world: World) -> Bracket:
        forward, backward = (min(end, _FARTHEST) for end in self._pure())
        margin = 1e-3 * (forward + backward)  # The quantile may be one of the end points.
        low, high = -backward - margin, forward + margin
        first = _first(lambda x: self._cdf(x, world)[1] >= level, low, high)[0]
        last = _first(lambda x: self._cdf(x, world)[0] >= level, low, high)[1]
        lowest, highest = -self._pure()[1], self._pure()[0]
        return Bracket(min(max(first, lowest), highest), min(max(first, last, lowest), highest))


def _crossing(delta_at: Callable[[float], float], delta: float, pure: float) -> tuple[float, float]:
    """A narrow interval in which a decreasing function falls to delta. Only its left end is still above delta."""
    if delta_at(0.0) <= delta:
        return 0.0, 0.0
    if pure == math.inf and delta_at(math.inf) > delta:
        return math.inf, math.inf
    low, high = 0.0, min(1.0, pure)
    while high < pure and delta_at(high) > delta:
        if high > _FARTHEST:
            return low, pure
        low, high = high, min(2 * high, pure)
    above, below = delta_at(low), delta_at(high)
    if below > delta:
        return high, high
    here, there = (low, _log(above / delta)), (high, _log(below / delta))
    share = here[1] / (here[1] - there[1]) if math.isfinite(there[1]) else 0.5
    for _ in range(_HALVINGS):
        gap, near = there[0] - here[0], _NARROW * max(here[0], there[0])
        if abs(gap) <= near:
            break
        least = min(0.5, near / (2 * abs(gap)))
        middle = here[0] + min(1 - least, max(least, share)) * gap
        found = delta_at(middle)
        new = middle, _log(found / delta)
        if (found > delta) == (here[1] > 0):
            third = here
        else:
            third, there = there, here
        here = new
        share = inverse_parabola(here, there, third)
    return min(here[0], there[0]), max(here[0], there[0])


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0 else -math.inf


def _first(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """A narrow interval in which a condition starts to hold and then holds for ever; ±inf outside [low, high]."""
    if holds(low):
        return -math.inf, -math.inf
    if not holds(high):
        return math.inf, math.inf
    for _ in range(_HALVINGS):
        if high - low <= 1e-14 * max(abs(low), abs(high)):
            break
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
