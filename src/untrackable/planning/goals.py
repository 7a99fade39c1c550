"""What a person who plans a campaign knows: people, question, rounds, privacy and accuracy."""

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from untrackable import checks
from untrackable.checks import Chance
from untrackable.encodings.asked_tables import AskedTables
from untrackable.encodings.discovered_strings import MOST_LEVELS, DiscoveredStrings
from untrackable.encodings.encoding import LARGEST_BITS, Encoding
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.encodings.path import Path
from untrackable.encodings.salt import SHORTEST_SALT
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.wanted_figure import WANTS, Want
from untrackable.theory.crowd_counts import MARGIN, checked_margin
from untrackable.theory.turns import Turns

LARGEST_PEOPLE = 10**15
LARGEST_EPS = 64.0
LARGE_EPS = 4.0
"""The largest eps that a plan chooses itself, unless the goals allow more: beyond, little is hidden."""
USABLE_ERROR = 0.1
"""The largest error that is of any use, where the goals do not ask for another one."""
MOST_WIPES = 100
"""The largest number of wipes, as in campaigns."""
_SMALLEST_CROWD_DELTA = 1e-12
_STEP = 2
"""Bytes by which each prefix is longer than the one before."""
LONGEST_STRING = _STEP * (MOST_LEVELS - 1)

Unknown = Literal["people", "rounds", "eps", "error"]
UNKNOWNS: tuple[Unknown, ...] = ("people", "rounds", "eps", "error")
_QUESTIONS = ("encoding", "values", "bits", "strings")
_HALF, _RARE = 0.5, 0.05
"""The share of people for whom errors are stated: of yes/no answers, and of one of many answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """The demands on a plan. One of `people`, `rounds`, `eps` and `error` may be left out: the plan solves for it.

    Each of `people` answers once, in one of `rounds` rounds. The question is one of `encoding`, `values` (how many
    there are), `bits` (their width) and `strings` (to be discovered, of at most so many bytes).

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
    largest_eps: float = LARGE_EPS
    error: float | None = None
    beta: float = 0.05
    simultaneous: bool = True
    typical: float | None = None
    pooled: int = 1
    looks: int | None = None
    want: Want = "frequencies"
    share: Chance = Fraction(1)
    wipes: int = 0
    relay: bool = False
    crowd_delta: float = 1e-6
    margin: Chance = MARGIN

    def __post_init__(self) -> None:
        self._settle_question()
        self._settle_want()
        optional: dict[str, Any] = {
            "people": lambda v: checks.integer("people", v, low=1, high=LARGEST_PEOPLE),
            "rounds": checks.rounds,
            "eps": lambda v: _within("eps", checks.epsilon("eps", v), LARGEST_EPS),
            "error": lambda v: checks.open_probability("error", v),
            "typical": lambda v: checks.open_probability("typical", v),
        }
        for name, check in optional.items():
            if getattr(self, name) is not None:
                checks.settle(self, **{name: check(getattr(self, name))})
        checks.settle(
            self,
            largest_eps=_within("largest_eps", checks.epsilon("largest_eps", self.largest_eps), LARGEST_EPS),
            beta=checks.open_probability("beta", self.beta),
            pooled=checks.integer("pooled", self.pooled, low=1, high=checks.MOST_ROUNDS),
            share=checks.chance("share", self.share),
            wipes=checks.integer("wipes", self.wipes, low=0, high=MOST_WIPES),
            crowd_delta=checks.open_probability("crowd_delta", self.crowd_delta),
            margin=checked_margin(self.margin),
        )
        if not self.share:
            raise ValueError("share must be above 0: nobody would answer")
        if self.crowd_delta < _SMALLEST_CROWD_DELTA:
            raise ValueError(f"crowd_delta must be at least {_SMALLEST_CROWD_DELTA}, got {self.crowd_delta}")
        for name in ("simultaneous", "relay"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, not {type(getattr(self, name)).__name__}")
        missing = [name for name in UNKNOWNS if getattr(self, name) is None]
        if len(missing) > 1:
            raise ValueError(
                f"{' and '.join(missing)} are missing: one of people, rounds, eps and error may be left out, and "
                "the plan solves for it"
            )
        if self.rounds is not None and self.pooled > self.rounds:
            raise ValueError(f"pooled must be at most rounds, {self.rounds}, got {self.pooled}")
        if self.looks is not None:
            checks.settle(self, looks=checks.integer("looks", self.looks, low=1, high=checks.MOST_ROUNDS))
            if problem := self._problem_of_looks(self.looks):
                raise ValueError(problem)

    def _settle_question(self) -> None:
        given = [name for name in _QUESTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of {', '.join(_QUESTIONS)}; got {' and '.join(given) or 'none'}")
        if self.encoding is not None and not isinstance(self.encoding, Encoding):
            raise TypeError(f"encoding must be an Encoding, not {type(self.encoding).__name__}")
        if isinstance(self.encoding, Path):
            raise TypeError("encoding must be that of one answer: give looks for the number of rounds of a report")
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

    def _problem_of_looks(self, looks: int) -> str:
        """Why a report cannot be about so many rounds; nothing if it can."""
        if looks == 1:
            return ""
        if self.want != "frequencies" or not self._has_single_answers():
            return "looks must be 1: only the shares of one answer out of a list are told by longer reports"
        if self.width * looks > LARGEST_WIDTH:
            most = LARGEST_WIDTH // self.width
            return f"looks must be at most {most} for so many answers, got {looks}"
        if (self.rounds or looks) % looks:
            return f"rounds must be a multiple of looks, {looks}, got {self.rounds}"
        if self.pooled > 1 and self.pooled % looks:
            return f"pooled must be 1 or a multiple of looks, {looks}, got {self.pooled}"
        return ""

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

    def with_values(self, values: int) -> "Goals":
        """The same goals for a question with this many answers."""
        return self.replace(encoding=None, bits=None, strings=None, values=values)

    @property
    def unknown(self) -> Unknown | None:
        """The demand that the plan solves for, if any."""
        return next((name for name in UNKNOWNS if getattr(self, name) is None), None)

    @property
    def turns(self) -> Turns:
        """When people answer. While the number of rounds is not known, it is that of the pooled ones.

        With several looks, a turn is a stretch of so many rounds.
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
        """The share of people for which the error of one of so many answers is stated."""
        if self.want != "frequencies":
            return _HALF
        return self.typical or (_HALF if answers == 2 else _RARE)


def _within(name: str, number: float, high: float) -> float:
    if number > high:
        raise ValueError(f"{name} must be at most {high:g}, got {number}: more would hide nothing")
    return number
