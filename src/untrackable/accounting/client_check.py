"""Checks a campaign's guarantee on a client.

With turns it is one closed form, with the standard library alone: everything that a person ever sends is at most
w + 1 reports, where w wipes of storage are allowed, and each has the largest log ratio of its mechanism (pure local
differential privacy). If every round is answered, the full engine has to confirm the guarantee.
"""

from untrackable.brackets import at_most
from untrackable.errors import ExtraMissing
from untrackable.protocol.campaign import Campaign


def problems(campaign: Campaign) -> tuple[str, ...]:
    """Why the declared guarantee is stronger than the truth, or cannot be confirmed; nothing if it holds."""
    if campaign.turns is None:
        return _by_the_engine(campaign)
    found = []
    if not campaign.mechanism.has_room_for(campaign.encoding.values):
        found.append(f"the mechanism does not take all {campaign.encoding.values} values of the encoding")
    eps = eps_upper(campaign)
    if eps > campaign.guarantee.eps:
        found.append(f"it declares eps = {campaign.guarantee.eps:g}, and has {at_most(eps)}")
    return tuple(found)


def eps_upper(campaign: Campaign) -> float:
    """The eps of everything that a person sends in a campaign with turns, with delta 0 (upper)."""
    loss = campaign.mechanism.loss_of_one_report
    if campaign.turns is None or loss is None:
        raise ValueError("the campaign must have turns")
    return campaign.turns.eps_upper(loss)


def _by_the_engine(campaign: Campaign) -> tuple[str, ...]:
    try:
        from untrackable.accounting.verification import verify

        return verify(campaign).problems
    except (ExtraMissing, ImportError):
        name = type(campaign.mechanism).__name__
        return (f"the guarantee of {name} cannot be recomputed without the full package",)
