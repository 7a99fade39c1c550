"""Ready questions about people and days of use, and answers that a device computes from days that never leave it.

The definitions, for every client:

- A *day* is one in UTC by the device's clock. Days are numbered from 1970: seconds over 86,400, rounded down.
- A day is *active* if there was at least one use. Today counts as soon as there was one.
- The *last 28 days* are today and the 27 days before it. A day before the first use counts as one without use, so
  somebody new has at most as many active days as have passed. Everybody is asked, also those who are new.
- The *first use* is on the first day that the device noted, day 0. Somebody *came back on day k* if day k after the
  first use was active. That is known once day k is over. (Others call it D1, D7 and D28 retention.)
- *People* are counted without an answer: everybody who uses it answers "present".
- The answer is computed when a report is made, for the day on which it is made.
"""

import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

from untrackable import checks
from untrackable.encodings.encoding import Categories, Encoding, Presence
from untrackable.encodings.numbers import IntegerRange

DAY_SECONDS = 86_400
LAST_DAYS = 28
"""The number of days that are looked back on."""
RETURN_DAYS = (1, 7, 28)
"""The days after the first use on which people may come back."""
BEFORE, NEW = "used before", "new"
"""The answers of those who had used it before they were asked, and of those whose day 1 is not over."""


def _came_back(known: tuple[bool, ...]) -> str:
    """The answer of somebody who came back, or did not, on each of the first days that are over."""
    days = zip(RETURN_DAYS, known, strict=False)
    return " and ".join(f"day {day} {'yes' if back else 'no'}" for day, back in days) or NEW


_KNOWN = [
    known for count in range(len(RETURN_DAYS) + 1) for known in itertools.product((True, False), repeat=count)
]
ACTIVE_DAYS = IntegerRange(low=0, high=LAST_DAYS)
RETENTION = Categories(names=[BEFORE, *map(_came_back, _KNOWN)])
"""All that can be known about days 1, 7 and 28: 16 answers."""


class ReadyQuestion(NamedTuple):
    """A question that a device answers by itself."""

    question: str
    encoding: Encoding


READY_QUESTIONS = {
    "active-days": ReadyQuestion("On how many of the last 28 days was this used?", ACTIVE_DAYS),
    "retention": ReadyQuestion("Was this used again 1, 7 and 28 days after its first use?", RETENTION),
    "people": ReadyQuestion("How many people use this?", Presence()),
}


def retention_masks(day: int) -> tuple[list[bool], list[bool]]:
    """The answers about retention that say that somebody came back on a day, and the answers that know it."""
    place = RETURN_DAYS.index(day)
    known = [False, *(len(answer) > place for answer in _KNOWN)]
    back = [False, *(len(answer) > place and answer[place] for answer in _KNOWN)]
    return back, known


@dataclass(frozen=True, slots=True, repr=False)
class DaysOfUse:
    """The days of use that a device keeps: at most 28 days, the first day, and on which of three it came back."""

    first: int
    newcomer: bool
    days: tuple[int, ...]
    returned: tuple[int, ...]

    def __post_init__(self) -> None:
        checks.settle(self, days=tuple(self.days), returned=tuple(self.returned))

    @staticmethod
    def begun(today: int, *, newcomer: bool) -> "DaysOfUse":
        """The first use that is noted. Somebody who had used it before is no newcomer."""
        return DaysOfUse(today, newcomer, (today,), ())

    def used(self, today: int) -> "DaysOfUse":
        """These days with a use today. Days that can no longer count are forgotten.

        If the first use would be later than today, a wrong clock noted it, and counting begins again.
        """
        if today < self.first:
            return DaysOfUse.begun(today, newcomer=self.newcomer)
        days = sorted({*(day for day in self.days if today - LAST_DAYS < day <= today), today})
        returned = sorted({*self.returned, *(day for day in RETURN_DAYS if today == self.first + day)})
        return dataclasses.replace(self, days=tuple(days), returned=tuple(returned))

    def answer(self, encoding: Encoding, today: int) -> Any:
        """The answer to the ready question with this encoding, on this day."""
        if encoding == ACTIVE_DAYS:
            return sum(today - LAST_DAYS < day <= today for day in self.days)
        if encoding == RETENTION:
            over = [day for day in RETURN_DAYS if self.first + day < today]
            return _came_back(tuple(day in self.returned for day in over)) if self.newcomer else BEFORE
        if encoding == Presence():
            return True
        raise ValueError(
            "this campaign does not ask about days of use: its answers must be the whole numbers from 0 to 28, or "
            "those that `untrackable campaign new --ready retention` writes"
        )
