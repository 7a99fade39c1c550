"""The goals of a plan: people, question, rounds, privacy and accuracy; and numbers rounded up for people."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from untrackable import checks
from untrackable.checks import Chance
from untrackable.encodings.encoding import LARGEST_BITS, SHORTEST_SALT, AskedTables, Encoding
from untrackable.encodings.record import Path
from untrackable.encodings.strings import DiscoveredStrings, HashedStrings
from untrackable.planning.goal_fields import GOALS, UNKNOWNS, GoalError, GoalKindError, Unknown
from untrackable.randomizers.inner_product import LARGEST_WIDTH
from untrackable.settings.demands import Want
from untrackable.theory.turns import Turns

USABLE_ERROR = 0.1
"""The largest error that is of any use, where the goals do not ask for another one."""
_STEP = 2
"""Bytes by which each prefix is longer than the one before."""
_QUESTIONS = ("encoding", "values", "bits", "strings")
_HALF, _RARE = 0.5, 0.05
"""The share of people for whom errors are stated: of yes/no answers, and of one of many answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """The demands on a plan. One of `people`, `rounds`, `eps` and `error` may be left out: the plan solves for it.

    Each of `people` answers once, in one of `rounds` rounds. The question is one of `encoding`, `values` (how many
    there are), `bits` (their width) and `strings` (to be discovered, of at most this many bytes).

    `eps` is the privacy of everything that a person ever sends, for ever, with delta 0 and nobody trusted. A person
    whose storage is wiped answers again; with `wipes` (w) allowed, each report has eps/(w+1). Only a `share` of
    people have a turn at all. With a `relay`, the collector does not know who sent which report: the campaign then
    declares the privacy in the crowd at `crowd_delta`, if up to a share `margin` of the people are missing.

    `error` is the largest difference of a published share from the truth, except with probability `beta`: for all
    answers at once, or without `simultaneous` for any one. It is promised for answers that at most the share
    `typical` of people give: a half for yes/no questions, which is all answers, and 5 % else. Answers that more
    people give have larger errors. `pooled` is the number of rounds that are pooled for one published figure. Left
    out, the error is as small as possible.

    `looks` is the number of consecutive rounds that one report is about, a divisor of `rounds`; left out, the plan
    chooses it. With more than one, the device draws which of these stretches it answers, keeps its answers in all
    its rounds, and sends them together at its end.

    `want` is what is to be published of an ordered question. For "quantiles", `error` is that of the share of
    people at or below a number. For a "mean" it is a share of the range from the lowest to the highest number. If
    the encoding asks for several answers at once, it is that of every cell of every table. If strings are
    discovered, it is the share of people from which on they are found.
    """

    people: int | None = None
    encoding: Encoding | None = None
    values: int | None = None
    bits: int | None = None
    strings: int | None = None
    rounds: int | None = None
    eps: float | None = None
    largest_eps: float = GOALS["largest_eps"].default
    error: float | None = None
    beta: float = GOALS["beta"].default
    simultaneous: bool = GOALS["simultaneous"].default
    typical: float | None = None
    pooled: int = GOALS["pooled"].default
    looks: int | None = None
    want: Want = GOALS["want"].default
    share: Chance = GOALS["share"].default
    wipes: int = GOALS["wipes"].default
    relay: bool = GOALS["relay"].default
    crowd_delta: float = GOALS["crowd_delta"].default
    margin: Chance = GOALS["margin"].default

    def __post_init__(self) -> None:
        self._check_question()
        for name, field in GOALS.items():
            if (given := getattr(self, name)) is not None:
                checks.settle(self, **{name: field.checked(given)})
        if self.values is not None and self.width > LARGEST_BITS:
            raise GoalError(
                "values", self.values, f"{{values}} must be at most 2^{LARGEST_BITS}, got about 2^{self.width}"
            )
        self._check_want()
        if len(missing := [name for name in UNKNOWNS if getattr(self, name) is None]) > 1:
            raise GoalError(
                missing[0],
                None,
                f"{' and '.join(f'{{{name}}}' for name in missing)} are missing: one of {{people}}, {{rounds}}, "
                "{eps} and {error} may be left out, and the plan solves for it",
            )
        if self.rounds is not None and self.pooled > self.rounds:
            raise GoalError(
                "pooled", self.pooled, f"{{pooled}} must be at most {{rounds}}, {self.rounds}, got {self.pooled}"
            )
        if self.looks is not None and (problem := self._problem_of_looks(self.looks)):
            raise problem

    def _check_question(self) -> None:
        given = [f"{{{name}}}" for name in _QUESTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            known = ", ".join(f"{{{name}}}" for name in _QUESTIONS)
            raise GoalError("encoding", None, f"give one of {known}; got {' and '.join(given) or 'none'}")
        if isinstance(self.encoding, Path):
            raise GoalKindError(
                "encoding",
                None,
                "{encoding} must be that of one answer: give {looks} for the number of rounds of a report",
            )
        if not isinstance(self.encoding, Encoding | None):
            kind = type(self.encoding).__name__
            raise GoalKindError("encoding", None, f"{{encoding}} must be an Encoding, not {kind}")

    def _check_want(self) -> None:
        if self.want == "frequencies":
            return
        problem = ""
        if self.discovered is not None:
            problem = f"must be frequencies if strings are discovered, got {self.want}"
        elif self.asked is not None:
            problem = f"must be frequencies if there are several answers at once, got {self.want}"
        elif self.encoding is not None:
            edges = self.encoding.numbers()
            steps = np.diff(edges.lower)
            if self.want == "mean" and not (np.isfinite(edges.lower).all() and np.allclose(steps, steps[0])):
                problem = "must not be mean: the answers must stand for numbers at equal distances, within a range"
        if problem:
            raise GoalError("want", self.want, f"{{want}} {problem}")

    def _problem_of_looks(self, looks: int) -> GoalError | None:
        """Why a report cannot be about this many rounds; None if it can."""
        if looks == 1:
            return None
        if self.want != "frequencies" or not self._has_single_answers():
            rule = "{looks} must be 1: only the shares of one answer out of a list are told by longer reports"
        elif self.width * looks > LARGEST_WIDTH:
            most = LARGEST_WIDTH // self.width
            rule = f"{{looks}} must be at most {most} for this many answers, got {looks}"
        elif (self.rounds or looks) % looks:
            rule = f"{{rounds}} must be a multiple of {{looks}}, {looks}, got {self.rounds}"
            return GoalError("rounds", self.rounds, rule)
        elif self.pooled > 1 and self.pooled % looks:
            rule = f"{{pooled}} must be 1 or a multiple of {{looks}}, {looks}, got {self.pooled}"
            return GoalError("pooled", self.pooled, rule)
        else:
            return None
        return GoalError("looks", looks, rule)

    def _has_single_answers(self) -> bool:
        """Whether people give one answer out of a known list."""
        if self.encoding is None:
            return self.strings is None
        several = isinstance(self.encoding, DiscoveredStrings | HashedStrings) or self.asked is not None
        return not several and self.encoding.values > 1

    def with_looks(self) -> "tuple[Goals, ...]":
        """The goals with each number of looks that is possible, 1 first; or with the one that is given."""
        if self.looks is not None:
            return (self,)
        possible = (looks for looks in range(1, LARGEST_WIDTH + 1) if not self._problem_of_looks(looks))
        return tuple(self.replace(looks=looks) for looks in possible)

    def replace(self, **changes: Any) -> "Goals":
        """The same goals with other demands."""
        return dataclasses.replace(self, **changes)

    @property
    def unknown(self) -> Unknown | None:
        """The demand that the plan solves for, if any."""
        return next((name for name in UNKNOWNS if getattr(self, name) is None), None)

    @property
    def turns(self) -> Turns:
        """When people answer. While the number of rounds is not known, it is that of the pooled ones.

        With several looks, a turn is a stretch of this many rounds.
        """
        rounds = max(1, (self.rounds or self.pooled) // (self.looks or 1))
        return Turns(rounds=rounds, share=self.share, wipes=self.wipes)  # type: ignore[arg-type]

    @property
    def eps_report(self) -> float:
        """The eps of one report: with w wipes, all w+1 reports together have the goals' eps."""
        eps = math.inf if self.eps is None else self.eps
        # Rounded down, so that w+1 times the loss of a report is not above eps in floating point.
        return eps if not self.wipes else eps / (self.wipes + 1) * (1 - 1e-12)

    @property
    def size(self) -> int:
        """How many values there are, or how many buckets a prefix is hashed into."""
        if self.discovered is not None:
            return 1 << self.discovered.bucket_bits
        if self.encoding is not None:
            return max(2, self.encoding.values)
        return self.values or 1 << (self.bits or 0)

    @property
    def width(self) -> int:
        """Bits of an encoded value, d."""
        return (self.size - 1).bit_length()

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

    def typical_share(self, answers: int) -> float:
        """The share of people for which the error of one of this many answers is stated."""
        if self.want != "frequencies":
            return _HALF
        return self.typical or (_HALF if answers == 2 else _RARE)


def rounded_up(number: float, digits: int = 4, *, forgiven: float = 0.0) -> float:
    """The number rounded up to this many significant digits. The share `forgiven` makes up for floating point."""
    if number <= 0:
        return number
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(number)))
    return math.ceil(number * scale * (1 - forgiven)) / scale


def counted(number: float) -> str:
    """A count in words, rounded up: 4.1 million."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{shown_up(number / size):.3g} {word}" if number < 999 * size else f"{number:.2e}"
    return f"{math.ceil(number):,}"


def shown_up(number: float) -> float:
    """A number rounded up for people. One with few digits stays what it is but for floating point."""
    return rounded_up(number, 3, forgiven=1e-12)
