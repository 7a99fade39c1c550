"""A campaign's guarantee and schedule in plain words."""

import math
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from untrackable import strict_json
from untrackable.brackets import at_most
from untrackable.display.attendance_words import attendance_words
from untrackable.display.crowd_guarantee_words import TRUST_WORDS, crowd_words
from untrackable.display.numbers import odds_factor
from untrackable.display.truth_words import share, truth_words
from untrackable.protocol.campaign import Campaign

_LARGE = 4.0
"""The eps above which a page says how often people tell the plain truth."""


def guarantee_words(campaign: Campaign, verdict: str) -> list[str]:
    """What is promised, in sentences, with what the verification (JSON) found when the campaign was created."""
    declared, verified = campaign.guarantee, strict_json.parse(verdict)
    private = _at("eps", declared.eps, declared.delta, verified.get("delta"))
    holds = (
        "This holds whatever a person answers, and however often the answer changes."
        if declared.values == "any"
        else "This holds for an answer that stays the same."
    )
    crowd = declared.crowd
    everything = "All reports" if crowd is None else "If the relay and the collector work together, all reports"
    sentences = [
        f"{everything} that a person ever sends, taken together, change the odds between any two answers by a "
        f"factor of at most {odds_factor(declared.eps)} {private}. {holds}",
        _guess_words(declared.eps, declared.delta),
    ]
    if crowd is not None:
        hidden = [crowd_words(crowd, verified.get("crowd")), _guess_words(crowd.eps, crowd.delta)]
        sentences = [*hidden, *sentences, TRUST_WORDS]
    if declared.wipes is not None:
        sentences.append(wipes_words(declared.wipes))
    truth = campaign.mechanism.truthfulness()
    if declared.eps > _LARGE and truth is not None:
        sentences.append(f"This eps is large. {truth_words(*truth)}")
    if declared.gamma == 0 and declared.tracking_delta == 0:
        sentences.append(
            "Reports of one person look exactly like reports of two people with the same answer (exact). "
            "People with different answers are hidden from each other only as far as the odds above say."
        )
    else:
        found = verified.get("tracking_delta")
        sentences.append(
            "Linking reports is limited: they change the odds between one person and two people with the same "
            f"answer by a factor of at most {odds_factor(declared.gamma)} "
            f"{_at('gamma', declared.gamma, declared.tracking_delta, found)}."
        )
    recognised = verified.get("recognition")
    return sentences + attendance_words(campaign, 1.0 if recognised is None else recognised["upper"])


def wipes_words(wipes: int | Literal["any"]) -> str:
    """What it means that stored data is deleted, as browsers do, so that a person's client begins anew."""
    if wipes == "any":
        return (
            "This also holds if what a person's client stored is deleted, however often: each round has a report "
            "of its own, whichever client makes it."
        )
    anew = "The client then begins anew, as a new person's would"
    if wipes == 0:
        return f"This holds only while what a person's client stored is not deleted. {anew}, and reveals more."
    times = "once" if wipes == 1 else f"{wipes} times"
    return (
        f"This also holds if what a person's client stored is deleted {times}. {anew}. After more than that, "
        "its reports reveal more."
    )


def guarantee_sentence(campaign: Campaign) -> str:
    """The guarantee in one sentence, for a list of campaigns: how well a guess can do."""
    declared, crowd = campaign.guarantee, campaign.guarantee.crowd
    everything = share(guess_bound(declared.eps, declared.delta), "up")
    if crowd is None:
        return (
            "A guess between two answers, made from all reports that a person ever sends, is right with "
            f"probability at most {everything} (upper; 50 % is a coin toss)."
        )
    return (
        "A guess between two answers, made by the collector from all reports that it ever gets, is right with "
        f"probability at most {share(guess_bound(crowd.eps, crowd.delta), 'up')}; together with the relay, at most "
        f"{everything} (upper; 50 % is a coin toss)."
    )


def _guess_words(eps: float, delta: float) -> str:
    return (
        "A guess between two answers, made from all these reports, is right with probability at most "
        f"{share(guess_bound(eps, delta), 'up')} (upper; 50 % is a coin toss)."
    )


def guess_bound(eps: float, delta: float) -> float:
    """(1 + TV)/2, where TV is at most (e^eps - 1 + 2·delta)/(e^eps + 1) for anything (eps, delta)-private."""
    return min(1.0, 0.5 * (1 + math.tanh(eps / 2)) + delta / (1 + math.exp(min(eps, 700.0))))


def schedule_words(campaign: Campaign) -> str:
    """When the campaign asks."""
    many = "without end" if campaign.rounds is None else f"{campaign.rounds:,} in all"
    return f"A round every {_span(campaign.round_seconds)} from {_date(campaign.first_round)}, {many}."


def end_words(campaign: Campaign, last_round: int | None, now: float) -> str:
    """Whether the campaign has ended, or ends early, as a sentence; or nothing. Somebody may set its last round."""
    last = campaign.rounds if last_round is None else last_round
    if last == 0:
        return "This campaign was ended before its first round."
    if last is not None and now >= campaign.begins(last + 1):
        return f"This campaign has ended: round {last:,} was its last one."
    return "" if last_round is None or last_round == campaign.rounds else f"Round {last:,} is its last one."


class CampaignState(NamedTuple):
    """Whether a campaign takes reports now, in a word and in a sentence."""

    open: bool
    name: str
    words: str


def campaign_state(campaign: Campaign, last_round: int | None, now: float) -> CampaignState:
    """Whether a campaign takes reports at this time."""
    last = campaign.rounds if last_round is None else last_round
    if last is not None and (last == 0 or now >= campaign.begins(last + 1)):
        return CampaignState(False, "ended", end_words(campaign, last_round, now))
    current = campaign.round_at(now)
    if current is None:
        return CampaignState(False, "not begun", f"Its first round begins on {_date(campaign.first_round)}.")
    many = "" if last is None else f" of {last:,}"
    until = _date(campaign.begins(current + 1))
    return CampaignState(True, "open", f"Round {current:,}{many} is open until {until}.")


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0")


def _span(seconds: int) -> str:
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            count = seconds // size
            return name if count == 1 else f"{count:,} {name}s"
    raise AssertionError


def _at(name: str, exponent: float, delta: float, verified: dict[str, Any] | None) -> str:
    """The exponent and the probability that goes with it, each with the kind of number it is."""
    if delta == 0:
        return f"({name} = {at_most(exponent)}, upper)"
    certainty, declared = "upper", at_most(delta, 4)
    if verified is not None and verified["certainty"] == "exact":
        found = f"{verified['upper']:.4g}"
        certainty = "exact" if found == declared else f"upper; verified: {found}, exact"
    return f"({name} = {at_most(exponent)}), except with probability {declared} ({certainty})"
