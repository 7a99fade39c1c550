"""What reports of the inner-product family tell, from the integers that their noise is drawn with."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from untrackable.mechanisms.inner_product.fading import HEAD, Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.string_levels import Levelled
from untrackable.mechanisms.wrappers.dealt import Dealt
from untrackable.theory.integer_losses import WHOLE, LossLaw, composed, log_ratio, mixed

MOST_REPORTS = 2048
"""Up to which the slots that so many draws show are counted exactly; beyond, all of them are."""

MOST_SLOTS = 1_000_000
"""That a client keeps, or that are accounted for."""

_WORD = 1 << 64
_REACH = 9
_CELLS = 8
"""A Gaussian is cut this many times finer than the step that it is then put on,"""
_FINEST = 1 << 11
"""but not finer than this part of its standard deviation."""
_SPREAD = 1 << 8
"""Rounds that fade are put on a step of no less than this part of the standard deviation of them all."""
_RARE = Fraction(1, 1 << 100)
"""Probability of numbers of slots that are not looked at."""


def one_report(base: NoisyInnerProduct) -> LossLaw:
    """Loss ±eps where the vectors tell two values apart and the answer is one of theirs, 0 elsewhere.

    With w vectors two values have different answers with probability ρ = (1-2^-w)/(1-2^-d); the true one is told
    with p = 1-η and each of the 2^w-1 others with q = η/(2^w-1), η being the integer over 2^64 that is drawn.
    """
    width = base.width
    differ = Fraction((1 << width) - 1, 1 << width) / Fraction((1 << base.bits) - 1, 1 << base.bits)
    lie, others = base.flip.threshold, (1 << width) - 1
    truth, other = Fraction(_WORD - lie, _WORD), Fraction(lie, _WORD * others)
    places = {1: differ * truth, 0: 1 - differ * (truth + other), -1: differ * other}
    return LossLaw.of(log_ratio((_WORD - lie) * others, lie), places)


def dealt_base(mechanism: Dealt) -> NoisyInnerProduct | None:
    """What a dealt card tells, if it is an inner product: of the value, or of a part of it drawn for the card.

    Two values may differ in every part, and which part it is says nothing, so both tell the same.
    """
    base = mechanism.base.base if isinstance(mechanism.base, Levelled) else mechanism.base
    return base if isinstance(base, NoisyInnerProduct) else None


def dealt(base: NoisyInnerProduct, slots: int, reports: int | None) -> LossLaw:
    """A card for every report, for a fixed value as for any sequence of values."""
    return one_report(base) ** _slots(slots, reports)


def stored(mechanism: InnerProduct, reports: int | None) -> LossLaw:
    """The distinct slots among so many draws, the observer being told how many there are (fixed value)."""
    slots, one = mechanism.slots, one_report(mechanism.base)
    if reports is None or reports > MOST_REPORTS or slots == 1:
        return one ** _slots(slots, reports)
    chances = occupancy(reports, slots)
    # What floating point may have taken from the chances is added.
    weights = [Fraction(chance) * (1 + Fraction(reports, 1 << 48)) for chance in chances]
    few, many = _rare(weights), _rare(weights[::-1])
    first, last = len(few), len(weights) - len(many)
    kept = [sum(few, weights[first]), *weights[first + 1 : last]]  # the fewest count as more
    law = mixed(zip(kept, _powers(one, first, len(kept)), strict=True))
    cut = law.cut + math.ceil((sum(many, Fraction(0)) + Fraction(1, 1 << 256)) * WHOLE)
    return replace(law, pure=one.pure * (len(weights) - 1), cut=cut)


def stored_any(mechanism: InnerProduct, reports: int | None) -> LossLaw:
    """Any sequence of values: a slot seen twice shows that the value did not change, and counts as everything."""
    if reports is None or reports > mechanism.slots:
        return LossLaw.everything()
    different = 1.0
    for drawn in range(reports):
        different *= 1 - drawn / mechanism.slots
    slack = Fraction(reports, 1 << 50)  # what floating point may have done to the product
    once = min(Fraction(1), Fraction(different) * (1 + slack))
    repeat = 1 - Fraction(different) * (1 - slack) if reports > 1 else Fraction(0)
    gives_away = LossLaw.of(Fraction(0), {0: once}, infinite=repeat)
    return gives_away * one_report(mechanism.base) ** _slots(reports, reports)


def crossing(slots: int, reports: int) -> float:
    """The largest probability, over all splits, that a slot shows up on both sides: the advantage (upper).

    P(cross) = 1 - E[(1 - M/L)^(k-j)], M being the distinct slots among the first j of k draws; at most j(k-j)/L.
    """
    if reports < 2:
        return 0.0
    if slots == 1:
        return 1.0
    rough = min(1.0, (reports // 2) * (reports - reports // 2) / slots)
    if reports > MOST_REPORTS:
        return rough
    worst = 0.0
    for first, chances in enumerate(_occupancies(reports // 2, slots)):
        logs = ((reports - first) * math.log1p(-m / slots) if m < slots else -math.inf for m in range(len(chances)))
        cross = math.fsum(chance * -math.expm1(log) for chance, log in zip(chances, logs, strict=True))
        worst = max(worst, cross if first else 0.0)
    return min(rough, worst * (1 + reports * 2.0**-48))


def fading(mechanism: Fading, reports: int | None, step: float) -> LossLaw:
    """The first rounds one by one, all later ones dominated by a Gaussian shift; on this step or a coarser one."""
    head = HEAD if reports is None else min(HEAD, reports)
    shift = mechanism.privacy(reports=reports).gaussian
    step = max(step, math.hypot(shift, *(mechanism.eps_report(round) for round in range(1, head + 1))) / _SPREAD)
    laws = [one_report(mechanism.base(round)).on(step) for round in range(1, head + 1)]
    return composed([*laws, gaussian(shift, step)] if shift else laws, step)


def gaussian(shift: float, step: float) -> LossLaw:
    """N(μ²/2, μ²), the law of the loss of N(0, 1) against N(μ, 1), in cells that count at their upper end."""
    cell = max(step / _CELLS, shift / _FINEST)
    centre = shift**2 / 2
    low, high = (math.floor((centre + sign * _REACH * shift) / cell) for sign in (-1, 1))

    def beyond(place: int) -> tuple[float, float]:
        """Twice the probability below a cell's lower end, and above it, each to full relative precision."""
        far = (place * cell - centre) / (shift * math.sqrt(2))
        return math.erfc(-far), math.erfc(far)

    places = {}
    before = beyond(low)
    for place in range(low, high + 1):
        after = beyond(place + 1)
        side = 0 if after[0] < after[1] else 1
        mass = abs(after[side] - before[side]) / 2 + max(before[side], after[side]) * 2.0**-46
        places[place + 1] = Fraction(mass)
        before = after
    places[low] = Fraction(beyond(low)[0])
    return LossLaw.of(Fraction(cell), places, infinite=Fraction(before[1])).on(step)


def occupancy(draws: int, slots: int) -> list[float]:
    """Chances of 0, 1, … distinct slots among so many uniform draws."""
    *_, last = _occupancies(draws, slots)
    return last


def _occupancies(draws: int, slots: int) -> Iterator[list[float]]:
    """After 0, 1, …, draws."""
    law = [1.0]
    yield law
    for _ in range(draws):
        longer = [chance * seen / slots for seen, chance in enumerate(law)] + [0.0]
        for seen, chance in enumerate(law):
            longer[seen + 1] += chance * (slots - seen) / slots
        law = longer[: slots + 1]
        yield law


def _rare(weights: list[Fraction]) -> list[Fraction]:
    """The first of them, as long as they are rare all together; not all of them."""
    total = itertools.accumulate(weights[:-1])
    return weights[: sum(1 for _ in itertools.takewhile(lambda summed: summed <= _RARE, total))]


def _powers(one: LossLaw, first: int, count: int) -> Iterator[LossLaw]:
    power = one**first
    for _ in range(count):
        yield power
        power = power * one


def _slots(slots: int, reports: int | None) -> int:
    count = slots if reports is None else min(slots, reports)
    if count > MOST_SLOTS:
        raise ValueError(f"slots must be at most {MOST_SLOTS} to be accounted for, got {count}")
    return count
