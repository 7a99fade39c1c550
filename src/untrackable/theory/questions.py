"""What one can ask of a pair of worlds, however it is described."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.theory.factor import FloatArray
from untrackable.theory.losses import Ends, World

Direction = Literal["forward", "backward", "both"]

_FARTHEST = 1e9
"""Losses beyond this are called infinite."""


@dataclass(frozen=True)
class Roc:
    """How often P is recognised (`lower`, `upper`) when Q is mistaken for it with probability `fpr`."""

    fpr: FloatArray
    lower: FloatArray
    upper: FloatArray


class Questions(ABC):
    """The questions, answered by four primitives that each description of a pair of worlds supplies.

    `certainty` is "exact" when the described worlds are the mechanism's own, and "upper" when they dominate
    them: then every upper end holds for the mechanism, and lower ends are reported as 0.
    """

    certainty: Literal["exact", "upper"]

    @abstractmethod
    def _pure(self) -> Ends:
        """The largest ln(P/Q) and the largest ln(Q/P)."""

    @abstractmethod
    def _delta(self, gamma: float, direction: Literal["forward", "backward"]) -> Ends:
        """Bracket of the hockey-stick divergence at any real gamma."""

    @abstractmethod
    def _cdf(self, loss: float, world: World) -> Ends:
        """Bracket of the probability that the loss ln(P/Q) is at most `loss`."""

    @abstractmethod
    def _noise(self) -> float:
        """How small a probability the computation can no longer tell from zero."""

    def pure(self) -> float:
        """The largest |ln(P/Q)| over all outcomes: gamma at delta = 0. May be infinite."""
        return max(0.0, *self._pure())

    def delta(self, gamma: float, direction: Direction = "both") -> Bracket:
        """The smallest delta for which P ≤ e^gamma·Q + delta (forward), Q ≤ e^gamma·P + delta, or both."""
        gamma = checks.non_negative("gamma", gamma)
        return self._bracket(*self._delta_ends(gamma, direction))

    def advantage(self) -> Bracket:
        """Total variation distance: the edge of the best distinguisher, delta at gamma = 0."""
        return self.delta(0.0)

    def gamma(self, delta: float, direction: Direction = "both") -> Bracket:
        """The smallest gamma ≥ 0 at which `delta` suffices. Infinite if no gamma does."""
        delta = checks.probability("delta", delta)
        forward, backward = self._pure()
        pure = max(0.0, {"forward": forward, "backward": backward}.get(direction, max(forward, backward)))
        if delta == 0:
            return self._bracket(pure, pure)
        upper = _crossing(lambda g: self._delta_ends(g, direction)[1], delta, pure)
        lower = _crossing(lambda g: self._delta_ends(g, direction)[0], delta, upper)
        return self._bracket(min(lower, upper), upper)

    def loss_quantiles(self, levels: Sequence[float], world: World = "P") -> list[Bracket]:
        """Quantiles of the loss ln(P/Q) when world P (or Q) is the true one."""
        checks.choice("world", world, ("P", "Q"))
        return [self._quantile(checks.open_probability("level", level), world) for level in levels]

    def roc(self, points: int = 201) -> Roc:
        """The best distinguisher's true positive rate at evenly spaced false positive rates.

        The curve is x ↦ min over gamma of delta(gamma) + e^gamma·x; a finite set of gammas brackets it.
        """
        points = checks.integer("points", points, low=2)
        fpr = np.linspace(0, 1, points)
        forward, backward = (min(60.0, max(1e-9, end)) for end in self._pure())
        gammas = np.unique(np.concatenate((np.linspace(-backward, forward, 400), [0.0])))
        ends = np.array([self._delta(float(g), "forward") for g in gammas])
        rates = np.exp(gammas)[:, None] * fpr
        upper = np.minimum(1.0, np.min(ends[:, 1, None] + rates, axis=0))
        # Between two gammas delta is at least its value at the larger, and e^gamma at least that of the smaller.
        between = np.min(ends[1:, 0, None] + rates[:-1], axis=0)
        beyond = ends[-1, 0] + rates[-1] if forward < 60 else ends[-1, 0] + 0 * fpr
        lower = np.clip(np.minimum(between, beyond), fpr, 1.0)
        if self.certainty == "upper":
            lower = fpr
        return Roc(fpr, np.minimum(lower, upper), upper)

    def _delta_ends(self, gamma: float, direction: Direction) -> Ends:
        checks.choice("direction", direction, ("forward", "backward", "both"))
        if direction == "both":
            forward, backward = self._delta_ends(gamma, "forward"), self._delta_ends(gamma, "backward")
            return max(forward[0], backward[0]), max(forward[1], backward[1])
        if gamma >= self._pure()[0 if direction == "forward" else 1]:
            return 0.0, 0.0
        return self._delta(gamma, direction)

    def _bracket(self, lower: float, upper: float) -> Bracket:
        noise = self._noise()
        resolved = lower > 0 or not 0 < upper <= 4 * noise
        return Bracket(lower if self.certainty == "exact" else 0.0, upper, resolved=resolved)

    def _quantile(self, level: float, world: World) -> Bracket:
        forward, backward = self._pure()
        low, high = -min(backward, _FARTHEST), min(forward, _FARTHEST)
        ends = [_first(lambda x, end=end: self._cdf(x, world)[end] >= level, low, high) for end in (1, 0)]  # type: ignore[misc]
        if self.certainty == "upper":
            return Bracket(-math.inf, ends[1])
        return Bracket(ends[0], max(ends))


def _crossing(delta_at: Callable[[float], float], delta: float, pure: float) -> float:
    """The smallest gamma in [0, pure] at which a decreasing function is at most delta."""
    if delta_at(0.0) <= delta:
        return 0.0
    high = 1.0
    while high < pure and delta_at(high) > delta:
        high *= 2
        if high > _FARTHEST:
            return math.inf
    high = min(high, pure)
    if delta_at(high) > delta:
        return high
    # A hair above delta, so that where the function stays at delta for a while its first such gamma is found.
    root = float(brentq(lambda g: delta_at(g) - delta * (1 + 1e-12), 0.0, high, xtol=1e-13, rtol=1e-13))
    nudge = 1e-12 * max(1.0, root)
    while delta_at(root) > delta and root < high:
        root, nudge = min(high, root + nudge), 2 * nudge
    return root


def _first(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest x in [low, high] where an upward-closed condition holds; ±inf outside."""
    if holds(low - 1.0):
        return -math.inf
    if not holds(high):
        return math.inf
    low -= 1.0
    while high - low > 1e-13 * max(1.0, abs(high), abs(low)):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
