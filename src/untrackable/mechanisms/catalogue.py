"""The mechanisms that people deploy or that the paper discusses, by name: how to make each, and at what privacy."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from untrackable import checks
from untrackable.mechanisms.inner_product.budget import largest_eps_report
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.kept.dbitflip import DBitFlip
from untrackable.mechanisms.kept.kept_symbol import Step
from untrackable.mechanisms.kept.lgrr import Lgrr
from untrackable.mechanisms.kept.loloha import Loloha
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.mechanisms.kept.unary import Unary
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.sketches import CountMeanSketch, HadamardSketch
from untrackable.mechanisms.others.assigned import Assigned
from untrackable.mechanisms.others.fixed_vector import FixedVector
from untrackable.mechanisms.others.one_change import OneChange
from untrackable.mechanisms.others.votes import Votes
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.mechanisms.wrappers.stored import Memoized


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The same demands on every mechanism: a question with so many answers, private for ever, asked so often."""

    values: int = 16
    eps: float = 2.0
    delta: float = 1e-6
    reports: int = 20
    people: int = 100_000

    def __post_init__(self) -> None:
        checks.settle(
            self,
            values=checks.integer("values", self.values, low=2, high=4096),
            eps=checks.epsilon("eps", self.eps),
            delta=checks.open_probability("delta", self.delta),
            reports=checks.integer("reports", self.reports, low=2),
            people=checks.integer("people", self.people, low=1),
        )

    @property
    def bits(self) -> int:
        """Width of an encoded value."""
        return (self.values - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Entry:
    """One mechanism: how to make it from parameters, its published ones, and the one that meets a goal.

    `at` raises ValueError, saying why, where no parameters do. `lasts` is False where privacy holds for the goal's
    reports only; `yes_no` says that there are two values; `cost` how an audit's time and memory grow with the
    number of reports k.
    """

    name: str
    make: Callable[..., Mechanism]
    at: Callable[[Budget], Mechanism]
    cost: str
    presets: Mapping[str, Callable[[], Mechanism]] = field(default_factory=dict)
    lasts: bool = True
    yes_no: bool = False

    def meeting(self, goal: Budget) -> Mechanism:
        """The mechanism that meets a goal."""
        if self.yes_no and goal.values != 2:
            raise ValueError(f"it answers yes/no questions only, not one with {goal.values} answers")
        return self.at(goal)

    def parameters(self) -> dict[str, inspect.Parameter]:
        """What `make` takes."""
        return dict(inspect.signature(self.make).parameters)


def _rappor(goal: Budget) -> Rappor:
    """128 bits and two hashes as published, with the f that has the goal's eps = 2h·ln((1-f/2)/(f/2))."""
    return Rappor(bloom_bits=128, hashes=2, f=2 / (1 + math.exp(goal.eps / 4)), p=0.5, q=0.75, cohorts=8)


def _presets(
    owner: Any, keep: Callable[[Any], Mechanism] = lambda made: made
) -> dict[str, Callable[[], Mechanism]]:
    """The published parameters of a mechanism, or of what one is built on."""

    def maker(name: str) -> Callable[[], Mechanism]:
        return lambda: keep(owner.preset(name))

    return {name: maker(name) for name in owner.presets}


def _unary(name: Any) -> Entry:
    def make(*, values: int, eps: float, eps_report: float) -> Unary:
        return Unary.for_budget(name, values=values, eps=eps, eps_report=eps_report)

    return Entry(
        name.lower(),
        make,
        lambda goal: make(values=goal.values, eps=goal.eps, eps_report=goal.eps / 4),
        "time k² to k³, memory k²; the number of values costs nothing",
    )


def _loloha(name: Any) -> Entry:
    def make(
        *, values: int, eps: float, eps_report: float, step: Step = "published", seed_bits: int = 32
    ) -> Loloha:
        return Loloha.for_budget(
            name, values=values, eps=eps, eps_report=eps_report, step=step, seed_bits=seed_bits
        )

    return Entry(
        name.lower(),
        make,
        lambda goal: make(values=goal.values, eps=goal.eps, eps_report=goal.eps / 4, step="exact"),
        "exact up to 2 million outcomes (k = 20 for many symbols, 285 for two), beyond that a bound in seconds",
        {name: _presets(Loloha)[name]},
    )


def _lgrr(*, values: int, eps: float, eps_report: float, step: Step = "published") -> Lgrr:
    return Lgrr.for_budget(values=values, eps=eps, eps_report=eps_report, step=step)


def _rnip(*, bits: int, slots: int, eps_report: float, width: int = 1) -> InnerProduct:
    """As in the paper, one bit at a time, unless asked for more."""
    return InnerProduct(bits=bits, slots=slots, eps_report=eps_report, width=width)


def _memoized(*, bits: int, eps: float, width: int = 1) -> Memoized:
    return Memoized(NoisyInnerProduct(bits=bits, eps=eps, width=width))


def _fresh(*, bits: int, eps: float, width: int = 1) -> Fresh:
    return Fresh(NoisyInnerProduct(bits=bits, eps=eps, width=width))


def _sketch(base: type[CountMeanSketch] | type[HadamardSketch], keep: type[Memoized] | type[Fresh]) -> Any:
    def make(*, hashes: int, width: int, eps: float) -> Mechanism:
        return keep(base(hashes=hashes, width=width, eps=eps))

    return make


def _fresh_sketch(base: type[CountMeanSketch] | type[HadamardSketch]) -> Callable[[Budget], Fresh]:
    """The largest eps of one report when all of them together may spend the budget, rounded down."""

    def at(goal: Budget) -> Fresh:
        def made(eps: float) -> Fresh:
            return Fresh(base(hashes=1024, width=1024, eps=eps))

        def spent(eps: float) -> float:
            return made(eps).privacy(reports=goal.reports).delta(goal.eps).upper

        low, high = goal.eps / goal.reports, goal.eps
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if spent(middle) <= goal.delta else (low, middle)
        return made(low)

    return at


def _fresh_at(goal: Budget) -> Fresh:
    eps = largest_eps_report(bits=goal.bits, slots=goal.reports, eps=goal.eps, delta=goal.delta, accounting="exact")
    return _fresh(bits=goal.bits, eps=eps)


def _votes(goal: Budget) -> Votes:
    """Two updates, each answered, and the published proportions, with what a fixed value may spend."""
    updates = (1, goal.reports // 2 + 1)
    published = Votes.for_budget(eps=goal.eps, changes=2, updates=updates)
    scale = goal.eps / published.privacy().pure() * (1 - 1e-12)
    return Votes.for_budget(eps=goal.eps * scale, changes=2, updates=updates)


def _leaks(goal: Budget) -> Mechanism:
    raise ValueError("fresh noise on a fixed vector tells one bit of the value in the end: no eps holds for ever")


def _slots(goal: Budget) -> int:
    """Enough for an advantage of a few percent."""
    return 4 * goal.reports**2


_ONCE = "time k, beyond 2,048 reports k³ for detection; the number of values costs nothing"
_AFRESH = "tracking constant, detection time k²; the number of values costs nothing"

CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "rappor",
            Rappor,
            _rappor,
            "time k² to k³, a few MB for each report; detection as much for every overlap, of about hashes³",
            _presets(Rappor),
        ),
        *map(_unary, ("L-SUE", "L-OSUE", "L-OUE", "L-SOUE")),
        Entry(
            "l-grr",
            _lgrr,
            lambda g: _lgrr(values=g.values, eps=g.eps, eps_report=g.eps / 4, step="exact"),
            "exact up to 2 million outcomes (k = 20 for many values), beyond that a bound in seconds",
            _presets(Lgrr),
        ),
        *map(_loloha, ("BiLOLOHA", "OLOLOHA")),
        Entry(
            "dbitflip",
            DBitFlip,
            lambda g: DBitFlip(buckets=g.values, sampled=min(4, g.values), eps=g.eps),
            "time k² to k³, memory k²; without output noise time k",
            _presets(DBitFlip),
        ),
        Entry(
            "cms",
            _sketch(CountMeanSketch, Memoized),
            lambda g: Memoized(CountMeanSketch(hashes=1024, width=1024, eps=g.eps)),
            _ONCE,
            _presets(CountMeanSketch, Memoized),
        ),
        Entry(
            "cms-fresh",
            _sketch(CountMeanSketch, Fresh),
            _fresh_sketch(CountMeanSketch),
            _AFRESH,
            _presets(CountMeanSketch, Fresh),
            lasts=False,
        ),
        Entry(
            "hcms",
            _sketch(HadamardSketch, Memoized),
            lambda g: Memoized(HadamardSketch(hashes=1024, width=1024, eps=g.eps)),
            _ONCE,
            _presets(HadamardSketch, Memoized),
        ),
        Entry(
            "hcms-fresh",
            _sketch(HadamardSketch, Fresh),
            _fresh_sketch(HadamardSketch),
            _AFRESH,
            _presets(HadamardSketch, Fresh),
            lasts=False,
        ),
        Entry(
            "fixed-vector",
            FixedVector,
            lambda g: FixedVector(bits=g.bits, eps=g.eps),
            "time k, memory constant",
        ),
        Entry(
            "fixed-vector-fresh",
            lambda *, bits, eps: FixedVector(bits=bits, eps=eps, noise="fresh"),
            _leaks,
            "time k to k², memory k",
        ),
        Entry(
            "assigned",
            Assigned,
            lambda g: Assigned(bits=g.bits, eps=g.eps, people=g.people),
            "time k, memory constant",
        ),
        Entry(
            "one-change",
            OneChange,
            lambda g: OneChange(rounds=1 << (g.reports - 1).bit_length(), changes=1, eps=g.eps),
            "next to nothing for any k",
            yes_no=True,
        ),
        Entry(
            "votes",
            Votes,
            _votes,
            "tracking constant; privacy and detection grow with the number of updates",
            yes_no=True,
        ),
        Entry(
            "bitwise",
            Bitwise,
            lambda g: Bitwise(eps_state=g.eps, eps_report=g.eps),
            "time k² to k³, memory k²",
            yes_no=True,
        ),
        Entry(
            "rnip",
            _rnip,
            lambda g: InnerProduct.for_budget(bits=g.bits, slots=_slots(g), eps=g.eps, delta=g.delta, width=1),
            "tracking time k² to k³, detection k³ and memory k²; the number of values costs nothing",
        ),
        Entry(
            "deck",
            Deck,
            lambda g: Deck.for_budget(bits=g.bits, slots=g.reports, eps=g.eps, delta=g.delta),
            "constant",
        ),
        Entry(
            "fading",
            Fading,
            lambda g: Fading(bits=g.bits, eps=g.eps, delta=g.delta),
            "tracking constant; privacy the same for every k; detection time k",
        ),
        Entry("memoized", _memoized, lambda g: _memoized(bits=g.bits, eps=g.eps), _ONCE),
        Entry("fresh", _fresh, _fresh_at, _AFRESH, lasts=False),
    )
}
