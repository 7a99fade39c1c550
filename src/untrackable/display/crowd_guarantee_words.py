"""What a campaign that relies on a crowd promises about the collector by itself, and whom one trusts."""

from typing import Any

from untrackable.brackets import at_most
from untrackable.display.numbers import odds_factor
from untrackable.protocol.crowd_declaration import CrowdGuarantee


def crowd_words(crowd: CrowdGuarantee, verified: dict[str, Any] | None = None) -> str:
    """What the collector may learn by itself. `verified` is what the verification found, if that is known."""
    checked = "" if verified is None else f"; verified: at most {at_most(verified['upper'], 3)}"
    return (
        "The collector by itself sees the reports of everybody, and does not know who sent which. To it, all "
        "reports that a person ever sends change the odds between any two answers by a factor of at most "
        f"{odds_factor(crowd.eps)} (eps = {at_most(crowd.eps)}), except with probability "
        f"{at_most(crowd.delta, 4)} (upper{checked}). This holds while at least {crowd.people:,} people take part."
    )


TRUST_WORDS = (
    "Reports are sealed and sent through a relay, which knows who sends them and cannot read them. You name the "
    "relay, and you trust that it does not work with the collector: nobody can check that. You also trust that the "
    "crowd is there: a collector that leaves people out, or invents them, makes it smaller, and your client cannot "
    "see that."
)
"""Whom a person trusts who answers such a campaign."""
