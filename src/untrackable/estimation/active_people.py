"""How many people were active in a round, from how many of them had their turn in it."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from untrackable import checks
from untrackable.theory.turns import Turns


class ActivePeople(NamedTuple):
    """How many people were active in a round, or on average in each of several.

    The number lies between `lower` and `upper`, except with probability `beta` (upper). Who forgot that they had
    answered may count again, and who sends nothing at all does not count. Without turns everybody reports, and the
    number is that of the reports.
    """

    value: float
    lower: float
    upper: float
    beta: float

    def to_json(self) -> dict[str, Any]:
        """All of it, and what it is."""
        certainty = "exact" if self.lower == self.upper else "interval: upper, value: unbiased"
        return {**self._asdict(), "certainty": certainty}


def active_people(
    reports: Sequence[int], turns: Turns | None, beta: float = 0.05, *, missing: int = 0, fewest: int = 1
) -> ActivePeople:
    """The people who were active, from the numbers of reports of one round or several.

    Further rounds may be `missing` because they have fewer than `fewest` reports. How many they have decided that,
    so they count as well: with none at the lower end, and with as many as possible at the upper end.

    Of n people who were active in a round, each had their turn in it with probability c = q/k, independently. So
    the reports are binomial, and n is any number for which neither tail at m is at most β/2.

    Of several rounds, the mean of their n is estimated. Somebody who was active in r of them answered in one of
    them with probability r·c. All reports together are a sum of independent indicators with the mean c·T, T = Σ n,
    and beyond c·T ± 1 no tail is heavier than that of Binomial(T, c) (Hoeffding 1956, theorem 4; at most T people
    were active at all). So T is found like n, and no T is excluded whose mean is within 1 of m.
    """
    beta, rounds, m = checks.open_probability("beta", beta), len(reports), sum(reports)
    if not rounds:
        raise ValueError("reports must be those of at least one round")
    if turns is None or turns.chance == 1:
        return ActivePeople(m / rounds, m / rounds, m / rounds, beta)
    chance = float(turns.chance)
    most = m + missing * (fewest - 1)
    whole = rounds + missing
    lower, upper = _fewest(m, chance, beta / 2) / whole, _most(most, chance, beta / 2) / whole
    value = float(m / turns.chance) / (rounds if most > m else whole)
    return ActivePeople(min(max(value, lower), upper), lower, upper, beta)


def _fewest(reports: int, chance: float, level: float) -> int:
    """The smallest n of which P(Binomial(n, c) ≥ m) is above the level, or the mean above m - 1."""
    from scipy.special import betainc

    excluded, left = reports - 1, max(reports, math.ceil(reports / chance))
    while left - excluded > 1:
        middle = (left + excluded) // 2
        unlikely = middle * chance <= reports - 1 and betainc(reports, middle - reports + 1, chance) <= level
        excluded, left = (middle, left) if unlikely else (excluded, middle)
    return left


def _most(reports: int, chance: float, level: float) -> int:
    """The largest n of which P(Binomial(n, c) ≤ m) is above the level, or the mean below m + 1."""
    from scipy.special import betainc

    left = max(reports, math.floor(reports / chance))
    # By Chernoff's bound, a count of at most half the mean has a probability of at most e^(-mean/8).
    excluded = math.ceil((2 * (reports + 1) - 8 * math.log(level)) / chance)
    while excluded - left > 1:
        middle = (left + excluded) // 2
        unlikely = middle * chance >= reports + 1 and betainc(middle - reports, reports + 1, 1 - chance) <= level
        excluded, left = (middle, left) if unlikely else (excluded, middle)
    return left
