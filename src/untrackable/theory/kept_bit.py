"""One bit that a client keeps for ever and reports through noise: the permanent-state coordinate.

A coordinate is 1 with probability a. A report bit is 1 with probability q if the coordinate is 1, and p if it is 0.
Bitwise has one coordinate; RAPPOR and the memoised unary encodings have several independent ones. A cell is a set
of rounds that each world gives to one person. Reports within a cell are exchangeable, so the numbers of ones per
cell are a sufficient statistic.

Let Λ be the log-likelihood ratio (coordinate 1 over 0) of a person's cells. Then the person's likelihood is
(1-a) + a·e^Λ times the likelihood of a coordinate 0. The common part of both worlds cancels. Losses are computed
from Λ alone, so neither a probability next to 1 nor a difference next to 0 loses digits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.theory.factor import Factor, FloatArray, log_ratio

_LARGEST = 5_000_000
"""The largest number of outcomes that is enumerated."""


@dataclass(frozen=True, slots=True)
class Coin:
    """The probabilities of a 1 and of a 0, and their difference. Each has full relative precision."""

    one: float
    zero: float
    gap: float

    @staticmethod
    def of(probability: float) -> "Coin":
        """Make a coin from the probability of a 1."""
        probability = checks.probability("probability", probability)
        return Coin(probability, 1 - probability, 2 * probability - 1)

    def minus(self, other: "Coin") -> float:
        """The difference of the two probabilities of a 1, computed from the smallest numbers to keep all digits."""
        if self.one < 0.5 and other.one < 0.5:
            return self.one - other.one
        if self.zero < 0.5 and other.zero < 0.5:
            return other.zero - self.zero
        return (self.gap - other.gap) / 2

    def mirrored(self) -> "Coin":
        """This coin with 0 and 1 exchanged."""
        return Coin(self.zero, self.one, -self.gap)


@dataclass(frozen=True, slots=True)
class Noise:
    """The law of a report when the coordinate is 1 and when it is 0, and the evidence in a reported 1 or 0.

    `ones` is ln(q/p) and `zeros` is ln((1-q)/(1-p)).
    """

    given_one: Coin
    given_zero: Coin
    ones: float
    zeros: float

    @staticmethod
    def of(q: float, p: float) -> "Noise":
        """Make the noise from the probabilities of reporting 1: q if the coordinate is 1, and p if it is 0."""
        one, zero = Coin.of(q), Coin.of(p)
        ratios = log_ratio(np.array([one.one, one.zero]), np.array([zero.one, zero.zero]))
        precise = abs(p - q) < 0.5 * (1 - p)
        return Noise(one, zero, float(ratios[0]), math.log1p((p - q) / (1 - p)) if precise else float(ratios[1]))

    def evidence(self, ones: FloatArray, reports: int) -> FloatArray:
        """Λ for this number of ones among this number of reports."""
        with np.errstate(invalid="ignore"):
            from_ones = np.where(ones > 0, ones * self.ones, 0.0)
            return from_ones + np.where(ones < reports, (reports - ones) * self.zeros, 0.0)


Sender = tuple[Coin, tuple[int, ...]]
"""One person of a world: the law of the person's coordinate, and the indices of the person's cells."""


def coordinate_factor(
    cells: Sequence[int], first: Sequence[Sender], second: Sequence[Sender], noise: Noise
) -> Factor:
    """World `first` against world `second` for one coordinate, where `cells` are the numbers of reports n_c.

    P(x) = Π over people [a·Π_c Bin(x_c; n_c, q) + (1-a)·Π_c Bin(x_c; n_c, p)], with c over the person's cells and
    x_c the number of ones in cell c.
    """
    table = _Table.of(cells, noise)
    for name, world in (("first", first), ("second", second)):
        if sorted(cell for _, part in world for cell in part) != list(range(len(cells))):
            raise ValueError(f"{name} must assign each of the {len(cells)} cells to exactly one person")
    loss = sum((_log_mixed(coin, table.evidence(part)) for coin, part in first), start=np.zeros(1))
    loss = loss - sum((_log_mixed(coin, table.evidence(part)) for coin, part in second), start=np.zeros(1))
    return table.factor(first, second, loss)


def tracking_factor(coin: Coin, noise: Noise, reports: int, split: int) -> Factor:
    """One person against two whose coordinates follow the same law; the second sends all but `split` reports."""
    table = _Table.of((split, reports - split), noise)
    loss = _tracking_loss(coin, table.evidence((0,)), table.evidence((1,)))
    return table.factor([(coin, (0, 1))], [(coin, (0,)), (coin, (1,))], loss)


def tracking_losses(coin: Coin, noise: Noise, left: int, right: int) -> FloatArray:
    """ln(one person/two people), indexed by the numbers of ones among `left` and among `right` reports."""
    table = _Table.of((left, right), noise)
    loss = _tracking_loss(coin, table.evidence((0,)), table.evidence((1,)))
    one, two = (table._log_likelihood(world) for world in ([(coin, (0, 1))], [(coin, (0,)), (coin, (1,))]))
    with np.errstate(invalid="ignore"):
        certain = np.where(np.isneginf(one), -np.inf, one - two)
    return np.where(np.isfinite(loss), loss, certain)


def detection_factor(coin: Coin, changed: Coin, noise: Noise, reports: int, split: int) -> Factor:
    """One person against two with different values, one for the first `split` reports and one for the rest."""
    table = _Table.of((split, reports - split), noise)
    before, after = table.evidence((0,)), table.evidence((1,))
    loss = _tracking_loss(coin, before, after) + _privacy_loss(coin, changed, after)
    return table.factor([(coin, (0, 1))], [(coin, (0,)), (changed, (1,))], loss)


def remembered_flip_factor(coin: Coin, noise: Noise, reports: int, split: int) -> Factor:
    """One person against the same person whose coordinate is inverted from report `split` on.

    The client remembers its flip, not its noisy bit. ln P/Q = ln(1 + (r'-1)(a·r - (1-a))/(a·r + (1-a)·r')), where r
    and r' are e^Λ of the reports before and after the change.
    """
    table = _Table.of((split, reports - split), noise)
    before, after = table.evidence((0,)), table.evidence((1,))
    top = np.maximum(0.0, np.maximum(before, after))
    with np.errstate(divide="ignore", invalid="ignore"):
        stays, moves = coin.one * np.exp(before - top), coin.zero * np.exp(after - top)
        close = np.log1p(
            np.expm1(after) * (coin.one * np.exp(before - top) - coin.zero * np.exp(-top)) / (stays + moves)
        )
        one, zero = np.log(coin.one), np.log(coin.zero)
        far = np.logaddexp(zero, one + before + after) - np.logaddexp(one + before, zero + after)
    loss = np.where(np.abs(close) < 0.5, close, far)
    person: list[Sender] = [(coin, (0, 1))]
    return table.factor(person, person, loss, mirrored=(1,))


def bit_log_likelihood(coin: Coin, noise: Noise, ones: NDArray[np.int64], reports: int) -> FloatArray:
    """The log probability of one stream of `reports` reports, `ones` of which are 1."""
    from scipy.special import xlogy

    sides = [
        (np.log(chance) if chance > 0 else -np.inf) + xlogy(ones, law.one) + xlogy(reports - ones, law.zero)
        for chance, law in ((coin.one, noise.given_one), (coin.zero, noise.given_zero))
    ]
    total: FloatArray = np.logaddexp(sides[0], sides[1])
    return total


def privacy_factor(coin: Coin, other: Coin, noise: Noise, reports: int) -> Factor:
    """All reports of a person with one value against all reports of a person with another."""
    table = _Table.of((reports,), noise)
    return table.factor([(coin, (0,))], [(other, (0,))], _privacy_loss(coin, other, table.evidence((0,))))


def partition_factor(
    coin: Coin, noise: Noise, first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]
) -> Factor:
    """One way of attributing the rounds to people against another [NV, discussion of the definition].

    `first` and `second` are partitions of the same set of rounds. A partition of one part is a single person.
    """
    owners = [{r: person for person, part in enumerate(world) for r in part} for world in (first, second)]
    for name, world, owner in zip(("first", "second"), (first, second), owners, strict=True):
        if sum(len(part) for part in world) != len(owner):
            raise ValueError(f"{name} must assign each round to one person")
    if owners[0].keys() != owners[1].keys():
        raise ValueError("first and second must be partitions of the same rounds")
    cells: dict[tuple[int, int], int] = {}
    for r in owners[0]:
        pair = owners[0][r], owners[1][r]
        cells[pair] = cells.get(pair, 0) + 1
    pairs = list(cells)
    worlds = [
        [
            (coin, tuple(c for c, pair in enumerate(pairs) if pair[side] == person))
            for person in {pair[side] for pair in pairs}
        ]
        for side in (0, 1)
    ]
    return coordinate_factor(list(cells.values()), worlds[0], worlds[1], noise)


@dataclass(frozen=True)
class _Table:
    """All possible numbers of ones per cell, as arrays with one axis for each cell."""

    sizes: list[int]
    ones: list[FloatArray]
    noise: Noise

    @staticmethod
    def of(cells: Sequence[int], noise: Noise) -> "_Table":
        sizes = [checks.integer("cell size", size, low=0) for size in cells]
        outcomes = 1
        for size in sizes:
            outcomes *= size + 1
        if outcomes > _LARGEST:
            raise ValueError(f"cells must have at most {_LARGEST} outcomes together, got {outcomes}")
        ones = np.meshgrid(*(np.arange(size + 1.0) for size in sizes), indexing="ij", sparse=True)
        return _Table(sizes, list(ones), noise)

    def evidence(self, cells: Sequence[int]) -> FloatArray:
        """Λ of the given cells together."""
        with np.errstate(invalid="ignore"):
            return sum(
                (self.noise.evidence(self.ones[cell], self.sizes[cell]) for cell in cells), start=np.zeros(1)
            )

    def factor(
        self, first: Sequence[Sender], second: Sequence[Sender], loss: FloatArray, mirrored: tuple[int, ...] = ()
    ) -> Factor:
        """The factor of two worlds, with the given losses wherever both worlds can produce the outcome."""
        from scipy.special import gammaln

        pairs = list(zip(self.sizes, self.ones, strict=True))
        orders = sum((gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1) for n, x in pairs), start=np.zeros(1))
        log_p, log_q = self._log_likelihood(first), self._log_likelihood(second, mirrored)
        possible = np.isfinite(log_p) | np.isfinite(log_q)
        orders, log_p, log_q, loss = (
            np.broadcast_to(a, possible.shape)[possible] for a in (orders, log_p, log_q, loss)
        )
        both = np.isfinite(log_p) & np.isfinite(log_q) & np.isfinite(loss)
        with np.errstate(invalid="ignore"):
            loss = np.where(both, loss, log_p - log_q)
        # The logarithms are of this size and are rounded a few times; this becomes a relative error of the masses.
        error = 8 * float(np.finfo(np.float64).eps) * sum(math.lgamma(n + 1) for n in self.sizes)
        return Factor(_normalised(orders + log_p), _normalised(orders + log_q), loss, error=error)

    def _log_likelihood(self, world: Sequence[Sender], mirrored: tuple[int, ...] = ()) -> FloatArray:
        """The log probability of one particular stream with these numbers of ones.

        In the `mirrored` cells the coordinate is inverted.
        """
        from scipy.special import xlogy

        total: FloatArray = np.zeros([1] * len(self.sizes))
        one, zero = self.noise.given_one, self.noise.given_zero
        for coin, cells in world:
            sides = []
            for chance, law, other in ((coin.one, one, zero), (coin.zero, zero, one)):
                side: FloatArray = np.full([1] * len(self.sizes), np.log(chance) if chance > 0 else -np.inf)
                for cell in cells:
                    x, n, report = self.ones[cell], self.sizes[cell], other if cell in mirrored else law
                    side = side + xlogy(x, report.one) + xlogy(n - x, report.zero)
                sides.append(side)
            total = total + np.logaddexp(*sides)
        return total


def _log_mixed(coin: Coin, evidence: FloatArray) -> FloatArray:
    """ln((1-a) + a·e^Λ)."""
    near = np.abs(evidence) < 1
    with np.errstate(divide="ignore"):
        far = np.logaddexp(np.log(coin.zero), np.log(coin.one) + evidence)
    return np.where(near, np.log1p(coin.one * np.expm1(np.where(near, evidence, 0.0))), far)


def _excess(coin: Coin, evidence: FloatArray) -> FloatArray:
    """(r-1)/(1-a+a·r) with r = e^Λ. Numerator and denominator are divided by max(1, r) to avoid overflow."""
    shrunk, grown = np.exp(-np.abs(evidence)), -np.expm1(-np.abs(evidence))
    with np.errstate(divide="ignore", invalid="ignore"):
        up = grown / (coin.one + coin.zero * shrunk)
        return np.where(evidence > 0, up, -grown / (coin.zero + coin.one * shrunk))


def _tracking_loss(coin: Coin, before: FloatArray, after: FloatArray) -> FloatArray:
    """The loss ln(1 + a(1-a)(r-1)(r'-1)/((1-a+a·r)(1-a+a·r'))), where r and r' are e^Λ of the two sides."""
    if coin.one == 0 or coin.zero == 0:
        return np.zeros(np.broadcast_shapes(before.shape, after.shape))
    with np.errstate(divide="ignore", invalid="ignore"):
        close = np.log1p(coin.one * coin.zero * _excess(coin, before) * _excess(coin, after))
        far = _log_mixed(coin, before + after) - _log_mixed(coin, before) - _log_mixed(coin, after)
    return np.where(close > -0.5, close, far)


def _privacy_loss(coin: Coin, other: Coin, evidence: FloatArray) -> FloatArray:
    """The loss ln(1 + (a-a')(r-1)/(1-a'+a'·r)) of a coordinate with law a against one with law a', r = e^Λ."""
    with np.errstate(divide="ignore", invalid="ignore"):
        close = np.log1p(coin.minus(other) * _excess(other, evidence))
        far = _log_mixed(coin, evidence) - _log_mixed(other, evidence)
    return np.where(np.abs(close) < 0.5, close, far)


def _normalised(log_mass: FloatArray) -> FloatArray:
    """Masses that sum to one. Normalising removes the rounding errors that binomials in the log domain share."""
    mass: FloatArray = np.exp(log_mass)
    mass /= mass.sum()
    return mass
