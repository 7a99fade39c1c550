"""With which probabilities a report counts for a value, where a share is estimated from a count of reports."""

from typing import NamedTuple

from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.local_interface import Local
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.string_levels import Levelled
from untrackable.mechanisms.wrappers.local_wrapper import LocalWrapper
from untrackable.theory.accuracy import inner_product_scale


class CountChances(NamedTuple):
    """A report counts for a value with probability `there` if its sender holds it, and `elsewhere` if not (exact).

    `span` is 1/(there - elsewhere). A count of n reports is an estimate of span·(count/n - elsewhere). If there is
    one value only of which the errors are the opposite of another's, the question `is_yes_no`.
    """

    there: float
    elsewhere: float
    span: float
    is_yes_no: bool


def count_chances(mechanism: Mechanism) -> CountChances | None:
    """Those of a mechanism whose rounds are alike; of one level, if strings are discovered. None if it has none."""
    if not isinstance(mechanism, LocalWrapper) or not mechanism.independent or not mechanism.rounds_alike:
        return None
    return base_chances(mechanism.base)


def base_chances(base: Local) -> CountChances | None:
    """Those of one report of a local mechanism."""
    if isinstance(base, Levelled):
        return base_chances(base.base)
    if not isinstance(base, NoisyInnerProduct):
        return None
    span = (1 << base.width) * inner_product_scale(base.bits, base.largest_loss(), base.width)
    return CountChances(base.chances()[0], base.answer_for_another(), span, base.bits == 1)
