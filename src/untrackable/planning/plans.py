"""Every mechanism that meets the goals, ranked, each with what it promises; and why the others do not."""

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from untrackable.brackets import Bracket
from untrackable.encodings.salt import SHORTEST_SALT
from untrackable.mechanisms.interface import Mechanism
from untrackable.planning.campaign_draft import fragment
from untrackable.planning.families import FAMILIES, everlasting
from untrackable.planning.forecast import errors, report_bytes, state_bytes
from untrackable.planning.goals import FOREVER, Goals, Unknown
from untrackable.planning.nearest_changes import Change, nearest
from untrackable.planning.paper_selection import Published, published
from untrackable.planning.refusal import Cannot
from untrackable.planning.solver import Solved, solve

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """One mechanism that does it: `goals` have its answer in place of the unknown.

    `everlasting` is eps at the goals' delta, `spent` delta at their eps; `tracked` is in the goals' measure, for
    the stated observer; `error_upper` is of a published figure and `one_round_upper` of one round alone, both
    bounds that fail with probability beta, at the last rounds, or with no horizon at the first.
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


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """One mechanism that does not: the goal that is binding, why in a sentence, and the nearest changes."""

    name: str
    binding: str
    why: str
    nearest: tuple[Change, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The answer: options best first, refusals, and what the paper's own selection gives for the first option.

    Of the refusals, those that the smallest change of a goal would help come first.
    """

    goals: Goals
    unknown: Unknown | None
    options: tuple[Option, ...]
    refusals: tuple[Refusal, ...]
    published: Published | None
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(SHORTEST_SALT), repr=False)
    """What the campaign's strings are hashed with, if they are to be discovered."""

    @property
    def recommended(self) -> Option | None:
        """The best option, if there is any."""
        return self.options[0] if self.options else None

    def campaign(self) -> dict[str, Any]:
        """The recommended option as the beginning of a campaign, for JSON."""
        best = self.recommended
        if best is None:
            raise ValueError("no mechanism meets these goals; see refusals")
        return fragment(best.goals, best.mechanism, self.salt)


def plan(*, goals: Goals | None = None, progress: Progress = lambda what, done: None, **demands: Any) -> Plan:
    """Goals in, mechanism out, or the reason why not; `demands` are the fields of `Goals`.

    Example: plan(people=1_000_000, values=2, rounds=365, eps=1.0)
    """
    if goals is None:
        goals = Goals(**demands)
    elif demands:
        raise TypeError(f"give either goals or their fields, not both: {', '.join(demands)}")
    options: list[Option] = []
    refusals: list[Refusal] = []
    for done, family in enumerate(FAMILIES):
        progress(family.name, done / len(FAMILIES))
        try:
            options.append(option(family.name, solve(family, goals)))
        except Cannot as cannot:
            refusals.append(Refusal(family.name, cannot.binding, cannot.why, nearest(family, goals, cannot)))
    options.sort(key=lambda o: _rank(o, goals.unknown))
    refusals.sort(key=lambda r: (not r.nearest, r.nearest[0].times if r.nearest else math.inf))
    best = published(options[0].goals) if options else None
    return Plan(goals, goals.unknown, tuple(options), tuple(refusals), best)


def option(name: str, solved: Solved) -> Option:
    """What a mechanism that was set for the goals promises, asked of the engine afresh."""
    goals, mechanism = solved.goals, solved.mechanism
    privacy = everlasting(mechanism, goals)
    predicted = errors(mechanism, goals, goals.people or 1)
    return Option(
        name,
        mechanism,
        goals,
        privacy.gamma(goals.delta),
        privacy.delta(goals.eps or 0.0),
        solved.tracked,
        predicted.figure,
        predicted.one_round,
        report_bytes(mechanism),
        state_bytes(mechanism),
    )


def _rank(option: Option, unknown: Unknown | None) -> tuple[float, ...]:
    goals = option.goals
    first = {
        "people": float(goals.people or 0),
        "eps": goals.eps or 0.0,
        "rounds": -math.inf if goals.rounds == FOREVER else -float(goals.rounds or 0),
    }.get(unknown or "", 0.0)
    return first, option.error_upper, option.tracked.upper, float(option.state_bytes)
