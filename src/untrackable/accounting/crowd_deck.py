"""The deck of a campaign that relies on a crowd, and what it declares: numbers that every client can confirm.

The full engine and a client bound the same thing, each from above, and neither is always the sharper one. So what
is declared must hold for both.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from untrackable.brackets import rounded
from untrackable.mechanisms.demands import Budget, CrowdBudget
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.tables_catalogue import best_deck
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.mechanisms.wrappers.dealt_budget import with_eps
from untrackable.protocol.crowd_declaration import CrowdGuarantee
from untrackable.theory.integer_losses import STEPS

_QUIETER = 0.995
"""The factor of eps_report if a client cannot confirm the guarantee yet."""
_MOST_TRIES = 40


def crowd_deck(
    *,
    bits: int,
    rounds: int,
    crowd: CrowdGuarantee,
    participation: Fraction,
    share: float = 0.0,
    alone: tuple[float, float] | None = None,
) -> Deck:
    """The deck with the smallest error that keeps the guarantee in a crowd, as the engine and clients compute it.

    The error is that of a value that this `share` of people holds. With `alone`, it also keeps this eps and delta
    against somebody who knows which reports are one person's.
    """
    deck = Deck.for_crowd(
        bits=bits,
        slots=rounds,
        people=crowd.people,
        eps=crowd.eps,
        delta=crowd.delta,
        participation=participation,
        share=share,
    )
    if alone is not None and deck.privacy(participation=participation).delta(alone[0]).upper > alone[1]:
        deck = Deck.for_budget(bits=bits, slots=rounds, eps=alone[0], delta=alone[1], participation=participation)
    return _confirmed(
        deck,
        lambda one: Deck(bits=bits, slots=rounds, eps_report=_QUIETER * one.eps_report, width=one.width),
        crowd,
        participation,
    )


def crowd_tables_deck(budget: Budget, crowd: CrowdGuarantee) -> Dealt:
    """The deck for tables of parts of a value, as `crowd_deck` for whole values. The budget says what is asked."""
    hidden = CrowdBudget(eps=crowd.eps, delta=crowd.delta, people=crowd.people)
    deck = best_deck(replace(budget, crowd=hidden))
    return _confirmed(
        deck,
        lambda one: Dealt(with_eps(one.base, _QUIETER * one.base.eps), one.slots),  # type: ignore[attr-defined]
        crowd,
        budget.participation,
    )


_AnyDeck = TypeVar("_AnyDeck", bound=Mechanism)


def _confirmed(
    deck: _AnyDeck, quieter: Callable[[_AnyDeck], _AnyDeck], crowd: CrowdGuarantee, participation: Fraction
) -> _AnyDeck:
    """The deck, or a quieter one, whose guarantee in a crowd a client can confirm."""
    for _ in range(_MOST_TRIES):
        law = deck.integer_crowd(people=crowd.people, participation=participation)
        if law is not None and law.delta(crowd.eps) <= crowd.delta:
            return deck
        deck = quieter(deck)
    raise ValueError("no deck was found whose guarantee in a crowd a client can confirm; choose other numbers")


def alone_eps(mechanism: Mechanism, *, rounds: int | None, delta: float, participation: Fraction) -> float:
    """The smallest eps, to three digits, at which all reports of one person have this delta by both engines."""
    found = mechanism.privacy(reports=rounds, values="any", participation=participation).gamma(delta).upper
    declared = rounded(found, 3, "up")
    for _ in range(_MOST_TRIES):
        law = mechanism.integer_privacy(rounds, values="any", step=declared / STEPS, participation=participation)
        if law is None or law.delta(declared) <= delta:
            return declared
        declared = rounded(declared * 1.002, 3, "up")
    raise ValueError("no eps was found that a client can confirm")
