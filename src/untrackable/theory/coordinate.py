"""One bit that a client keeps for ever and reports through noise: the permanent-state coordinate.

A coordinate is 1 with probability a; a report bit is 1 with probability q or p as the coordinate is 1 or 0.
Bitwise is one coordinate, RAPPOR and the memoised unary encodings are several independent ones. Reports
are exchangeable within a cell, a set of rounds that both worlds attribute alike, so the numbers of ones per
cell are sufficient.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from untrackable import checks
from untrackable.theory.factor import Factor, FloatArray

Part = tuple[float, tuple[int, ...]]
"""One user of a world: the probability that the user's coordinate is 1, and the cells that are the user's."""

_LARGEST = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Probability of reporting 1 when the coordinate is 1 (q) and when it is 0 (p)."""

    q: float
    p: float


def coordinate_factor(cells: Sequence[int], first: Sequence[Part], second: Sequence[Part], noise: Noise) -> Factor:
    """World `first` against world `second` for one coordinate, `cells` being the numbers of reports.

    P(x) = Π over users [a·Π_c Bin(x_c; n_c, q) + (1-a)·Π_c Bin(x_c; n_c, p)], c running over the user's cells.
    """
    sizes = [checks.integer("cell size", size, low=0) for size in cells]
    outcomes = 1
    for size in sizes:
        outcomes *= size + 1
    if outcomes > _LARGEST:
        raise ValueError(f"cells give {outcomes} outcomes, more than the {_LARGEST} that are enumerated")
    for name, world in (("first", first), ("second", second)):
        if sorted(cell for _, part in world for cell in part) != list(range(len(sizes))):
            raise ValueError(f"{name} must assign each of the {len(sizes)} cells to exactly one user")
    ones = np.meshgrid(*(np.arange(size + 1.0) for size in sizes), indexing="ij", sparse=True)
    orders = sum(
        (gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1) for n, x in zip(sizes, ones, strict=True)),
        start=np.zeros([1] * len(sizes)),
    )
    log_p = _log_likelihood(ones, sizes, first, noise)
    log_q = _log_likelihood(ones, sizes, second, noise)
    possible = np.isfinite(log_p) | np.isfinite(log_q)
    orders, log_p, log_q = (np.broadcast_to(a, possible.shape)[possible] for a in (orders, log_p, log_q))
    return Factor(_normalised(orders + log_p), _normalised(orders + log_q), log_p - log_q)


def tracking_factor(one: float, noise: Noise, reports: int, split: int) -> Factor:
    """One user against two, both with the same probability of a 1."""
    return coordinate_factor((split, reports - split), [(one, (0, 1))], [(one, (0,)), (one, (1,))], noise)


def tracking_losses(one: float, noise: Noise, left: int, right: int) -> FloatArray:
    """ln(one user/two users) by the numbers of ones among `left` and among `right` reports."""
    ones = list(np.ogrid[: left + 1.0, : right + 1.0])
    two_users = _log_likelihood(ones, (left, right), [(one, (0,)), (one, (1,))], noise)
    return _log_likelihood(ones, (left, right), [(one, (0, 1))], noise) - two_users


def detection_factor(one: float, changed: float, noise: Noise, reports: int, split: int) -> Factor:
    """One user against a user for the first `split` reports and one with another value for the rest."""
    return coordinate_factor((split, reports - split), [(one, (0, 1))], [(one, (0,)), (changed, (1,))], noise)


def privacy_factor(one: float, other: float, noise: Noise, reports: int) -> Factor:
    """All reports of a user with one value against all those of a user with another."""
    return coordinate_factor((reports,), [(one, (0,))], [(other, (0,))], noise)


def partition_factor(
    one: float, noise: Noise, first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]
) -> Factor:
    """One way of attributing the rounds to users against another [NV, discussion of the definition].

    `first` and `second` are partitions of the same set of rounds; a single user is a partition of one part.
    """
    owners = [{r: user for user, part in enumerate(world) for r in part} for world in (first, second)]
    for name, world, owner in zip(("first", "second"), (first, second), owners, strict=True):
        if sum(len(part) for part in world) != len(owner):
            raise ValueError(f"{name} must assign each round to one user")
    if owners[0].keys() != owners[1].keys():
        raise ValueError("first and second must be partitions of the same rounds")
    cells: dict[tuple[int, int], int] = {}
    for r in owners[0]:
        pair = owners[0][r], owners[1][r]
        cells[pair] = cells.get(pair, 0) + 1
    pairs = list(cells)
    worlds = [
        [(one, tuple(c for c, pair in enumerate(pairs) if pair[side] == user)) for user in {p[side] for p in pairs}]
        for side in (0, 1)
    ]
    return coordinate_factor(list(cells.values()), worlds[0], worlds[1], noise)


def _log_likelihood(
    ones: Sequence[FloatArray], sizes: Sequence[int], world: Sequence[Part], noise: Noise
) -> FloatArray:
    """Log probability of one particular stream with these numbers of ones."""
    total: FloatArray = np.zeros([1] * len(sizes))
    for a, cells in world:
        given_one: FloatArray = np.full([1] * len(sizes), _log(a))
        given_zero: FloatArray = np.full([1] * len(sizes), _log(1 - a))
        for cell in cells:
            x, n = ones[cell], sizes[cell]
            given_one = given_one + xlogy(x, noise.q) + xlog1py(n - x, -noise.q)
            given_zero = given_zero + xlogy(x, noise.p) + xlog1py(n - x, -noise.p)
        total = total + np.logaddexp(given_one, given_zero)
    return total


def _log(number: float) -> float:
    return float(np.log(number)) if number > 0 else -np.inf


def _normalised(log_mass: FloatArray) -> FloatArray:
    """Masses that sum to one: removes the last digits that log-domain binomials lose."""
    mass: FloatArray = np.exp(log_mass)
    mass /= mass.sum()
    return mass
