"""The guarantee of a campaign, recomputed: by a client in closed form, and by the full engine for everyone.

With turns, everything that a person ever sends is at most w + 1 reports, where w wipes of storage are allowed. Each
has the largest log ratio of its mechanism (pure local differential privacy), so all together have w + 1 times that.
A client checks this with the standard library alone, and counts on no crowd. If everybody answers every round, the
engine recomputes privacy and tracking from the mechanism's parameters.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from untrackable.brackets import Bracket, at_most
from untrackable.errors import ExtraMissing
from untrackable.protocol.ballots import CampaignBallots
from untrackable.protocol.campaign import Campaign, Gateway
from untrackable.protocol.wire import LAST_ROUND

if TYPE_CHECKING:
    from untrackable.mechanisms.interface import Pair
    from untrackable.protocol.campaign_draft import CampaignDraft


@dataclass(frozen=True, slots=True)
class Verdict:
    """What everything that one person sends reveals, recomputed; and all problems in words.

    With turns, `eps` is that of everything that a person sends, and delta is 0. Else `delta` is that of all rounds
    at the declared eps, and `tracking_delta` at the declared gamma. `crowd` is delta at the eps that is declared
    for a crowd, and `crowd_throughout` the eps at that delta of somebody who is active in all rounds of turns.
    """

    delta: Bracket | None
    tracking_delta: Bracket | None
    problems: tuple[str, ...]
    eps: Bracket | None = None
    crowd: Bracket | None = None
    crowd_throughout: Bracket | None = None

    @property
    def holds(self) -> bool:
        """Whether the declared guarantee is no stronger than the truth."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """The recomputed numbers, each with the kind of number it is."""
        told: dict[str, Any] = {"delta": None, "tracking_delta": None}
        for name in ("delta", "tracking_delta", "eps", "crowd", "crowd_throughout"):
            if (number := getattr(self, name)) is not None:
                told[name] = {"lower": number.lower, "upper": number.upper, "certainty": number.certainty}
        return told


def verify(campaign: Campaign) -> Verdict:
    """Recompute the guarantee of all rounds of a campaign."""
    crowd, throughout, more = _crowd(campaign)
    if campaign.turns is None:
        delta, tracked, problems = _every_round(campaign)
        return Verdict(delta, tracked, (*problems, *more), crowd=crowd)
    eps, problems = _turns(campaign)
    nothing = Bracket(0.0, 0.0)
    return Verdict(nothing, nothing, (*problems, *more), Bracket(eps, eps), crowd, throughout)


def client_problems(campaign: Campaign) -> tuple[str, ...]:
    """Why a client refuses a campaign: it declares more than is true, or that cannot be confirmed; or nothing."""
    if campaign.turns is not None:
        return tuple(_turns(campaign)[1])
    try:
        return verify(campaign).problems
    except (ExtraMissing, ImportError):
        name = type(campaign.randomizer).__name__
        return (f"the guarantee of {name} cannot be recomputed without the full package",)


def make_campaign(
    draft: "CampaignDraft",
    *,
    question: str,
    first_round: int,
    round_seconds: int,
    gateway: Gateway | None = None,
    ballots: CampaignBallots | None = None,
) -> tuple[Campaign, Verdict]:
    """The whole campaign of a draft, and its verdict; ValueError if it would not keep what it declares."""
    made = draft.campaign(
        question=question, first_round=first_round, round_seconds=round_seconds, gateway=gateway, ballots=ballots
    )
    verdict = verify(made)
    if not verdict.holds:
        raise ValueError(f"this campaign would not keep what it declares: {'; '.join(verdict.problems)}")
    return made, verdict


def tracking(campaign: Campaign) -> "Pair":
    """One person against two people with the same values, for all rounds of a campaign and the worst split.

    There are at least two reports, so that there are two sides.
    """
    reports = max(2, campaign.rounds or LAST_ROUND)
    return campaign.mechanism.tracking_upper(reports, values=campaign.changing_values)


def _turns(campaign: Campaign) -> tuple[float, list[str]]:
    """The eps of everything that a person sends in a campaign with turns (upper), and what is wrong with it."""
    loss, problems = campaign.randomizer.loss_of_one_report, _no_room(campaign)
    if campaign.turns is None or loss is None:
        raise ValueError("the campaign must have turns")
    eps = campaign.turns.eps_upper(loss)
    if eps > campaign.guarantee.eps:
        problems.append(f"it declares eps = {campaign.guarantee.eps:g}, and has {at_most(eps)}")
    return eps, problems


def _no_room(campaign: Campaign) -> list[str]:
    """That the mechanism does not take all values of the encoding, if so."""
    if campaign.randomizer.has_room_for(campaign.encoding.values):
        return []
    return [f"the mechanism does not take all {campaign.encoding.values} values of the encoding"]


def _every_round(campaign: Campaign) -> tuple[Bracket | None, Bracket, list[str]]:
    """Delta and tracking delta at what is declared, and what is wrong with it."""
    from untrackable.mechanisms.interface import tracking_delta_beyond_engine

    problems, declared, mechanism = _no_room(campaign), campaign.guarantee, campaign.mechanism
    delta, last = None, mechanism.last_round
    if last is not None and (campaign.rounds or LAST_ROUND) > last:
        problems.append(f"the mechanism answers {last:,} rounds only, and the campaign has more")
    try:
        delta = mechanism.privacy(values=declared.values).delta(declared.eps)
        if delta.upper > declared.delta and campaign.rounds is not None:  # It may hold for its rounds only.
            delta = mechanism.privacy(reports=campaign.rounds, values=declared.values).delta(declared.eps)
        problems += _too_large("delta", delta, declared.delta, f"eps = {declared.eps:g}")
    except ValueError as error:
        problems.append(f"its privacy cannot be recomputed: {error}")
    try:
        tracked, failed = tracking(campaign).delta(declared.gamma), ""
    except ValueError as error:  # There are too many reports for the engine.
        reports = campaign.rounds and max(2, campaign.rounds)
        tracked = tracking_delta_beyond_engine(mechanism, reports, values=campaign.changing_values)
        failed = f"its untrackability cannot be recomputed: {error}"
    wrong = _too_large("tracking_delta", tracked, declared.tracking_delta, f"gamma = {declared.gamma:g}")
    return delta, tracked, [*problems, *([failed] if wrong and failed else wrong)]


def _crowd(campaign: Campaign) -> tuple[Bracket | None, Bracket | None, list[str]]:
    """Delta at the eps that is declared for a crowd, eps of somebody who is active throughout, and what is wrong.

    With turns, delta is that of the round in which a person answers, whatever the others do; or of as many rounds
    as a person answers whose storage is wiped, which are different ones.

    One turn each makes the whole campaign one shuffle of pairs of a round and a report (shuffle model), of at least
    as many as the rounds have together, if all turns are uniform. That gives eps at the declared delta for somebody
    who is active in all rounds. Nothing is known for somebody with two answers.
    """
    from untrackable.theory.crowd import LARGEST_CROWD

    declared, mechanism, turns = campaign.guarantee.crowd, campaign.mechanism, campaign.turns
    if declared is None:
        return None, None, []
    reports = campaign.last_round if turns is None else turns.wipes + 1
    present = 1 if turns is None else turns.share
    try:
        delta = mechanism.crowd(people=declared.reports, reports=reports, present=present).delta(declared.eps)
    except ValueError as error:
        return None, None, [f"how well a crowd hides its reports cannot be recomputed: {error}"]
    throughout = None
    if turns is not None and not turns.wipes:
        people = min(LARGEST_CROWD, declared.reports * turns.rounds)
        throughout = mechanism.crowd(people=people, reports=1, mixed=True, present=present).gamma(declared.delta)
    at = f"eps = {declared.eps:g} in a crowd of {declared.reports:,} reports a round"
    return delta, throughout, _too_large("delta", delta, declared.delta, at)


def _too_large(name: str, truth: Bracket, declared: float, at: str) -> list[str]:
    """That a probability is larger than declared, if so."""
    if truth.upper <= declared:
        return []
    return [f"it declares {name} = {declared:g} at {at}, and has up to {at_most(truth.upper)}"]
