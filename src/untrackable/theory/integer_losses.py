"""Laws of losses, in whole numbers: an upper bound on what can be told, whatever is rounded.

A pair of worlds that look alike when exchanged is known by the law of its loss ln(P/Q) in world P. Here the losses
are multiples of a step and the masses integers over 2^128, every one of them rounded up, so that a product of laws
is one product of two large integers and no rounding error is ever on the wrong side.
"""

import decimal
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from untrackable import checks

_BITS = 128
WHOLE = 1 << _BITS
"""The mass that stands for probability 1."""

_SLOT = 36
"""Bytes of a coefficient of a product: 2·128 bits, and 32 for the sum of many."""
_NEGLIGIBLE = 1 << (_BITS - 80)
"""Mass up to which an end of a law is moved outward: to its neighbour, or at the top it is cut off."""
STEPS = 512
"""A common step is this part of the eps that is asked about."""
LONGEST = 8 * STEPS
"""Steps from 0, beyond which losses are not told apart: so a law is never too long to work with."""
_FARTHEST = 32.0
"""Losses for which a step is made coarser; larger ones are as good as infinite, but for e^-32 of their mass."""
_SPARSE = 4
"""Products of two masses, for each of the result, up to which they are made one by one."""
_TRANSFORMED = 1 << 10
"""Masses above which two laws are multiplied as decimals: by a number-theoretic transform, slower for few."""
_PLACES = 88
"""The same in decimal digits: 78 of a product of masses, and 10 for the sum of many."""
_EXACTLY = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Inexact]
)
_DIGITS = 50
_HAIR = 2.0**-49
"""A few roundings of a float, relatively."""


@dataclass(frozen=True, slots=True)
class LossLaw:
    """Masses at the losses low·step, (low+1)·step, …, and at infinity.

    `pure` is the largest finite loss, and `cut` the mass of losses up to it that are too rare to be told apart.
    """

    step: float
    low: int
    masses: tuple[int, ...]
    infinite: int
    pure: Fraction
    cut: int = 0

    @staticmethod
    def of(step: Fraction, positions: Mapping[int, Fraction], *, infinite: Fraction = Fraction(0)) -> "LossLaw":
        """From probabilities at multiples of a step; masses are rounded up, the step is to be exact or above."""
        low, high = min(positions), max(positions)
        masses = tuple(_up(positions.get(position, Fraction(0))) for position in range(low, high + 1))
        largest = max((position for position in positions if positions[position] and position > 0), default=0)
        return LossLaw(float(step), low, masses, _up(infinite), largest * step)

    @staticmethod
    def nothing() -> "LossLaw":
        """Two worlds that are the same."""
        return LossLaw(0.0, 0, (WHOLE,), 0, Fraction(0))

    @staticmethod
    def everything() -> "LossLaw":
        """Two worlds that every report tells apart."""
        return LossLaw(0.0, 0, (), WHOLE, Fraction(0))

    @staticmethod
    def declared(eps: float, delta: float) -> "LossLaw":
        """The pair that dominates every (eps, delta) pair: randomised response that gives itself away with delta.

        At loss eps there is (1-δ)/(1+e^-ε), at -eps the rest (Kairouz, Oh & Viswanath 2015).
        """
        eps, delta = checks.non_negative("eps", eps), checks.probability("delta", delta)
        given_away = Fraction(delta)
        if eps == 0:
            return LossLaw.of(Fraction(0), {0: 1 - given_away}, infinite=given_away)
        if eps == math.inf:
            return LossLaw.everything()
        odds = math.exp(-eps)
        told, other = Fraction(_above(1 / (1 + odds))), Fraction(_above(odds / (1 + odds)))
        positions = {1: (1 - given_away) * told, -1: (1 - given_away) * other}
        return LossLaw.of(Fraction(eps), positions, infinite=given_away)

    @staticmethod
    def profile(step: float, deltas: Mapping[int, float]) -> "LossLaw":
        """The pair that dominates all pairs whose delta at each multiple of a step is at most the one given.

        Delta is a convex, falling function of e^γ, so it is below the lower convex hull of the given points, and
        beyond the last one below that. A hull with corners at α = e^γ is the delta of a law with mass α·(change of
        slope) at loss γ and the change of slope at -γ, as worlds that look alike when exchanged have (Doroshenko et
        al. 2022, "connect the dots").
        """
        points = ((position, Fraction(deltas[position])) for position in sorted(deltas))
        hull = _hull([(_power(step, position), _up(delta), position) for position, delta in points])
        slopes = [
            Fraction((after[1] - here[1]) * WHOLE, (after[0] - here[0])) for here, after in itertools.pairwise(hull)
        ] + [Fraction(0)]
        still = WHOLE - hull[0][1] + 2 * math.ceil(slopes[0])
        positions = {0: max(0, still)}
        for (alpha, _, position), (before, after) in zip(hull[1:], itertools.pairwise(slopes), strict=True):
            positions[position] = math.ceil((after - before) * alpha / WHOLE)
            positions[-position] = math.ceil(after - before)
        last = hull[-1][2]
        masses = tuple(positions.get(position, 0) for position in range(-last, last + 1))
        return LossLaw(step, -last, masses, hull[-1][1], last * Fraction(step))

    def delta(self, eps: float) -> float:
        """At most Σ mass·(1 - e^(eps - loss)) over the losses above eps, and whatever is at infinity (upper)."""
        if eps >= self.pure:
            return min(1.0, self.infinite / WHOLE)
        first = max(self.low, math.floor(eps / self.step)) if self.step else self.low
        terms = [(self.infinite + self.cut) / WHOLE]
        for position in range(first, self.low + len(self.masses)):
            mass, excess = self.masses[position - self.low], self._loss(position) - eps
            if mass and excess > 0:
                terms.append(mass / WHOLE * -math.expm1(-excess))
        return min(1.0, math.fsum(terms) * (1 + _HAIR))

    def __mul__(self, other: "LossLaw") -> "LossLaw":
        """Both at once, seen independently; with the same step, or with one of them trivial."""
        step = max(self.step, other.step)
        if not (self.step == other.step or self._still or other._still):
            raise ValueError(f"laws must have the same step, got {self.step} and {other.step}")
        infinite = self.infinite + other.infinite - (self.infinite * other.infinite >> _BITS)
        pure, cut = self.pure + other.pure, self.cut + other.cut
        if not self.masses or not other.masses:
            return LossLaw(step, 0, (), infinite, pure, cut)
        masses = _product(self.masses, other.masses)
        return _trimmed(LossLaw(step, self.low + other.low, masses, infinite, pure, cut))

    def __pow__(self, times: int) -> "LossLaw":
        """The same seen independently several times; if very many, on a coarser step."""
        times = checks.integer("times", times, low=0)
        result, square = LossLaw.nothing(), self
        while times:
            if times & 1:
                result = result.on(square.step) * square
            times >>= 1
            if times:
                square = square * square
                if len(square.masses) > 2 * LONGEST:
                    square = square.on(2 * square.step)
        return result

    def on(self, step: float) -> "LossLaw":
        """A law with losses on another step that dominates this one: each loss is split over its two neighbours.

        Masses of both worlds are kept: of a mass m at a loss l, m·(1-e^-(l-a))/(1-e^-h) goes to a+h, h being the
        step and a the multiple of it below l, and the rest to a. Merging the two again gives back the loss l.
        Losses of very many steps count as infinite, or as no less than as many below 0.
        """
        if self.step == step or self._still:
            return replace(self, step=step)
        found: dict[int, int] = {}
        infinite = self.infinite
        whole = -math.expm1(-step)
        for position, mass in enumerate(self.masses, self.low):
            if not mass:
                continue
            loss = self._loss(position)
            if loss > LONGEST * step:
                infinite += mass
                continue
            below = max(-LONGEST, math.floor(loss / step))
            loss = max(loss, below * step)
            slack = 2 * _HAIR * (abs(below) + 4)  # what floating point may have taken from a share
            share = min(1.0, max(0.0, -math.expm1(-(loss - below * step)) / whole) + slack)
            rest = min(1.0, 1 - share + 2 * slack)
            found[below + 1] = found.get(below + 1, 0) + _times(mass, share)
            found[below] = found.get(below, 0) + _times(mass, rest)
        low, high = min(found, default=0), max(found, default=0)
        masses = tuple(found.get(position, 0) for position in range(low, high + 1)) if found else ()
        return _trimmed(LossLaw(step, low, masses, infinite, self.pure, self.cut))

    def _loss(self, position: int) -> float:
        """The loss at a position, and a hair more than the step may have been rounded by."""
        loss = position * self.step
        return loss + abs(loss) * 4 * _HAIR

    @property
    def _reach(self) -> float:
        """How far its losses are from 0."""
        return max(-self.low, self.low + len(self.masses) - 1) * self.step

    @property
    def _still(self) -> bool:
        """Whether all finite losses are 0."""
        return self.low == 0 and len(self.masses) <= 1


def mixed(laws: Iterable[tuple[Fraction, LossLaw]]) -> LossLaw:
    """One of several laws of the same step, the observer being told which; weights are in both worlds."""
    parts = [(weight, law) for weight, law in laws if weight]
    low = min(law.low for _, law in parts)
    high = max(law.low + len(law.masses) for _, law in parts)
    masses = [0] * (high - low)
    infinite = 0
    for weight, law in parts:
        share = _up(weight)
        infinite += -(-share * law.infinite >> _BITS)
        for position, mass in enumerate(law.masses, law.low - low):
            masses[position] += -(-share * mass >> _BITS)
    pure = max(law.pure for _, law in parts)
    cut = sum(law.cut for _, law in parts)
    return LossLaw(max(law.step for _, law in parts), low, tuple(masses), infinite, pure, cut)


def composed(laws: Iterable[LossLaw], step: float) -> LossLaw:
    """All of them together: exactly where their steps agree, else on a common step, this one or a coarser one."""
    groups: dict[float, LossLaw] = {}
    for law in laws:
        groups[law.step] = groups[law.step] * law if law.step in groups else law
    moving = [law for law in groups.values() if not law._still]
    reach = sum(law._reach for law in moving)
    common = coarser(step, reach) if len(moving) > 1 else moving[0].step if moving else 0.0
    total = LossLaw.nothing()
    for law in groups.values():
        total = total * law.on(common)
    return total


def coarser(step: float, reach: float) -> float:
    """A step on which losses so far from 0 are not too many; this one, if that is enough."""
    return max(step, min(reach, _FARTHEST) / (LONGEST - 1))


def _product(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Coefficients of a product of polynomials, through one product of integers; divided by 2^128, rounded up."""
    size = len(one) + len(other) - 1
    short, long = ([(position, mass) for position, mass in enumerate(law) if mass] for law in (one, other))
    if len(short) * len(long) <= _SPARSE * size:
        numbers = [0] * size
        for position, mass in short:
            for beside, another in long:
                numbers[position + beside] += mass * another
    elif min(len(one), len(other)) > _TRANSFORMED:
        digits = f"{_EXACTLY.multiply(_decimal(one), _decimal(other)):f}".zfill(size * _PLACES)
        numbers = [int(digits[i : i + _PLACES]) for i in range(0, size * _PLACES, _PLACES)]
    else:
        product = (_packed(one) * _packed(other)).to_bytes(size * _SLOT, "little")
        numbers = [int.from_bytes(product[i : i + _SLOT], "little") for i in range(0, size * _SLOT, _SLOT)]
    return tuple(-(-number >> _BITS) for number in numbers)


def _packed(masses: tuple[int, ...]) -> int:
    return int.from_bytes(b"".join(mass.to_bytes(_SLOT, "little") for mass in masses), "little")


def _decimal(masses: tuple[int, ...]) -> decimal.Decimal:
    return decimal.Decimal("".join(f"{mass:0{_PLACES}d}" for mass in masses))


def _hull(points: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Of points from left to right, those on the lower convex hull, as far as it falls."""
    found: list[tuple[int, int, int]] = []
    for point in points:
        if found and point[1] >= found[-1][1]:
            continue  # a falling function is below the earlier one
        while len(found) > 1 and _above_line(found[-1], found[-2], point):
            found.pop()
        found.append(point)
    return found


def _above_line(point: tuple[int, int, int], left: tuple[int, int, int], right: tuple[int, int, int]) -> bool:
    return (point[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (point[0] - left[0])


def _power(step: float, position: int) -> int:
    """e^(position·step) over 2^128, to fifty decimals."""
    with decimal.localcontext(prec=_DIGITS + 10 + math.ceil(position * step)):
        return round((decimal.Decimal(step) * position).exp() * WHOLE)


def _trimmed(law: LossLaw) -> LossLaw:
    """Without its negligible ends: the lower one moves up to what is next, the upper one is cut off."""
    if not law.masses:
        return law
    masses = list(law.masses)
    start, moved = 0, 0
    while start < len(masses) - 1 and moved + masses[start] <= _NEGLIGIBLE:
        moved, start = moved + masses[start], start + 1
    stop, lost = len(masses), 0
    while stop > start + 1 and lost + masses[stop - 1] <= _NEGLIGIBLE:
        lost, stop = lost + masses[stop - 1], stop - 1
    kept = masses[start:stop]
    kept[0] += moved
    return replace(law, low=law.low + start, masses=tuple(kept), cut=law.cut + lost)


def _up(probability: Fraction) -> int:
    return math.ceil(probability * WHOLE)


def _times(mass: int, share: float) -> int:
    return -(-mass * math.ceil(share * 2.0**60) >> 60)


def log_ratio(number: int, other: int) -> Fraction:
    """ln(number/other), rounded up in the fiftieth decimal."""
    with decimal.localcontext(prec=_DIGITS + 10):
        return Fraction((decimal.Decimal(number) / decimal.Decimal(other)).ln()) + Fraction(1, 10**_DIGITS)


def _above(number: float) -> float:
    """At least as large as what was rounded to this."""
    return number + abs(number) * _HAIR
