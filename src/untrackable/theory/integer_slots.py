"""Stored reports in whole numbers: how much the drawn slots reveal, and how likely a slot is drawn twice.

The standard library is enough for this, so a client can recompute it. `theory.collisions` computes the same for the
full engine, which is sharper for a given split and needs NumPy.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from untrackable.theory.integer_losses import WHOLE, LossLaw, mixed

MOST_REPORTS = 2048
"""Up to this many draws, the distinct slots among them are counted exactly. With more, all slots count."""

MOST_SLOTS = 1_000_000
"""The most slots that a client keeps or accounts for."""

_RARE = Fraction(1, 1 << 100)
"""Numbers of slots that together have at most this probability are merged."""


def slots_of_one_value(one: LossLaw, slots: int, reports: int | None) -> LossLaw:
    """A fixed value: each distinct slot among the draws reveals as much as one report.

    The observer learns the number of distinct slots.
    """
    if reports is None or reports > MOST_REPORTS or slots == 1:
        return one ** counted_slots(slots, reports)
    chances = occupancy(reports, slots)
    # Rounding may have made the chances smaller by this much.
    weights = [Fraction(chance) * (1 + Fraction(reports, 1 << 48)) for chance in chances]
    few, many = _rare(weights), _rare(weights[::-1])
    first, last = len(few), len(weights) - len(many)
    # The rare smallest numbers of slots count as the next larger number, which is an upper bound.
    kept = [sum(few, weights[first]), *weights[first + 1 : last]]
    law = mixed(zip(kept, _powers(one, first, len(kept)), strict=True))
    cut = law.cut + math.ceil((sum(many, Fraction(0)) + Fraction(1, 1 << 256)) * WHOLE)
    return replace(law, pure=one.pure * (len(weights) - 1), cut=cut)


def slots_of_changing_values(one: LossLaw, slots: int, reports: int | None) -> LossLaw:
    """Any sequence of values: a slot drawn twice shows that the value did not change, and reveals everything."""
    if reports is None or reports > slots:
        return LossLaw.everything()
    different = 1.0
    for drawn in range(reports):
        different *= 1 - drawn / slots
    # Rounding may have changed the product by this much.
    slack = Fraction(reports, 1 << 50)
    once = min(Fraction(1), Fraction(different) * (1 + slack))
    repeat = 1 - Fraction(different) * (1 - slack) if reports > 1 else Fraction(0)
    gives_away = LossLaw.of(Fraction(0), {0: once}, infinite=repeat)
    return gives_away * one ** counted_slots(reports, reports)


def slot_tracking(slots: int, reports: int) -> LossLaw:
    """One person against two: a slot on both sides reveals that it is one person. Nothing else reveals anything.

    Slots of several values are separate, so a slot is drawn twice no more often than with one value.
    """
    cross = Fraction(slot_crossing(slots, reports))
    return LossLaw.of(Fraction(0), {0: 1 - cross}, infinite=cross)


def slot_crossing(slots: int, reports: int) -> float:
    """The largest probability, over all splits, that a slot shows up on both sides: the advantage (upper).

    P(cross) = 1 - E[(1 - M/L)^(k-j)], where M is the number of distinct slots among the first j of k draws. It is
    at most j(k-j)/L.
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


def occupancy(draws: int, slots: int) -> list[float]:
    """The probabilities of 0, 1, … distinct slots among uniform draws."""
    *_, last = _occupancies(draws, slots)
    return last


def _occupancies(draws: int, slots: int) -> Iterator[list[float]]:
    """The occupancies after 0, 1, …, `draws` draws."""
    law = [1.0]
    yield law
    for _ in range(draws):
        longer = [chance * distinct / slots for distinct, chance in enumerate(law)] + [0.0]
        for distinct, chance in enumerate(law):
            longer[distinct + 1] += chance * (slots - distinct) / slots
        law = longer[: slots + 1]
        yield law


def _rare(weights: list[Fraction]) -> list[Fraction]:
    """The first weights, as many as are rare all together, but not all."""
    total = itertools.accumulate(weights[:-1])
    return weights[: sum(1 for _ in itertools.takewhile(lambda summed: summed <= _RARE, total))]


def _powers(one: LossLaw, first: int, count: int) -> Iterator[LossLaw]:
    power = one**first
    for _ in range(count):
        yield power
        power = power * one


def counted_slots(slots: int, reports: int | None) -> int:
    """The number of slots that this many reports can reveal. Too many slots are an error."""
    count = slots if reports is None else min(slots, reports)
    if count > MOST_SLOTS:
        raise ValueError(f"slots must be at most {MOST_SLOTS} to be accounted for, got {count}")
    return count
