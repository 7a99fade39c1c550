"""All mechanisms for every round by name, deployed ones and the paper's: how to make and how to set each."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from untrackable.mechanisms.catalogue_entry import Entry
from untrackable.mechanisms.demands import Budget, Unsuitable
from untrackable.mechanisms.inner_product import inner_product_settings
from untrackable.mechanisms.inner_product.budget_solver import largest_eps_report
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept import kept_settings
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
    def make(*, values: int, eps: float, eps_report: float) -> Unary:
        return Unary.for_budget(name, values=values, eps=eps, eps_report=eps_report)

    return Entry(
        name.lower(),
        make,
        partial(kept_settings.unary, name),
        "time k² to k³, memory k²; the number of values costs nothing",
        seconds_per_report=0.02,
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
        lambda budget: make(values=budget.values, eps=budget.eps, eps_report=budget.eps / 4, step="exact"),
        "exact up to 2 million outcomes (k = 20 for many symbols, 285 for two), beyond that a bound in seconds",
        {name: _presets(Loloha)[name]},
        seconds_per_report=0.005,
    )


def _lgrr(*, values: int, eps: float, eps_report: float, step: Step = "published") -> Lgrr:
    return Lgrr.for_budget(values=values, eps=eps, eps_report=eps_report, step=step)


def _rnip(*, bits: int, slots: int, eps_report: float, width: int = 1) -> InnerProduct:
    """RNIP with answers of one bit, as in the paper, unless another width is given."""
    return InnerProduct(bits=bits, slots=slots, eps_report=eps_report, width=width)


def _memoized(*, bits: int, eps: float, width: int = 1) -> Memoized:
    return Memoized(NoisyInnerProduct(bits=bits, eps=eps, width=width))


def _fresh(*, bits: int, eps: float, width: int = 1) -> Fresh:
    return Fresh(NoisyInnerProduct(bits=bits, eps=eps, width=width))


def _sketch(base: type[CountMeanSketch] | type[HadamardSketch], wrap: type[Memoized] | type[Fresh]) -> Any:
    def make(*, hashes: int, width: int, eps: float) -> Mechanism:
        return wrap(base(hashes=hashes, width=width, eps=eps))

    return make


def _fresh_sketch(base: type[CountMeanSketch] | type[HadamardSketch]) -> Callable[[Budget], Fresh]:
    """A function that finds the largest eps of one report for which all reports stay within the budget."""

    def set_for(budget: Budget) -> Fresh:
        reports = budget.last_round(_SPENT)

        def with_eps(eps: float) -> Fresh:
            return Fresh(base(hashes=1024, width=1024, eps=eps))

        def spent(eps: float) -> float:
            return with_eps(eps).privacy(reports=reports).delta(budget.eps).upper

        low, high = budget.eps / reports, budget.eps
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if spent(middle) <= budget.delta else (low, middle)
        return with_eps(low)

    return set_for


def _fresh_at(budget: Budget) -> Fresh:
    slots = budget.last_round(_SPENT)
    eps = largest_eps_report(
        bits=budget.bits,
        slots=slots,
        eps=budget.eps,
        delta=budget.delta,
        accounting="exact",
    )
    return _fresh(bits=budget.bits, eps=eps)


def _one_change(budget: Budget) -> OneChange:
    rounds = budget.last_round("It divides all rounds into halves, quarters and so on, so it needs a last round.")
    return OneChange(rounds=1 << (max(2, rounds) - 1).bit_length(), changes=1, eps=budget.eps)


def _votes(budget: Budget) -> Votes:
    """Two updates, each answered, with the published proportions. All privacy is spent on a fixed value."""
    updates = (1, budget.last_round("Its updates are spread over all rounds, so it needs a last round.") // 2 + 1)
    published = Votes.for_budget(eps=budget.eps, changes=2, updates=updates)
    scale = budget.eps / published.privacy().pure() * (1 - 1e-12)
    return Votes.for_budget(eps=budget.eps * scale, changes=2, updates=updates)


def _leaks(budget: Budget) -> Mechanism:
    raise Unsuitable(
        "privacy",
        "Fresh noise on the answer to a fixed question reveals one bit of the value in the end, so no eps lasts.",
    )


_SPENT = "Every report spends privacy, so it needs a last round."
_ONCE = "next to nothing for any k"
_AFRESH = "tracking constant, detection time k; the number of values costs nothing"

CATALOGUE: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            "deck",
            Deck,
            inner_product_settings.deck,
            "constant",
            most_values=None,
        ),
        Entry(
            "fading",
            Fading,
            inner_product_settings.fading,
            "tracking constant; privacy the same for every k; detection time k",
            most_values=None,
            seconds_per_report=0.008,
        ),
        Entry(
            "rnip",
            _rnip,
            inner_product_settings.rnip,
            "tracking time k² to k³, detection k³ and memory k²; the number of values costs nothing",
            most_values=None,
        ),
        Entry(
            "memoized",
            _memoized,
            inner_product_settings.memoized,
            _ONCE,
            most_values=None,
        ),
        Entry(
            "bitwise",
            Bitwise,
            kept_settings.bitwise,
            "time k² to k³, memory k²",
            yes_no=True,
        ),
        Entry(
            "l-grr",
            _lgrr,
            kept_settings.lgrr,
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
        Entry(
            "cms",
            _sketch(CountMeanSketch, Memoized),
            lambda b: Memoized(CountMeanSketch(hashes=1024, width=1024, eps=b.eps)),
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
            lambda b: Memoized(HadamardSketch(hashes=1024, width=1024, eps=b.eps)),
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
            lambda b: FixedVector(bits=b.bits, eps=b.eps),
            _ONCE,
        ),
        Entry(
            "fixed-vector-fresh",
            lambda *, bits, eps: FixedVector(bits=bits, eps=eps, noise="fresh"),
            _leaks,
            "tracking constant; detection time and memory grow with k up to the engine's grid",
            most_values=None,
        ),
        Entry(
            "assigned",
            Assigned,
            lambda b: Assigned(bits=b.bits, eps=b.eps, people=b.people),
            _ONCE,
        ),
        Entry("one-change", OneChange, _one_change, "next to nothing for any k", yes_no=True),
        Entry(
            "votes",
            Votes,
            _votes,
            "tracking constant; privacy and detection grow with the number of updates",
            yes_no=True,
        ),
        Entry("fresh", _fresh, _fresh_at, _AFRESH, lasts=False),
    )
}
"""All mechanisms by name."""
