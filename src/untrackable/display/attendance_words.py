"""What attendance reveals, in plain words."""

from fractions import Fraction
from functools import lru_cache

from untrackable.brackets import rounded
from untrackable.display.percentages import percent
from untrackable.protocol.campaign import Campaign

_AMONG = "1,000"


def attendance_words(campaign: Campaign, recognition_upper: float) -> list[str]:
    """How often people answer, and how well an observer of two places recognises them by reports and attendance."""
    attending, rounds = campaign.attending, campaign.rounds
    sentences = [participation_words(attending.participation, attending.one_network)]
    if campaign.attendance is None:
        sentences.append(
            "This campaign declares nothing about attendance, because it was made before that counted."
        )
    if attending.one_network:
        return sentences
    most = percent(recognition_upper, "up").replace("100.00 %", "100 %")
    sentences.append(
        f"An observer of {_many(len(attending.places))} places recognises a person among {_AMONG} with probability "
        f"at most {most}, by reports and attendance together (upper; guessing: 0.1 %)."
    )
    if rounds is None:
        sentences.append("There is no last round, so whoever answers from several places is recognised in the end.")
        return sentences
    shares = " and ".join(percent(float(share)).replace(".00 %", " %") for share in attending.places)
    stays = "in each round" if attending.persistence == 1 else f"for {attending.persistence} rounds at a time"
    sentences.append(
        f"This is for people who are at these places {shares} of the time, and who choose anew, at random, "
        f"where they are {stays}."
    )
    stay, worst = _worst_stay(campaign)
    if worst > recognition_upper:
        sentences.append(
            "Where people stay longer at one place, attendance reveals more. The worst are stays of "
            f"{stay:,} rounds: at most {percent(worst, 'up')} (upper, by attendance alone)."
        )
    return sentences


def participation_words(share: Fraction, one_network: bool) -> str:
    """How often a client answers, and from where."""
    if one_network:
        where = "Clients answer from one network only, so an observer of another place never sees them."
        return where if share == 1 else f"{often_words(share)} {where}"
    if share == 1:
        return (
            "People answer every round, so nobody is seen at two places in one round. An observer who waits long "
            "enough recognises them by that alone."
        )
    return often_words(share)


def often_words(share: Fraction) -> str:
    """How often a client answers."""
    often = f"one round in {share.denominator:,}" if share.numerator == 1 else f"a share of {share} of all rounds"
    return f"Each person answers about {often}, as a secret coin decides. Rounds without an answer leave no trace."


def sample_words(campaign: Campaign, reports: int, rounds: int) -> str:
    """Who the reports are of, if not everybody answers every round; empty otherwise."""
    share = campaign.participation
    if share == 1:
        return ""
    return (
        f"Those who answer are a random sample, so shares and intervals are of everybody who takes part: about "
        f"{rounded(reports / float(share) / rounds, 2, 'nearest'):,.0f} people in a round (estimated)."
    )


@lru_cache(maxsize=64)
def _worst_stay(campaign: Campaign) -> tuple[int, float]:
    """The stays that make people easiest to recognise, and how well they do (upper)."""
    stay, found = campaign.attending.worst_persistence(campaign.rounds or 1)
    return stay, found.upper


def _many(number: int) -> str:
    return {2: "two", 3: "three", 4: "four"}.get(number, str(number))
