"""What of a person's budget is spent and left, and what a further campaign would take, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from untrackable.brackets import at_least, at_most

if TYPE_CHECKING:
    from untrackable.client.client import Offer
    from untrackable.client.ledger import Spent
    from untrackable.client.policy import Policy


def spent_words(policy: Policy, spent: Spent, turns: int) -> list[str]:
    """What all campaigns spend, beside the limits."""
    return [
        "Spent by all campaigns that were answered here (upper; nothing is ever given back):",
        f"  private       {_of(spent, policy)}",
        *_meaning(spent),
        f"  turns         {turns_words(turns)}",
    ]


def _of(spent: Spent, policy: Policy) -> str:
    return f"eps {at_most(spent.eps, 3)} of {policy.eps:g}, delta {at_most(spent.delta, 3)} of {policy.delta:g}"


def _meaning(spent: Spent) -> list[str]:
    """What somebody learns who knows which reports are whose, if anything is spent."""
    if not 0 < spent.eps < 700:
        return []
    factor = at_most(math.nextafter(math.exp(spent.eps), math.inf), 3)
    never = f", except with probability {at_most(spent.delta, 3)}" if spent.delta else ""
    return [
        "  in words      all that you send, together, changes the odds between any two answers by a factor of at "
        f"most {factor}{never}"
    ]


def turns_words(turns: int) -> str:
    """How many campaigns were answered once, and how well these together give a person away."""
    if turns == 0:
        return "none taken"
    if turns == 1:
        return (
            "1 taken. Somebody who sees two places, such as a home and an office, finds you among N people with "
            "probability at most 2 in N (upper)"
        )
    from untrackable.theory.turns import several_turns_lower

    found = several_turns_lower(turns, overlapping=False)
    return (
        f"{turns} taken, one after the other. Somebody who sees two places, such as a home and an office, finds "
        f"you among N people with probability {found} in N by the strongest "
        "attack that is known (lower; no upper bound is known for several turns)"
    )


def turns_json(turns: int) -> dict[str, Any]:
    """The turns taken, and N times the probability of being found among N people."""
    from untrackable.theory.turns import several_turns_lower

    return {
        "turns": turns,
        "found_in_n_lower": several_turns_lower(turns, overlapping=False),
        "found_in_n_upper": 1 << turns if turns < 2 else None,
    }


def left(policy: Policy, spent: Spent) -> dict[str, float]:
    """What a further campaign may have (lower)."""
    return {name: max(0.0, getattr(policy, name) - getattr(spent, name)) for name in ("eps", "delta")}


def left_words(policy: Policy, spent: Spent) -> list[str]:
    """What a further campaign may have."""
    found = left(policy, spent)
    if found["eps"] == 0:
        return ["No eps is left for a further campaign."]
    return [
        f"Left for a further campaign: eps {at_least(found['eps'], 3)} and delta {at_least(found['delta'], 3)} "
        "(lower). The other limits hold, too."
    ]


def offer_words(policy: Policy, offer: Offer) -> list[str]:
    """What an offered campaign would take, and whether it would be accepted."""
    if offer.joined:
        return ["You answered this campaign already, so it is counted in what is spent. It takes nothing more."]
    before, after = offer.before.spent, offer.after.spent
    told = [
        "With this campaign, all campaigns together would spend (upper):",
        f"  private       {_of(after, policy)}; without it eps {at_most(before.eps, 3)}",
        *_meaning(after),
    ]
    if offer.after.turns > offer.before.turns:
        told.append(f"  turns         {turns_words(offer.after.turns)}")
    if offer.refusal is not None:
        return [*told, f"It would be refused: {offer.refusal}"]
    return [*told, "It would be accepted.", *left_words(policy, after)]
