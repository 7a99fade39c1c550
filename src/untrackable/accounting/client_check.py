"""Checks a campaign's guarantee on a client: in closed form with turns, and else by the full engine."""

from untrackable.accounting.turn_check import turn_problems
from untrackable.errors import ExtraMissing
from untrackable.protocol.campaign import Campaign


def problems(campaign: Campaign) -> tuple[str, ...]:
    """Why the declared guarantee is stronger than the truth, or cannot be confirmed; nothing if it holds."""
    if campaign.turns is not None:
        return turn_problems(campaign)
    try:
        from untrackable.accounting.verification import verify

        return verify(campaign).problems
    except (ExtraMissing, ImportError):
        name = type(campaign.mechanism).__name__
        return (f"the guarantee of {name} cannot be recomputed without the full package",)
