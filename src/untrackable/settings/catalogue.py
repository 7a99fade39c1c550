"""All mechanisms by name, deployed ones and the paper's: how to make each, and how to set it for a privacy budget.

It is the one catalogue of audits, plans, comparisons and `--mechanism`. Most entries are for clients that report in
every round. The others are local mechanisms, which plans propose for people who report once, in their turn.
"""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from untrackable import checks
from untrackable.mechanisms.budget import largest_eps, with_eps
from untrackable.mechanisms.changing_bit import OneChange, Votes
from untrackable.mechanisms.dbitflip import DBitFlip
from untrackable.mechanisms.deck import Dealt, Deck
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.fading import Fading
from untrackable.mechanisms.fixed_vector import Assigned, FixedVector
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept_bits import Bitwise, Unary
from untrackable.mechanisms.kept_symbol import Lgrr
from untrackable.mechanisms.local import Fresh, OneBitMean, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.loloha import Loloha
from untrackable.mechanisms.rappor import Rappor
from untrackable.mechanisms.rarely import NOT_PLANNED, Rarely
from untrackable.mechanisms.sketches import CountMeanSketch, HadamardSketch
from untrackable.mechanisms.stored import InnerProduct, Memoized, Stored
from untrackable.mechanisms.views import Views
from untrackable.settings.demands import Budget, Unsuitable

_MOST_VALUES = 4096
_SLOTS = 4
"""RNIP has this many times k² slots: that keeps the advantage of an observer of k reports to a few percent."""

Sent = Literal["fresh", "memoized", "dealt", "stored"]
"""How clients send reports of a local mechanism: a new one in every round, one for ever, or prepared ones."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One mechanism: `make` takes its parameters, `presets` are published ones, and `set_for` takes a budget.

    `cost` says how an audit's time and memory grow with the number of reports k. Call `for_budget` rather than
    `set_for`, which raises `Unsuitable` or `ValueError` with the reason if no parameters meet the budget.
    """

    name: str
    make: Callable[..., Mechanism]
    set_for: Callable[[Budget], Mechanism]
    cost: str
    presets: Mapping[str, Callable[[], Mechanism]] = field(default_factory=dict)
    lasts: bool = True
    """Whether privacy holds for ever, and not only for the budget's reports."""
    yes_no: bool = False
    """Whether only yes/no questions fit."""
    most_values: int | None = _MOST_VALUES
    """The largest number of values that the mechanism is set for; None if any number will do."""
    seconds_per_report: float = 0.0005
    """About how long a comparison takes for each report, on one core."""
    every_round: bool = True
    """Whether it is compared with others where everybody answers in every round."""

    def for_budget(self, budget: Budget) -> Mechanism:
        """The mechanism that spends this budget. `Unsuitable` says why there is none."""
        if self.yes_no and budget.values > 2:
            raise Unsuitable("values", "It takes yes/no questions only.")
        if self.most_values is not None and budget.values > self.most_values:
            raise Unsuitable(
                "values", f"It takes at most {self.most_values:,} answers, and this question has {budget.values:,}."
            )
        try:
            return self.set_for(budget)
        except ValueError as error:
            why = str(error)
            raise Unsuitable("values", f"{why[:1].upper()}{why[1:]}.") from None

    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters that `make` takes."""
        return dict(inspect.signature(self.make).parameters)


def _deck(budget: Budget) -> Deck:
    """A deck with one card for each round. All cards together spend the budget."""
    slots = budget.last_round("A deck holds one card for each round, so it needs a last round.")
    return Deck.for_budget(bits=budget.bits, slots=slots, eps=budget.eps, delta=budget.delta)


def _rnip_for(budget: Budget) -> InnerProduct:
    """Stored reports that together spend the budget, with answers of one bit as published."""
    slots = _SLOTS * budget.last_round("The number of its slots follows from the number of rounds.") ** 2
    return InnerProduct.for_budget(bits=budget.bits, slots=slots, eps=budget.eps, delta=budget.delta, width=1)


def _rappor(budget: Budget) -> Rappor:
    """128 bits and two hashes as published, with the f that has the budget's eps = 2h·ln((1-f/2)/(f/2))."""
    return Rappor(bloom_bits=128, hashes=2, f=2 / (1 + math.exp(budget.eps / 4)), p=0.5, q=0.75, cohorts=8)


def _presets(
    owner: Any, wrap: Callable[[Any], Mechanism] = lambda mechanism: mechanism
) -> dict[str, Callable[[], Mechanism]]:
    """The published parameters of a mechanism; `wrap` makes a mechanism of a local one."""

    def maker(name: str) -> Callable[[], Mechanism]:
        return lambda: wrap(owner.preset(name))

    return {name: maker(name) for name in owner.presets}


def _unary(name: Any) -> Entry:
    """The first step spends the budget, and one report has a quarter of its eps."""
    make = partial(Unary.for_budget, name)
    return Entry(
        name.lower(),
        make,
        lambda budget: make(values=budget.values, eps=budget.eps, eps_report=budget.eps / 4),
        "time k² to k³, memory k²; the number of values costs nothing",
        seconds_per_report=0.02,
    )


def _loloha(name: Any) -> Entry:
    make = partial(Loloha.for_budget, name)
    return Entry(
        name.lower(),
        make,
        lambda budget: make(values=budget.values, eps=budget.eps, eps_report=budget.eps / 4, step="exact"),
        "exact up to 2 million outcomes (k = 20 for many symbols, 285 for two), beyond that a bound in seconds",
        {name: _presets(Loloha)[name]},
        seconds_per_report=0.005,
    )


def _rnip(*, bits: int, slots: int, eps_report: float, width: int = 1) -> InnerProduct:
    """RNIP with answers of one bit, as in the paper, unless another width is given."""
    return InnerProduct(bits=bits, slots=slots, eps_report=eps_report, width=width)


def _inner_product(wrap: type[Memoized] | type[Fresh]) -> Callable[..., Mechanism]:
    def make(*, bits: int, eps: float, width: int = 1) -> Mechanism:
        return wrap(NoisyInnerProduct(bits=bits, eps=eps, width=width))

    return make


def _fresh_for(plain: Callable[[Budget], Any]) -> Callable[[Budget], Fresh]:
    """Set fresh reports for a budget: the loudest ones of this local mechanism that all together stay within it."""

    def set_for(budget: Budget) -> Fresh:
        reports, base = budget.last_round("Every report spends privacy, so it needs a last round."), plain(budget)
        return Fresh(with_eps(base, largest_eps(base, reports, budget.eps, budget.delta)))

    return set_for


def _sketches(name: str, base: type[CountMeanSketch] | type[HadamardSketch]) -> tuple[Entry, Entry]:
    """A sketch that is drawn once for ever, and one that is fresh in every round."""

    def sent(wrap: type[Memoized] | type[Fresh]) -> Callable[..., Mechanism]:
        def make(*, hashes: int, width: int, eps: float) -> Mechanism:
            return wrap(base(hashes=hashes, width=width, eps=eps))

        return make

    def plain(eps: float) -> CountMeanSketch | HadamardSketch:
        return base(hashes=1024, width=1024, eps=eps)

    fresh = _fresh_for(lambda b: plain(1.0))
    return (
        Entry(name, sent(Memoized), lambda b: Memoized(plain(b.eps)), _ONCE, _presets(base, Memoized)),
        Entry(f"{name}-fresh", sent(Fresh), fresh, _AFRESH, _presets(base, Fresh), lasts=False),
    )


def _local(name: str, base: Callable[..., Any], plain: Callable[[Budget], Any], *, yes_no: bool = False) -> Entry:
    """A local mechanism, which clients send in one of four ways; `plain` makes one with an eps of 1."""

    def make(*, sent: Sent = "fresh", slots: int = 1, **parameters: Any) -> Mechanism:
        made = base(**parameters)
        match checks.choice("sent", sent, ("fresh", "memoized", "dealt", "stored")):
            case "fresh":
                return Fresh(made)
            case "memoized":
                return Memoized(made)
            case "dealt":
                return Dealt(made, slots)
        return Stored(made, slots)

    own = inspect.signature(base).parameters.values()
    ways = [each for each in inspect.signature(make).parameters.values() if each.kind is not each.VAR_KEYWORD]
    make.__signature__ = inspect.Signature([*own, *ways])  # type: ignore[attr-defined]
    cost = "fresh or dealt: as `fresh` or `deck`; memoized or stored: as `memoized` or `rnip`"
    return Entry(name, make, _fresh_for(plain), cost, lasts=False, yes_no=yes_no, every_round=False)


def _halves(budget: Budget) -> Divided:
    """Two parts of the bits of a value."""
    low = max(1, budget.bits // 2)
    return Divided(sizes=(low, max(1, budget.bits - low)), eps=1.0)


def _one_change(budget: Budget) -> OneChange:
    rounds = budget.last_round("It divides all rounds into halves, quarters and so on, so it needs a last round.")
    return OneChange(rounds=1 << (max(2, rounds) - 1).bit_length(), changes=1, eps=budget.eps)


def _votes(budget: Budget) -> Votes:
    """Two updates, each answered, with the published proportions. All privacy is spent on a fixed value."""
    updates = (1, budget.last_round("Its updates are spread over all rounds, so it needs a last round.") // 2 + 1)
    published = Votes.for_budget(eps=budget.eps, changes=2, updates=updates)
    scale = budget.eps / published.privacy().pure() * (1 - 1e-12)
    return Votes.for_budget(eps=budget.eps * scale, changes=2, updates=updates)


def _only_few(budget: Budget) -> Mechanism:
    raise Unsuitable("accuracy", NOT_PLANNED)


def _leaks(budget: Budget) -> Mechanism:
    raise Unsuitable(
        "privacy",
        "Fresh noise on the answer to a fixed question reveals one bit of the value in the end, so no eps lasts.",
    )


_MEMOIZED = _inner_product(Memoized)
_ONCE = "next to nothing for any k"
_AFRESH = "tracking constant, detection time k; the number of values costs nothing"

CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("deck", Deck, _deck, "constant", most_values=None),
        Entry(
            "fading",
            Fading,
            lambda b: Fading.for_budget(bits=b.bits, eps=b.eps, delta=b.delta),
            "tracking constant; privacy the same for every k; detection time k",
            most_values=None,
            seconds_per_report=0.008,
        ),
        Entry(
            "rnip",
            _rnip,
            _rnip_for,
            "tracking time k² to k³, detection k³ and memory k²; the number of values costs nothing",
            most_values=None,
        ),
        Entry("memoized", _MEMOIZED, lambda b: _MEMOIZED(bits=b.bits, eps=b.eps), _ONCE, most_values=None),
        Entry("rarely", Rarely, _only_few, _ONCE, yes_no=True),
        Entry(
            "bitwise",
            Bitwise,
            lambda b: Bitwise(eps_state=b.eps, eps_report=b.eps),
            "time k² to k³, memory k²",
            yes_no=True,
        ),
        Entry(
            "l-grr",
            Lgrr.for_budget,
            lambda b: Lgrr.for_budget(values=b.values, eps=b.eps, eps_report=b.eps / 4, step="exact"),
            "exact up to 2 million outcomes (k = 20 for many values), beyond that a bound in seconds",
            _presets(Lgrr),
            seconds_per_report=0.003,
        ),
        *map(_unary, ("L-SUE", "L-OSUE", "L-OUE", "L-SOUE")),
        Entry(
            "rappor",
            Rappor,
            _rappor,
            "time k² to k³, a few MB for each report; detection as much for every overlap, of about hashes³",
            _presets(Rappor),
            seconds_per_report=0.03,
        ),
        *map(_loloha, ("BiLOLOHA", "OLOLOHA")),
        Entry(
            "dbitflip",
            DBitFlip,
            lambda b: DBitFlip(buckets=b.values, sampled=min(4, b.values), eps=b.eps),
            "time k² to k³, memory k²; without output noise time k",
            _presets(DBitFlip),
        ),
        *_sketches("cms", CountMeanSketch),
        *_sketches("hcms", HadamardSketch),
        Entry("fixed-vector", FixedVector, lambda b: FixedVector(bits=b.bits, eps=b.eps), _ONCE),
        Entry(
            "fixed-vector-fresh",
            lambda *, bits, eps: FixedVector(bits=bits, eps=eps, noise="fresh"),
            _leaks,
            "tracking constant; detection time and memory grow with k up to the engine's grid",
            most_values=None,
        ),
        Entry("assigned", Assigned, lambda b: Assigned(bits=b.bits, eps=b.eps, people=b.people), _ONCE),
        Entry("one-change", OneChange, _one_change, _ONCE, yes_no=True),
        Entry(
            "votes",
            Votes,
            _votes,
            "tracking constant; privacy and detection grow with the number of updates",
            yes_no=True,
        ),
        Entry(
            "fresh",
            _inner_product(Fresh),
            _fresh_for(lambda b: NoisyInnerProduct(bits=b.bits, eps=1.0, width=1)),
            _AFRESH,
            lasts=False,
        ),
        _local("randomized-response", RandomizedResponse, lambda b: RandomizedResponse(eps=1.0), yes_no=True),
        _local(
            "subset-selection",
            SubsetSelection,
            lambda b: SubsetSelection(values=b.values, eps=1.0, size=b.values // 2),
        ),
        _local("one-bit-mean", OneBitMean, lambda b: OneBitMean(values=b.values, eps=1.0)),
        _local("views", Views.prefixes, lambda b: Views.prefixes(bits=b.bits, eps=1.0)),
        _local("divided", Divided, _halves),
    )
}
"""All mechanisms by name."""

EVERY_ROUND = {name: entry for name, entry in CATALOGUE.items() if entry.every_round}
"""The mechanisms that are compared where everybody answers in every round."""
