"""How far published figures will be off, before there is any report: by noise, and by who happens to answer.

A round has about m = n·q/k reports, each of somebody who was drawn whatever they hold. An estimate of a share p has
the variance V/m + p(1-p)(n-m)/(n-1)/m (`theory.turns.survey_variance`), in pooled rounds at most V/m + p(1-p)/m.
Its interval inverts the law of its count. Radii are of the fewest reports that are likely (99 of 100 rounds have
more): that of an estimate that equals the stated share, or the quantile of its error if that is larger.

The single report to ask for is the one with the smallest error of all that fit the question: about one table that
the client draws, some or all tables, or every table with its part of eps. A person sends one report, so its eps is
the whole budget, and no composition is involved.

One report may be about several consecutive rounds (looks). The k rounds of the goals are cut into stretches of B. A
client draws a stretch in secret and sends, at its end, one report about its answers in all B rounds. It is still
one report, of the same eps and with delta 0, for any two paths of answers. Each round is then told by n·q·B/k
people instead of n·q/k. From about eps 2 on that wins, because who answers matters more than noise.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from untrackable.encodings.encoding import AskedTables, Encoding, View
from untrackable.encodings.record import Path
from untrackable.errors import NotEstimable
from untrackable.estimation.intervals import MOST_RADIUS, Spread
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local import (
    CountChances,
    Fresh,
    OneBitMean,
    PathChances,
    chances_of,
    count_chances,
    path_chances,
)
from untrackable.mechanisms.local_interface import Local
from untrackable.mechanisms.string_levels import Levelled
from untrackable.mechanisms.view_tables import tuned_weights
from untrackable.mechanisms.views import Views
from untrackable.planning.goals import Goals
from untrackable.randomizers.divided import LARGEST_PART, MOST_BITS, MOST_PARTS
from untrackable.randomizers.inner_product import LARGEST_WIDTH, smallest_eps
from untrackable.randomizers.local import MOST_VALUES
from untrackable.randomizers.views import LARGEST_VIEW
from untrackable.settings.demands import Unsuitable, cell_spreads, wanted_spread, wanted_statistics
from untrackable.theory.accuracy import Accuracy, count_interval
from untrackable.theory.crowd import LARGEST_CROWD, fewest_likely_reports
from untrackable.theory.turns import survey_variance, unheard

Certainty = Literal["exact", "upper", "predicted"]
DRAW, GROUPS, JOINT, DIVIDE = WAYS = ("draw", "groups", "joint", "divide")
"""Each report is about one of the tables, which the client draws; about some of them; about all together; or about
each of them, with its part of eps."""
LARGEST_JOINT = 16
"""The largest number of bits that are asked about together."""
_MANY_VIEWS = 64
"""Beyond this many views, only answers of one bit are tried: wider ones would take too long."""
_WIDE_ENTRIES = 1 << 12
"""The size of a table from which on only answers of one bit are tried for ordered values."""
_FINE = 64
"""How finely the weights of views are told apart."""
_SURELY = 3
"""Standard errors above the threshold at which a string is nearly always found."""
_BETWEEN = 17
"""Counts between the mean and the largest that is likely. If half is between, the worst error may be there too."""
_SETTLED = 4
"""Steps after which the share from which on strings are found no longer changes."""
_MANY = 1e12
"""A number of reports so large that one more does not matter."""
_VERY_MANY = 1e300
"""A number of people of which any sample is a small part."""
_BELOW = 2.5
"""Standard deviations below the mean that more than 99 of 100 rounds have, where there are very many people."""
_TRIED = 129
"""Shares among which that with the largest variance is looked for."""
_STEPS = 12
"""Steps after which the parts of eps no longer change by a hundredth."""
_GAIN = 0.25
"""The power of its variance by which a part of eps grows in a step."""
_FINE_PARTS = 100
"""Weights are hundredths."""


class Promise(NamedTuple):
    """How far figures of this many `rounds` together will be off.

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
        """The promise for this many rounds together, for goals with people and rounds."""
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
        estimates = (counts / reports - self._elsewhere) * self._span
        down = (mean - fewest) / reports * self._span
        return float(max((estimates - lower).max(), upper[0] - held, down, upper[-1] - estimates[-1]))


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
        # A term that lies in one interval for every sender has no larger variance than two ends of that.
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
        shares = np.array([tried[0], *peaks])
        lower, upper = self._sampled.ends(shares, reports, beta)
        radii = np.maximum(shares - lower, upper - shares).max(axis=0)
        return np.asarray(np.minimum(widest, radii))


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
        each, least = reports // self._levels, 0.0
        if not each:
            return math.inf
        for _ in range(_SETTLED):
            noise = self._counts.noise(least) + least * (1 - least)
            least = min(1.0, self._counts.radius(each, beta, least) + _SURELY * math.sqrt(noise / each))
        return least


class AnyLaw(ErrorLaw):
    """The law of a round of any mechanism, in which everybody who takes part answers."""

    def __init__(self, mechanism: Mechanism, round: int, share: float, size: int) -> None:
        super().__init__(share, mechanism.independent_errors(size))
        self._mechanism, self._round, self._size = mechanism, round, size

    def standard_error(self, reports: float, people: float) -> float:
        """Exact where the mechanism knows it; else that of an answer that nobody gives."""
        held = self._mechanism.held_error(int(reports), share=self.share, round=self._round)
        noise = self._accuracy(int(reports), 0.05).standard_error if held is None else held
        return math.hypot(noise, math.sqrt(self.share * (1 - self.share) * unheard(reports, people) / reports))

    def radius(self, reports: int, beta: float, share: float | None = None) -> float:
        """For answers of any share (upper)."""
        return self._accuracy(reports, beta).radius

    def _accuracy(self, reports: int, beta: float) -> Accuracy:
        try:
            return self._mechanism.accuracy(reports, beta=beta, round=self._round, candidates=range(self._size))
        except NotEstimable:
            raise Unsuitable("values", "Its reports cannot tell this many answers apart.") from None


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
    average = float(
        people * chance
    )  # A number this large is normally distributed, but for a share that is left out generously.
    return max(0, math.floor(average - _BELOW * math.sqrt(average)))


def widths(bits: int, eps: float) -> list[int]:
    """Those of a noisy inner product of this many bits: below its smallest eps, an answer would be pure noise."""
    return [width for width in range(1, min(bits, LARGEST_WIDTH) + 1) if smallest_eps(width) <= eps]


def divided_reports(bits: int, asked: AskedTables, eps: float) -> Iterator[Divided]:
    """Those for tables that are all of the value's bits, one table after the other; nothing for other tables."""
    sizes = tuple(map(len, asked.views))
    if tuple(itertools.chain(*asked.views)) != tuple(range(bits)) or bits > MOST_BITS:
        return
    if not 2 <= len(sizes) <= MOST_PARTS or max(sizes) > LARGEST_PART:
        return
    even = (1,) * len(sizes)
    for weights in dict.fromkeys((even, _balanced(sizes, eps))):
        shares = [eps * weight / sum(weights) for weight in weights]
        best = [_best(size, share)[1] for size, share in zip(sizes, shares, strict=True)]
        yield Divided(sizes=sizes, eps=eps, weights=weights, widths=tuple(best))


def _balanced(sizes: tuple[int, ...], eps: float) -> tuple[int, ...]:
    """Weights with which all tables have about the same standard error."""
    shares = [1 / len(sizes)] * len(sizes)
    for _ in range(_STEPS):
        grown = [share * _best(size, eps * share)[0] ** _GAIN for size, share in zip(sizes, shares, strict=True)]
        shares = [share / sum(grown) for share in grown]
    weights = tuple(max(1, round(_FINE_PARTS * share)) for share in shares)
    return (1,) * len(sizes) if len(set(weights)) == 1 else weights


def _best(bits: int, eps: float) -> tuple[float, int]:
    """The smallest variance of a report about a table of this many bits, with that of the sample, and its width."""
    return min((_sampled_variance(bits, eps, width), width) for width in widths(bits, eps))


def _sampled_variance(bits: int, eps: float, width: int) -> float:
    """The variance of a report about a table of this many bits, by noise and by who answers."""
    share = 0.5 if bits == 1 else 0.05
    return NoisyInnerProduct(bits=bits, eps=eps, width=width).held_variance(share) + share * (1 - share)


class Chosen(NamedTuple):
    """A report: the way it asks for several answers at once, the mechanism, and the law of its errors."""

    way: str
    mechanism: Fresh
    law: ErrorLaw


def best_report(goals: Goals, *, ways: Iterable[str] = WAYS) -> Chosen:
    """The report with the smallest radius of a published figure, for goals with an eps; or `Unsuitable`.

    If no report tells such a figure, it is that of all rounds together that counts. Tables have radii by
    inequalities that differ in how close they are. So standard errors decide among these.
    """
    fitting: list[Chosen] = []
    refused = Unsuitable("values", "No report fits this question.")
    for way, base in _bases(goals, goals.eps_report, tuple(ways)):
        mechanism = Fresh(base)
        try:
            fitting.append(Chosen(way, mechanism, law_of(mechanism, goals)))
        except Unsuitable as reason:
            refused = reason
    if not fitting:
        raise refused
    if goals.asked is not None:
        return min(fitting, key=lambda one: one.law.relative_error(goals))
    radii = figure_radii([(goals, one.law) for one in fitting])
    return min(zip(radii, fitting, strict=True), key=lambda one: (one[0], one[1].law.relative_error(goals)))[1]


def figure_radii(laws: list[tuple[Goals, ErrorLaw]]) -> list[float]:
    """The radii of the published figures; of all rounds together, if no published figure would tell anything."""
    radii = [law.figure_radius(each) for each, law in laws]
    if min(radii) <= MOST_RADIUS:
        return radii
    return [law.figure_radius(each.replace(pooled=each.turns.rounds * (each.looks or 1))) for each, law in laws]


def _bases(goals: Goals, eps: float, ways: tuple[str, ...]) -> Iterator[tuple[str, Local]]:
    """All reports of this eps that fit the question, each with its way to ask for several answers."""
    if goals.asked is not None:
        for way in ways:
            yield from ((way, base) for base in _MAKERS[way](goals.width, goals.asked, eps))
        return
    inner = [NoisyInnerProduct(bits=goals.width, eps=eps, width=width) for width in widths(goals.width, eps)]
    if goals.discovered is not None:
        yield from (("", Levelled(base, goals.discovered.levels)) for base in inner)
        return
    if goals.want == "mean" and goals.size <= MOST_VALUES:
        yield "", OneBitMean(values=goals.size, eps=eps)
    if goals.want != "frequencies" and goals.width <= LARGEST_VIEW:
        wide = widths(goals.width, eps) if goals.size <= _WIDE_ENTRIES else [1]
        yield from (("", Views.prefixes(bits=goals.width, eps=eps, width=width)) for width in wide)
    if goals.want == "frequencies" or goals.size <= _WIDE_ENTRIES:
        yield from (("", base) for base in inner)


def _drawn(bits: int, asked: AskedTables, eps: float) -> Iterator[Views]:
    """Views of the tables that are asked for: all equally likely, or larger tables more often."""
    views = asked.views
    widest = max(map(len, views))
    for width in widths(widest, eps) if len(views) <= _MANY_VIEWS else [1]:
        weights: dict[tuple[int, ...], Any] = dict.fromkeys(
            ((1,) * len(views), tuned_weights(views, asked.shown), _even_weights(views, eps, width))
        )
        yield from (Views(bits=bits, views=views, eps=eps, width=width, weights=each) for each in weights)


def _even_weights(views: tuple[View, ...], eps: float, width: int) -> tuple[int, ...]:
    """Weights in proportion to the variance of a cell, so that all tables are known alike if they are disjoint."""
    noise = [_sampled_variance(len(view), eps, min(width, len(view))) for view in views]
    return tuple(max(1, round(_FINE * each / min(noise))) for each in noise)


def _grouped(bits: int, asked: AskedTables, eps: float) -> Iterator[Views]:
    """Views of two or more tables together, for tables that have no bits in common, such as single choices."""
    longest, count = max(map(len, asked.views)), len(asked.views)
    if len({bit for view in asked.views for bit in view}) < sum(map(len, asked.views)) or count > _MANY_VIEWS:
        return
    for size in range(2, min(LARGEST_WIDTH // longest, count - 1) + 1):
        groups = -(-count // size)
        parts = (asked.views[i * count // groups : (i + 1) * count // groups] for i in range(groups))
        views = tuple(tuple(sorted(bit for view in part for bit in view)) for part in parts)
        for width in widths(max(map(len, views)), eps):
            yield Views(bits=bits, views=views, eps=eps, width=width)


def _joint(bits: int, asked: AskedTables, eps: float) -> Iterator[Views]:
    """One view of all answers, from which the tables are added up."""
    everything = tuple(range(bits))
    if bits > LARGEST_JOINT or asked.views == (everything,):
        return
    for width in widths(bits, eps):
        yield Views(bits=bits, views=(everything,), eps=eps, width=width)


_MAKERS: dict[str, Callable[[int, AskedTables, float], Iterator[Local]]] = {
    DRAW: _drawn,
    GROUPS: _grouped,
    JOINT: _joint,
    DIVIDE: divided_reports,
}


def best_look(goals: Goals) -> tuple[Goals, Chosen]:
    """The goals with the best number of looks, and the report for it."""
    choices = [(each, _chosen(each)) for each in goals.with_looks()]
    radii = figure_radii([(each, chosen.law) for each, chosen in choices])
    return choices[radii.index(min(radii))]


def _chosen(goals: Goals) -> Chosen:
    if (goals.looks or 1) == 1:
        return best_report(goals)
    base, law = path_report(goals, goals.eps_report)
    return Chosen("", Fresh(base), law)


class PathReport(NamedTuple):
    """A report about a path, and the law of the error of a look."""

    base: Views
    law: "PathLaw"


def path_report(goals: Goals, eps: float) -> PathReport:
    """The report of this eps about the looks of the goals. Its answer is as wide as the path."""
    looks = goals.looks or 1
    bits = goals.width * looks
    base = Views(bits=bits, views=(tuple(range(bits)),), eps=eps, width=bits)
    chances = path_chances(base, looks)
    if chances is None:
        raise Unsuitable("values", "No report fits this many looks.")
    return PathReport(base, PathLaw(chances, goals.typical_share(goals.size), _statistics(goals)))


def look_law(mechanism: Mechanism, path: Encoding, goals: Goals) -> ErrorLaw:
    """The law of a share in one look of any mechanism for paths; the goals are about one answer."""
    if not isinstance(path, Path):
        raise TypeError("path must be the encoding of a path")
    chances = chances_of(mechanism, path.looks)
    if chances is None:
        asked = path.asked
        return table_law(mechanism, goals, AskedTables(asked.views, asked.tables[: path.looks]))
    return PathLaw(chances, goals.typical_share(goals.size), _statistics(goals))


def _statistics(goals: Goals) -> int:
    return goals.size if goals.simultaneous and goals.size > 2 else 1


class PathLaw(CountLaw):
    """The law of a share in one look, and of its mean over all looks of one stretch or more.

    The answers of one report are one person's. So the mean of all looks counts as one answer for each report.
    """

    def __init__(self, chances: PathChances, share: float, statistics: int) -> None:
        there, elsewhere = chances.there, chances.elsewhere
        super().__init__(CountChances(there, elsewhere, 1 / chances.kept, chances.rest == 0.5), share, statistics)
        self._looks, self._mean = chances.looks, _MeanLaw(chances, share, statistics)

    def promise(self, goals: Goals, rounds: int) -> Promise:
        """The promise for one round, or for as many as whole stretches have."""
        if rounds == 1:
            return super().promise(goals, 1)
        return self._mean.promise(goals, rounds // self._looks)._replace(rounds=rounds)

    def figure_radius(self, goals: Goals) -> float:
        if goals.pooled == 1:
            return super().figure_radius(goals)
        chance = min(Fraction(1), goals.turns.chance * (goals.pooled // self._looks))
        few = fewest_reports(goals.people or 1, chance)
        return self._mean.radius(few, goals.beta / self.statistics) if few else math.inf


class _MeanLaw(ErrorLaw):
    """The law of the mean of a share over all looks."""

    certainty = "upper"

    def __init__(self, chances: PathChances, share: float, statistics: int) -> None:
        super().__init__(share, statistics)
        self._noise = share * chances.noise_of_mean(1.0) + (1 - share) * chances.noise_of_mean(0.0)
        self._sampled = chances.spread_of_mean().of_sample(1.0)

    def standard_error(self, reports: float, people: float) -> float:
        """That of people who never change their answer (upper)."""
        return math.sqrt(survey_variance(self._noise, self.share, reports, people))

    def radius(self, reports: int, beta: float, share: float | None = None) -> float:
        """For answers of any share (upper)."""
        return float(self._sampled.radius(reports, beta))
