"""The guarantee of a campaign with turns, in closed form and with the standard library alone.

Everything that a person ever sends is at most w + 1 reports, where w wipes of storage are allowed. Each has the
largest log ratio of its mechanism (pure local differential privacy), so all together have w + 1 times that.
"""

from untrackable.brackets import at_most
from untrackable.protocol.campaign import Campaign


def eps_upper(campaign: Campaign) -> float:
    """The eps of everything that a person sends in a campaign with turns, with delta 0 (upper)."""
    loss = campaign.mechanism.loss_of_one_report
    if campaign.turns is None or loss is None:
        raise ValueError("the campaign must have turns")
    return campaign.turns.eps_upper(loss)


def turn_problems(campaign: Campaign) -> tuple[str, ...]:
    """Why the declared eps is smaller than the truth; nothing if it holds."""
    found = []
    if not campaign.mechanism.has_room_for(campaign.encoding.values):
        found.append(f"the mechanism does not take all {campaign.encoding.values} values of the encoding")
    eps = eps_upper(campaign)
    if eps > campaign.guarantee.eps:
        found.append(f"it declares eps = {campaign.guarantee.eps:g}, and has {at_most(eps)}")
    return tuple(found)
