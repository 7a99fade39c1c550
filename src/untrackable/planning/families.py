"""Each mechanism set as strongly as the goals allow: privacy spent whole, tracking within what is tolerable.

People and error play no part here: the parameters follow from privacy, rounds and tracking alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal, TypeVar

from untrackable.auditing.catalogue import CATALOGUE, Goal
from untrackable.brackets import Bracket
from untrackable.mechanisms.base import LARGEST_SLOTS, Mechanism, Pair
from untrackable.mechanisms.bitwise import Bitwise
from untrackable.mechanisms.fading import Fading
from untrackable.mechanisms.inner_product import Deck, InnerProduct
from untrackable.mechanisms.lgrr import Lgrr
from untrackable.mechanisms.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.stored import Memoized, Stored
from untrackable.mechanisms.unary import Unary
from untrackable.mechanisms.wide_answers import LARGEST_WIDTH
from untrackable.planning.goals import FOREVER, Goals
from untrackable.planning.searching import smallest_integer, smallest_real
from untrackable.theory.collisions import cross_probability
from untrackable.theory.kept import kept_bit_advantages, kept_bits_advantage_upper, kept_symbol_advantage_upper
from untrackable.theory.tracking import permanent_state_upper

Answering = TypeVar("Answering", bound=Mechanism)
Binding = Literal["accuracy", "tracking", "privacy", "horizon", "changes", "values"]

_LAST_CARD = "a deck has a last card, so it needs a last round"
QUIET = 0.03
"""Up to this eps of one report, wide answers are no better than one bit."""
_SURE_EPS = 36.0
"""Beyond, a randomised response is no longer random."""
_FEW = (2, 8, 20)
"""Numbers of reports at which a mechanism that is too easy to follow mostly shows it."""
_COUNTED = 1500
"""Reports up to which slots that show up on both sides are counted exactly."""
_ENGINE = 40
"""Reports up to which the engine is asked outright about a mechanism that was not made for few traces."""


class Cannot(Exception):
    """A mechanism that does not meet the goals: which of them is binding, and why, in one sentence."""

    def __init__(self, binding: Binding, why: str, *, mechanism: Mechanism | None = None, **facts: Any) -> None:
        super().__init__(why)
        self.binding: Binding = binding
        self.why, self.mechanism, self.facts = why, mechanism, facts


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
        if tracked.upper > goals.limit:
            raise Cannot("tracking", _followed(tracked, goals), mechanism=mechanism, tracked=tracked)
        return tracked


def everlasting(mechanism: Mechanism, goals: Goals) -> Pair:
    """All reports ever; for any sequence of values, where nothing better is known, those of all the rounds."""
    always = mechanism.privacy(values=goals.secret)
    if goals.changes and isinstance(goals.rounds, int) and always.delta(goals.eps or 0.0).upper > goals.delta:
        return mechanism.privacy(reports=goals.rounds, values="any")
    return always


def _followed(tracked: Bracket, goals: Goals) -> str:
    limit = f"{goals.limit:.4g}"
    reports = "any number of reports" if goals.observed is None else f"{goals.observed:,} reports"
    if tracked.lower > goals.limit:
        return (
            f"its reports can be followed: {goals.measure} at least {tracked.lower:.4g}, where {limit} is tolerable"
        )
    return f"no bound on how well {reports} can be followed is within {goals.measure} {limit}"


def nothing_to_follow(mechanism: Mechanism, goals: Goals) -> Bracket:
    """Of reports that are independent given the values."""
    return goals.tracked(
        mechanism.tracking(rounds=range(1, 3)) if _has_two(goals) else mechanism.tracking(reports=1)
    )


def _has_two(goals: Goals) -> bool:
    return goals.observed is None or goals.observed >= 2


def _deck(goals: Goals) -> Deck:
    if goals.rounds == FOREVER or goals.rounds is None:
        raise Cannot("horizon", _LAST_CARD)
    slots, eps = goals.rounds, goals.eps or 0.0
    return _best_width(
        lambda w: Deck.for_budget(bits=goals.width, slots=slots, eps=eps, delta=goals.delta, width=w), goals
    )


def _fading(goals: Goals) -> Fading:
    return Fading(bits=goals.width, eps=goals.eps or 0.0, delta=goals.delta)


def _rnip(goals: Goals) -> InnerProduct:
    slots, eps = crossing_slots(goals), goals.eps or 0.0
    return _best_width(
        lambda w: InnerProduct.for_budget(bits=goals.width, slots=slots, eps=eps, delta=goals.delta, width=w), goals
    )


def _best_width(made: Callable[[int], Answering], goals: Goals) -> Answering:
    """With the width of the smallest error radius: that of the smallest standard error may promise less."""
    narrow = made(1)
    if _base(narrow).eps <= QUIET:
        return narrow
    widths = [narrow, *(made(width) for width in range(2, min(goals.width, LARGEST_WIDTH) + 1))]
    return min(widths, key=lambda mechanism: _base(mechanism).accuracy(1, goals.beta).radius)


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

    def rare(slots: int) -> bool:
        return crossing(slots, reports) <= edge

    guess = math.ceil(half * (reports - half) / -math.log1p(-edge))
    try:
        return smallest_integer(rare, guess, low=1, high=LARGEST_SLOTS)
    except ValueError:
        raise Cannot("tracking", f"it would need more than {LARGEST_SLOTS:.0e} slots") from None


def crossing(slots: int, reports: int) -> float:
    """The probability of a slot on both sides, of the worst split; of very many reports a bound, j(k-j)/L."""
    half = reports // 2
    if reports > _COUNTED:
        return min(1.0, half * (reports - half) / slots)
    return max((cross_probability(slots, reports, split) for split in range(1, half + 1)), default=0.0)


def _track_rnip(mechanism: InnerProduct, goals: Goals) -> Bracket:
    """δ(γ) is the probability of a slot on both sides for every γ ≥ 0: other patterns are likelier of two users."""
    if mechanism.slots == 1:
        return published_tracking(mechanism, goals)
    return Bracket(0.0, goals.bounded(crossing(mechanism.slots, goals.observed or 0)))


def _bitwise(goals: Goals) -> Bitwise:
    _yes_no(goals)
    eps = goals.eps or 0.0

    def advantage(eps_report: float) -> float:
        made = Bitwise(eps_state=eps, eps_report=eps_report)
        return _bitwise_advantage(made, goals.observed)

    return Bitwise(eps_state=eps, eps_report=_loudest(advantage, goals))


def _bitwise_advantage(mechanism: Bitwise, reports: int | None) -> float:
    kept, flip = mechanism.state_flip.probability, mechanism.report_flip.probability
    if reports is None:
        return 2 * kept * (1 - kept)
    return float(kept_bit_advantages(kept, 1 - flip, flip, reports).max())


def _track_bitwise(mechanism: Bitwise, goals: Goals) -> Bracket:
    exact = _bitwise_advantage(mechanism, goals.observed)
    edge = exact * (1 + 1e-12)
    if goals.advantage is not None:
        return Bracket(exact * (1 - 1e-12), edge)
    return Bracket(0.0, _smaller(edge, mechanism.eps_report, goals))


def _smaller(edge: float, eps_report: float, goals: Goals) -> float:
    """The goal's measure from the advantage, or from the largest log-likelihood ratio if that is tolerable."""
    ratio = math.inf if goals.observed is None else permanent_state_upper(max(1, goals.observed), eps_report)
    if goals.matched is not None:
        return min(goals.bounded(edge), math.exp(min(ratio, 50.0)) / goals.crowd)
    return 0.0 if goals.untrackable is not None and ratio <= goals.untrackable[0] else goals.bounded(edge)


def _unary(name: Any, goals: Goals) -> Unary:
    eps = goals.eps or 0.0
    if goals.size > 4096:
        raise Cannot("values", f"it has a place for each value, 4,096 at most, not {goals.size:.4g}")

    def made(eps_second: float) -> Unary:
        return Unary.of_steps(name, values=goals.size, eps=eps, eps_second=eps_second)

    def advantage(share: float) -> float:
        return _unary_advantage(made(share), goals.observed)

    return made(_loudest(advantage, goals, close=1e-4))


def _unary_advantage(mechanism: Unary, reports: int | None) -> float:
    lost, added = mechanism.lost_chance.probability, mechanism.added_chance.probability
    kept = [(1 - lost, 1), (added, mechanism.values - 1)]
    if reports is None:
        return min(1.0, sum(2 * a * (1 - a) * count for a, count in kept))
    one, zero = mechanism.one_chance.probability, mechanism.zero_chance.probability
    return kept_bits_advantage_upper(kept, one, zero, reports)


def _track_unary(mechanism: Unary, goals: Goals) -> Bracket:
    return Bracket(0.0, goals.bounded(_unary_advantage(mechanism, goals.observed)))


def _lgrr(goals: Goals) -> Lgrr:
    if goals.size > 4096:
        raise Cannot("values", f"it keeps one of the values, 4,096 at most, not {goals.size:.4g}")
    keep = _told(goals.size, goals.eps or 0.0)

    def advantage(eps_second: float) -> float:
        return _lgrr_advantage(keep, _told(goals.size, eps_second), goals)

    tell = _told(goals.size, _loudest(advantage, goals, close=1e-4))
    return Lgrr(values=goals.size, keep=keep, tell=tell)


def _told(values: int, eps: float) -> float:
    """How often generalised randomised response of this eps tells the truth."""
    return 1 / (1 + (values - 1) * math.exp(-eps))


def _lgrr_advantage(keep: float, tell: float, goals: Goals) -> float:
    if goals.observed is None:
        return 1 - keep**2 - (1 - keep) ** 2 / (goals.size - 1)
    return kept_symbol_advantage_upper(keep, tell, goals.size, goals.observed)


def _track_lgrr(mechanism: Lgrr, goals: Goals) -> Bracket:
    edge = _lgrr_advantage(mechanism.keep, mechanism.tell, goals)
    odds = mechanism.tell * (mechanism.values - 1) / (1 - mechanism.tell)
    return Bracket(0.0, _smaller(edge, math.log(odds), goals))


def _loudest(advantage: Callable[[float], float], goals: Goals, close: float = 1e-7) -> float:
    """The largest eps of one report that keeps tracking tolerable: by the advantage, or by the largest ratio."""
    if not _has_two(goals):
        return _SURE_EPS
    by_ratio = 0.0
    if goals.observed is not None and goals.advantage is None:
        by_ratio = min(_SURE_EPS, goals.ratio / (goals.observed // 2))
    if goals.edge == 0:
        if by_ratio == 0:
            raise Cannot("tracking", "what it keeps shows through every report, however faintly")
        return by_ratio

    def excess(inverse: float) -> float:
        return math.log(max(advantage(1 / inverse), 1e-300) / goals.edge)

    try:
        found = 1 / smallest_real(excess, 10.0, low=1 / _SURE_EPS, high=1e9, close=close, slope=2.0)
    except ValueError:
        raise Cannot("tracking", "what it keeps shows through every report, however faintly") from None
    return max(found, by_ratio)


def _published(name: str, goals: Goals) -> Mechanism:
    """As the catalogue sets it."""
    entry = CATALOGUE[name]
    if entry.yes_no:
        _yes_no(goals)
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
        goal = Goal(
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
    """By the engine for few reports, which refute most; fewer reports never show more."""
    if not _has_two(goals):
        return nothing_to_follow(mechanism, goals)
    reports, lower = goals.observed, 0.0
    if isinstance(mechanism, Stored) and mechanism.slots == 1:
        reports = 2  # the same report again, however often
    for few in _FEW:
        if reports is not None and few >= reports:
            break
        lower = max(lower, goals.tracked(mechanism.tracking(rounds=range(1, few + 1))).lower)
        if lower > goals.limit:
            return Bracket(lower, 1.0)
    if reports is None or (reports > _ENGINE and goals.limit >= 1):
        return Bracket(lower, 1.0)
    return goals.tracked(mechanism.tracking(rounds=range(1, reports + 1)))


def _yes_no(goals: Goals) -> None:
    if goals.size != 2:
        raise Cannot("values", f"it answers yes/no questions only, not one with {goals.size:,} answers")


def _noisy_deck(goals: Goals, eps_report: float, width: int) -> Deck:
    if goals.rounds == FOREVER or goals.rounds is None:
        raise Cannot("horizon", _LAST_CARD)
    return Deck(bits=goals.width, slots=goals.rounds, eps_report=eps_report, width=width)


def _noisy_rnip(goals: Goals, eps_report: float, width: int) -> InnerProduct:
    return InnerProduct(bits=goals.width, slots=crossing_slots(goals), eps_report=eps_report, width=width)


def _noisy_fading(goals: Goals, scale: float, width: int) -> Fading:
    """Of this scale; while eps is not known yet, held against no budget."""
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


def _memoized(goals: Goals) -> Memoized:
    eps = goals.eps or 0.0
    return _best_width(lambda width: Memoized(NoisyInnerProduct(bits=goals.width, eps=eps, width=width)), goals)


_OWN: dict[str, tuple[Callable[[Goals], Mechanism], Callable[[Any, Goals], Bracket]]] = {
    "deck": (_deck, nothing_to_follow),
    "fading": (_fading, nothing_to_follow),
    "rnip": (_rnip, _track_rnip),
    "memoized": (_memoized, published_tracking),
    "bitwise": (_bitwise, _track_bitwise),
    "l-grr": (_lgrr, _track_lgrr),
    **{name.lower(): (partial(_unary, name), _track_unary) for name in ("L-SUE", "L-OSUE", "L-OUE", "L-SOUE")},
}

FAMILIES: tuple[Family, ...] = (
    *(Family(name, *parts) for name, parts in _OWN.items()),
    *(
        Family(name, partial(_published, name), published_tracking, tuned=False)
        for name in CATALOGUE
        if name not in _OWN
    ),
)
"""All mechanisms of the catalogue, those that can be set for a tolerable amount of tracking first."""
