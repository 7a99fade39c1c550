"""What a campaign that relies on a crowd promises about the collector by itself, and whom one trusts."""

from typing import Any

from untrackable.brackets import at_most
from untrackable.display.numbers import odds_factor
from untrackable.protocol.crowd_declaration import CrowdGuarantee


def crowd_words(
    crowd: CrowdGuarantee, verified: dict[str, Any] | None = None, throughout: dict[str, Any] | None = None
) -> str:
    """What the collector may learn by itself, as it is declared, and what the verification found, if that is known.

    `throughout` is the eps of people who are active in all rounds of turns.
    """
    checked = "" if verified is None else f"; verified: at most {at_most(verified['upper'], 3)}"
    active = (
        ""
        if throughout is None
        else f" For people who are active in all rounds, eps is at most {at_most(throughout['upper'], 3)} (upper)."
    )
    return (
        "A relay adds this: the collector by itself does not know who sent which report. To it, everything that a "
        "person ever sends changes the odds between any two answers by a factor of at most "
        f"{odds_factor(crowd.eps)} (eps = {at_most(crowd.eps)}), except with probability "
        f"{at_most(crowd.delta, 4)} (upper{checked}). Rounds with fewer than {crowd.reports:,} reports are not "
        f"published.{active}"
    )


TRUST_WORDS = (
    "Reports are sealed and sent through a relay, which knows who sends them and cannot read them. You name the "
    "relay, and you trust that it does not work with the collector: nobody can check that. You also trust that the "
    "crowd is there: a collector that leaves people out, or invents them, makes it smaller, and your client cannot "
    "see that."
)
"""Whom a person trusts who answers such a campaign."""
