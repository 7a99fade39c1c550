"""What a telemetry engineer knows: people, question, rounds, privacy, tolerable tracking, accuracy."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

from untrackable import checks
from untrackable.brackets import Bracket
from untrackable.encodings.discovered_strings import MOST_LEVELS, DiscoveredStrings
from untrackable.encodings.encoding import LARGEST_BITS, Encoding
from untrackable.encodings.salt import SHORTEST_SALT
from untrackable.mechanisms.interface import Pair, Values

FOREVER: Literal["forever"] = "forever"
"""No horizon: rounds without a last one."""

LARGEST_ROUNDS = 10**6
LARGEST_PEOPLE = 10**15
LARGEST_EPS = 64.0
SMALLEST_DELTA = 1e-11
"""What the engine resolves everywhere."""

_STEP = 2
"""Bytes from one prefix to the next, all of which are tried."""
LONGEST_STRING = _STEP * (MOST_LEVELS - 1)

Unknown = Literal["people", "rounds", "eps", "error"]
UNKNOWNS: tuple[Unknown, ...] = ("people", "rounds", "eps", "error")
_QUESTIONS = ("encoding", "values", "bits", "strings")
_TOLERANCES = ("advantage", "matched", "untrackable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """The demands on a plan. One of `people`, `rounds`, `eps` and `error` may be left out: it is solved for.

    The question is one of `encoding`, `values` (how many there are), `bits` (their width) and `strings`, to be
    discovered, of at most so many bytes. `rounds` may be "forever". What is tolerable in tracking is one of
    `advantage` (the largest edge of an observer over guessing), `matched` (the largest probability of being picked
    out of a `crowd`) and `untrackable` (gamma, delta), for an observer who holds `reports` reports, all of them
    unless given. `error` is the largest difference of a published frequency from the truth, for one value, or with
    `simultaneous` for all values at once, except with probability `beta`; of strings to be discovered, the
    frequency from which on they are found; left out, it is as small as possible. With `changes`, privacy is for any
    sequence of values. `pooled` is how many rounds are pooled for one published figure.
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
    reports: int | None = None
    error: float | None = None
    beta: float = 0.05
    simultaneous: bool = True
    changes: bool = False
    pooled: int = 1

    def __post_init__(self) -> None:
        self._settle_question()
        self._settle_tolerance()
        optional: dict[str, Any] = {
            "people": lambda v: checks.integer("people", v, low=1, high=LARGEST_PEOPLE),
            "eps": lambda v: _within("eps", checks.epsilon("eps", v), LARGEST_EPS),
            "error": lambda v: checks.open_probability("error", v),
            "reports": lambda v: checks.integer("reports", v, low=1),
        }
        for name, check in optional.items():
            if getattr(self, name) is not None:
                checks.settle(self, **{name: check(getattr(self, name))})
        if isinstance(self.rounds, str):
            checks.choice("rounds", self.rounds, (FOREVER,))
        elif self.rounds is not None:
            checks.settle(self, rounds=checks.integer("rounds", self.rounds, low=1, high=LARGEST_ROUNDS))
        checks.settle(
            self,
            delta=checks.open_probability("delta", self.delta),
            beta=checks.open_probability("beta", self.beta),
            pooled=checks.integer("pooled", self.pooled, low=1, high=LARGEST_ROUNDS),
        )
        if self.delta < SMALLEST_DELTA:
            raise ValueError(f"delta must be at least {SMALLEST_DELTA}, which is resolved, got {self.delta}")
        for name in ("simultaneous", "changes"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, not {type(getattr(self, name)).__name__}")
        missing = [name for name in UNKNOWNS if getattr(self, name) is None]
        if len(missing) > 1:
            raise ValueError(
                f"{' and '.join(missing)} are missing: one of people, rounds, eps and error may be left out, "
                "and is solved for"
            )
        if isinstance(self.rounds, int):
            if self.pooled > self.rounds:
                raise ValueError(f"pooled must be at most rounds, {self.rounds}, got {self.pooled}")
            if self.reports is not None and self.reports > self.rounds:
                raise ValueError(f"reports must be at most rounds, {self.rounds}, got {self.reports}")

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

    def _settle_tolerance(self) -> None:
        given = [name for name in _TOLERANCES if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} contradict each other: give one of {', '.join(_TOLERANCES)}")
        if not given:
            checks.settle(self, advantage=0.01)
        checks.settle(self, crowd=checks.integer("crowd", self.crowd, low=2))
        if self.advantage is not None:
            checks.settle(self, advantage=checks.probability("advantage", self.advantage))
        if self.matched is not None:
            matched = checks.probability("matched", self.matched)
            if matched < 1 / self.crowd:
                raise ValueError(
                    f"matched must be at least 1/crowd, {1 / self.crowd:g}, which guessing reaches, got {matched}"
                )
            checks.settle(self, matched=matched)
        if self.untrackable is not None:
            if not isinstance(self.untrackable, tuple) or len(self.untrackable) != 2:
                raise TypeError("untrackable must be a pair (gamma, delta)")
            gamma, delta = self.untrackable
            gamma = checks.non_negative("gamma of untrackable", gamma)
            checks.settle(self, untrackable=(gamma, checks.probability("delta of untrackable", delta)))

    def replace(self, **changes: Any) -> "Goals":
        """The same with other demands."""
        return dataclasses.replace(self, **changes)

    @property
    def unknown(self) -> Unknown | None:
        """What is to be solved for, if anything."""
        return next((name for name in UNKNOWNS if getattr(self, name) is None), None)

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
        """How strings that are to be discovered are hashed, prefix by prefix; the salt is still to be drawn."""
        if isinstance(self.encoding, DiscoveredStrings):
            return self.encoding
        if self.strings is None:
            return None
        prefixes = [*range(_STEP, self.strings, _STEP), self.strings, self.strings]  # the whole string twice
        return DiscoveredStrings(
            longest=self.strings, prefixes=prefixes, salt=bytes(SHORTEST_SALT), too_long="truncate"
        )

    @property
    def levels(self) -> int:
        """Among how many prefixes the reports are divided."""
        return 1 if self.discovered is None else self.discovered.levels

    @property
    def width(self) -> int:
        """Bits of an encoded value, d."""
        return (self.size - 1).bit_length()

    @property
    def secret(self) -> Values:
        """Which meaning of everlasting privacy is asked for."""
        return "any" if self.changes else "fixed"

    @property
    def observed(self) -> int | None:
        """Reports that an observer may hold; None if there is no limit."""
        if self.reports is not None:
            return self.reports
        return self.rounds if isinstance(self.rounds, int) else None

    @property
    def figure(self) -> range:
        """The rounds of the published figure that is promised: the last one, or with no horizon the first."""
        if isinstance(self.rounds, int):
            return range(self.rounds - self.pooled + 1, self.rounds + 1)
        return range(1, self.pooled + 1)

    @property
    def edge(self) -> float:
        """An advantage that is tolerable for certain."""
        if self.advantage is not None:
            return self.advantage
        if self.matched is not None:
            return max(0.0, self.matched - 1 / self.crowd)
        return self.untrackable[1] if self.untrackable else 0.0

    @property
    def ratio(self) -> float:
        """A largest log-likelihood ratio that is tolerable for certain."""
        if self.advantage is not None:
            return 2 * math.atanh(min(self.advantage, 1 - 1e-16))
        if self.matched is not None:
            return math.log(self.matched * self.crowd)
        return self.untrackable[0] if self.untrackable else 0.0

    def tracked(self, pair: Pair) -> Bracket:
        """How well an observer can follow, as the goal measures it."""
        return measured(pair, *self.question)

    @property
    def question(self) -> tuple[int | None, float]:
        """What the engine is asked for that: the crowd to be picked out of, or else gamma."""
        return None if self.matched is None else self.crowd, self.untrackable[0] if self.untrackable else 0.0

    def bounded(self, edge: float) -> float:
        """What the same measure is at most, if the advantage is at most `edge`."""
        return min(1.0, edge + (1 / self.crowd if self.matched is not None else 0.0))

    @property
    def limit(self) -> float:
        """How well an observer may follow, as the goal measures it."""
        return self.edge if self.matched is None else self.matched

    @property
    def measure(self) -> str:
        """The goal's word for how well people can be followed."""
        if self.matched is not None:
            return f"matched among {self.crowd:,}"
        return "advantage" if self.untrackable is None else f"delta at gamma = {self.untrackable[0]:g}"


def measured(pair: Pair, crowd: int | None, gamma: float) -> Bracket:
    """The probability of being picked out of a crowd, or delta at gamma, which at 0 is the advantage."""
    return pair.delta(gamma) if crowd is None else pair.power(1 / crowd)


def _within(name: str, number: float, high: float) -> float:
    if number > high:
        raise ValueError(f"{name} must be at most {high:g}, beyond which nothing is hidden, got {number}")
    return number
