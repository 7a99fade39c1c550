"""The plan of a campaign in which each person answers once: what it will tell, and what it gives away."""

import dataclasses
import math
import secrets
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.encodings.bit import Bit
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.number_ranges import LARGEST_COUNT, IntegerRange
from untrackable.encodings.path import Path
from untrackable.encodings.salt import SHORTEST_SALT
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.notebook_view import NotebookTable
from untrackable.planning.forecast import ErrorLaw, Promise, fewest_reports
from untrackable.planning.goals import USABLE_ERROR, Goals, Unknown
from untrackable.planning.longer_looks import best_look
from untrackable.planning.nearest_changes import Change, nearest
from untrackable.planning.rounding import rounded_up
from untrackable.planning.unknown_goal import solve
from untrackable.planning.ways_to_ask import Way, ways_to_ask
from untrackable.progress import Progress, no_progress
from untrackable.protocol.campaign import Guarantee
from untrackable.protocol.campaign_draft import CampaignDraft
from untrackable.protocol.crowd_declaration import CrowdGuarantee
from untrackable.theory.crowd_counts import LARGEST_CROWD
from untrackable.theory.turns import Turns, recognition_upper

WIPED_DELTA = 1e-6
"""The delta at which eps is stated for storage that is wiped in every round."""


class Crowd(NamedTuple):
    """The privacy of all that a person sends, against a collector that does not know who sent which report.

    `everybody` is for the crowd of a round with `reports` reports, the fewest that are likely; `throughout` for
    people who are active in all rounds, whose crowd is everybody who answers in any of them, if others' turns are
    uniform too; None if wipes are allowed, because a second turn is not uniform. Both are at `delta`.
    """

    reports: int
    delta: float
    everybody: Bracket
    throughout: Bracket | None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Plan(NotebookTable):
    """The answer. `solved` are the goals with nothing left open, and `met` says whether the campaign meets them.

    If it does not, `why` says so in a sentence, `changes` are the nearest ones that would help, and everything else
    is about the campaign that comes nearest. `ways` are those to ask for several answers at once, best first. If a
    report is about several `looks`, `quarter` is rounded up to whole stretches of them.
    `wiped` is eps at delta 1e-6 for somebody whose storage is wiped once in every round.
    """

    goals: Goals
    unknown: Unknown | None
    solved: Goals
    met: bool
    why: str
    changes: tuple[Change, ...]
    way: str
    mechanism: Fresh
    law: ErrorLaw
    figure: Promise
    one_round: Promise
    quarter: Promise
    all_rounds: Promise
    crowd: Crowd | None
    wiped: Bracket
    ways: tuple[Way, ...] = ()
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(SHORTEST_SALT), repr=False)
    """The salt that the campaign's strings are hashed with, if they are discovered."""

    @property
    def turns(self) -> Turns:
        """When people answer."""
        return self.solved.turns

    @property
    def looks(self) -> int:
        """The number of consecutive rounds that one report is about."""
        return self.solved.looks or 1

    @property
    def error_upper(self) -> float:
        """The error of a published figure (upper; predicted where strings are discovered)."""
        return self.figure.radius_upper

    @property
    def eps_alone(self) -> float:
        """Everlasting eps of everything that a person sends, at delta 0 (exact, rounded up)."""
        return self.turns.eps_upper(self.mechanism.loss_of_one_report or 0.0)

    @property
    def recognition_upper(self) -> float:
        """The probability that a person seen at one place is found among the views of another (upper)."""
        return recognition_upper(self.solved.people or 1)

    @property
    def exclusion(self) -> float:
        """The advantage in telling one person from two, for a person who is half of the time at each of two places.

        It is q²/2, that of `Turns.exclusion`. It tells who somebody is not, because nobody is seen twice (exact).
        """
        return float(self.turns.share**2 / 2)

    @property
    def gap_upper(self) -> float:
        """How far two shares must be apart so that a figure surely has them in the right order (upper)."""
        return gap(self.solved, self.figure)

    @property
    def ranks(self) -> bool:
        """Whether a figure can rank answers: shares apart by as much as a typical one are in the right order."""
        return self.gap_upper <= self.law.share

    def campaign(self) -> CampaignDraft:
        """The plan as the beginning of a campaign. Every client confirms the eps that it declares."""
        if not self.met:
            raise ValueError(f"these goals are not met, so there is no campaign: {self.why}")
        return CampaignDraft(
            encoding=self._encoding(),
            mechanism=self.mechanism,
            rounds=self.turns.rounds,
            turns=self.turns,
            guarantee=Guarantee(eps=self.solved.eps or 0.0, crowd=self._declared_crowd()),
        )

    def _encoding(self) -> Encoding | None:
        found = chosen_encoding(self.solved, self.salt)
        return found if self.looks == 1 or found is None else Path(of=found, looks=self.looks)

    def _declared_crowd(self) -> CrowdGuarantee | None:
        if not self.solved.relay or self.crowd is None:
            return None
        eps = min(self.solved.eps or 0.0, rounded_up(self.crowd.everybody.upper, 3))
        return CrowdGuarantee(eps=eps, delta=self.crowd.delta, reports=self.crowd.reports)


def plan(*, goals: Goals | None = None, progress: Progress = no_progress, **demands: Any) -> Plan:
    """Plan a campaign for the goals, or say what is missing; `demands` are the fields of `Goals`.

    Example: plan(people=100_000, values=16, rounds=52, eps=4)
    """
    if goals is None:
        goals = Goals(**demands)
    elif demands:
        raise TypeError(f"give either goals or their fields, not both: {', '.join(demands)}")
    progress("choosing the report", 0.0)
    solved, why = solve(goals)
    solved, chosen = best_look(solved)
    progress("comparing ways to ask", 0.4)
    ways = ways_to_ask(solved)
    progress("computing the privacy in a crowd", 0.5)
    crowd = _crowd(solved, chosen.mechanism)
    if goals.relay and crowd is None and not why:
        why = "A crowd needs at least two reports in every round, and there are too few people for that."
    progress("looking for what would help", 0.8)
    rounds, looks = solved.rounds or solved.pooled, solved.looks or 1
    quarter_rounds = looks * math.ceil(rounds / looks / 4)
    figure, one, quarter, everything = (
        chosen.law.promise(solved, count) for count in (solved.pooled, 1, quarter_rounds, rounds)
    )
    return Plan(
        goals=goals,
        unknown=goals.unknown,
        solved=solved,
        met=not why,
        why=why,
        changes=nearest(solved.replace(looks=goals.looks), goals.error or USABLE_ERROR) if why else (),
        way=chosen.way,
        mechanism=chosen.mechanism,
        law=chosen.law,
        figure=figure,
        one_round=one,
        quarter=quarter,
        all_rounds=everything,
        crowd=crowd,
        wiped=solved.turns.wiped_every_round(chosen.mechanism.base.privacy_factor()).gamma(WIPED_DELTA),
        ways=ways,
    )


def gap(goals: Goals, promise: Promise) -> float:
    """How far two shares must be apart so that they are surely in the right order (upper).

    Both intervals hold at once. The two shares of a yes/no question have one error, and are apart by twice that.
    """
    return 2 * promise.radius_upper


def _crowd(goals: Goals, mechanism: Fresh) -> Crowd | None:
    """The privacy in the crowd; None if rounds may have fewer than two reports.

    With w wipes a person may send w+1 reports, perhaps all in one round. Whoever changes all of them changes them
    one by one, so that eps adds up, and delta with factors e^eps.
    """
    missing, people = checks.chance("margin", goals.margin), min(goals.people or 1, LARGEST_CROWD)
    reports = fewest_reports(people, goals.turns.chance * (1 - missing))
    if reports < 2:
        return None
    everybody = min(LARGEST_CROWD, reports * goals.turns.rounds)
    delta, times = goals.crowd_delta, goals.wipes + 1
    if times > 1:
        delta /= math.fsum(math.exp(i * goals.eps_report) for i in range(times))

    def hidden(people: int) -> Bracket:
        found = mechanism.crowd(people=people, reports=1).gamma(delta)
        alone = goals.turns.eps_upper(mechanism.loss_of_one_report or 0.0)
        lower = (
            found.lower if times == 1 else mechanism.crowd(people=people, reports=1).gamma(goals.crowd_delta).lower
        )
        return Bracket(min(lower, alone), min(times * found.upper, alone))

    # After a wipe, the second draw counts only for the rounds to come: it is not uniform over all of them.
    throughout = None if goals.wipes else hidden(everybody)
    return Crowd(reports, goals.crowd_delta, hidden(reports), throughout)


def chosen_encoding(goals: Goals, salt: bytes) -> Encoding | None:
    """The encoding that was given, or else the plainest one that has so many values."""
    if goals.encoding is not None:
        return goals.encoding
    if goals.discovered is not None:
        return dataclasses.replace(goals.discovered, salt=salt)
    if goals.size == 2:
        return Bit()
    return IntegerRange(low=0, high=goals.size - 1) if goals.size <= LARGEST_COUNT else None
