"""The observer of the demonstration, who tries to match people at home with people at work.

They see who answers on which day from where, and read the reports. Three kinds of clients are compared: RAPPOR and
a deck that answer every day, and the deck of the demonstration, which answers one day in twenty.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from untrackable.auditing.attendance_attack import match_by_attendance
from untrackable.auditing.confidence import Matched, clopper_pearson
from untrackable.auditing.link_attack import match
from untrackable.demo.homepage_question import EVERY_DAY, HOMEPAGES, ONE_IN_TWENTY, ROUNDS, paper_rappor
from untrackable.mechanisms.interface import Mechanism

LINKED = 1_000
"""The number of people in a crowd. All hold the same homepage, so that it does not tell them apart."""
_CROWDS = 10
"""So many crowds are matched by attendance, so that chance can be told from a little more than chance."""
_READ = (40, 10)
"""Reports from home and from work that the observer reads: those of 50 days."""


class Followed(NamedTuple):
    """The share of people who are matched: by what their reports say, and by attendance alone."""

    name: str
    by_reports: Matched
    by_attendance: Matched


def follow(deck: Mechanism, seed: int, show: Callable[[float], None]) -> tuple[Followed, ...]:
    """Match people who use RAPPOR every day, the deck every day, and the deck one day in twenty."""
    show(0.0)
    found: list[Followed] = []
    dealt = _by_reports(deck, 0, seed)
    for name, attendance, by_reports in (
        ("RAPPOR, every day", EVERY_DAY, _by_reports(paper_rappor(), HOMEPAGES[0], seed)),
        ("Deck, every day", EVERY_DAY, dealt),
        ("Deck, one day in twenty", ONE_IN_TWENTY, dealt),
    ):
        crowds = [
            match_by_attendance(attendance, rounds=ROUNDS, people=LINKED, seed=seed + crowd).alone
            for crowd in range(_CROWDS)
        ]
        found.append(Followed(name, by_reports, _pooled(crowds)))
        show(len(found) / 3)
    return tuple(found)


def _by_reports(mechanism: Mechanism, value: Any, seed: int) -> Matched:
    """Match people with this value by the reports that are read."""
    home = _READ[0]
    sent = mechanism.simulate(np.full(LINKED, value), rounds=sum(_READ), seed=seed + 1)
    reports = np.concatenate([batch.reports for batch in sent])
    return match(mechanism.link_scores(reports[:, :home], reports[:, home:], value))


def _pooled(crowds: list[Matched]) -> Matched:
    people, level = sum(crowd.people for crowd in crowds), crowds[0].level
    hits = sum(crowd.sampled * crowd.people for crowd in crowds)
    return Matched(people, hits / people, *clopper_pearson(hits, people, level), level)
