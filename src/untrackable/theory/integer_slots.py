"""Stored reports in whole numbers: what draws from a state's slots reveal, and how often a slot is seen twice.

The standard library is enough for this, so that a client can recompute it. `theory.collisions` asks the same of the
full engine, which is sharper for a given split and needs NumPy.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from untrackable.theory.integer_losses import WHOLE, LossLaw, mixed

MOST_REPORTS = 2048
"""Up to this many draws, the distinct slots among them are counted exactly; of more draws, all slots are."""

MOST_SLOTS = 1_000_000
"""The most slots that a client keeps or accounts for."""

_RARE = Fraction(1, 1 << 100)
"""Numbers of slots whose probability is no more than this together are merged."""


def slots_seen(one: LossLaw, slots: int, reports: int | None) -> LossLaw:
    """A fixed value: the distinct slots among so many draws, each of which reveals what one report does.

    The observer is told how many distinct slots there are.
    """
    if reports is None or reports > MOST_REPORTS or slots == 1:
        return one ** counted_slots(slots, reports)
    chances = occupancy(reports, slots)
    # What floating point may have taken from the chances is added.
    weights = [Fraction(chance) * (1 + Fraction(reports, 1 << 48)) for chance in chances]
    few, many = _rare(weights), _rare(weights[::-1])
    first, last = len(few), len(weights) - len(many)
    kept = [sum(few, weights[first]), *weights[first + 1 : last]]  # the fewest count as more
    law = mixed(zip(kept, _powers(one, first, len(kept)), strict=True))
    cut = law.cut + math.ceil((sum(many, Fraction(0)) + Fraction(1, 1 << 256)) * WHOLE)
    return replace(law, pure=one.pure * (len(weights) - 1), cut=cut)


def slots_of_changing_values(one: LossLaw, slots: int, reports: int | None) -> LossLaw:
    """Any sequence of values: a slot seen twice shows that the value did not change, and counts as everything."""
    if reports is None or reports > slots:
        return LossLaw.everything()
    different = 1.0
    for drawn in range(reports):
        different *= 1 - drawn / slots
    slack = Fraction(reports, 1 << 50)  # what floating point may have done to the product
    once = min(Fraction(1), Fraction(different) * (1 + slack))
    repeat = 1 - Fraction(different) * (1 - slack) if reports > 1 else Fraction(0)
    gives_away = LossLaw.of(Fraction(0), {0: once}, infinite=repeat)
    return gives_away * one ** counted_slots(reports, reports)


def slot_tracking(slots: int, reports: int) -> LossLaw:
    """One person against two: a slot on both sides gives one person away, and nothing else reveals anything.

    Slots of several values are separate, so that they are seen twice no more often than those of one value.
    """
    cross = Fraction(slot_crossing(slots, reports))
    return LossLaw.of(Fraction(0), {0: 1 - cross}, infinite=cross)


def slot_crossing(slots: int, reports: int) -> float:
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


def counted_slots(slots: int, reports: int | None) -> int:
    """How many slots so many reports can show, if that is not too many to account for."""
    count = slots if reports is None else min(slots, reports)
    if count > MOST_SLOTS:
        raise ValueError(f"slots must be at most {MOST_SLOTS} to be accounted for, got {count}")
    return count
