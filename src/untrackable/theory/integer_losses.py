"""Laws of privacy losses in whole numbers, rounded so that they are always upper bounds.

If a pair of worlds P and Q is symmetric, the law of the loss ln(P/Q) in world P describes it completely. Here the
losses are multiples of a step, and the masses are integers over 2^128, all of them rounded up. So a product of laws
is one product of two large integers, and no rounding error is ever on the wrong side.
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
"""The number of bytes of a product's coefficient: 2·128 bits, and 32 bits for the sum of many."""
_NEGLIGIBLE = 1 << (_BITS - 80)
"""An end of a law with at most this mass is removed: the lower end moves up, and the upper end is cut off."""
STEPS = 512
"""A common step is this part of the eps in question."""
LONGEST = 8 * STEPS
"""Losses more than this many steps from 0 are merged, so that no law becomes too long."""
_FARTHEST = 32.0
"""A step is made coarser only for losses up to this. Larger ones are infinite except for e^-32 of their mass."""
_SPARSE = 4
"""If each mass of the result is a sum of at most this many products on average, they are computed one by one."""
_TRANSFORMED = 1 << 10
"""Laws with more masses than this are multiplied as decimals, by a number-theoretic transform."""
_PLACES = 88
"""The number of decimal digits of a product's coefficient: 78 for the product, and 10 for the sum of many."""
_EXACTLY = decimal.Context(
    prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Inexact]
)
_DIGITS = 50
_NEAREST, _FARTHEST = 1e-3, 80.0
"""Steps are chosen for gammas between these. Delta can be computed for other gammas too."""
_HAIR = 2.0**-49
"""The relative error of a few roundings of floating-point numbers."""


@dataclass(frozen=True, slots=True)
class LossLaw:
    """Masses at the losses low·step, (low+1)·step, …, and at infinity.

    `pure` is the largest finite loss. `cut` is the mass of rare losses, at most `pure`, that were cut off.
    """

    step: float
    low: int
    masses: tuple[int, ...]
    infinite: int
    pure: Fraction
    cut: int = 0

    @staticmethod
    def of(step: Fraction, positions: Mapping[int, Fraction], *, infinite: Fraction = Fraction(0)) -> "LossLaw":
        """The law with these probabilities at multiples of a step, which is exact or rounded up. So are masses."""
        low, high = min(positions), max(positions)
        masses = tuple(_up(positions.get(position, Fraction(0))) for position in range(low, high + 1))
        largest = max((position for position in positions if positions[position] and position > 0), default=0)
        return LossLaw(float(step), low, masses, _up(infinite), largest * step)

    @staticmethod
    def nothing() -> "LossLaw":
        """The law of two worlds that are the same."""
        return LossLaw(0.0, 0, (WHOLE,), 0, Fraction(0))

    @staticmethod
    def everything() -> "LossLaw":
        """The law of two worlds that an observer always tells apart."""
        return LossLaw(0.0, 0, (), WHOLE, Fraction(0))

    @staticmethod
    def declared(eps: float, delta: float) -> "LossLaw":
        """The law that dominates every (eps, delta) pair: randomised response that reveals itself with delta.

        It has (1-δ)/(1+e^-ε) at loss eps, δ at infinity, and the rest at -eps (Kairouz, Oh & Viswanath 2015).
        """
        eps, delta = checks.non_negative("eps", eps), checks.probability("delta", delta)
        revealed = Fraction(delta)
        if eps == 0:
            return LossLaw.of(Fraction(0), {0: 1 - revealed}, infinite=revealed)
        if eps == math.inf:
            return LossLaw.everything()
        odds = math.exp(-eps)
        truth, lie = Fraction(_above(1 / (1 + odds))), Fraction(_above(odds / (1 + odds)))
        positions = {1: (1 - revealed) * truth, -1: (1 - revealed) * lie}
        return LossLaw.of(Fraction(eps), positions, infinite=revealed)

    @staticmethod
    def profile(step: float, deltas: Mapping[int, float]) -> "LossLaw":
        """The law that dominates all pairs of worlds whose deltas at these multiples of a step are at most these.

        Delta is a convex, falling function of e^γ. So it is below the lower convex hull of the given points, and
        after the last one it is below that one. A hull with corners at α = e^γ is the delta of a law with mass
        α·(change of slope) at loss γ and the change of slope at -γ; symmetric worlds have such laws (Doroshenko et
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
        """Σ mass·(1 - e^(eps - loss)) over the losses above eps, plus the mass at infinity (upper)."""
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
        """The law of two independent experiments together. They have the same step, or one of them is trivial."""
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
        """The law of several independent repetitions; for very many, on a coarser step."""
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
        """A law on another step that dominates this one. Each loss is split over its two neighbours.

        The masses of both worlds are kept. Of a mass m at a loss l, m·(1-e^-(l-a))/(1-e^-h) goes to a+h, where h is
        the step and a the multiple of it below l. The rest goes to a. Merging the two gives back the loss l. Losses
        of more than `LONGEST` steps count as infinite; those below -`LONGEST` steps count as that.
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
            # Rounding may have made the share smaller by this much.
            slack = 2 * _HAIR * (abs(below) + 4)
            share = min(1.0, max(0.0, -math.expm1(-(loss - below * step)) / whole) + slack)
            rest = min(1.0, 1 - share + 2 * slack)
            found[below + 1] = found.get(below + 1, 0) + _times(mass, share)
            found[below] = found.get(below, 0) + _times(mass, rest)
        low, high = min(found, default=0), max(found, default=0)
        masses = tuple(found.get(position, 0) for position in range(low, high + 1)) if found else ()
        return _trimmed(LossLaw(step, low, masses, infinite, self.pure, self.cut))

    def _loss(self, position: int) -> float:
        """The loss at a position, and a little more to make up for rounding of the step."""
        loss = position * self.step
        return loss + abs(loss) * 4 * _HAIR

    @property
    def _reach(self) -> float:
        """The largest distance of a finite loss from 0."""
        return max(-self.low, self.low + len(self.masses) - 1) * self.step

    @property
    def _still(self) -> bool:
        """Whether all finite losses are 0."""
        return self.low == 0 and len(self.masses) <= 1


def mixed(laws: Iterable[tuple[Fraction, LossLaw]]) -> LossLaw:
    """A mixture of laws of the same step. The observer learns which one it is, and weights are of both worlds."""
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
    """The law of all experiments together: exact if their steps agree, else on this step or a coarser one."""
    groups: dict[float, list[LossLaw]] = {}
    for law in laws:
        groups.setdefault(law.step, []).append(law)
    whole = [_product_of(group) for group in groups.values()]
    moving = [law for law in whole if not law._still]
    reach = sum(law._reach for law in moving)
    common = coarser(step, reach) if len(moving) > 1 else moving[0].step if moving else 0.0
    return _product_of([law.on(common) for law in whole])


def _product_of(laws: list[LossLaw]) -> LossLaw:
    """The product of laws with one step. Short laws are multiplied first, because that takes least time."""
    while len(laws) > 1:
        pairs = [one * other for one, other in zip(laws[::2], laws[1::2], strict=False)]
        laws = pairs + laws[2 * len(pairs) :]
    return laws[0] if laws else LossLaw.nothing()


def tracking_step(gamma: float) -> float:
    """The step of loss laws that are composed to find delta at gamma."""
    return min(max(gamma, _NEAREST), _FARTHEST) / STEPS if gamma else 1 / STEPS


def coarser(step: float, reach: float) -> float:
    """A step for which losses up to `reach` are not too many positions. It is `step` or coarser."""
    return max(step, min(reach, _FARTHEST) / (LONGEST - 1))


def _product(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The coefficients of a product of polynomials, from one product of integers, divided by 2^128, rounded up."""
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
    """The points on the lower convex hull, as far as it falls. Points are given from left to right."""
    found: list[tuple[int, int, int]] = []
    for point in points:
        if found and point[1] >= found[-1][1]:
            continue  # A falling function is below the earlier point already.
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
    """The law without its negligible ends. The lower end moves up to the next loss; the upper end is cut off."""
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
    """A number that is at least as large as any number that was rounded to this one."""
    return number + abs(number) * _HAIR
