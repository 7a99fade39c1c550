"""How far published figures will be off, before there is any report: by noise, and by who happens to answer.

A round has about m = n·q/k reports, each of somebody who was drawn whatever they hold. An estimate of a share p has
the variance V/m + p(1-p)(n-m)/(n-1)/m (`theory.turns.survey_variance`), in pooled rounds at most V/m + p(1-p)/m.
Its interval inverts the law of its count. Radii are of the fewest reports that are likely (99 of 100 rounds have
more): that of an estimate that equals the stated share, or the quantile of its error if that is larger.
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np

from untrackable.encodings.asked_tables import AskedTables
from untrackable.errors import NotEstimable
from untrackable.estimation.spread import Spread
from untrackable.mechanisms.count_chances import CountChances, count_chances
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.table_spreads import cell_spreads
from untrackable.mechanisms.wanted_figure import wanted_spread, wanted_statistics
from untrackable.planning.goals import Goals
from untrackable.theory.accuracy import Accuracy, count_interval
from untrackable.theory.crowd_counts import LARGEST_CROWD, fewest_likely_reports
from untrackable.theory.turns import survey_variance, unheard

_SURELY = 3
"""Standard errors above the threshold at which a string is nearly always found."""
_BETWEEN = 17
"""Counts between the mean and the largest that is likely. If half is between, the worst error may be there too."""
_SETTLED = 4
"""Steps after which the share from which on strings are found no longer changes."""
_MANY = 1e12
"""Reports of which one more or less does not matter."""
_VERY_MANY = 1e300
"""People of whom any sample is a small part."""
_BELOW = 2.5
"""Standard deviations below the mean that more than 99 of 100 rounds have, where there are very many people."""


_TRIED = 129
"""Shares among which that with the largest variance is looked for."""

Certainty = Literal["exact", "upper", "predicted"]


class Promise(NamedTuple):
    """How far figures of so many `rounds` together will be off.

    There are `reports` reports on average, and at least `fewest` in 99 of 100 cases (exact). The `standard_error`
    is of an answer of the typical share, for the average number of reports, and `certainty` says how well it is
    known. Of one round it may be exact. Of several it is an upper bound: people may hold another value in another
    round, so hearing all of them does not mean knowing all values, and the sample counts as one of many more. With
    the fewest reports, errors are at most `radius_upper` for answers of at most the typical share and at most
    `widest_upper` for all, except with probability beta. Of strings, it is the share from which on they are found.
    """

    rounds: int
    reports: float
    fewest: int
    standard_error: float
    radius_upper: float
    widest_upper: float
    certainty: Certainty


class ErrorLaw(ABC):
    """The law of the error of one or several shares, of which the one that is known least well counts."""

    certainty: Certainty = "exact"
    """How well the standard error of one round is known."""

    def __init__(self, share: float, statistics: int) -> None:
        self.share, self.statistics = share, statistics

    @abstractmethod
    def standard_error(self, reports: float, people: float) -> float:
        """That of an answer of the typical share, by noise and by who answers."""

    @abstractmethod
    def radius(self, reports: int, beta: float, share: float | None = None) -> float:
        """How far an end of the interval is from the estimate of an answer of at most this share.

        Without a share, it is the typical one. `beta` is for one statistic.
        """

    def promise(self, goals: Goals, rounds: int) -> Promise:
        """The promise for so many rounds together, for goals with people and rounds."""
        people, chance = goals.people or 1, min(Fraction(1), goals.turns.chance * rounds)
        average, beta = float(people * chance), goals.beta / self.statistics
        others = people if rounds == 1 else _VERY_MANY
        error = self.standard_error(average, others) if average >= 1 else math.inf
        certainty: Certainty = "upper" if rounds > 1 and self.certainty == "exact" else self.certainty
        few = fewest_reports(people, chance)
        if not few:
            return Promise(rounds, average, 0, error, math.inf, math.inf, certainty)
        widest = self.radius(few, beta, 1.0)
        return Promise(rounds, average, few, error, self.radius(few, beta), widest, certainty)

    def figure_radius(self, goals: Goals) -> float:
        """The radius of a published figure."""
        few = fewest_reports(goals.people or 1, min(Fraction(1), goals.turns.chance * goals.pooled))
        return self.radius(few, goals.beta / self.statistics) if few else math.inf

    def relative_error(self, goals: Goals) -> float:
        """The standard error of a published figure, times the root of its reports, if there are many of them."""
        people = _VERY_MANY if goals.pooled > 1 else _MANY / float(goals.turns.chance)
        return self.standard_error(_MANY, people) * math.sqrt(_MANY)


class CountLaw(ErrorLaw):
    """The law of a share for which reports are counted: p if the sender holds the value, and else q."""

    def __init__(self, chances: CountChances, share: float, statistics: int) -> None:
        super().__init__(share, statistics)
        self._there, self._elsewhere, self._span, _ = chances
        self._peak = min(1.0, max(0.0, (0.5 - self._elsewhere) * self._span))  # Here the count varies most.

    def noise(self, share: float) -> float:
        """The variance of one report, given who holds the value (exact)."""
        held, free = self._there * (1 - self._there), self._elsewhere * (1 - self._elsewhere)
        return (share * held + (1 - share) * free) * self._span**2

    def standard_error(self, reports: float, people: float) -> float:
        """Exact."""
        return math.sqrt(survey_variance(self.noise(self.share), self.share, reports, people))

    def radius(self, reports: int, beta: float, share: float | None = None) -> float:
        """That of the interval that inverts the law of the count, if senders are a random sample.

        It is at least as large as any error of an answer of this share or a smaller one, except with probability
        beta. An error is largest for the smallest share from which on its count is likely, where the interval of
        that count begins; or, downwards, for the share itself.
        """
        from scipy.stats import binom

        held = min(self.share if share is None else share, self._peak)
        mean = reports * (self._elsewhere + held / self._span)
        fewest, most = (float(binom.ppf(level, reports, mean / reports)) for level in (beta / 2, 1 - beta / 2))
        counts = np.array([mean, *np.rint(np.linspace(mean, most, _BETWEEN)), max(0.0, fewest - 1)])
        lower, upper = count_interval(
            counts, reports, beta, elsewhere=self._elsewhere, span=self._span, sampled=True
        )
        found = (counts / reports - self._elsewhere) * self._span
        down = (mean - fewest) / reports * self._span
        return float(max((found - lower).max(), upper[0] - held, down, upper[-1] - found[-1]))


class SpreadLaw(ErrorLaw):
    """The law of weighted sums of reports: cells of tables, shares up to a number, or a mean."""

    certainty = "upper"

    def __init__(self, spread: Spread, shares: np.ndarray | float, statistics: int) -> None:
        super().__init__(float(np.max(shares)), statistics)
        self._spread, self._shares = spread, shares
        self._sampled = spread.of_sample(1.0)

    def standard_error(self, reports: float, people: float) -> float:
        """The largest of all sums (upper)."""
        return float(np.sqrt(np.max(self.variances(reports, people))))

    def variances(self, reports: float, people: float) -> np.ndarray:
        """The variances of all sums (upper)."""
        own, shares = self._spread.by_share, np.asarray(self._shares)
        noise = np.asarray(self._spread.variance) if own is None else own.noise(shares, 1, 0.5)
        sample = shares * (1 - shares) * unheard(reports, people)
        # A term that lies in one interval, whoever sends it, has no larger variance than two ends of that.
        most = np.where(self._spread.whole, np.square(self._spread.span) / 4, np.inf)
        return np.asarray(np.minimum(noise + sample, most) / reports)

    def radius(self, reports: int, beta: float, share: float | None = None) -> float:
        """The largest of all sums, by Hoeffding's or Bernstein's inequality (upper)."""
        return float(np.max(self.radii(reports, beta, share)))

    def radii(self, reports: int, beta: float, share: float | None = None) -> np.ndarray:
        """The radii of all sums (upper)."""
        widest, own = np.asarray(self._sampled.radius(reports, beta)), self._sampled.by_share
        if own is None:
            return widest
        limit = np.broadcast_to(self._shares if share is None else share, np.shape(widest) or (1,))
        tried = np.linspace(0, limit, _TRIED)
        mean, drawn = own.noise(tried, reports, own.spent * beta), tried * (1 - tried)
        # No share, or where the variance is largest: everybody's, and that of the noise of those who answer.
        noises = (mean, own.noise_of_sample(mean, reports, own.spent * beta))
        peaks = [np.take_along_axis(tried, (noise + drawn).argmax(axis=0)[None], axis=0)[0] for noise in noises]
        found = np.array([tried[0], *peaks])
        lower, upper = self._sampled.ends(found, reports, beta)
        radii = np.maximum(found - lower, upper - found).max(axis=0)
        narrower: np.ndarray = np.minimum(widest, radii)
        return narrower


class FoundLaw(ErrorLaw):
    """The share from which on a string is found, if each level has its share of the reports (predicted).

    A bucket stands out of all buckets of its level by the simultaneous radius, and with three standard errors more
    it nearly always does. The search weighs all levels together, so it does better.
    """

    certainty = "predicted"

    def __init__(self, counts: CountLaw, levels: int) -> None:
        super().__init__(counts.share, counts.statistics)
        self._counts, self._levels = counts, levels

    def standard_error(self, reports: float, people: float) -> float:
        """That of a bucket of one level (exact)."""
        return self._counts.standard_error(reports / self._levels, people)

    def radius(self, reports: int, beta: float, share: float | None = None) -> float:
        """The share from which on a string is found (predicted)."""
        each, found = reports // self._levels, 0.0
        if not each:
            return math.inf
        for _ in range(_SETTLED):
            noise = self._counts.noise(found) + found * (1 - found)
            found = min(1.0, self._counts.radius(each, beta, found) + _SURELY * math.sqrt(noise / each))
        return found


class AnyLaw(ErrorLaw):
    """The law of a round of any mechanism, in which everybody who takes part answers."""

    def __init__(self, mechanism: Mechanism, round: int, share: float, size: int) -> None:
        super().__init__(share, mechanism.independent_errors(size))
        self._mechanism, self._round, self._size = mechanism, round, size

    def standard_error(self, reports: float, people: float) -> float:
        """Exact where the mechanism knows it; else that of an answer that nobody gives."""
        held = self._mechanism.held_error(int(reports), share=self.share, round=self._round)
        found = self._accuracy(int(reports), 0.05).standard_error if held is None else held
        return math.hypot(found, math.sqrt(self.share * (1 - self.share) * unheard(reports, people) / reports))

    def radius(self, reports: int, beta: float, share: float | None = None) -> float:
        """For answers of any share (upper)."""
        return self._accuracy(reports, beta).radius

    def _accuracy(self, reports: int, beta: float) -> Accuracy:
        try:
            return self._mechanism.accuracy(reports, beta=beta, round=self._round, candidates=range(self._size))
        except NotEstimable:
            raise Unsuitable("values", "Its reports cannot tell so many answers apart.") from None


def law_of(mechanism: Mechanism, goals: Goals, *, round: int = 1) -> ErrorLaw:
    """The law of the errors of what the goals ask for, in a round of this mechanism; or `Unsuitable`."""
    if goals.want != "frequencies":
        spread = wanted_spread(mechanism, goals.want, values=goals.size, round=round)
        count = wanted_statistics(goals.want, goals.size, simultaneous=goals.simultaneous)
        return SpreadLaw(spread, goals.typical_share(goals.size), count)
    if goals.asked is not None:
        return table_law(mechanism, goals, goals.asked, round=round)
    share, chances = goals.typical_share(goals.size), count_chances(mechanism)
    if chances is None:
        return AnyLaw(mechanism, round, share, goals.size)
    # The errors of the two values of a bit are the same number.
    law = CountLaw(chances, share, 1 if chances.is_yes_no or not goals.simultaneous else goals.size)
    return law if goals.discovered is None else FoundLaw(law, goals.discovered.levels)


def table_law(mechanism: Mechanism, goals: Goals, asked: AskedTables, *, round: int = 1) -> SpreadLaw:
    """The law of all cells of some tables."""
    shares = np.array([goals.typical_share(1 << len(bits)) for bits in asked.shown])
    spread = cell_spreads(mechanism, asked.shown, round)
    return SpreadLaw(spread, shares, asked.cells if goals.simultaneous else 1)


def fewest_reports(people: int, chance: Fraction) -> int:
    """The fewest reports in 99 of 100 cases, if each of these people answers with this probability."""
    if people <= LARGEST_CROWD or chance == 1:
        return people if chance == 1 else fewest_likely_reports(people, chance)
    average = float(people * chance)  # The law of so many is normal, but for a share that is left out generously.
    return max(0, math.floor(average - _BELOW * math.sqrt(average)))
