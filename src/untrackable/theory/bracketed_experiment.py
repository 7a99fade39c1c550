"""A pair of worlds that is known from both sides: one experiment dominates it, and it dominates another."""

from collections.abc import Callable
from functools import cached_property
from typing import Literal

from untrackable import checks
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import FloatArray
from untrackable.theory.losses import Ends


class BracketedExperiment(Experiment):
    """An experiment that dominates a pair of worlds (upper), with another that the pair dominates (lower).

    Upper ends of all answers come from the first, and lower ends from delta of P from Q of the second. The second
    is made when it is asked for; without one, lower ends are 0. `pure` is the largest loss that the pair can have.
    """

    def __init__(self, upper: Experiment, lower: Callable[[], Experiment] | None, *, pure: float) -> None:
        super().__init__(upper.factors, gaussian=upper.gaussian, certainty="upper", grid=upper.grid)
        self.lower = lower
        self.largest = checks.non_negative("pure", pure)

    @property
    def has_lower_end(self) -> bool:
        """Whether a lower experiment is known."""
        return self.lower is not None

    @cached_property
    def _below(self) -> Experiment:
        return Experiment() if self.lower is None else self.lower()

    def __add__(self, other: Experiment) -> "BracketedExperiment":
        """Compose two independent observations. One of which nothing is known from below adds nothing there."""
        if not isinstance(other, Experiment):
            return NotImplemented
        both = Experiment.__add__(self, other)
        below = [one for one in (_lower(self), _lower(other)) if one is not None]
        lower = (lambda: _product([make() for make in below])) if below else None
        return BracketedExperiment(both, lower, pure=self.largest + max(other._pure()))

    __radd__ = __add__

    def __mul__(self, times: int) -> "BracketedExperiment":
        """Repeat the same observation independently."""
        lower = None if self.lower is None else lambda: self._below * times
        return BracketedExperiment(Experiment.__mul__(self, times), lower, pure=self.largest * times)

    def _pure(self) -> Ends:
        return self.largest, self.largest

    def _delta(self, gamma: float, direction: Literal["forward", "backward"]) -> Ends:
        high = Experiment._delta(self, gamma, direction)[1]
        return min(high, self._below._delta(gamma, "forward")[0]) if self._below.factors else 0.0, high

    def _deltas(self, gammas: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._below._deltas(gammas)[0], Experiment._deltas(self, gammas)[1]

    def _corners(self) -> FloatArray | None:
        return None

    def __repr__(self) -> str:
        known = "both ends" if self.has_lower_end else "upper"
        return f"Bracketed{Experiment.__repr__(self).removesuffix('upper)')}{known})"


def _lower(pair: Experiment) -> Callable[[], Experiment] | None:
    """A way to make an experiment that the pair dominates, if there is one."""
    if isinstance(pair, BracketedExperiment):
        return None if pair.lower is None else lambda: pair._below
    return (lambda: pair) if pair.certainty == "exact" else None


def _product(parts: list[Experiment]) -> Experiment:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
