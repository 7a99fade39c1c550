"""The deck of a campaign that relies on a crowd, and what it declares: numbers that every client can confirm.

The full engine and a client bound the same thing, each from above, and neither is always the sharper one. So what
is declared must hold for both.
"""

from fractions import Fraction

from untrackable.brackets import rounded
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.interface import Mechanism
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
    for _ in range(_MOST_TRIES):
        law = deck.integer_crowd(people=crowd.people, participation=participation)
        if law is not None and law.delta(crowd.eps) <= crowd.delta:
            return deck
        deck = Deck(bits=bits, slots=rounds, eps_report=_QUIETER * deck.eps_report, width=deck.width)
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
