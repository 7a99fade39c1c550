"""With which probabilities a report counts for a value, where a share is estimated from a count of reports.

Reports about whole paths of answers count for an answer in one look: a report whose answer is as wide as the path
names the true path, or with some probability one that is drawn from all.
"""

from typing import NamedTuple

from untrackable.estimation.intervals import Spread
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local import LocalWrapper
from untrackable.mechanisms.local_interface import Local
from untrackable.mechanisms.string_levels import Levelled
from untrackable.mechanisms.views import Views
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


class PathChances(NamedTuple):
    """The true path is `kept` with probability α; else it is uniform, and has an answer in a look by the `rest`."""

    looks: int
    kept: float
    rest: float

    @property
    def there(self) -> float:
        """The probability that a report has an answer of its sender in a look."""
        return self.kept + self.elsewhere

    @property
    def elsewhere(self) -> float:
        """The probability that it has an answer that is not the sender's."""
        return (1 - self.kept) * self.rest

    def noise_of_mean(self, share: float) -> float:
        """The variance of what a report adds to the mean of all looks, if its sender gives an answer in this share.

        A drawn path has an answer in a look with probability r, so in h looks of B with variance r(1-r)/B. The
        variance is α(1-α)(h-r)²/α² + (1-α)·r(1-r)/(B·α²) (exact). That is convex in h, so people who always or
        never give the answer are the noisiest of all with the same mean.
        """
        given = self.kept * (1 - self.kept) * (share - self.rest) ** 2
        drawn = (1 - self.kept) * self.rest * (1 - self.rest) / self.looks
        return (given + drawn) / self.kept**2

    def spread_of_mean(self) -> Spread:
        """How far the share of an answer, on average over all looks, may be off (upper)."""
        span = 1 / self.kept
        return Spread(max(map(self.noise_of_mean, (0.0, 1.0))), span, span, independent=True)


def chances_of(mechanism: Mechanism, looks: int) -> PathChances | None:
    """Those of a mechanism that reports afresh in every round."""
    return path_chances(mechanism.base, looks) if isinstance(mechanism, LocalWrapper) else None


def path_chances(base: Local, looks: int) -> PathChances | None:
    """Those of reports about paths with this many looks; None if answers are not as wide as the path."""
    if not isinstance(base, Views) or base.whole is None or len(base.views) > 1 or base.width < base.bits:
        return None
    truth, lie = base.bases[0].chances()
    return PathChances(looks, truth - lie, 0.5 ** (base.bits // looks))
