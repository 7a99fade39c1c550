"""Memoization: what a client keeps for ever and reports through noise. Above all one bit, the coordinate.

A coordinate is 1 with probability a. A report bit is 1 with probability q if the coordinate is 1, and p if it is 0.
Bitwise has one coordinate; RAPPOR and the memoised unary encodings have several independent ones. A cell is a set
of rounds that each world gives to one person. Reports within a cell are exchangeable, so the numbers of ones per
cell are a sufficient statistic.

Let Λ be the log-likelihood ratio (coordinate 1 over 0) of a person's cells. Then the person's likelihood is
(1-a) + a·e^Λ times the likelihood of a coordinate 0. The common part of both worlds cancels. Losses are computed
from Λ alone, so neither a probability next to 1 nor a difference next to 0 loses digits.

The tracking advantage of what a client keeps is known in closed form: of bits, of symbols, and of the signs of its
changes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.theory.factor import Factor, log_ratio, response_factor

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
    return np.asarray(np.logaddexp(sides[0], sides[1]))


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
        return Factor(masses(orders + log_p), masses(orders + log_q), loss, error=error)

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


def masses(logs: FloatArray) -> FloatArray:
    """Masses that sum to one, from logarithms that are known up to a common constant."""
    mass: FloatArray = np.exp(logs - logs.max())
    mass /= mass.sum()
    return mass


_POINTS = 32
"""The number of report counts at which a growing quantity is computed; in between it is rounded up."""
_ROUNDED = 1e-13
"""A bound on the absolute rounding error of the difference of two nearly equal laws."""
_TOGETHER = 4096
"""Laws of up to this number of reports are computed together, which takes a few megabytes."""


def kept_bits_advantage_upper(kept: list[tuple[float, int]], one: float, zero: float, reports: int) -> float:
    """An upper bound on the advantage of tracking several independent kept bits, at the worst split.

    A kept bit is 1 with probability a. Let A₁ and A₀ be the laws of the number of ones among the first j reports
    given the bit, and B₁ and B₀ those of the other k-j reports. One person against two is

        P - Q = a(1-a)·(A₁ - A₀)·(B₁ - B₀),

    because P = a·A₁B₁ + (1-a)·A₀B₀ and Q = (a·A₁ + (1-a)·A₀)·(a·B₁ + (1-a)·B₀). So the total variation distance of
    one bit is 2a(1-a)·TV(A₁, A₀)·TV(B₁, B₀), and χ² of P against Q is a product of two sums as well. That is fast
    enough for a search over parameters. `kept` are pairs (a, number of such bits). The bound is the smaller of Σ TV
    and ½√(Π (1 + χ²) - 1), by the Cauchy-Schwarz inequality.
    """
    if reports < 2:
        return 0.0
    total = np.zeros(reports + 1)
    apart = binomial_distances(reports, one, zero)
    for chance, count in kept:
        total += count * kept_bit_advantages(chance, apart)
    bound = np.minimum(total, np.sqrt(_chi_squares(kept, one, zero, reports)) / 2)
    return float(min(1.0, bound.max() * (1 + 1e-9) + _ROUNDED * sum(count for _, count in kept)))


def kept_symbol_advantage_upper(kept: float, tell: float, values: int, reports: int) -> float:
    """An upper bound on the advantage of tracking one kept symbol out of `values`, at the worst split.

    The kept symbol is the true one with probability `kept`, and otherwise any other with equal probability. A
    report is the kept symbol with probability `tell`, and otherwise any other with equal probability. With π the
    law of the kept symbol, P - Q = ½ Σ π_s·π_t·(A_s - A_t)·(B_s - B_t). So the distance is at most (1 - Σ
    π²)·TV(A_s, A_t)·TV(B_s, B_t).
    """
    if reports < 2:
        return 0.0
    lie = (1 - tell) / (values - 1)
    both = tell + lie
    distances = binomial_distances(reports, tell / both, lie / both)
    known = _known(reports)
    # The number of reports that show one of the two symbols is Bin(n, tell + lie) in either world.
    mixed = np.concatenate([_binomials(some, both) @ distances[: some[-1] + 1] for some in _batches(known)])
    apart = _upwards(known, mixed, reports)
    other = kept**2 + (1 - kept) ** 2 / (values - 1)
    return float(min(1.0, (1 - other) * (apart * apart[::-1]).max() * (1 + 1e-9) + _ROUNDED))


def kept_bit_advantages(kept: float, apart: FloatArray) -> FloatArray:
    """The advantage of tracking one kept bit, exact up to rounding, for splits j = 0 … reports.

    `apart` are the distances TV(A₁, A₀) for 0 … reports reports.
    """
    return 2 * kept * (1 - kept) * apart * apart[::-1]


def binomial_distances(reports: int, one: float, zero: float) -> FloatArray:
    """TV(Bin(n, q), Bin(n, p)) for n = 0 … reports, where q is `one` and p is `zero`.

    The two laws cross once, where their ratio passes 1, so the distance is a difference of two tails.
    """
    from scipy.special import bdtr, bdtrc

    n = np.arange(reports + 1)
    high, low = max(one, zero), min(one, zero)
    if low == high:
        return np.zeros(reports + 1)
    if low == 0.0 or high == 1.0:
        return np.where(n > 0, 1 - (1 - high if low == 0.0 else low) ** n, 0.0)
    turn = np.log((1 - low) / (1 - high))
    cross = np.floor(n * turn / (turn + np.log(high / low)))
    # Lower and upper tails give the same difference. The smaller tails lose fewer digits.
    below = bdtr(cross, n, low) - bdtr(cross, n, high)
    above = bdtrc(cross, n, high) - bdtrc(cross, n, low)
    distances: FloatArray = np.where(n > 0, np.maximum(below, above), 0.0)
    return np.clip(distances, 0.0, 1.0)


def flipped_distances(reports: int, flip: float, gap: float) -> FloatArray:
    """TV(Bin(n, q), Bin(n, p)) for n = 0 … reports, with q = 1 - flip, p = flip and `gap` = q - p.

    TV at n = 2m+1 is (q-p)·Σ C(2i, i)(pq)^i over i = 0 … m, and TV at n = 2m+2 is the same. All terms are positive,
    so no digits are lost if the two laws are nearly equal.
    """
    i = np.arange(reports // 2)
    terms = np.cumprod(np.concatenate(([1.0], flip * (1 - flip) * 2 * (2 * i + 1) / (i + 1))))
    odd = np.minimum(1.0, abs(gap) * np.cumsum(terms))
    return np.concatenate(([0.0], np.repeat(odd, 2)))[: reports + 1]


def _chi_squares(kept: list[tuple[float, int]], one: float, zero: float, reports: int) -> FloatArray:
    """Π (1 + χ²) - 1 over the kept bits, for all splits j = 0 … reports."""
    growth = np.zeros(reports + 1)
    for chance, count in kept:
        sums = _squares(chance, one, zero, reports)
        growth += count * np.log1p((chance * (1 - chance)) ** 2 * sums * sums[::-1])
    with np.errstate(over="ignore"):
        chi_squares: FloatArray = np.expm1(growth)
    return chi_squares


def _squares(kept: float, one: float, zero: float, reports: int) -> FloatArray:
    """Σ (A₁ - A₀)²/(a·A₁ + (1-a)·A₀) for n = 0 … reports."""
    known = _known(reports)
    sums = []
    for some in _batches(known):
        first, second = _binomials(some, one), _binomials(some, zero)
        mixed = kept * first + (1 - kept) * second
        apart = np.divide((first - second) ** 2, mixed, out=np.zeros(mixed.shape), where=mixed > 0)
        sums.append(apart.sum(axis=1))
    return _upwards(known, np.concatenate(sums), reports)


def _known(reports: int) -> NDArray[np.int64]:
    """The numbers of reports at which a growing quantity is computed."""
    return np.unique(np.geomspace(1, reports, _POINTS).round().astype(np.int64))


def _upwards(known: NDArray[np.int64], values: FloatArray, reports: int) -> FloatArray:
    """For n = 0 … reports, the value at the next known n. It is an upper bound, because the values grow with n."""
    above = np.searchsorted(known, np.arange(1, reports + 1))
    return np.concatenate(([0.0], values[above]))


def _batches(known: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Groups of report counts whose laws are computed together. Large counts are computed one at a time."""
    small = known[known <= _TOGETHER]
    return [small] * (small.size > 0) + [known[i : i + 1] for i in range(small.size, known.size)]


def _binomials(numbers: NDArray[np.int64], chance: float) -> FloatArray:
    """The laws of Bin(n, p) as rows, for increasing n."""
    from scipy.special import gammaln

    n, ones = numbers[:, None], np.arange(numbers[-1] + 1)
    if chance in (0.0, 1.0):
        return np.asarray(ones == n * chance, dtype=np.float64)
    orders = gammaln(ones + 1)
    logs = orders[numbers][:, None] - orders - orders[np.maximum(n - ones, 0)]
    return np.exp(  # type: ignore[no-any-return]
        logs + ones * np.log(chance) + (n - ones) * np.log1p(-chance), where=ones <= n, out=np.zeros(logs.shape)
    )


# --- signs that depend on each other ----------------------------------------------------------------------

MOST_SIGNS = 64
"""The largest number of intervals with a change, on both sides together, that is treated exactly."""
_ENVELOPE_POINTS = 64
"""The number of points at which the envelope of several divergences is evaluated."""
_ERROR = 1e-12
"""A bound on the relative rounding error of the envelope's masses."""
_SignTable = tuple[FloatArray, FloatArray, FloatArray]
"""For every outcome: its mass with fair coins, and P - Q and Q relative to that mass."""


def sign_tracking_factor(first: int, second: int, step: float) -> Factor:
    """One person against two, where `first` and `second` intervals of the two sides have a change and c is `step`.

    A client of `mechanisms.changing_bit` reports one of its k changes [SODA 2019, online monitoring], so its signs
    depend on each other. Given the level, their likelihood relative to fair coins is 1 + c·Σ w·s. Here s are the
    signs, w is the net change over each interval, and c = β/k. Let S and S' be the sums of the signs of the two
    sides, with a sign positive if it agrees with the change. Then P ∝ 1 + c(S + S') and Q ∝ (1 + cS)(1 + cS'), so P
    - Q ∝ -c²SS'. Valid for c·(first + second) ≤ 1.
    """
    mass, excess, two = _meeting(first, second, step)
    with np.errstate(divide="ignore"):
        return Factor(mass * (two + excess), mass * two, np.log1p(excess / two))


def worst_sign_tracking_factor(pairs: Sequence[tuple[int, int]], step: float) -> Factor:
    """One factor that dominates the factors of all these (first, second) pairs. For one pair it is exact.

    Each δ is convex in t = e^γ - 1. So their maximum is convex, and straight lines between some of its points lie
    above it. These lines are the δ of a factor whose outcomes have the points as P/Q - 1 and the changes of slope
    as their masses in Q. With more than `MOST_SIGNS` signs, the factor is randomised response with the largest
    loss.
    """
    if len(pairs) == 1:
        return sign_tracking_factor(*pairs[0], step)
    if max(a + b for a, b in pairs) > MOST_SIGNS:
        ends = [_loss(s * a, r * b, step) for a, b in pairs for s in (-1, 1) for r in (-1, 1)]
        return response_factor(max(abs(loss) for loss in ends))
    tables = [_meeting(a, b, step) for a, b in pairs]
    less, below = _envelope([(mass, -excess, two) for mass, excess, two in tables])
    more, above = _envelope(tables)
    points = np.concatenate((-less[::-1], [0.0], more))
    mass = np.concatenate((below[::-1], [max(0.0, 1 - below.sum() - above.sum())], above))
    with np.errstate(divide="ignore"):
        return Factor(mass * (1 + points), mass, np.log1p(points), error=_ERROR)


def _envelope(tables: Sequence[_SignTable]) -> tuple[FloatArray, FloatArray]:
    """The points t > 0 and the masses at them, of the factor that dominates E[(P - Q) - t·Q]⁺ of every table."""
    farthest = max(float((excess / two).max()) for _, excess, two in tables)
    points = farthest * np.linspace(0, 1, _ENVELOPE_POINTS + 1) ** 2  # Most of the mass lies near 0.
    heights = np.max([[mass @ np.maximum(0.0, p - t * q) for t in points] for mass, p, q in tables], axis=0)
    heights[-1] = 0.0
    slopes = np.append(np.diff(heights) / np.diff(points), 0.0)
    return points[1:], np.maximum(0.0, np.diff(slopes))


def _meeting(first: int, second: int, step: float) -> _SignTable:
    """The table of one pair of sides, with one outcome for each pair of sums of signs."""
    (x, fair), (y, coins) = _sums(first), _sums(second)
    mass, excess = np.outer(fair, coins), -(step**2) * np.outer(x, y)
    two = np.outer(1 + step * x, 1 + step * y)
    return mass.ravel(), excess.ravel(), two.ravel()


def _sums(signs: int) -> tuple[FloatArray, FloatArray]:
    """The possible sums of this number of fair signs, and their probabilities."""
    from scipy.special import gammaln

    plus = np.arange(signs + 1.0)
    ways = gammaln(signs + 1) - gammaln(plus + 1) - gammaln(signs - plus + 1)
    return 2 * plus - signs, np.exp(ways - signs * np.log(2))


def _loss(x: int, y: int, step: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log1p(-(step**2) * x * y / ((1 + step * x) * (1 + step * y))))
