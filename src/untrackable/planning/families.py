"""Each mechanism set as strongly as the goals allow: privacy spent whole, tracking within what is tolerable.

People and error play no part here: the parameters follow from privacy, rounds and tracking alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

from untrackable.brackets import Bracket
from untrackable.mechanisms.catalogue import CATALOGUE, Budget
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.interface import Mechanism, Pair, Values
from untrackable.mechanisms.local.multi_bit_reports import LARGEST_WIDTH
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.string_levels import Levelled
from untrackable.mechanisms.wrappers.dealt import Dealt
from untrackable.mechanisms.wrappers.local_wrapper import LARGEST_SLOTS
from untrackable.mechanisms.wrappers.stored import Memoized, Stored
from untrackable.planning import kept_families
from untrackable.planning.goals import FOREVER, Goals, measured
from untrackable.planning.monotone_search import smallest_integer
from untrackable.planning.refusal import Cannot, has_two, whole_values, yes_no
from untrackable.theory.collisions import cross_probability

Answering = TypeVar("Answering", bound=Mechanism)


_LAST_CARD = "a deck has a last card, so it needs a last round"
QUIET = 0.03
"""Up to this eps of one report, no other answer is better than one bit if the widest is not."""
_FEW = (2, 8, 20)
"""Numbers of reports at which a mechanism that is too easy to follow mostly shows it."""
_COUNTED = 1500
"""Reports up to which slots that show up on both sides are counted exactly."""
_ENGINE = 40
"""Reports up to which the engine is asked outright about a mechanism that was not made for few traces."""


@dataclass(frozen=True, slots=True)
class Family:
    """A mechanism by its name in the catalogue: how it is set for the goals, and how well it is then followed."""

    name: str
    make: Callable[[Goals], Mechanism]
    track: Callable[[Any, Goals], Bracket]
    tuned: bool = True
    """Whether it is set for what is tolerable in tracking, rather than as its publication does."""

    def meeting(self, goals: Goals) -> tuple[Mechanism, Bracket]:
        """Set for the goals, with how well people can be followed as the goals measure it; or `Cannot`."""
        mechanism = self.make(goals)
        return mechanism, self.checked(mechanism, goals)

    def checked(self, mechanism: Mechanism, goals: Goals) -> Bracket:
        """How well people can be followed, if that and what changing values reveal is within the goals."""
        if goals.changes and everlasting(mechanism, goals).delta(goals.eps or 0.0).upper > goals.delta:
            raise Cannot(
                "changes", "who changes a value and returns to it shows it: it is private for one value only"
            )
        tracked = self.track(mechanism, goals)
        if goals.changes:
            tracked = _of_changing(mechanism, goals, tracked)
        if tracked.upper > goals.limit:
            raise followed(mechanism, tracked, goals)
        return tracked


def everlasting(mechanism: Mechanism, goals: Goals) -> Pair:
    """All reports ever; for any sequence of values, where nothing better is known, those of all the rounds."""
    always = _privacy(mechanism, None, goals.secret)
    if goals.changes and isinstance(goals.rounds, int) and always.delta(goals.eps or 0.0).upper > goals.delta:
        return _privacy(mechanism, goals.rounds, "any")
    return always


@lru_cache(maxsize=2)
def _privacy(mechanism: Mechanism, reports: int | None, values: Values) -> Pair:
    """Asked about more than once in a row, and its tables are large."""
    return mechanism.privacy(reports=reports, values=values)


def _of_changing(mechanism: Mechanism, goals: Goals, fixed: Bracket) -> Bracket:
    """With a state for each value that is held, which may tell more than that of one."""
    if mechanism.follows_changes or (goals.observed is not None and goals.observed < 4):
        return fixed
    if goals.observed is None or goals.observed > _ENGINE:
        raise Cannot("changes", "it keeps something for each value: how well changes are followed is not known")
    try:
        pair = mechanism.tracking_upper(goals.observed, values=goals.size)
    except ValueError as error:
        raise Cannot("changes", str(error)) from None
    crowd, gamma = goals.question
    return Bracket(fixed.lower, max(fixed.upper, measured(pair, crowd, gamma).upper))


def followed(mechanism: Mechanism, tracked: Bracket, goals: Goals) -> Cannot:
    """People can be followed better than is tolerable, or may be."""
    limit = f"{goals.limit:.4g}"
    reports = "any number of reports" if goals.observed is None else f"{goals.observed:,} reports"
    why = f"no bound on how well {reports} can be followed is within {goals.measure} {limit}"
    if tracked.lower > goals.limit:
        least = f"{goals.measure} at least {tracked.lower:.4g}"
        why = f"its reports can be followed: {least}, where {limit} is tolerable"
    return Cannot("tracking", why, mechanism=mechanism, tracked=tracked)


def nothing_to_follow(mechanism: Mechanism, goals: Goals) -> Bracket:
    """Of reports that are independent given the values."""
    return goals.tracked(
        mechanism.tracking(rounds=range(1, 3)) if has_two(goals) else mechanism.tracking(reports=1)
    )


def _deck(goals: Goals) -> Mechanism:
    if goals.rounds == FOREVER or goals.rounds is None:
        raise Cannot("horizon", _LAST_CARD)
    slots, eps = goals.rounds, goals.eps or 0.0
    return _best_width(
        lambda w: Deck.for_budget(bits=goals.width, slots=slots, eps=eps, delta=goals.delta, width=w), goals
    )


def _levelled(mechanism: Mechanism, goals: Goals) -> Mechanism:
    """The same about one prefix of a string, drawn for every report: no report tells more than it did."""
    if goals.discovered is None:
        return mechanism
    base = Levelled(_base(mechanism), goals.levels)
    if isinstance(mechanism, Deck):
        return Dealt(base, mechanism.slots)
    return Memoized(base) if isinstance(mechanism, Memoized) else Stored(base, mechanism.slots)  # type: ignore[attr-defined]


def _fading(goals: Goals) -> Fading:
    whole_values(goals)
    return Fading(bits=goals.width, eps=goals.eps or 0.0, delta=goals.delta)


def _rnip(goals: Goals) -> Mechanism:
    slots, eps = crossing_slots(goals), goals.eps or 0.0
    return _best_width(
        lambda w: InnerProduct.for_budget(bits=goals.width, slots=slots, eps=eps, delta=goals.delta, width=w), goals
    )


def _best_width(made: Callable[[int], Answering], goals: Goals) -> Mechanism:
    """With the width of the smallest error radius: that of the smallest standard error may promise less."""

    def radius(mechanism: Answering) -> float:
        return _base(mechanism).accuracy(1, goals.beta).radius

    narrow, widest = made(1), min(goals.width, LARGEST_WIDTH)
    wide = made(widest) if widest > 1 else narrow
    if _base(narrow).eps <= QUIET and radius(narrow) <= radius(wide):
        return _levelled(narrow, goals)
    return _levelled(min([narrow, *map(made, range(2, widest)), wide], key=radius), goals)


def _base(mechanism: Any) -> NoisyInnerProduct:
    base: NoisyInnerProduct = mechanism.base
    return base


def crossing_slots(goals: Goals) -> int:
    """The fewest slots for which a slot shows up on both sides as rarely as is tolerable."""
    if goals.observed is None:
        raise Cannot("tracking", "an observer who may hold any number of reports sees slots again and again")
    if goals.observed < 2 or goals.edge >= 1:
        return 1
    if goals.edge == 0:
        raise Cannot("tracking", "a stored report may always be sent twice: no number of slots rules it out")
    return _slots(goals.observed, goals.edge)


@lru_cache(maxsize=256)
def _slots(reports: int, edge: float) -> int:
    half = reports // 2

    def excess(slots: int) -> float:
        return math.log(crossing(slots, reports) / edge)

    guess = math.ceil(half * (reports - half) / -math.log1p(-edge))
    try:
        return smallest_integer(excess, guess, low=1, high=LARGEST_SLOTS)
    except ValueError:
        raise Cannot("tracking", f"it would need more than {LARGEST_SLOTS:.0e} slots") from None


def crossing(slots: int, reports: int) -> float:
    """The probability of a slot on both sides, of the worst split; of very many reports a bound, j(k-j)/L."""
    half = reports // 2
    if reports > _COUNTED:
        return min(1.0, half * (reports - half) / slots)
    return max((cross_probability(slots, reports, split) for split in range(1, half + 1)), default=0.0)


def _track_rnip(mechanism: Stored, goals: Goals) -> Bracket:
    """δ(γ) is the probability of a slot on both sides for every γ ≥ 0: other patterns are likelier of two users."""
    if mechanism.slots == 1:
        return published_tracking(mechanism, goals)
    return Bracket(0.0, goals.bounded(crossing(mechanism.slots, goals.observed or 0)))


def _published(name: str, goals: Goals) -> Mechanism:
    """As the catalogue sets it."""
    entry = CATALOGUE[name]
    whole_values(goals)
    if entry.yes_no:
        yes_no(goals)
    if not entry.lasts:
        raise Cannot(
            "privacy", "fresh noise spends privacy with every report and never stops: a deck is that, with an end"
        )
    if name == "votes":
        raise Cannot("accuracy", "it estimates at its updates only, not at every round")
    if name == "one-change":
        if goals.rounds == FOREVER:
            raise Cannot("horizon", "its levels halve the rounds, so it needs a last one")
        if goals.changes:
            raise Cannot("changes", "it tells one change of a value and no later one")
    rounds = goals.rounds if isinstance(goals.rounds, int) else goals.observed
    try:
        goal = Budget(
            values=goals.size,
            eps=goals.eps or 0.0,
            delta=goals.delta,
            reports=max(2, rounds or 2),
            people=goals.people or 10**6,
        )
        return entry.meeting(goal)
    except ValueError as error:
        raise Cannot("privacy" if name == "fixed-vector-fresh" else "values", str(error)) from None


def published_tracking(mechanism: Mechanism, goals: Goals) -> Bracket:
    """By the engine for few reports and one split, which refute most; fewer reports never show more."""
    if not has_two(goals):
        return nothing_to_follow(mechanism, goals)
    lower = shown(mechanism, goals)
    reports = _telling(mechanism, goals)
    if lower > goals.limit or reports is None or (reports > _ENGINE and goals.limit >= 1):
        return Bracket(lower, 1.0)
    try:
        return _by_engine(mechanism, reports, *goals.question)
    except ValueError:  # more reports than the engine searches for their worst split
        return Bracket(lower, 1.0)


def shown(mechanism: Mechanism, goals: Goals) -> float:
    """How well people can be followed at least; no more than it takes to be beyond what is tolerable."""
    reports, lower = _telling(mechanism, goals), 0.0
    for few in (*(few for few in _FEW if reports is None or few < reports), *([reports] if reports else [])):
        try:
            lower = max(lower, _halves(mechanism, few, *goals.question))
        except ValueError:  # more reports than the engine takes
            break
        if lower > goals.limit:
            break
    return lower


def _telling(mechanism: Mechanism, goals: Goals) -> int | None:
    """Reports that an observer may hold; two where they are the same again and again."""
    return 2 if isinstance(mechanism, Stored) and mechanism.slots == 1 else goals.observed


@lru_cache(maxsize=256)
def _halves(mechanism: Mechanism, reports: int, crowd: int | None, gamma: float) -> float:
    """A lower bound from one split, half of the reports: the worst one may show more."""
    half = range(1, reports // 2 + 1)
    return measured(mechanism.tracking(rounds=range(1, reports + 1), first=half), crowd, gamma).lower


@lru_cache(maxsize=256)
def _by_engine(mechanism: Mechanism, reports: int, crowd: int | None, gamma: float) -> Bracket:
    return measured(mechanism.tracking(rounds=range(1, reports + 1)), crowd, gamma)


def _noisy_deck(goals: Goals, eps_report: float, width: int) -> Mechanism:
    if goals.rounds == FOREVER or goals.rounds is None:
        raise Cannot("horizon", _LAST_CARD)
    return _levelled(Deck(bits=goals.width, slots=goals.rounds, eps_report=eps_report, width=width), goals)


def _noisy_rnip(goals: Goals, eps_report: float, width: int) -> Mechanism:
    slots = crossing_slots(goals)
    return _levelled(InnerProduct(bits=goals.width, slots=slots, eps_report=eps_report, width=width), goals)


def _noisy_fading(goals: Goals, scale: float, width: int) -> Fading:
    """Of this scale; while eps is not known yet, held against no budget."""
    whole_values(goals)
    if goals.eps is None:
        return _Scaled(bits=goals.width, eps=1.0, delta=goals.delta, scale=scale, width=width)
    return Fading(bits=goals.width, eps=goals.eps, delta=goals.delta, scale=scale, width=width)


class _Scaled(Fading):
    """Asked about its accuracy and what it spends, before a budget is made of that."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Nothing to check yet."""


NOISY: dict[str, Callable[[Goals, float, int], Mechanism]] = {
    "deck": _noisy_deck,
    "rnip": _noisy_rnip,
    "fading": _noisy_fading,
}
"""The mechanisms that are set by the eps of one report (the first) and its width, whatever all of them spend."""


def _memoized(goals: Goals) -> Mechanism:
    eps = goals.eps or 0.0
    return _best_width(lambda width: Memoized(NoisyInnerProduct(bits=goals.width, eps=eps, width=width)), goals)


_OWN: dict[str, tuple[Callable[[Goals], Mechanism], Callable[[Any, Goals], Bracket]]] = {
    "deck": (_deck, nothing_to_follow),
    "fading": (_fading, nothing_to_follow),
    "rnip": (_rnip, _track_rnip),
    "memoized": (_memoized, published_tracking),
    "bitwise": (kept_families.bitwise, kept_families.track_bitwise),
    "l-grr": (kept_families.lgrr, kept_families.track_lgrr),
    **{
        name.lower(): (partial(kept_families.unary, name), kept_families.track_unary)
        for name in ("L-SUE", "L-OSUE", "L-OUE", "L-SOUE")
    },
}

FAMILIES: tuple[Family, ...] = (
    *(Family(name, *parts, tuned=name != "memoized") for name, parts in _OWN.items()),
    *(
        Family(name, partial(_published, name), published_tracking, tuned=False)
        for name in CATALOGUE
        if name not in _OWN
    ),
)
"""All mechanisms of the catalogue, those that can be set for a tolerable amount of tracking first."""
