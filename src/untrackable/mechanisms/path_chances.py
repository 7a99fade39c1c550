"""How well one look, or the mean of all looks, is known by reports about whole paths.

A report whose answer is as wide as the path names a path: the true one, or with some probability one that is drawn
from all. So it counts for an answer in one look with one of two probabilities.
"""

from typing import NamedTuple

from untrackable.estimation.spread import Spread
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.local_interface import Local
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.wrappers.local_wrapper import LocalWrapper


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
