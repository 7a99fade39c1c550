"""How well can an observer tell world P from world Q? Every guarantee is an answer of an `Experiment`.

The loss of an observation is ln(P/Q); in the field's words, its law is the privacy loss distribution, delta(gamma)
the hockey-stick divergence, the advantage the total variation distance, and the ROC curve the trade-off function
(f-DP). A `WorldPair` derives all of them from four primitives. Its kinds are

- `Experiment`: an observation of several independent factors,
- `Mixture`: one of several experiments, and which one it is,
- `Worst`: the worst of several, for each question,
- `BracketedExperiment`: a pair of worlds that is known from above and from below.

`Trackability` is the largest loss of several experiments.
"""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Literal, NamedTuple

import numpy as np

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.brackets import Bracket
from untrackable.notebook_view import NotebookTable
from untrackable.theory.convolution import total_loss
from untrackable.theory.factor import WORLDS, Ends, Factor, LossTable, RepeatedFactor, World
from untrackable.theory.search import inverse_parabola

Direction = Literal["forward", "backward", "both"]
"""The divergence of P from Q, of Q from P, or the larger of the two."""
Certainty = Literal["exact", "upper"]
"""Whether a pair of worlds is the mechanism's own ("exact") or dominates it ("upper")."""
GRID = 1 << 18
"""Grid points for experiments that cannot be evaluated exactly. More points narrow the bracket in proportion."""
_NARROW = 1e-14
"""The relative width of the interval in which gamma is found."""
FARTHEST_LOSS = 1e9
"""Losses beyond this are called infinite."""
_AREAS = 2000
"""The area below a ROC curve is cut into this number of strips."""
_HALVINGS = 200
"""The largest number of bisection steps; a point still next to 0 after them is called 0."""
_ROUGH = 1 << 14
"""Grid points of the coarse evaluation by which `Worst` sorts out members that cannot be the worst."""
_REMEMBERED = 16
"""The number of members of a `Worst` that keep their tables, each of which takes some megabytes."""
_MOST_CORNERS = 5000
"""Up to this number of losses, an exact ROC curve is computed from all corners of delta."""


@dataclass(frozen=True)
class Roc:
    """The probability of recognising P, between `lower` and `upper`, if Q is mistaken for P with probability `fpr`.

    With certainty "upper", only `upper` is meaningful.
    """

    fpr: FloatArray
    lower: FloatArray
    upper: FloatArray
    certainty: Literal["exact", "upper"]


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
        lower, upper = self._delta_ends(gamma, direction)
        resolved = lower > 0 or not 0 < upper <= 4 * self._smallest_resolved()
        return Bracket(lower if self.has_lower_end else 0.0, upper, resolved=resolved)

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
        fpr, lower, upper = _roc_curve(self._deltas, self._pure(), self._corners(), points)
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
        lower, upper = _best_power(self._deltas, self._pure(), fpr)
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
        if self._pure()[0 if direction == "forward" else 1] <= min(gamma, FARTHEST_LOSS):
            return 0.0, 0.0
        return self._delta(gamma, direction)

    def _quantile(self, level: float, world: World) -> Bracket:
        forward, backward = (min(end, FARTHEST_LOSS) for end in self._pure())
        margin = 1e-3 * (forward + backward)  # The quantile may be one of the end points.
        low, high = -backward - margin, forward + margin
        first = first_true(lambda x: self._cdf(x, world)[1] >= level, low, high)[0]
        last = first_true(lambda x: self._cdf(x, world)[0] >= level, low, high)[1]
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
        if high > FARTHEST_LOSS:
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
        middle_delta = delta_at(middle)
        new = middle, _log(middle_delta / delta)
        if (middle_delta > delta) == (here[1] > 0):
            third = here
        else:
            third, there = there, here
        here = new
        share = inverse_parabola(here, there, third)
    return min(here[0], there[0]), max(here[0], there[0])


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0 else -math.inf


def first_true(
    holds: Callable[[float], bool], low: float, high: float, *, narrow: float = 0.0, relative: float = 1e-14
) -> tuple[float, float]:
    """A narrow interval in which a condition starts to hold and then holds for ever; ±inf outside [low, high]."""
    if holds(low):
        return -math.inf, -math.inf
    if not holds(high):
        return math.inf, math.inf
    for _ in range(_HALVINGS):
        if high - low <= max(narrow, relative * max(abs(low), abs(high))):
            break
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


class Experiment(WorldPair):
    """World P against world Q, seen through independent factors.

    `factors` are factors or (factor, count) pairs. `gaussian` is μ of one more observation, of N(±μ/2, 1). A
    mechanism may use it to dominate an infinite tail.
    """

    def __init__(
        self,
        factors: Iterable[Factor | RepeatedFactor] = (),
        *,
        gaussian: float = 0.0,
        certainty: Certainty = "exact",
        grid: int = GRID,
    ) -> None:
        checks.choice("certainty", certainty, ("exact", "upper"))
        self.certainty = certainty
        self.gaussian = checks.non_negative("gaussian", gaussian)
        self.grid = checks.integer("grid", grid, low=1 << 10, high=1 << 26)
        pooled: dict[bytes, RepeatedFactor] = {}
        for item in factors:
            factor, count = item if isinstance(item, tuple) else (item, 1)
            count = checks.integer("count", count, low=0)
            factor = factor.merged()
            if count and np.any(factor.loss != 0):
                pooled[factor.key] = (factor, count + pooled.get(factor.key, (factor, 0))[1])
        self.factors: tuple[RepeatedFactor, ...] = tuple(pooled.values())

    def __add__(self, other: "Experiment") -> "Experiment":
        """Compose two independent observations: the observer sees both."""
        if not isinstance(other, Experiment):
            return NotImplemented
        return Experiment(
            self.factors + other.factors,
            gaussian=float(np.hypot(self.gaussian, other.gaussian)),
            certainty="exact" if self.certainty == other.certainty == "exact" else "upper",
            grid=max(self.grid, other.grid),
        )

    def __mul__(self, times: int) -> "Experiment":
        """Repeat the same observation independently."""
        times = checks.integer("times", times, low=0)
        return Experiment(
            [(factor, count * times) for factor, count in self.factors],
            gaussian=self.gaussian * times**0.5,
            certainty=self.certainty,
            grid=self.grid,
        )

    def with_grid(self, grid: int) -> "Experiment":
        """This pair of worlds on a finer or coarser grid. An exact evaluation does not change."""
        finer = copy(self)
        finer._forget()
        finer.grid = checks.integer("grid", grid, low=1 << 10, high=1 << 26)
        return finer

    def sample(self, rng: np.random.Generator, draws: int, world: World = "P") -> FloatArray:
        """Losses ln(P/Q) of `draws` independent observations made in the given world."""
        checks.choice("world", world, ("P", "Q"))
        centre = self.gaussian**2 / 2 if world == "P" else -(self.gaussian**2) / 2
        total = centre + self.gaussian * rng.standard_normal(draws) if self.gaussian else np.zeros(draws)
        for factor, count in self.factors:
            mass = factor.p if world == "P" else factor.q
            counts = rng.multinomial(count, mass / mass.sum(), size=draws)
            total += counts[:, factor.finite] @ factor.loss[factor.finite]
            for sign in (np.inf, -np.inf):
                total[counts[:, factor.loss == sign].any(axis=1)] = sign
        return total

    def _pure(self) -> Ends:
        if self.gaussian:
            return np.inf, np.inf
        forward = sum(count * float(factor.loss.max()) for factor, count in self.factors)
        backward = sum(count * float(-factor.loss.min()) for factor, count in self.factors)
        return forward, backward

    def _delta(self, gamma: float, direction: Literal["forward", "backward"]) -> Ends:
        table = self._table
        return table.delta_forward(gamma) if direction == "forward" else table.delta_backward(gamma)

    def _deltas(self, gammas: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._table.deltas_forward(gammas)

    def _cdf(self, loss: float, world: World) -> Ends:
        return self._table.cdf(loss, world)

    def _smallest_resolved(self) -> float:
        return self._table.lost_mass

    def _coarseness(self) -> float:
        """A bound on the error of a tabulated loss that holds at least half of the time."""
        return self._table.p_shift.slack(0.5)

    def _corners(self) -> FloatArray | None:
        table = self._table
        known = table.p_shift.slack(0.5) == 0 and table.loss.size <= _MOST_CORNERS
        return table.loss if known else None

    def _forget(self) -> None:
        """Free the memory of the table, which can be computed again."""
        self.__dict__.pop("_table", None)

    @cached_property
    def _table(self) -> LossTable:
        return total_loss(self.factors, self.gaussian, self.grid)

    def __repr__(self) -> str:
        parts = [f"{factor!r} × {count}" for factor, count in self.factors]
        if self.gaussian:
            parts.append(f"gaussian {self.gaussian:.6g}")
        return f"Experiment({', '.join(parts) or 'nothing to see'}; {self.certainty})"


class Mixture(WorldPair):
    """Worlds in which an observer sees one of several experiments, and also sees which one it is.

    `components` are (weight in P, weight in Q, experiment). If the two weights differ, the choice itself is
    evidence.
    """

    def __init__(self, components: Sequence[tuple[float, float, Experiment]]) -> None:
        self.components = tuple((p, q, e) for p, q, e in components if p > 0 or q > 0)
        if not self.components:
            raise ValueError("components must not be empty")
        for name, total in (("P", sum(p for p, _, _ in components)), ("Q", sum(q for _, q, _ in components))):
            if abs(total - 1) > 1e-9:
                raise ValueError(f"the weights in world {name} must sum to 1, got {total}")
        exact = all(e.certainty == "exact" for _, _, e in self.components)
        self.certainty = "exact" if exact else "upper"

    def __add__(self, other: "Experiment | Mixture") -> "Mixture":
        """Compose two independent observations: the observer sees both."""
        if isinstance(other, Experiment):
            return Mixture([(p, q, e + other) for p, q, e in self.components])
        if isinstance(other, Mixture):
            pairs = ((a, b) for a in self.components for b in other.components)
            return Mixture([(a[0] * b[0], a[1] * b[1], a[2] + b[2]) for a, b in pairs])
        return NotImplemented

    __radd__ = __add__

    def _forget(self) -> None:
        for _, _, experiment in self.components:
            experiment._forget()

    def with_grid(self, grid: int) -> "Mixture":
        """This mixture with its components on a finer or coarser grid."""
        return Mixture([(p, q, e.with_grid(grid)) for p, q, e in self.components])

    def _pure(self) -> Ends:
        forward = backward = -np.inf
        for p, q, experiment in self.components:
            ahead, behind = experiment._pure()
            # If only one world can show a component, the component alone identifies that world.
            forward = max(forward, np.inf if q == 0 else ahead + _log_ratio(p, q) if p else -np.inf)
            backward = max(backward, np.inf if p == 0 else behind - _log_ratio(p, q) if q else -np.inf)
        return forward, backward

    def _delta(self, gamma: float, direction: Literal["forward", "backward"]) -> Ends:
        low = high = 0.0
        for p, q, experiment in self.components:
            here, there = (p, q) if direction == "forward" else (q, p)
            if here == 0:
                continue
            ends = (1.0, 1.0) if there == 0 else experiment._delta(gamma - _log_ratio(here, there), direction)
            low, high = low + here * ends[0], high + here * ends[1]
        return low, min(1.0, high)

    def _deltas(self, gammas: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = np.zeros(gammas.shape), np.zeros(gammas.shape)
        for p, q, experiment in self.components:
            if p:
                ones = np.ones(gammas.shape)
                ends = (ones, ones) if q == 0 else experiment._deltas(gammas - _log_ratio(p, q))
                low, high = low + p * ends[0], high + p * ends[1]
        return low, np.minimum(1.0, high)

    def _cdf(self, loss: float, world: World) -> Ends:
        low = high = 0.0
        for p, q, experiment in self.components:
            ends = experiment._cdf(loss - _log_ratio(p, q), world) if p and q else (float(p == 0),) * 2
            weight = p if world == "P" else q
            low, high = low + weight * ends[0], high + weight * ends[1]
        return low, min(1.0, high)

    def _smallest_resolved(self) -> float:
        return max(e._smallest_resolved() for _, _, e in self.components)

    def _coarseness(self) -> float:
        """The largest error bound of the components' tabulated losses."""
        return max(e._coarseness() for _, _, e in self.components)

    def sample(self, rng: np.random.Generator, draws: int, world: World = "P") -> FloatArray:
        """Losses ln(P/Q) of `draws` independent observations made in the given world."""
        weights = np.array([p if world == "P" else q for p, q, _ in self.components])
        counts = rng.multinomial(draws, weights / weights.sum())
        losses = [
            experiment.sample(rng, int(count), world) + _log_ratio(p, q)
            for (p, q, experiment), count in zip(self.components, counts, strict=True)
        ]
        return rng.permutation(np.concatenate(losses))

    def __repr__(self) -> str:
        return f"Mixture({len(self.components)} experiments; {self.certainty})"


def _log_ratio(p: float, q: float) -> float:
    """ln(p/q) of two weights; ±inf if one of them is 0."""
    if p == 0 or q == 0:
        return -np.inf if p == 0 else np.inf
    return float(np.log(p) - np.log(q))


class Worst(WorldPair):
    """The worst of several experiments. Each question picks its own worst one, since none need be worst for all."""

    def __init__(self, members: Iterable[Experiment | Mixture]) -> None:
        self.members = tuple(members)
        if not self.members:
            raise ValueError("members must not be empty")
        exact = all(member.certainty == "exact" for member in self.members)
        self.certainty = "exact" if exact else "upper"
        self._recent: list[int] = []

    def __add__(self, other: "Experiment | Mixture | Worst") -> "Worst":
        """The worst of all combinations of one member with the other observation."""
        others = other.members if isinstance(other, Worst) else (other,)
        return Worst([a + b for a in self.members for b in others])

    __radd__ = __add__

    def with_grid(self, grid: int) -> "Worst":
        """This pair with its members on a finer or coarser grid."""
        return Worst([member.with_grid(grid) for member in self.members])

    def roc(self, points: int = 201) -> Roc:
        """The pointwise best of the members' curves."""
        curves = [member.roc(points) for member in self.members]
        lower, upper = (np.max([getattr(c, end) for c in curves], axis=0) for end in ("lower", "upper"))
        return Roc(curves[0].fpr, lower if self.certainty == "exact" else curves[0].fpr, upper, self.certainty)

    def gamma(self, delta: float, direction: Direction = "both") -> Bracket:
        low, high = self._largest(lambda member: _ends(member.gamma(delta, direction)))
        return Bracket(low if self.certainty == "exact" or low == np.inf else 0.0, high)

    def power(self, fpr: float) -> Bracket:
        return Bracket(*self._largest(lambda member: _ends(member.power(fpr))))

    def auc(self) -> Bracket:
        areas = [member.auc() for member in self.members]
        return Bracket(max(area.lower for area in areas), max(area.upper for area in areas))

    def _pure(self) -> Ends:
        forward, backward = zip(*(member._pure() for member in self.members), strict=True)
        return max(forward), max(backward)

    def _delta(self, gamma: float, direction: Literal["forward", "backward"]) -> Ends:
        return self._largest(lambda member: member._delta(gamma, direction))

    def _largest(self, answer: Callable[["Experiment | Mixture"], Ends]) -> Ends:
        """The largest answer of any member. Members that a coarse grid shows to be smaller are not refined."""
        rough = [answer(member) for member in self._rough]
        low, high = max(low for low, _ in rough), 0.0
        if low == np.inf:
            return low, low
        for i in sorted(range(len(rough)), key=lambda i: -rough[i][1]):
            if rough[i][1] < low:
                break  # The members are sorted, so none of the others can be the worst either.
            ends = answer(self._precise(i))
            low, high = max(low, ends[0]), max(high, ends[1])
        return low, max(low, high)

    @cached_property
    def _rough(self) -> list[Experiment | Mixture]:
        """The members on a coarse grid, which suffices to rule out most of them."""
        return [member.with_grid(_ROUGH) for member in self.members]

    def _precise(self, i: int) -> Experiment | Mixture:
        """A member on its own grid, or the coarse one if that is exact. Only the most recent keep their tables."""
        if self._rough[i]._coarseness() == 0:
            return self._rough[i]
        if i in self._recent:
            self._recent.remove(i)
        self._recent.append(i)
        if len(self._recent) > _REMEMBERED:
            self.members[self._recent.pop(0)]._forget()
        return self.members[i]

    def _cdf(self, loss: float, world: World) -> Ends:
        raise TypeError("the worst of several experiments has no quantiles; ask one of its .members")

    def _smallest_resolved(self) -> float:
        return max(member._smallest_resolved() for member in self._rough)

    def __repr__(self) -> str:
        return f"Worst({len(self.members)} experiments; {self.certainty})"


def _ends(bracket: Bracket) -> Ends:
    return bracket.lower, bracket.upper


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
        lower = (lambda: reduce(operator.add, [make() for make in below])) if below else None
        return BracketedExperiment(both, lower, pure=self.largest + max(other._pure()))

    __radd__ = __add__

    def __mul__(self, times: int) -> "BracketedExperiment":
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


# --- the ROC curve: the best trade-off between recognising P and mistaking Q for P ------------------------

Deltas = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""A function that gives lower and upper ends of the forward divergence at many gammas."""
_LARGEST = 700.0
"""The largest gamma whose exponential is computed."""
_FARTHEST_DRAWN = 60.0
"""A curve's gammas end here, because larger ones change rates by less than e^-60."""


def _roc_curve(deltas: Deltas, pure: Ends, corners: FloatArray | None, points: int) -> tuple[FloatArray, ...]:
    """False positive rates, and lower and upper ends of the true positive rates.

    The curve is x ↦ min over t = e^gamma ≥ 0 of delta(gamma) + t·x. delta is convex and decreasing in t, equals 1
    at t = 0, and is straight between its corners. So all corners together give the curve exactly, and any other
    gammas give a bracket.
    """
    fpr = np.linspace(0, 1, points)
    gammas = np.clip(corners, -700, 700) if corners is not None else _spread(pure, 1000)
    low, high = deltas(gammas)
    rates = np.exp(gammas)[:, None] * fpr
    upper = np.minimum(1.0, np.min(high[:, None] + rates, axis=0))
    beyond = deltas(np.array([np.inf]))[0] + rates[-1]
    if corners is not None:
        lower = np.minimum(np.min(low[:, None] + rates, axis=0), beyond)
    else:
        # Between two gammas, delta is at least its value at the larger one and t is at least that of the smaller
        # one.
        between = np.min(low[1:, None] + rates[:-1], axis=0)
        before = low[0] + (rates[0] if pure[1] < _FARTHEST_DRAWN else 0.0)
        lower = np.minimum(np.minimum(between, beyond), before)
    return fpr, np.minimum(np.clip(lower, fpr, 1.0), upper), upper


def _best_power(deltas: Deltas, pure: Ends, fpr: float) -> Ends:
    """A bracket of the true positive rate at one false positive rate.

    It is the minimum over t = e^gamma of delta(gamma) + t·fpr, which is convex in t. So the minimum lies between
    the neighbours of the best of several points. The search repeats between these neighbours.
    """
    beyond = tuple(float(end[0]) for end in deltas(np.array([np.inf])))
    if fpr == 0:
        return beyond[0], beyond[1]
    farthest = min(_LARGEST, 1 - float(np.log(fpr)))
    lower = _lowest(lambda gammas: deltas(gammas)[0], _spread(pure, 65, farthest), fpr)[0]
    upper = min(1.0, max(fpr, _lowest(lambda gammas: deltas(gammas)[1], _spread(pure, 65, farthest), fpr)[1]))
    if farthest == _LARGEST:
        lower = beyond[0]
    return min(upper, max(fpr, lower)), upper


def _lowest(delta: Callable[[FloatArray], FloatArray], gammas: FloatArray, fpr: float) -> Ends:
    """A bracket of the minimum of delta(gamma) + e^gamma·fpr."""
    ends = 0.0, 1.0
    for _ in range(3):
        deltas, rates = delta(gammas), np.exp(gammas) * fpr
        best = int(np.argmin(deltas + rates))
        near = slice(max(0, best - 1), best + 2)
        # Between two gammas, delta is at least its value at the larger one and t is at least that of the smaller
        # one.
        ends = float((deltas[near][1:] + rates[near][:-1]).min()), float(deltas[best] + rates[best])
        gammas = np.linspace(gammas[near][0], gammas[near][-1], 33)
    return ends


def _spread(pure: Ends, points: int, farthest: float = 0.0) -> FloatArray:
    """Gammas between the two largest losses, closer together around 0."""
    forward, backward = (min(max(_FARTHEST_DRAWN, farthest), max(1e-9, end)) for end in pure)
    return np.unique(
        np.concatenate((np.sinh(np.linspace(-np.arcsinh(backward), np.arcsinh(forward), points)), [0.0]))
    )


# --- a factor that dominates a pair of worlds known only by its deltas, for composition -------------------

_NEAREST = 0.01
"""The smallest gamma above 0 at which delta is asked for."""
_RATIO = 1.25
"""Each further gamma is this many times the one before."""
_FARTHEST_GAMMA = 40.0
"""No gamma beyond the first one above this is asked for."""
_NEGLIGIBLE = 1e-12
"""Once delta is at most this, no larger gamma is asked for."""


def dominating_experiment(pair: WorldPair) -> Experiment:
    """An experiment whose delta is at least that of `pair`, at every gamma and in both directions (upper).

    δ is a convex and falling function of α = e^γ. So it lies below the chords between points where it is known, and
    beyond the last point it is at most its value there. Chords with corners at α are the δ of a law. Its mass in
    world Q at each corner is the change of slope there, and its mass in P is α times as much. The larger δ of both
    directions is used, so the law looks the same with the worlds exchanged (Doroshenko et al. 2022, "connect the
    dots"; Zhu, Dong & Wang 2022).
    """
    gammas = [0.0]
    deltas = [pair.delta(0.0).upper]
    while deltas[-1] > _NEGLIGIBLE and gammas[-1] < _FARTHEST_GAMMA:
        gammas.append(max(_NEAREST, _RATIO * gammas[-1]))
        deltas.append(min(deltas[-1], pair.delta(gammas[-1]).upper))
    return Experiment([chords_factor(np.array(gammas), np.array(deltas))], certainty="upper")


def chords_factor(gammas: FloatArray, deltas: FloatArray) -> Factor:
    """The factor of the chords between these points. Points above the lower convex hull are left out."""
    alphas = np.exp(gammas)
    # The worlds look the same when exchanged, so δ cannot fall faster than this at 0. The upper ends of brackets
    # may.
    deltas = np.maximum(deltas, deltas[0] - (1 - deltas[0]) / 2 * (alphas - 1))
    hull: list[int] = []
    for i in range(len(alphas)):
        while len(hull) > 1 and _above_line(alphas, deltas, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    gammas, alphas, deltas = gammas[hull], alphas[hull], deltas[hull]
    slopes = np.append(np.diff(deltas) / np.diff(alphas), 0.0)
    there = np.maximum(0.0, np.diff(slopes))
    here = there * alphas[1:]
    infinite = float(deltas[-1])
    informative = math.fsum([*here, *there, infinite])
    masses = np.array([infinite, *here, max(0.0, 1 - informative), *there, 0.0])
    losses = np.array([np.inf, *gammas[1:], 0.0, *-gammas[1:], -np.inf])
    mirrored = np.array([0.0, *there, max(0.0, 1 - informative), *here, infinite])
    return Factor(masses, mirrored, losses)


def _above_line(x: FloatArray, y: FloatArray, left: int, middle: int, right: int) -> bool:
    """Whether the middle point is on or above the line through its neighbours."""
    rise, run = y[right] - y[left], x[right] - x[left]
    return bool((y[middle] - y[left]) * run >= rise * (x[middle] - x[left]))


# --- the trackability variable τ [NV, "Estimated Percentile of the Trackability Random Variable"] ----------
#
# τ is the largest loss in 2⌊k/2⌋ independent trials. For each split i = 1 … ⌊k/2⌋ there are two trials: one stream
# of two people, and one stream of a single person. The variant `absolute` uses |ln(one/two)|, the printed
# definition. The variant `signed` uses ln(two/one), at least 0, with which the published figure was made
# (docs/errata.md).

Variant = Literal["absolute", "signed"]
"""The loss that τ is the largest of: |ln(one/two)|, or ln(two/one) and at least 0."""


class Trackability:
    """The exact law of τ, given the tracking experiments of the splits 1 … ⌊k/2⌋."""

    def __init__(self, experiments: Sequence[Experiment | Mixture], variant: Variant = "absolute") -> None:
        if not experiments:
            raise ValueError("experiments must not be empty")
        checks.choice("variant", variant, ("absolute", "signed"))
        if any(experiment.certainty == "upper" for experiment in experiments):
            raise TypeError("experiments must be exact to have a law of τ; some of these are upper bounds")
        self.experiments = tuple(experiments)
        self.variant = variant

    def cdf(self, tau: float) -> tuple[float, float]:
        """A bracket of the probability that τ is at most `tau`, which is a product over the independent trials."""
        if tau < 0:
            return 0.0, 0.0
        low = high = 1.0
        for experiment in self.experiments:
            for world in WORLDS:
                # A trial stays at most tau if loss ≥ -tau, and for the absolute variant loss ≤ tau as well.
                below = experiment._cdf(math.nextafter(-tau, -math.inf), world)
                upto = (1.0, 1.0) if self.variant == "signed" else experiment._cdf(tau, world)
                low *= max(0.0, upto[0] - below[1])
                high *= min(1.0, max(0.0, upto[1] - below[0]))
        return low, high

    def quantile(self, level: float) -> Bracket:
        """A bracket of the quantile of τ at this level."""
        level = checks.open_probability("level", level)
        farthest = min(FARTHEST_LOSS, max(experiment.pure() for experiment in self.experiments))
        first, last = self._first(level, 1, farthest)[0], self._first(level, 0, farthest)[1]
        return Bracket(first, max(first, last))

    def _first(self, level: float, end: int, farthest: float) -> tuple[float, float]:
        """A narrow interval in which one end of the distribution function first reaches the level."""
        if self.cdf(0.0)[end] >= level:
            return 0.0, 0.0
        # Going far below the tables' own error would gain nothing.
        narrow = 1e-3 * max(e._coarseness() for e in self.experiments)
        return first_true(
            lambda tau: self.cdf(tau)[end] >= level, 0.0, 1.001 * farthest, narrow=narrow, relative=1e-13
        )

    def sample(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Sorted samples of τ [NV, Algorithm 1], with trials drawn from the exact law of the statistic."""
        largest = np.zeros(checks.integer("draws", draws, low=1))
        for experiment in self.experiments:
            for world in WORLDS:
                loss = experiment.sample(rng, draws, world)
                np.maximum(largest, np.abs(loss) if self.variant == "absolute" else -loss, out=largest)
        largest.sort()
        return largest


class QuantileInterval(NamedTuple):
    """A sampled quantile, and an interval that contains the true quantile with probability at least `level`."""

    sampled: float
    lower: float
    upper: float
    level: float


def confidence_level(draws: int, quantile: float, lower: int, upper: int) -> float:
    """The lower bound B(v-1; n, q) - B(ℓ-1; n, q) on the probability that order statistics enclose a quantile.

    ν_ℓ ≤ quantile < ν_v holds with at least this probability. n is the number of draws, q the quantile's level, ℓ
    and v are the ranks `lower` and `upper`, and B is the binomial distribution function.
    """
    draws = checks.integer("draws", draws, low=1)
    quantile = checks.open_probability("quantile", quantile)
    lower = checks.integer("lower", lower, low=1, high=draws)
    upper = checks.integer("upper", upper, low=lower, high=draws)
    from scipy.special import bdtr

    return float(bdtr(upper - 1, draws, quantile) - bdtr(lower - 1, draws, quantile))


def order_interval(ordered: FloatArray, quantile: float, level: float = 0.95) -> QuantileInterval:
    """The narrowest interval of order statistics that reaches `level`, with ranks symmetric about the quantile."""
    draws = ordered.size
    centre = max(1, math.ceil(quantile * draws))
    for reach in range(draws):
        low, high = max(1, centre - reach), min(draws, centre + reach)
        reached = confidence_level(draws, quantile, low, high)
        if reached >= level:
            return QuantileInterval(
                float(ordered[centre - 1]), float(ordered[low - 1]), float(ordered[high - 1]), reached
            )
        if (low, high) == (1, draws):
            break
    raise ValueError(f"{draws} draws are too few for an interval of level {level} at quantile {quantile}")
