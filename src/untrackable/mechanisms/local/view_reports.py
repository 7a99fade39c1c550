"""Reports about one of several views of a value: which view it is, and a noisy inner product of what it shows."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.estimation.aggregators import FloatArray, Reports
from untrackable.mechanisms.entropy import Entropy, below
from untrackable.mechanisms.local import multi_bit_reports
from untrackable.mechanisms.local.level_layout import LevelLayout
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor


class ViewReports:
    """The common part of mechanisms whose report is about one view of the value, drawn for every report.

    A report is the number of the view, above the report of that view's base. The view says nothing about the
    person, because every report draws it anew. If a client kept its view, or balanced views over a deck, an
    observer could use that to follow it.
    """

    __slots__ = ()

    @property
    def values(self) -> int:
        """The number of values."""
        raise NotImplementedError

    @property
    def bases(self) -> tuple[NoisyInnerProduct, ...]:
        """The noisy inner product of each view."""
        raise NotImplementedError

    @property
    def weights(self) -> tuple[int, ...]:
        """The whole numbers that the probabilities of the views are proportional to."""
        raise NotImplementedError

    def part(self, value: int, view: int) -> int:
        """What a view shows of a value."""
        raise NotImplementedError

    @property
    def ends(self) -> Sequence[int]:
        """The sums of the first 1, 2, … weights."""
        raise NotImplementedError

    @property
    def layout(self) -> LevelLayout:
        """The layout of a report: the view is above the longest report of a base."""
        raise NotImplementedError

    @property
    def report_bits(self) -> int:
        """Width of the longest report of a base, and of the view."""
        return self.layout.report_bits

    @property
    def words(self) -> int:
        """The number of random words per simulated report."""
        return max(base.words for base in self.bases) + 1

    def shares(self) -> tuple[Fraction, ...]:
        """The probability of each view (exact)."""
        total = sum(self.weights)
        return tuple(Fraction(weight, total) for weight in self.weights)

    def draw(self, value: int, entropy: Entropy) -> int:
        """A report. The view takes entropy first, 8 bytes or more, and then its base."""
        value = checks.private_integer("value", value, below=self.values)
        view = bisect_right(self.ends, below(self.ends[-1], entropy))
        return view << self.layout.base_bits | self.bases[view].draw(self.part(value, view), entropy)

    def possible(self, report: int) -> bool:
        """Whether this can be a report: the view must exist, and the rest must be a report of its base."""
        view, rest = divmod(report, 1 << self.layout.base_bits)
        return 0 <= view < len(self.bases) and self.bases[view].possible(rest)

    @property
    def certainty(self) -> Certainty:
        """Exact: some two values differ in every view, and every base has the same factor for all its values."""
        return "exact"

    def _grouped(self) -> Iterator[tuple[NoisyInnerProduct, Fraction, int]]:
        """Each base with the probability of its view, and how many views have both."""
        for (base, share), number in Counter(zip(self.bases, self.shares(), strict=True)).items():
            yield base, share, number

    def differing_exact(self) -> Fraction:
        """The probability that two values that differ in every view have different answers."""
        return sum(
            (share * number * base.differing_exact() for base, share, number in self._grouped()), Fraction(0)
        )

    def differing(self) -> float:
        """The same, rounded."""
        return float(self.differing_exact())

    def privacy_factor(self) -> Factor:
        """The mixture of the factors of all views, for two values that differ in every one.

        For other values, an observer learns nothing from the views in which they look alike, so this dominates.
        """
        found = [(base.privacy_factor(), float(share * number)) for base, share, number in self._grouped()]
        if len(found) == 1:
            return found[0][0]
        return Factor(
            np.concatenate([share * factor.p for factor, share in found]),
            np.concatenate([share * factor.q for factor, share in found]),
            np.concatenate([factor.loss for factor, _ in found]),
        ).merged()

    def largest_loss(self) -> float:
        """The largest of all views."""
        return max(base.largest_loss() for base in self.bases)

    def repeat_factor(self) -> Factor:
        """One report sent twice is equal for certain. Two reports have the same view and base report by chance."""
        p: list[float] = []
        q: list[float] = []
        losses: list[float] = []
        for base, share, number in self._grouped():
            factor, chance = base.repeat_factor(), float(share)
            equal = factor.p > 0
            p.extend(number * chance * factor.p[equal])
            q.extend(number * chance**2 * factor.q[equal])
            losses.extend(factor.loss[equal] - math.log(chance))
        return Factor([*p, 0.0], [*q, 1 - math.fsum(q)], [*losses, -math.inf])

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        """The log probability of every report."""
        views, rest = self.layout.split(reports)
        total = np.full(views.shape, -np.inf)
        for view, (base, share) in enumerate(zip(self.bases, self.shares(), strict=True)):
            mine = views == np.uint64(view)
            if mine.any():
                own, fitting = own_reports(rest[mine], base)
                found = np.full(fitting.shape, -np.inf)
                found[fitting] = base.log_likelihood(own[fitting], self.part(value, view)) + math.log(share)
                total[mine] = found
        return total

    def truthfulness(self) -> Truthfulness:
        """The mean over views: an answer is right unless it is flipped, and pure noise is right by chance."""
        found = [(float(share * number), base.truthfulness()) for base, share, number in self._grouped()]
        own, noise = (math.fsum(share * getattr(one, name) for share, one in found) for name in ("own", "noise"))
        return Truthfulness("question", own, noise)


def own_reports(rest: Reports, base: NoisyInnerProduct) -> tuple[Reports, NDArray[np.bool_]]:
    """Reports of a base from a layout with room for longer ones, and which of them are not too long.

    `LevelLayout.split` gives the reports as words, or as rows of at least 8 bytes.
    """
    if rest.ndim == 1:
        words = rest.astype(np.uint64, copy=False)
        # NumPy cannot shift by 64.
        return words, words >> np.uint64(base.report_bits - 1) <= 1
    used, last = base.report_bits % 8, (base.report_bits - 1) // 8
    fitting: NDArray[np.bool_] = np.logical_not(rest[:, last + 1 :].any(axis=1))
    if used:
        fitting &= rest[:, last] >> np.uint8(used) == 0
    size = multi_bit_reports.report_bytes(base.bits, base.width)
    if size:
        return rest[:, :size], fitting
    return np.ascontiguousarray(rest[:, :8]).view("<u8")[:, 0].astype(np.uint64, copy=False), fitting


def common_reports(reports: Reports, base_bits: int) -> Reports:
    """Reports of a base in a layout of `base_bits` bits: words, or rows of bytes with zeros above."""
    if base_bits <= 64:
        return reports
    if reports.ndim == 1:
        reports = reports.astype("<u8")[:, None].view(np.uint8)
    wide = np.zeros((reports.shape[0], max(8, -(-base_bits // 8))), dtype=np.uint8)
    wide[:, : reports.shape[1]] = reports
    return wide
