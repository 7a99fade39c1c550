"""A campaign's guarantee, for people."""

import math
from datetime import UTC, datetime

from untrackable.campaign import Campaign


def guarantee_words(campaign: Campaign) -> list[str]:
    """What is promised, in sentences."""
    declared = campaign.guarantee
    values = (
        "whatever a person answers, and however often it changes"
        if declared.values == "any"
        else ("for an answer that stays the same")
    )
    sentences = [
        "All reports that a person ever sends, together, change the odds between any two answers by a factor of "
        f"at most {_factor(declared.eps)} (eps = {declared.eps:g}, upper){_except(declared.delta)}, {values}."
    ]
    if declared.gamma == 0 and declared.tracking_delta == 0:
        sentences.append(
            "Nobody can follow a person by them: reports of one person look just as reports of two would (exact)."
        )
    else:
        sentences.append(
            "Whether reports come from one person or from two, they tell by a factor of at most "
            f"{_factor(declared.gamma)} in the odds (gamma = {declared.gamma:g}, upper)"
            f"{_except(declared.tracking_delta)}."
        )
    return sentences


def schedule_words(campaign: Campaign) -> str:
    """When it asks."""
    begins = datetime.fromtimestamp(campaign.first_round, UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0")
    many = "with no last one" if campaign.rounds is None else f"{campaign.rounds:,} in all"
    return f"A round every {_span(campaign.round_seconds)} from {begins}, {many}."


def _span(seconds: int) -> str:
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            count = seconds // size
            return name if count == 1 else f"{count:,} {name}s"
    raise AssertionError


def _factor(exponent: float) -> str:
    return f"{math.exp(exponent):.4g}" if exponent < 50 else f"e^{exponent:g}"


def _except(delta: float) -> str:
    return f", except with probability {delta:.4g}" if delta else ""
