"""The plan of a campaign in which each person answers once: what it will tell, and what it gives away.

A plan solves for the one demand that the goals leave open: people, rounds, eps or error. If goals are not met, it
names the smallest changes, each of which would be enough alone. For several answers at once it compares the ways to
ask with one turn: draw one, ask about some or all jointly, or divide eps.

`plan_together` plans one campaign for several questions, with one turn for all of them: a person is charged and
seen once. `every_round` is what everybody in every round would give instead. There is no sample then, but a
person's budget is divided over all rounds, so it wins at large eps only. Attendance gives people away, whatever the
reports say.
"""

import contextlib
import dataclasses
import math
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.checks import MOST_ROUNDS
from untrackable.encodings.encoding import SHORTEST_SALT, AskedTables, Bit, Encoding
from untrackable.encodings.numbers import LARGEST_COUNT, IntegerRange
from untrackable.encodings.record import Path, Record
from untrackable.errors import UntrackableError
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Fresh
from untrackable.notebook_view import NotebookTable
from untrackable.planning import forecast
from untrackable.planning.goal_fields import LARGEST_EPS, LARGEST_PEOPLE, Unknown
from untrackable.planning.goals import USABLE_ERROR, Goals, counted, rounded_up, shown_up
from untrackable.progress import Progress, no_progress
from untrackable.protocol.campaign import CrowdGuarantee, Guarantee
from untrackable.protocol.campaign_draft import CampaignDraft
from untrackable.settings.catalogue import EVERY_ROUND
from untrackable.settings.demands import Budget, Unsuitable
from untrackable.theory.crowd import LARGEST_CROWD
from untrackable.theory.experiment import Experiment
from untrackable.theory.search import falling_root, largest_integer, smallest_integer
from untrackable.theory.turns import Turns, recognition_upper, survey_variance

DELTA = 1e-6
"""The probability that eps does not hold, which reports in every round need and one turn does not."""
WIPED_DELTA = 1e-6
"""The delta at which eps is stated for storage that is wiped in every round."""
_SMALLEST_EPS = 1e-4
_CLOSE = 1e-4
"""Relative width at which a search for eps ends."""
_MANY = 10**6
"""Reports of a round for which a search begins."""
_QUIETEST, _LOUDEST = 1e-3, 30.0
"""The range of eps of one of the reports in every round."""
_HALVINGS = 30
_WHY = {
    forecast.DRAW: "there is no report for these tables",
    forecast.GROUPS: "tables have answers in common, or there are too few or too many of them",
    forecast.JOINT: "there are too many answers together",
    forecast.DIVIDE: "tables have answers in common or are not about all answers, or there are too many of them",
}


class Way(NamedTuple):
    """The errors of one round and of a published figure if one asks in this way, or why that is not possible.

    They are of the cell that is known least well: `standard_error` (upper) and `error_upper`.
    """

    name: str
    standard_error: float | None
    error_upper: float | None
    why: str = ""


class Change(NamedTuple):
    """A demand, the value with which the goals would be met, and the same in words."""

    goal: str
    value: float
    text: str


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
    law: forecast.ErrorLaw
    figure: forecast.Promise
    one_round: forecast.Promise
    quarter: forecast.Promise
    all_rounds: forecast.Promise
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
        """How far two shares must be apart so that a figure surely has them in the right order (upper).

        Both intervals hold at once. The two shares of a yes/no question have one error and are apart by twice it.
        """
        return 2 * self.figure.radius_upper

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
        encoding = chosen_encoding(self.solved, self.salt)
        return encoding if self.looks == 1 or encoding is None else Path(of=encoding, looks=self.looks)

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
    solved, chosen = forecast.best_look(solved)
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


def _crowd(goals: Goals, mechanism: Fresh) -> Crowd | None:
    """The privacy in the crowd; None if rounds may have fewer than two reports.

    With w wipes a person may send w+1 reports, in different rounds: clients join in the round after a wipe.
    """
    missing, people = checks.chance("margin", goals.margin), min(goals.people or 1, LARGEST_CROWD)
    reports = forecast.fewest_reports(people, goals.turns.chance * (1 - missing))
    if reports < 2:
        return None
    everybody = min(LARGEST_CROWD, reports * goals.turns.rounds)

    def hidden(people: int, *, mixed: bool = False) -> Bracket:
        alone = goals.turns.eps_upper(mechanism.loss_of_one_report or 0.0)
        crowd = mechanism.crowd(people=people, reports=goals.wipes + 1, mixed=mixed, present=goals.turns.share)
        found = crowd.gamma(goals.crowd_delta)
        return Bracket(min(found.lower, alone), min(found.upper, alone))

    # After a wipe, the second draw counts only for the rounds to come: it is not uniform over all of them.
    throughout = None if goals.wipes else hidden(everybody, mixed=True)
    return Crowd(reports, goals.crowd_delta, hidden(reports), throughout)


def chosen_encoding(goals: Goals, salt: bytes) -> Encoding | None:
    """The encoding that was given, or else the plainest one that has this many values."""
    if goals.encoding is not None:
        return goals.encoding
    if goals.discovered is not None:
        return dataclasses.replace(goals.discovered, salt=salt)
    if goals.size == 2:
        return Bit()
    return IntegerRange(low=0, high=goals.size - 1) if goals.size <= LARGEST_COUNT else None


def error_of(goals: Goals) -> float:
    """The error of a published figure, for goals with people, rounds and eps."""
    best, chosen = forecast.best_look(goals)
    return chosen.law.figure_radius(best)


def people_needed(goals: Goals, error: float) -> int:
    """The fewest people with whom a figure's error is as small as this; ValueError if no number is enough."""
    return smallest_integer(_excess(goals, "people", error), _first_guess(goals, error), low=1, high=LARGEST_PEOPLE)


def _excess(goals: Goals, name: str, error: float, times: int = 1) -> Callable[[Any], float]:
    """How far a figure's error is above this one, by a demand that is `times` the given number, as a logarithm."""
    return lambda value: math.log(error_of(goals.replace(**{name: value * times})) / error)


def _first_guess(goals: Goals, error: float) -> int:
    """Errors fall as one over the root of the number of people."""
    many = math.ceil(_MANY * (goals.rounds or goals.pooled) / goals.turns.share)
    return max(1, math.ceil(many * (error_of(goals.replace(people=many)) / error) ** 2))


def rounds_possible(goals: Goals, error: float) -> int:
    """The most rounds with which a figure's error is as small as this; ValueError if there are none.

    More rounds make larger errors for each number of looks alone, so each is tried.
    """
    most = []
    for each in goals.replace(rounds=None, error=error).with_looks():
        with contextlib.suppress(ValueError):
            most.append(_rounds_possible(each, error, goals.rounds or goals.pooled))
    if not most:
        raise ValueError("no number of rounds is small enough")
    return max(most)


def _rounds_possible(goals: Goals, error: float, start: int) -> int:
    """That for a given number of looks, looked for around `start`."""
    looks = goals.looks or 1
    fewest, excess = max(1, goals.pooled // looks), _excess(goals, "rounds", error, looks)
    return looks * largest_integer(excess, start // looks, low=fewest, high=MOST_ROUNDS // looks)


def eps_needed(goals: Goals, error: float) -> float:
    """The smallest eps with which a figure's error is as small as this; ValueError if there is none."""
    lowest = _SMALLEST_EPS * (goals.wipes + 1)
    excess = _excess(goals, "eps", error)
    return falling_root(excess, 1.0, low=lowest, high=LARGEST_EPS, tolerance=_CLOSE, keep="above").x


def solve(goals: Goals) -> tuple[Goals, str]:
    """The goals with nothing left open, and why they are not met; nothing if they are."""
    wanted = goals.error or USABLE_ERROR
    match goals.unknown:
        case "people":
            try:
                return goals.replace(people=people_needed(goals, wanted)), ""
            except ValueError:
                return goals.replace(people=LARGEST_PEOPLE), "No number of people is enough."
        case "rounds":
            try:
                return goals.replace(rounds=rounds_possible(goals, wanted)), ""
            except ValueError:
                fewest = goals.replace(rounds=goals.pooled)
                return fewest, _inaccurate(error_of(fewest), wanted, goals)
        case "eps":
            return _solved_eps(goals, wanted)
    error = error_of(goals)
    return goals.replace(error=goals.error or min(error, 1 - 1e-9)), _inaccurate(error, wanted, goals)


def _solved_eps(goals: Goals, wanted: float) -> tuple[Goals, str]:
    largest = goals.replace(eps=goals.largest_eps)
    try:
        eps = eps_needed(goals, wanted)
    except ValueError:
        return largest, f"No eps is enough: the random choice of who answers makes an error above ±{wanted:g}."
    if eps <= goals.largest_eps:
        return goals.replace(eps=eps), ""
    return (
        largest,
        f"It would need eps {rounded_up(eps, 3):g}, and a plan goes up to {goals.largest_eps:g} by itself.",
    )


def _inaccurate(error: float, wanted: float, goals: Goals) -> str:
    """That the error would be larger than is wanted; nothing if it is not."""
    if error <= wanted:
        return ""
    limit = f"{100 * wanted:.3g} points" + (" is asked for" if goals.error else " is the most that says anything")
    sign = "" if goals.discovered is not None else "±"
    if error >= 1:
        return f"Figures would tell nothing, and {sign}{limit}."
    return f"The error would be {sign}{100 * rounded_up(error, 3):.3g} points (upper), and {sign}{limit}."


def ways_to_ask(goals: Goals) -> tuple[Way, ...]:
    """All ways, the smallest standard error first; nothing if one table is asked for."""
    if goals.asked is None or len(goals.asked.views) == 1:
        return ()
    ways = (_asked(way, goals) for way in forecast.WAYS)
    return tuple(sorted(ways, key=lambda way: (way.standard_error is None, way.standard_error or 0.0)))


def _asked(way: str, goals: Goals) -> Way:
    try:
        law = forecast.best_report(goals, ways=[way]).law
    except Unsuitable:
        return Way(way, None, None, _WHY[way])
    return Way(way, law.promise(goals, 1).standard_error, law.promise(goals, goals.pooled).radius_upper)


def nearest(goals: Goals, error: float) -> tuple[Change, ...]:
    """Longer rounds, more rounds pooled, fewer answers, more eps, more people: in this order, if they help.

    A relay is not among them, because it changes no error.
    """
    changes: list[Change] = []
    for change in (_longer_rounds, _more_pooled, _fewer_answers, _more_eps, _more_people):
        with contextlib.suppress(ValueError, Unsuitable):  # This change alone is never enough.
            changes += change(goals, error)
    return tuple(changes)


def _longer_rounds(goals: Goals, error: float) -> Iterator[Change]:
    rounds = goals.rounds or goals.pooled
    fewer = rounds_possible(goals, error)
    if fewer < rounds:
        times = shown_up(rounds / fewer)
        yield Change(
            "rounds", fewer, f"rounds {times:g} times as long: {fewer:,} instead of {rounds:,} in the same time"
        )


def _more_pooled(goals: Goals, error: float) -> Iterator[Change]:
    excess, high = _excess(goals, "pooled", error), goals.rounds or goals.pooled
    pooled = smallest_integer(excess, goals.pooled, low=goals.pooled, high=high)
    if pooled > goals.pooled:
        yield Change("pooled", pooled, f"{pooled:,} rounds pooled for one figure")


def _fewer_answers(goals: Goals, error: float) -> Iterator[Change]:
    if goals.asked is not None or goals.discovered is not None or goals.size == 2:
        return
    excess = _excess(goals.replace(encoding=None, bits=None, strings=None, values=3), "values", error)
    fewer = largest_integer(excess, 3, low=3, high=goals.size - 1)
    yield Change("values", fewer, f"at most {fewer:,} answers")


def _more_eps(goals: Goals, error: float) -> Iterator[Change]:
    eps = eps_needed(goals, error)
    if (goals.eps or 0.0) < eps <= LARGEST_EPS:
        shown = shown_up(eps * (1 + 1e-6))
        yield Change("eps", shown, f"eps {shown:.3g}")


def _more_people(goals: Goals, error: float) -> Iterator[Change]:
    people = people_needed(goals, error)
    if people > (goals.people or 0):
        yield Change("people", people, f"{counted(people)} people")


class EveryRound(NamedTuple):
    """A mechanism for every round, at the plan's eps and delta 1e-6: its error in the last round, or why not.

    It is exact, of an answer of the typical share or, where that is not known, of an answer that nobody gives.
    `linked` says whether its reports can be linked by what they say.
    """

    name: str
    standard_error: float | None
    linked: bool
    why: str = ""


class Instead(NamedTuple):
    """What everybody in every round would give instead: the eps from which on it is better, and all mechanisms.

    `better_from` is None if it is better at no eps, and `rows` if nobody asked for them.
    """

    better_from: float | None
    rows: tuple[EveryRound, ...] | None


def instead_of(plan: Plan, *, mechanisms: bool, progress: Progress = no_progress) -> Instead:
    """What everybody in every round would give instead of a plan. All `mechanisms` take a while."""
    rows = every_round(plan.solved, progress=progress) if mechanisms else None
    return Instead(better_from(plan.solved.replace(looks=plan.goals.looks)), rows)


def better_from(goals: Goals) -> float | None:
    """The eps from which on a `Deck` has a smaller standard error of a round than one turn (exact, but for 0.1 %).

    None if there is none up to 64, or if other figures than frequencies of one answer are asked for.
    """
    rounds, people = goals.rounds or goals.pooled, goals.people or 1
    if rounds == 1 or goals.want != "frequencies" or goals.asked is not None or goals.discovered is not None:
        return None
    share, turns = goals.typical_share(goals.size), goals.with_looks()

    def excess(width: int, eps_report: float) -> tuple[float, float]:
        """The eps of a whole deck, and by how much its variance exceeds that of one turn at this eps."""
        card = NoisyInnerProduct(bits=goals.width, eps=eps_report, width=width)
        eps = Experiment([(card.privacy_factor(), rounds)]).gamma(DELTA).upper
        alone = min(eps / (goals.wipes + 1), _LOUDEST)
        return eps, card.held_variance(share) / people - min(_variance(turn, alone, share) for turn in turns)

    crossings = [
        eps for width in forecast.widths(goals.width, _QUIETEST) if (eps := _crossing(width, excess)) <= LARGEST_EPS
    ]
    return min(crossings, default=None)


def _variance(turn: Goals, eps: float, share: float) -> float:
    """The variance of a round with one turn, by a report of this eps about this many looks."""
    people, bits = turn.people or 1, turn.width
    if (turn.looks or 1) > 1:
        noise = forecast.path_report(turn, eps).law.noise(share)
    else:
        reports = (NoisyInnerProduct(bits=bits, eps=eps, width=width) for width in forecast.widths(bits, eps))
        noise = min(report.held_variance(share) for report in reports)
    return survey_variance(noise, share, max(1.0, float(people * turn.turns.chance)), people)


def _crossing(width: int, excess: Callable[[int, float], tuple[float, float]]) -> float:
    """The eps at which the excess becomes negative; infinite if it does not."""
    low, high = math.log(_QUIETEST), math.log(_LOUDEST)
    if excess(width, math.exp(high))[1] > 0:
        return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(width, math.exp(middle))[1] > 0 else (low, middle)
    return float(excess(width, math.exp(high))[0])


def every_round(goals: Goals, *, progress: Progress = no_progress) -> tuple[EveryRound, ...]:
    """All mechanisms of the catalogue at the goals' people, rounds and eps, the smallest error first."""
    if goals.want != "frequencies" or goals.asked is not None or goals.discovered is not None:
        raise ValueError("mechanisms for every round are compared for frequencies of one answer only")
    rounds, people = goals.rounds or goals.pooled, goals.people or 1
    budget = Budget(values=goals.size, eps=goals.eps or 1.0, delta=DELTA, reports=rounds, people=people)
    share, rows = goals.typical_share(goals.size), []
    for done, entry in enumerate(EVERY_ROUND.values()):
        progress(entry.name, done / len(EVERY_ROUND))
        try:
            mechanism = entry.for_budget(budget)
            last = 1 if mechanism.rounds_alike else rounds
            error = mechanism.held_error(people, share=share, round=last)
            if error is None:
                error = mechanism.accuracy(people, round=last, candidates=range(goals.size)).standard_error
            rows.append(EveryRound(entry.name, error, not mechanism.independent))
        except (UntrackableError, ValueError) as reason:
            rows.append(EveryRound(entry.name, None, False, str(reason)))
    return tuple(sorted(rows, key=lambda row: (row.standard_error is None, row.standard_error or 0.0)))


_ANSWERS = ("encoding", "values", "bits")
"""What one question says. All else is for all questions together."""


class Part(NamedTuple):
    """One question: its answers, and how far its figures will be off, all its answers at once."""

    name: str
    encoding: Encoding
    figure: forecast.Promise
    one_round: forecast.Promise
    quarter: forecast.Promise
    all_rounds: forecast.Promise


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QuestionSet(NotebookTable):
    """The plan of one campaign for all questions, and what it promises for each of them."""

    plan: Plan
    parts: tuple[Part, ...]

    @property
    def met(self) -> bool:
        """Whether the goals are met."""
        return self.plan.met

    def campaign(self) -> CampaignDraft:
        """The beginning of the one campaign."""
        return self.plan.campaign()


def plan_together(
    questions: Mapping[str, Mapping[str, Any]], *, progress: Progress = no_progress, **shared: Any
) -> QuestionSet:
    """Plan one campaign for several questions, each a name with `encoding`, `values` or `bits`.

    `shared` are the other fields of `Goals`, for all questions together.

    Example: plan_together({"smokes": {"values": 2}, "age": {"values": 8}}, people=100_000, rounds=12, eps=2)
    """
    if len(questions) < 2:
        raise ValueError(f"give two questions or more, got {len(questions)}; for one, call plan")
    attributes = {name: _answers(name, asked, shared) for name, asked in questions.items()}
    record = Record(attributes=attributes, tables=[(name,) for name in attributes])
    together = plan(goals=Goals(encoding=record, **shared), progress=progress)
    return QuestionSet(together, tuple(_part(name, encoding, together) for name, encoding in attributes.items()))


def _answers(name: str, asked: Mapping[str, Any], shared: Mapping[str, Any]) -> Encoding:
    """The encoding of one question; an error names it."""
    if unknown := [key for key in asked if key not in _ANSWERS]:
        raise ValueError(
            f"question {name}: {unknown[0]} is not its own; give {', '.join(_ANSWERS)}, and all else once"
        )
    if twice := [key for key in _ANSWERS if key in shared]:
        raise ValueError(f"{twice[0]} is for one question, not for all together")
    try:
        goals = Goals(people=1, rounds=1, eps=1.0, **asked)
        encoding = chosen_encoding(goals, b"")
        if encoding is None or goals.asked is not None or goals.discovered is not None:
            raise ValueError("a set has questions with one answer each, out of a known list")
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"question {name}: {error}") from None
    return encoding


def _part(name: str, encoding: Encoding, together: Plan) -> Part:
    asked = together.solved.asked
    if asked is None:
        raise TypeError("the goals must ask for tables")
    law = forecast.table_law(together.mechanism, together.solved, AskedTables(asked.views, (asked.named(name),)))
    promises = (together.figure, together.one_round, together.quarter, together.all_rounds)
    return Part(name, encoding, *(law.promise(together.solved, promise.rounds) for promise in promises))
