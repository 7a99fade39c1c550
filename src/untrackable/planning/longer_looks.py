"""How many consecutive rounds one report is about: that with the smallest error of a published figure.

The k rounds of the goals are cut into stretches of B. A client draws a stretch in secret and sends, at its end,
one report about its answers in all B rounds. It is still one report, of the same eps and with delta 0, for any two
paths of answers. Each round is then told by n·q·B/k people instead of n·q/k. From about eps 2 on that wins, because
who answers matters more than noise.
"""

import math
from fractions import Fraction
from typing import NamedTuple

from untrackable.encodings.asked_tables import AskedTables
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.path import Path
from untrackable.mechanisms.count_chances import CountChances
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.path_chances import PathChances, chances_of, path_chances
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.planning.forecast import CountLaw, ErrorLaw, Promise, fewest_reports, table_law
from untrackable.planning.goals import Goals
from untrackable.planning.report_choice import Chosen, best_report, figure_radii
from untrackable.theory.turns import survey_variance


def best_look(goals: Goals) -> tuple[Goals, Chosen]:
    """The goals with the best number of looks, and the report for it."""
    found = [(each, _chosen(each)) for each in goals.with_looks()]
    radii = figure_radii([(each, chosen.law) for each, chosen in found])
    return found[radii.index(min(radii))]


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
        raise Unsuitable("values", "No report fits so many looks.")
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
        """The promise for one round, or for so many that are whole stretches."""
        if rounds == 1:
            return super().promise(goals, 1)
        return self._mean.promise(goals, rounds // self._looks)._replace(rounds=rounds)

    def figure_radius(self, goals: Goals) -> float:
        """The radius of a published figure."""
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
