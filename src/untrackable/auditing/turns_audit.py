"""The audit of a campaign with turns: each person answers once, in a round that their device draws in secret."""

import math
from dataclasses import dataclass

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.mechanisms.crowd_answer import InCrowd, in_crowd
from untrackable.mechanisms.interface import Mechanism
from untrackable.notebook_view import NotebookTable
from untrackable.theory.accuracy import Accuracy
from untrackable.theory.factor import response_factor
from untrackable.theory.turns import Turns, recognition_upper, several_turns_lower

OFTEN, SELDOM = 0.9, 0.1
"""Known habits: the target is at the second place in this share of the rounds, and everybody else in that one."""
FEWER = 10
"""Known whereabouts: one in this many people could have been there."""
CAMPAIGNS = (2, 3, 4)
"""The numbers of campaigns, one after the other, for which the strongest attack found is shown."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TurnsAudit(NotebookTable):
    """What an audit says about turns. `eps_upper` is about everything that a person ever sends, with delta 0.

    `wiped_often_upper` is the eps at `delta` of a device whose storage is wiped once in each round. `exclusion` is
    the advantage of an observer of two places who tells one person from two. `recognised_upper` bounds the
    probability that this observer recognises a person in the `crowd`. It is larger for one who knows the person's
    habits, that only few people could have been there, or the answer. `several_lower` is what the strongest attack
    found reaches after several campaigns, one after the other; no upper bound is known for them. `in_crowd` is
    privacy if nobody knows who sent which of the `reports` of a round, `accuracy` the noise of as many.
    """

    mechanism: str
    published: str
    turns: Turns
    people: int
    crowd: int
    delta: float
    reports: int
    eps_report_upper: float
    eps_upper: float
    wiped_often_upper: float
    exclusion: Bracket
    recognised_upper: float
    habits_upper: float
    whereabouts_upper: float
    answer_upper: float
    several_lower: dict[int, float]
    in_crowd: InCrowd
    accuracy: Accuracy

    @property
    def missing(self) -> dict[str, str]:
        """What is not known, and why."""
        return {"recognition after several campaigns": "no upper bound that helps is known"}


def audit_turns(
    mechanism: Mechanism,
    turns: Turns,
    *,
    people: int = 100_000,
    crowd: int = 1000,
    delta: float = 1e-6,
    reports: int | None = None,
) -> TurnsAudit:
    """Audit one turn with this mechanism. `people` take part, and a person hides among `crowd`.

    `reports` is the number of reports of a round, by default as many as are expected.
    """
    loss = mechanism.loss_of_one_report
    if loss is None:
        raise ValueError(f"mechanism must be fresh, with a known largest loss of a report, got {mechanism!r}")
    people, crowd = checks.integer("people", people, low=1), checks.integer("crowd", crowd, low=2)
    delta, rounds = checks.open_probability("delta", delta), turns.rounds
    expected = max(1, math.floor(people * turns.chance))
    reports = expected if reports is None else checks.integer("reports", reports, low=1)
    return TurnsAudit(
        repr(mechanism),
        mechanism.publications,
        turns,
        people,
        crowd,
        delta,
        reports,
        loss,
        turns.eps_upper(loss),
        turns.wiped_every_round(response_factor(loss)).gamma(delta).upper,
        turns.exclusion("1/2", "1/2").advantage(),
        recognition_upper(crowd),
        recognition_upper(crowd, turns, target=[OFTEN] * rounds, others=[SELDOM] * rounds),
        recognition_upper(-(-crowd // FEWER)),
        recognition_upper(crowd, eps_report=loss),
        {count: min(1.0, several_turns_lower(count, overlapping=False) / crowd) for count in CAMPAIGNS},
        in_crowd(mechanism, reports, 1, delta),
        mechanism.accuracy(reports),
    )
