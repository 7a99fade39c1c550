"""What the ready questions about days of use tell: who is active, and who comes back.

`untrackable.encodings.days_of_use` defines the questions. Intervals of one function hold together.
"""

from dataclasses import dataclass, replace

import numpy as np

from untrackable import checks
from untrackable.answers.answer import Answer
from untrackable.encodings.days_of_use import (
    ACTIVE_DAYS,
    LAST_DAYS,
    RETENTION,
    RETURN_DAYS,
    retention_masks,
)
from untrackable.estimation.intervals import is_told

AT_LEAST = (1, 7, 14, 28)
"""Numbers of active days that are asked for unless others are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysShare:
    """A share of people, for a number of days, in an interval that fails with probability at most `beta` (upper).

    All intervals of an answer hold at once. The value is within [0, 1]. Reports do not `tell` it if the interval
    is too wide, as for all shares. `known` is the share of people of whom it is known (estimated), those that it is
    of.
    """

    days: int
    value: float
    lower: float
    upper: float
    known: float
    beta: float
    tells: bool


def asks_about_days(answer: Answer) -> str | None:
    """Which ready question was asked: `active-days`, `retention`, or neither."""
    return {ACTIVE_DAYS: "active-days", RETENTION: "retention"}.get(answer.encoding)  # type: ignore[arg-type]


def active_shares(answer: Answer, at_least: tuple[int, ...] = AT_LEAST, *, beta: float = 0.05) -> list[DaysShare]:
    """The shares of people who were active on at least so many of the last 28 days."""
    if answer.encoding != ACTIVE_DAYS:
        raise ValueError("these reports are not about the number of active days")
    beta, estimate = checks.open_probability("beta", beta), answer.best
    narrow, found = replace(estimate, beta=beta / len(at_least)), []
    for days in at_least:
        checks.integer("at_least", days, low=1, high=LAST_DAYS)
        share = narrow.functional(np.arange(LAST_DAYS + 1) >= days)
        found.append(
            DaysShare(
                days=days,
                value=_within(share.value),
                lower=share.lower,
                upper=share.upper,
                known=1.0,
                beta=beta,
                tells=share.tells,
            )
        )
    return found


def returned_shares(answer: Answer, *, beta: float = 0.05) -> list[DaysShare]:
    """D1, D7 and D28: of the people whose day k after the first use is over, the share who used it on that day.

    With B the share of all people who came back on day k, and N that of those who did not, it is B/(B + N). B and N
    each have an interval, and all of them hold at once.
    """
    if answer.encoding != RETENTION:
        raise ValueError("these reports are not about coming back")
    beta, estimate = checks.open_probability("beta", beta), answer.best
    narrow = replace(estimate, beta=beta / (2 * len(RETURN_DAYS)))
    found = []
    for day in RETURN_DAYS:
        back, known = (np.array(mask, dtype=np.float64) for mask in retention_masks(day))
        came, stayed_away = narrow.functional(back), narrow.functional(known - back)
        lower = _ratio(came.lower, stayed_away.upper) if came.lower > 0 else 0.0
        upper = _ratio(came.upper, stayed_away.lower) if stayed_away.lower > 0 else 1.0
        found.append(
            DaysShare(
                days=day,
                value=_ratio(came.value, stayed_away.value),
                lower=lower,
                upper=upper,
                known=_within(came.value + stayed_away.value),
                beta=beta,
                tells=came.tells and stayed_away.tells and is_told(upper - lower, 1.0),
            )
        )
    return found


def _within(share: float) -> float:
    """A share that is possible."""
    return min(1.0, max(0.0, share))


def _ratio(came: float, stayed_away: float) -> float:
    """The share of those who came back, with both parts taken as 0 if noise makes them negative."""
    came, stayed_away = max(0.0, came), max(0.0, stayed_away)
    return came / (came + stayed_away) if came + stayed_away > 0 else 0.5
