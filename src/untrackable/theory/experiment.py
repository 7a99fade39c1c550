"""A pair of worlds described by independent factors. Every guarantee is computed from one of these."""

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import Literal

import numpy as np

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.theory.convolution import total_loss
from untrackable.theory.factor import Factor, FloatArray
from untrackable.theory.factor_products import RepeatedFactor
from untrackable.theory.losses import Ends, LossTable, World
from untrackable.theory.roc import Roc
from untrackable.theory.world_pair import Direction, WorldPair

GRID = 1 << 18
"""Grid points for experiments that cannot be evaluated exactly. More points narrow the bracket in proportion."""


Certainty = Literal["exact", "upper"]
"""Whether a pair of worlds is the mechanism's own ("exact") or dominates it ("upper")."""

_ROUGH = 1 << 14
"""Grid points of the coarse evaluation by which `Worst` sorts out members that cannot be the worst."""
_REMEMBERED = 16
"""The number of members of a `Worst` that keep their tables, each of which takes some megabytes."""
_MOST_CORNERS = 5000
"""Up to this number of losses, an exact ROC curve is computed from all corners of delta."""


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
        """The largest gamma of any member. Members that a coarse grid shows to be smaller are not refined."""
        rough = [member.gamma(delta, direction) for member in self._rough]
        low, high = max(bracket.lower for bracket in rough), 0.0
        if low == np.inf:
            return Bracket.point(low)
        for i in sorted(range(len(rough)), key=lambda i: -rough[i].upper):
            if rough[i].upper < low:
                break
            found = self._precise(i).gamma(delta, direction)
            low, high = max(low, found.lower), max(high, found.upper)
        return Bracket(low if self.certainty == "exact" else 0.0, max(low, high))

    def power(self, fpr: float) -> Bracket:
        """The largest power against any member. Members that a coarse grid shows to be smaller are not refined."""
        rough = [member.power(fpr) for member in self._rough]
        low, high = max(bracket.lower for bracket in rough), 0.0
        for i in sorted(range(len(rough)), key=lambda i: -rough[i].upper):
            if rough[i].upper < low:
                break
            found = self._precise(i).power(fpr)
            low, high = max(low, found.lower), max(high, found.upper)
        return Bracket(low, max(low, high))

    def auc(self) -> Bracket:
        """The largest area of any member."""
        found = [member.auc() for member in self.members]
        return Bracket(max(area.lower for area in found), max(area.upper for area in found))

    def _pure(self) -> Ends:
        forward, backward = zip(*(member._pure() for member in self.members), strict=True)
        return max(forward), max(backward)

    def _delta(self, gamma: float, direction: Literal["forward", "backward"]) -> Ends:
        rough = [member._delta(gamma, direction) for member in self._rough]
        low, high = max(low for low, _ in rough), 0.0
        for i in sorted(range(len(rough)), key=lambda i: -rough[i][1]):
            if rough[i][1] < low:
                break  # The members are sorted, so none of the others can be the worst either.
            ends = self._precise(i)._delta(gamma, direction)
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


def _log_ratio(p: float, q: float) -> float:
    """ln(p/q) of two weights; ±inf if one of them is 0."""
    if p == 0 or q == 0:
        return -np.inf if p == 0 else np.inf
    return float(np.log(p) - np.log(q))
