"""Checks a campaign's guarantee on a client.

With turns it is one closed form. If every round is answered, the full engine has to confirm the guarantee.
"""

from untrackable.accounting.turns_check import problems_of_turns
from untrackable.errors import ExtraMissing
from untrackable.protocol.campaign import Campaign


def problems(campaign: Campaign) -> tuple[str, ...]:
    """Why the declared guarantee is stronger than the truth, or cannot be confirmed; nothing if it holds."""
    if campaign.turns is not None:
        return problems_of_turns(campaign)
    try:
        from untrackable.accounting.verification import verify

        return verify(campaign).problems
    except (ExtraMissing, ImportError):
        name = type(campaign.mechanism).__name__
        return (f"the guarantee of {name} cannot be recomputed without the full package",)
