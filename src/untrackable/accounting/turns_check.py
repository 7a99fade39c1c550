"""The guarantee of a campaign with turns, recomputed in closed form with the standard library alone.

Everything that a person ever sends is at most w + 1 reports, where w wipes of storage are allowed, and each has the
largest log ratio of its mechanism (pure local differential privacy).
"""

from untrackable.brackets import at_most
from untrackable.protocol.campaign import Campaign


def eps_upper(campaign: Campaign) -> float:
    """The eps of everything that a person sends in a campaign with turns, with delta 0 (upper)."""
    loss = campaign.mechanism.loss_of_one_report
    if campaign.turns is None or loss is None:
        raise ValueError("the campaign must have turns")
    return campaign.turns.eps_upper(loss)


def problems_of_turns(campaign: Campaign) -> tuple[str, ...]:
    """Why the guarantee of a campaign with turns is stronger than the truth; nothing if it holds."""
    found = []
    if not campaign.mechanism.has_room_for(campaign.encoding.values):
        found.append(f"the mechanism does not take all {campaign.encoding.values} values of the encoding")
    eps = eps_upper(campaign)
    if eps > campaign.guarantee.eps:
        found.append(f"it declares eps = {campaign.guarantee.eps:g}, and has {at_most(eps)}")
    return tuple(found)
