"""Every mechanism that meets the goals, ranked, each with its promises; and why the others do not meet them."""

import math
import secrets
from dataclasses import dataclass, field
from typing import Any

from untrackable.brackets import Bracket, at_most
from untrackable.encodings.salt import SHORTEST_SALT
from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.crowd_answer import InCrowd
from untrackable.mechanisms.demands import Unsuitable
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.truthfulness import Truthfulness
from untrackable.notebook_view import NotebookTable
from untrackable.planning.crowd_view import in_crowd
from untrackable.planning.forecast import errors, report_bytes, standard_error
from untrackable.planning.goals import FOREVER, Goals, Unknown
from untrackable.planning.nearest_changes import Change, nearest
from untrackable.planning.offered_mechanisms import offered_for
from untrackable.planning.other_answers import ToldApart
from untrackable.planning.paper_selection import Published, published
from untrackable.planning.participation import Recognised, recognised
from untrackable.planning.planned_campaign import draft, separate_drafts
from untrackable.planning.planned_work import PlannedWork, entry_work, ways_work
from untrackable.planning.solved_goals import Solved
from untrackable.planning.suitability import apart_by_answers, everlasting
from untrackable.planning.unknown_goal import solve
from untrackable.planning.ways_to_ask import Compared, ways_to_ask
from untrackable.progress import Progress, no_progress
from untrackable.protocol.campaign_draft import CampaignDraft
from untrackable.theory.attendance import Attendance


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Option:
    """One mechanism that meets the goals: `goals` have its answer in place of the unknown.

    `everlasting` is eps at the goals' delta, `spent` delta at their eps, if somebody knows whose the reports are.
    `tracked` is in the goals' measure, for the stated observer. `error_upper` is of a published figure and
    `one_round_upper` of one round alone. Both bounds fail with probability beta, and are of the last rounds, or of
    the first if there is no last round. `other_answers` is how well people with different answers are told apart,
    and `truthfulness` how often one report is the plain truth. All of these are about what reports say.
    `recognised` is how well people are recognised by reports and attendance together.
    """

    name: str
    mechanism: Mechanism
    goals: Goals
    everlasting: Bracket
    spent: Bracket
    tracked: Bracket
    error_upper: float
    one_round_upper: float
    report_bytes: int
    state_bytes: int
    other_answers: ToldApart
    truthfulness: Truthfulness | None
    recognised: Recognised

    def __repr__(self) -> str:
        error, certainty = at_most(self.error_upper, 3), "upper" if self.goals.discovered is None else "predicted"
        return f"<Option: {self.name}, error {error} ({certainty}), eps {self.everlasting}>"

    @property
    def in_crowd(self) -> InCrowd:
        """What the collector learns without the relay. It is computed when it is asked for."""
        return in_crowd(self.mechanism, self.goals)

    @property
    def standard_error(self) -> float:
        """Of one round, of a value that nobody holds (exact). It is of the last round, or of the first.

        If a mean or quantiles are wanted, or tables, it is theirs, whatever people hold (upper).
        """
        return standard_error(self.mechanism, self.goals)

    @property
    def shift(self) -> float | None:
        """The people whose value one dishonest report can feign; None if that is not known."""
        return self.mechanism.shift(round=self.goals.figure[-1])

    @property
    def attendance(self) -> Attendance:
        """How often clients answer, and from where."""
        return self.goals.attendance


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """One mechanism that does not meet them: the binding goal, why in a sentence, and the nearest changes."""

    name: str
    binding: str
    why: str
    nearest: tuple[Change, ...]
    error_upper: float | None = None
    """The error that it would have, if that is what is wrong."""

    @property
    def times(self) -> float:
        """The factor by which the smallest of the changes departs from a goal."""
        return min((change.times for change in self.nearest), default=math.inf)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan(NotebookTable):
    """The answer: options best first, refusals, and the paper's own selection for the goals of the first option.

    Refusals that the smallest change of a goal would help come first.
    """

    goals: Goals
    unknown: Unknown | None
    options: tuple[Option, ...]
    refusals: tuple[Refusal, ...]
    published: Published | None
    compared: Compared | None = None
    """The ways to ask for several answers at once, at the budget of the first option."""
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(SHORTEST_SALT), repr=False)
    """The salt that the campaign's strings are hashed with, if they are discovered."""

    @property
    def recommended(self) -> Option | None:
        """The best option, if there is any."""
        return self.options[0] if self.options else None

    def campaign(self) -> CampaignDraft:
        """The recommended option as the beginning of a campaign."""
        best = self.recommended
        if best is None:
            raise ValueError("no mechanism meets these goals; see refusals")
        return draft(best.goals, best.mechanism, self.salt)

    @property
    def separately(self) -> bool:
        """Whether a campaign for each table is recommended, instead of one for all."""
        return self.compared is not None and self.compared.recommended

    def campaigns(self) -> dict[str, CampaignDraft]:
        """The beginning of a campaign for each table, by the name of the table."""
        if self.compared is None or self.compared.separate is None:
            raise ValueError("these goals have no campaign for each table")
        return separate_drafts(self.compared.goals, self.compared.separate)


def plan(*, goals: Goals | None = None, progress: Progress = no_progress, **demands: Any) -> Plan:
    """Find the mechanisms that meet the goals, or say why none does; `demands` are the fields of `Goals`.

    Example: plan(people=1_000_000, values=2, rounds=365, eps=1.0, pooled=7)
    """
    if goals is None:
        goals = Goals(**demands)
    elif demands:
        raise TypeError(f"give either goals or their fields, not both: {', '.join(demands)}")
    options: list[Option] = []
    refusals: list[Refusal] = []
    needed = [(entry, entry_work(entry, goals)) for entry in offered_for(goals).values()]
    work = PlannedWork(progress, sum(units for _, units in needed) + ways_work(goals))
    for entry, units in needed:
        work.begin(entry.name)
        try:
            options.append(option(entry.name, solve(entry, goals)))
        except Unsuitable as reason:
            refusals.append(_refusal(entry, goals, reason))
        work.did(entry.name, units)
    options.sort(key=lambda o: _rank(o, goals.unknown))
    refusals.sort(key=lambda r: (not r.nearest, r.times))
    # The paper selects parameters for the frequencies of one answer.
    plain = goals.want == "frequencies" and goals.asked is None
    best = published(options[0].goals) if options and plain else None
    found = options[0].goals if options else goals
    compared = ways_to_ask(found.replace(participation=goals.participation))
    return Plan(goals, goals.unknown, tuple(options), tuple(refusals), best, compared)


def _refusal(entry: Entry, goals: Goals, reason: Unsuitable) -> Refusal:
    """Why a mechanism does not meet the goals, and what would help. Nothing does if it has no such figure."""
    try:
        changes = nearest(entry, goals, reason)
    except Unsuitable as always:
        reason, changes = always, ()
    return Refusal(entry.name, reason.binding, reason.why, changes, reason.error)


def option(name: str, solved: Solved) -> Option:
    """The promises of a mechanism that was set for the goals, asked of the engine afresh."""
    goals, mechanism = solved.goals, solved.mechanism
    privacy = everlasting(mechanism, goals)
    eps = privacy.gamma(goals.delta)
    predicted = errors(mechanism, goals, goals.people or 1)
    return Option(
        name,
        mechanism,
        goals,
        eps,
        privacy.delta(eps.upper if goals.eps is None else goals.eps),
        solved.tracked,
        predicted.figure,
        predicted.one_round,
        report_bytes(mechanism),
        mechanism.state_bytes(),
        apart_by_answers(mechanism, goals, solved.tracked),
        mechanism.truthfulness(),
        recognised(mechanism, goals),
    )


def _rank(option: Option, unknown: Unknown | None) -> tuple[float, ...]:
    """Best first. Of two that are equally good, the one comes first whose reports could never be linked."""
    goals = option.goals
    first = {
        "people": float(goals.people or 0),
        "eps": goals.eps or 0.0,
        "rounds": -math.inf if goals.rounds == FOREVER else -float(goals.rounds or 0),
    }.get(unknown or "", 0.0)
    linked = 0.0 if option.mechanism.independent else 1.0
    return first, option.error_upper, option.tracked.upper, linked, float(option.state_bytes)
