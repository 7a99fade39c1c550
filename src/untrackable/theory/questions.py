"""What one can ask of a pair of worlds, however it is described."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from scipy.optimize import brentq

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.theory.factor import FloatArray
from untrackable.theory.losses import Ends, World
from untrackable.theory.roc import Roc, roc_curve

Direction = Literal["forward", "backward", "both"]

_FARTHEST = 1e9
"""Losses beyond this are called infinite."""


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
        checks.choice("direction", direction, ("forward", "backward", "both"))
        forward, backward = self._pure()
        pure = max(0.0, {"forward": forward, "backward": backward}.get(direction, max(forward, backward)))
        if delta == 0:
            return self._bracket(pure, pure)
        upper = _crossing(lambda g: self._delta_ends(g, direction)[1], delta, pure)
        lower = _crossing(lambda g: self._delta_ends(g, direction)[0], delta, upper)
        return self._bracket(min(lower, upper), upper)

    def loss_quantiles(self, levels: Sequence[float], world: World = "P") -> list[Bracket]:
        """Quantiles of the loss ln(P/Q) when world P (or Q) is the true one.

        Only of an exact experiment: worlds that dominate others are easier to tell apart, but their losses need not
        be larger in every quantile.
        """
        checks.choice("world", world, ("P", "Q"))
        if self.certainty == "upper":
            raise TypeError("quantiles are known of an exact experiment only; this one is an upper bound")
        if not isinstance(levels, Iterable):
            raise TypeError(f"levels must be a sequence of numbers, not {type(levels).__name__}")
        return [self._quantile(checks.open_probability("level", level), world) for level in levels]

    def roc(self, points: int = 201) -> Roc:
        """The best distinguisher's true positive rate at evenly spaced false positive rates."""
        points = checks.integer("points", points, low=2)
        fpr, lower, upper = roc_curve(lambda g: self._delta(g, "forward"), self._pure(), self._corners(), points)
        return Roc(fpr, lower if self.certainty == "exact" else fpr, upper, self.certainty)

    def _corners(self) -> FloatArray | None:
        """All gammas at which delta has a corner, if they are known and few."""
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
        noise = self._noise()
        resolved = lower > 0 or not 0 < upper <= 4 * noise
        return Bracket(lower if self.certainty == "exact" else 0.0, upper, resolved=resolved)

    def _quantile(self, level: float, world: World) -> Bracket:
        forward, backward = self._pure()
        low, high = -min(backward, _FARTHEST), min(forward, _FARTHEST)
        ends = [_first(lambda x, end=end: self._cdf(x, world)[end] >= level, low, high) for end in (1, 0)]  # type: ignore[misc]
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
