"""What an observer of a crowd certainly learns from reports about views: classes of reports of three values.

One person holds the value 0 or the value with all bits set, which differ in every view. Everybody else holds a
third value. A view shows some of its bits set and some not, and then three values that differ; or it shows one of
the other two values. Views of this second kind count only in pairs, one of each kind, so that exchanging the two
values changes nothing.
"""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.view_characters import View
from untrackable.theory.crowd_classes import CrowdClasses


def third_value(views: Sequence[View]) -> int:
    """A value of which most views show some bits set and some not. Bits are set where fewer are set so far."""
    bits: dict[int, int] = {}
    for view in sorted(views, key=len, reverse=True):
        for position in view:
            beside = [bits[other] for other in view if other in bits] or list(bits.values())
            bits.setdefault(position, int(2 * sum(beside) < len(beside)))
    return sum(bit << position for position, bit in bits.items())


def view_classes(
    views: Sequence[View], bases: Sequence[NoisyInnerProduct], shares: Sequence[Fraction]
) -> CrowdClasses:
    """The classes of reports about all views that can be counted."""
    value = third_value(views)
    apart: dict[NoisyInnerProduct, Fraction] = defaultdict(Fraction)
    shared: dict[NoisyInnerProduct, Fraction] = defaultdict(Fraction)
    alike: dict[tuple[NoisyInnerProduct, Fraction], list[int]] = {}
    for view, base, share in zip(views, bases, shares, strict=True):
        shown = sum(value >> position & 1 for position in view)
        if 0 < shown < len(view):
            other, same = base.third_answers()
            apart[base] += share * other
            shared[base] += share * same
        else:
            alike.setdefault((base, share), [0, 0])[shown > 0] += 1
    for (base, share), counts in alike.items():
        for kind in (apart, shared):
            kind[base] += min(counts) * share * base.differing_exact()
    rows = []
    for base in apart:
        truth, lie = base.chances()
        for mass, third in ((float(apart[base]), lie), (float(shared[base]), truth)):
            if mass:
                rows += [(mass * one, mass * two, mass * third) for one, two in ((truth, lie), (lie, truth))]
    first, second, others = zip(*(rows or _of_one_view(bases[0], shares[0])), strict=True)
    return CrowdClasses(first, second, others)


def _of_one_view(base: NoisyInnerProduct, share: Fraction) -> list[tuple[float, float, float]]:
    """The classes of one view that shows the second value to everybody else."""
    truth, lie = base.chances()
    differ = float(share * base.differing_exact())
    return [(differ * truth, differ * lie, differ * lie), (differ * lie, differ * truth, differ * truth)]
