"""What of a person's budget is spent and left, and what a further campaign would take, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from untrackable.brackets import at_least, at_most

if TYPE_CHECKING:
    from untrackable.accounting.spent_budget import Left, Spent
    from untrackable.client.offered_campaign import Offer
    from untrackable.client.policy import Policy

_MUCH = "more than 64"
"""An eps that is larger than any that is looked at."""


def _eps(eps: float) -> str:
    return _MUCH if eps == math.inf else at_most(eps, 3)


def _meaning(policy: Policy, eps: float) -> list[str]:
    """What somebody learns who knows which reports are whose, if anything is spent."""
    if eps in (0.0, math.inf):
        return []
    factor = at_most(math.nextafter(math.exp(eps), math.inf), 3)
    return [
        f"  in words      all of your reports together change the odds between any two answers by a factor of at "
        f"most {factor}, except with probability {policy.delta:g}"
    ]


def spent_words(policy: Policy, spent: Spent) -> list[str]:
    """What all campaigns spend, beside the limits."""
    return [
        "Spent by all campaigns that were answered here, at the same deltas (upper):",
        f"  private       eps {_eps(spent.eps)} of {policy.eps:g}",
        f"  in a crowd    eps {_eps(spent.crowd_eps)} of {policy.crowd_eps:g}",
        f"  recognised    with probability {at_most(spent.recognition, 3)} of {policy.recognition:g}",
        *_meaning(policy, spent.eps),
    ]


def left_words(policy: Policy, left: Left) -> list[str]:
    """What a further campaign may have."""
    if left.eps == 0 or left.crowd_eps == 0:
        return ["No eps is left that a further campaign could have for certain; a very quiet one may still fit."]
    return [
        f"Left for a further campaign: at least eps {at_least(left.eps, 3)} at delta {policy.delta / 2:g}, and in "
        f"a crowd {at_least(left.crowd_eps, 3)} at {policy.crowd_delta / 2:g} (lower). One with many quiet rounds "
        "may take more. The other limits hold, too."
    ]


def offer_words(policy: Policy, offer: Offer) -> list[str]:
    """What an offered campaign would take, and whether it would be accepted."""
    if offer.joined:
        return ["You take part in this campaign already, so it is counted in what is spent. It takes nothing more."]
    before, after = offer.spent, offer.spent_with_it
    told = [
        "With this campaign, all campaigns together would spend (upper):",
        f"  private       eps {_eps(after.eps)} of {policy.eps:g}; without it {_eps(before.eps)}",
        f"  in a crowd    eps {_eps(after.crowd_eps)} of {policy.crowd_eps:g}; without it {_eps(before.crowd_eps)}",
        f"  recognised    with probability {at_most(after.recognition, 3)} of {policy.recognition:g}; without it "
        f"{at_most(before.recognition, 3)}",
        *_meaning(policy, after.eps),
    ]
    if offer.refusal is not None:
        return [*told, f"It would be refused: {offer.refusal}"]
    return [*told, "It would be accepted.", *left_words(policy, offer.left)]
