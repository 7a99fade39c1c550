"""A campaign's guarantee and schedule in plain words."""

import math
from datetime import UTC, datetime
from typing import Any

from untrackable import strict_json
from untrackable.brackets import at_most
from untrackable.protocol.campaign import Campaign


def guarantee_words(campaign: Campaign, verdict: str) -> list[str]:
    """What is promised, in sentences, with what the verification (JSON) found when the campaign was created."""
    declared, verified = campaign.guarantee, strict_json.parse(verdict)
    private = _at("eps", declared.eps, declared.delta, verified.get("delta"))
    holds = (
        "This holds whatever a person answers, and however often the answer changes."
        if declared.values == "any"
        else "This holds for an answer that stays the same."
    )
    sentences = [
        "All reports that a person ever sends, taken together, change the odds between any two answers by a factor "
        f"of at most {_factor(declared.eps)} {private}. {holds}"
    ]
    if declared.gamma == 0 and declared.tracking_delta == 0:
        sentences.append(
            "Reports cannot be linked: two from one person look exactly like two from different people with the "
            "same answer (exact)."
        )
    else:
        found = verified.get("tracking_delta")
        sentences.append(
            "Linking reports is limited: they change the odds between one person and two people by a factor of at "
            f"most {_factor(declared.gamma)} {_at('gamma', declared.gamma, declared.tracking_delta, found)}."
        )
    return sentences


def schedule_words(campaign: Campaign) -> str:
    """When the campaign asks."""
    begins = datetime.fromtimestamp(campaign.first_round, UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0")
    many = "without end" if campaign.rounds is None else f"{campaign.rounds:,} in all"
    return f"A round every {_span(campaign.round_seconds)} from {begins}, {many}."


def _span(seconds: int) -> str:
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            count = seconds // size
            return name if count == 1 else f"{count:,} {name}s"
    raise AssertionError


def _factor(exponent: float) -> str:
    if exponent >= 50:
        return f"e^{at_most(exponent)}"
    return at_most(math.nextafter(math.exp(exponent), math.inf), 4) if exponent else "1"


def _at(name: str, exponent: float, delta: float, verified: dict[str, Any] | None) -> str:
    """The exponent and the probability that goes with it, each with the kind of number it is."""
    if delta == 0:
        return f"({name} = {at_most(exponent)}, upper)"
    certainty, declared = "upper", at_most(delta, 4)
    if verified is not None and verified["certainty"] == "exact":
        found = f"{verified['upper']:.4g}"
        certainty = "exact" if found == declared else f"upper; verified: {found}, exact"
    return f"({name} = {at_most(exponent)}), except with probability {declared} ({certainty})"
