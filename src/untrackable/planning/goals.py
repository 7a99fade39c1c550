"""What a person who plans a campaign knows: people, question, rounds, privacy, tolerable tracking, accuracy."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from untrackable import checks
from untrackable.checks import Chance
from untrackable.encodings.asked_tables import AskedTables
from untrackable.encodings.discovered_strings import MOST_LEVELS, DiscoveredStrings
from untrackable.encodings.encoding import LARGEST_BITS, Encoding
from untrackable.encodings.salt import SHORTEST_SALT
from untrackable.mechanisms.demands import Budget, CrowdBudget
from untrackable.mechanisms.interface import Values
from untrackable.mechanisms.tolerance import MEASURES, Tolerance
from untrackable.mechanisms.wanted_figure import WANTS, Want
from untrackable.theory.attendance import AMONG as AMONG
from untrackable.theory.attendance import HALF_AND_HALF, Attendance
from untrackable.theory.chance_of_answering import EVERY_ROUND
from untrackable.theory.crowd_counts import LARGEST_CROWD, MARGIN, checked_margin, counted_crowd

FOREVER: Literal["forever"] = "forever"
"""There is no last round."""

LARGEST_PEOPLE = 10**15
LARGEST_EPS = 64.0
SMALLEST_DELTA = 1e-11
"""The smallest delta that the engine resolves everywhere."""

_STEP = 2
"""Bytes by which each prefix is longer than the one before."""
LONGEST_STRING = _STEP * (MOST_LEVELS - 1)

Observer = Literal["alone", "crowd"]
"""Who is to be defended against: an observer who knows which reports are one person's, or one who does not."""

Unknown = Literal["people", "rounds", "eps", "error"]
UNKNOWNS: tuple[Unknown, ...] = ("people", "rounds", "eps", "error")
_QUESTIONS = ("encoding", "values", "bits", "strings")
USABLE_ERROR = 0.1
"""The largest error that is of any use, where the goals do not ask for another one."""
LARGE_EPS = 4.0
"""The largest eps that a plan chooses itself, unless the goals allow more: beyond, little is hidden."""
_TIMES_GUESSING = 50
"""How many times likelier than by guessing a person may be picked out by a different answer: 0.05 of 1,000."""
_BESIDE_TRACKING = 40
"""The same, where the goals tolerate so much tracking that it takes up the rest."""
_ADVANTAGE = 0.01
"""The tolerable advantage, unless another tolerance is given."""
_RECOGNITION = 0.002
"""The tolerable recognition by reports and attendance together: twice as likely as by guessing."""
_SMALLEST_CROWD_DELTA = 1e-12
_CROWD_EPS = 1.0
"""The eps in the crowd, unless another is given."""
_PEOPLE = 10**6
"""People for whom a mechanism is set while their number is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """The demands on a plan. One of `people`, `rounds`, `eps` and `error` may be left out: the plan solves for it.

    The question is one of `encoding`, `values` (how many there are), `bits` (their width) and `strings` (to be
    discovered, of at most so many bytes). `rounds` may be "forever". The tolerable tracking is one of `advantage`
    (of an observer over guessing), `matched` (the probability of being picked out of a `crowd`) and `untrackable`
    (gamma, delta). The observer holds `reports` reports of a person, all of them unless given.

    `error` is the largest difference of a published frequency from the truth, except with probability `beta`: for
    all values at once, or without `simultaneous` for any one. If strings are discovered, it is the frequency from
    which on they are found. Left out, it is as small as possible. With `changes`, privacy is for any sequence of
    values. `pooled` is how many rounds are pooled for one published figure.

    Tracking is about people with the same answer. `matched_by_answer` is about people with different answers: the
    largest probability of picking a person out of a `crowd` of them, by all reports together. Left out, it is 0.05
    for a crowd of 1,000, or as much as the tolerated tracking allows anyway. An eps that the plan chooses itself is
    at most `largest_eps`.

    All of these are about what reports say. `recognition` is about attendance too: the largest probability with
    which an observer of all rounds recognises a person among 1,000 by the reports, the rounds that the person
    answers, and where from. The observer sees `places`, which have these shares of a person's time, and people stay
    at a place for `persistence` rounds. A client answers a round with the probability `participation`, which the
    plan chooses unless it is given. With `one_network`, clients answer from one network only, so there is no second
    place. A recognition of 1 leaves attendance out, and every round is answered.

    The `observer` is the collector itself, which knows which reports are one person's: *alone*. Nobody has to be
    trusted. Or it is the collector without the relay that hides who sends which report: *crowd*. Then `crowd_eps`
    and `crowd_delta` are the privacy of all reports ever in the crowd of `people`, of whom up to a share `margin`
    may be missing from a round. `eps` is a limit in case relay and collector work together, `largest_eps` unless it
    is given. So it is not solved for.

    `want` is what is to be published of an ordered question. For "quantiles", `error` is that of the share of
    people at or below a number. For a "mean" it is a share of the range from the lowest to the highest number.

    If the encoding asks for several answers at once, `error` is that of every cell of every table that it asks for,
    all of them at once.
    """

    people: int | None = None
    encoding: Encoding | None = None
    values: int | None = None
    bits: int | None = None
    strings: int | None = None
    rounds: int | Literal["forever"] | None = None
    eps: float | None = None
    delta: float = 1e-6
    advantage: float | None = None
    matched: float | None = None
    crowd: int = 1000
    untrackable: tuple[float, float] | None = None
    matched_by_answer: float | None = None
    reports: int | None = None
    largest_eps: float = LARGE_EPS
    error: float | None = None
    beta: float = 0.05
    simultaneous: bool = True
    changes: bool = False
    pooled: int = 1
    recognition: float = _RECOGNITION
    places: Sequence[Chance] = HALF_AND_HALF
    persistence: int = 1
    participation: Chance | None = None
    one_network: bool = False
    observer: Observer = "alone"
    crowd_eps: float | None = None
    crowd_delta: float = 1e-6
    margin: Chance = MARGIN
    want: Want = "frequencies"

    def __post_init__(self) -> None:
        self._settle_question()
        self._settle_want()
        self._settle_observer()
        optional: dict[str, Any] = {
            "people": lambda v: checks.integer(
                "people", v, low=1 if self.crowd_eps is None else 2, high=LARGEST_PEOPLE
            ),
            "eps": lambda v: _within("eps", checks.epsilon("eps", v), LARGEST_EPS),
            "error": lambda v: checks.open_probability("error", v),
            "reports": lambda v: checks.integer("reports", v, low=1, high=checks.MOST_ROUNDS),
            "matched_by_answer": lambda v: checks.probability("matched_by_answer", v),
            "largest_eps": lambda v: _within("largest_eps", checks.epsilon("largest_eps", v), LARGEST_EPS),
        }
        for name, check in optional.items():
            if getattr(self, name) is not None:
                checks.settle(self, **{name: check(getattr(self, name))})
        if self.crowd_eps is not None and self.eps is None:
            checks.settle(self, eps=self.largest_eps)
        if isinstance(self.rounds, str):
            checks.choice("rounds", self.rounds, (FOREVER,))
        elif self.rounds is not None:
            checks.settle(self, rounds=checks.rounds(self.rounds))
        self._settle_tolerance()
        self._settle_attendance()
        if self.matched_by_answer is not None and self.matched_by_answer < 1 / self.crowd:
            raise ValueError(
                f"matched_by_answer must be at least 1/crowd, {1 / self.crowd:g}, which guessing reaches, "
                f"got {self.matched_by_answer}"
            )
        checks.settle(
            self,
            delta=checks.open_probability("delta", self.delta),
            beta=checks.open_probability("beta", self.beta),
            pooled=checks.integer("pooled", self.pooled, low=1, high=checks.MOST_ROUNDS),
        )
        if self.delta < SMALLEST_DELTA:
            raise ValueError(f"delta must be at least {SMALLEST_DELTA}, got {self.delta}: less is not resolved")
        for name in ("simultaneous", "changes"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, not {type(getattr(self, name)).__name__}")
        missing = [name for name in self._solvable if getattr(self, name) is None]
        if len(missing) > 1:
            *others, last = self._solvable
            raise ValueError(
                f"{' and '.join(missing)} are missing: one of {', '.join(others)} and {last} may be left out, "
                "and the plan solves for it"
            )
        if isinstance(self.rounds, int):
            if self.pooled > self.rounds:
                raise ValueError(f"pooled must be at most rounds, {self.rounds}, got {self.pooled}")
            if self.reports is not None and self.reports > self.rounds:
                raise ValueError(f"reports must be at most rounds, {self.rounds}, got {self.reports}")

    def _settle_observer(self) -> None:
        checks.choice("observer", self.observer, ("alone", "crowd"))
        if self.observer == "crowd" and self.crowd_eps is None:
            checks.settle(self, crowd_eps=_CROWD_EPS)
        if self.crowd_eps is not None:
            found = _within("crowd_eps", checks.epsilon("crowd_eps", self.crowd_eps), LARGEST_EPS)
            checks.settle(self, observer="crowd", crowd_eps=found)
        checks.settle(self, crowd_delta=checks.open_probability("crowd_delta", self.crowd_delta))
        checks.settle(self, margin=checked_margin(self.margin))
        if self.crowd_delta < _SMALLEST_CROWD_DELTA:
            raise ValueError(f"crowd_delta must be at least {_SMALLEST_CROWD_DELTA}, got {self.crowd_delta}")

    def _settle_question(self) -> None:
        given = [name for name in _QUESTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of {', '.join(_QUESTIONS)}; got {' and '.join(given) or 'none'}")
        if self.encoding is not None and not isinstance(self.encoding, Encoding):
            raise TypeError(f"encoding must be an Encoding, not {type(self.encoding).__name__}")
        if self.values is not None:
            checks.settle(self, values=checks.integer("values", self.values, low=2))
            if self.width > LARGEST_BITS:
                raise ValueError(f"values must be at most 2^{LARGEST_BITS}, got about 2^{self.width}")
        if self.strings is not None:
            checks.settle(self, strings=checks.integer("strings", self.strings, low=1, high=LONGEST_STRING))
        if self.bits is not None:
            checks.settle(self, bits=checks.integer("bits", self.bits, low=1, high=LARGEST_BITS))

    def _settle_want(self) -> None:
        checks.choice("want", self.want, WANTS)
        if self.want == "frequencies":
            return
        if self.discovered is not None:
            raise ValueError(f"want must be frequencies if strings are discovered, got {self.want}")
        if self.asked is not None:
            raise ValueError(f"want must be frequencies if there are several answers at once, got {self.want}")
        if self.encoding is not None:
            edges = self.encoding.numbers()
            steps = np.diff(edges.lower)
            if self.want == "mean" and not (np.isfinite(edges.lower).all() and np.allclose(steps, steps[0])):
                raise ValueError(
                    "want must not be mean: the answers must stand for numbers at equal distances, within a range"
                )

    def _settle_tolerance(self) -> None:
        if all(getattr(self, name) is None for name in MEASURES):
            checks.settle(self, advantage=_ADVANTAGE)
        settled = self.tolerance
        checks.settle(self, **{name: getattr(settled, name) for name in ("crowd", *MEASURES)})

    def _settle_attendance(self) -> None:
        checks.settle(self, recognition=checks.probability("recognition", self.recognition))
        if self.recognition < 1 / AMONG:
            raise ValueError(
                f"recognition must be at least 1/{AMONG:,}, which guessing reaches, got {self.recognition}"
            )
        if self.participation is not None:
            share = checks.chance("participation", self.participation)
            if share == 0:
                raise ValueError("participation must be above 0: nobody would answer")
            checks.settle(self, participation=share)
        settled = self.attendance
        checks.settle(self, places=settled.places, persistence=settled.persistence)

    def replace(self, **changes: Any) -> "Goals":
        """The same goals with other demands."""
        return dataclasses.replace(self, **changes)

    @property
    def unknown(self) -> Unknown | None:
        """The demand that the plan solves for, if any."""
        return next((name for name in self._solvable if getattr(self, name) is None), None)

    @property
    def _solvable(self) -> tuple[Unknown, ...]:
        """The demands of which one may be left out. In a crowd, eps is a limit."""
        return UNKNOWNS if self.crowd_eps is None else ("people", "rounds", "error")

    @property
    def enrolled(self) -> int:
        """The people whom the crowd's guarantee counts on: at most as many as the engine counts."""
        people, missing = self.people or _PEOPLE, checked_margin(self.margin)
        return (
            min(people, LARGEST_CROWD) if self.crowd_eps is None else counted_crowd(people, self.answered, missing)
        )

    @property
    def size(self) -> int:
        """How many values there are, or how many buckets a prefix is hashed into."""
        if self.discovered is not None:
            return 1 << self.discovered.bucket_bits
        if self.encoding is not None:
            return self.encoding.values
        return self.values or 1 << (self.bits or 0)

    @property
    def discovered(self) -> DiscoveredStrings | None:
        """How the prefixes of strings are hashed, if strings are discovered; the salt is still to be drawn."""
        if isinstance(self.encoding, DiscoveredStrings):
            return self.encoding
        if self.strings is None:
            return None
        prefixes = [*range(_STEP, self.strings, _STEP), self.strings, self.strings]  # the whole string twice
        return DiscoveredStrings(
            longest=self.strings, prefixes=prefixes, salt=bytes(SHORTEST_SALT), too_long="truncate"
        )

    @property
    def asked(self) -> AskedTables | None:
        """The tables that are asked for, if people give several answers at once."""
        return None if self.encoding is None else self.encoding.asked

    @property
    def levels(self) -> int:
        """How many prefixes the reports are divided among."""
        return 1 if self.discovered is None else self.discovered.levels

    @property
    def width(self) -> int:
        """Bits of an encoded value, d."""
        return (self.size - 1).bit_length()

    @property
    def secret(self) -> Values:
        """The values that everlasting privacy is for: a fixed one, or any sequence."""
        return "any" if self.changes else "fixed"

    @property
    def observed(self) -> int | None:
        """Reports of a person that an observer may hold; None if there is no limit."""
        if self.reports is not None:
            return self.reports
        return self.rounds if isinstance(self.rounds, int) else None

    @property
    def figure(self) -> range:
        """The rounds of the figure that is promised: the last one, or the first if there is no last round."""
        if isinstance(self.rounds, int):
            return range(self.rounds - self.pooled + 1, self.rounds + 1)
        return range(1, self.pooled + 1)

    @property
    def tolerance(self) -> Tolerance:
        """How well an observer may follow a person, for the reports that the observer may hold."""
        return Tolerance(
            advantage=self.advantage,
            matched=self.matched,
            crowd=self.crowd,
            untrackable=self.untrackable,
            reports=self.observed,
        )

    @property
    def attendance(self) -> Attendance:
        """Which rounds clients answer, and from where: every round, while the participation is not known."""
        share = EVERY_ROUND if self.participation is None else self.participation
        return Attendance(share, self.places, self.persistence, self.one_network)  # type: ignore[arg-type]

    @property
    def answered(self) -> Fraction:
        """The probability with which a client answers a round."""
        return self.attendance.participation

    @property
    def attendance_counts(self) -> bool:
        """Whether the rounds that people answer could give them away more than is tolerable."""
        return self.recognition < 1 and not self.one_network

    @property
    def answer_limit(self) -> float:
        """The largest tolerable probability of picking a person out of a crowd of people with other answers."""
        if self.matched_by_answer is not None:
            return self.matched_by_answer
        if self.crowd_eps is not None:
            return 1.0  # Loud reports tell other answers apart. That is shown, and a limit has to be asked for.
        beside = _BESIDE_TRACKING / self.crowd
        if self.untrackable is not None:
            beside *= math.exp(min(self.untrackable[0], LARGE_EPS))
        return min(1.0, max(_TIMES_GUESSING / self.crowd, self.tolerance.advantage_limit + beside))

    @property
    def budget(self) -> Budget:
        """What mechanisms are set for; while eps is not known, it is infinite."""
        return Budget(
            values=self.size,
            eps=math.inf if self.eps is None else self.eps,
            delta=self.delta,
            reports=self.rounds if isinstance(self.rounds, int) else None,
            people=self.people or _PEOPLE,
            tolerance=self.tolerance,
            beta=self.beta,
            levels=None if self.discovered is None else self.levels,
            changes=self.changes,
            for_ever=True,
            every_round=True,
            participation=self.answered,
            crowd=self._crowd_budget,
            want=self.want,
            views=() if self.asked is None else self.asked.views,
            shown=() if self.asked is None else self.asked.shown,
        )

    @property
    def _crowd_budget(self) -> CrowdBudget | None:
        if self.crowd_eps is None:
            return None
        return CrowdBudget(eps=self.crowd_eps, delta=self.crowd_delta, people=max(2, self.enrolled))


def _within(name: str, number: float, high: float) -> float:
    if number > high:
        raise ValueError(f"{name} must be at most {high:g}, got {number}: more would hide nothing")
    return number
