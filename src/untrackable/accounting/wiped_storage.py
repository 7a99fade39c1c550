"""What a person reveals whose storage is wiped: the reports of several states, one after the other (upper).

A client whose storage was wiped joins anew, with a new state that answers later rounds only. Given the person's
values, the states are independent, so the losses of their reports add up. Nobody knows when storage is wiped: each
state is counted with all rounds of the campaign, and attendance with each round once. All numbers are computed in
whole numbers, with the standard library alone.
"""

from untrackable.mechanisms.attended_tracking import MISSED, integer_recognition, most_linked
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.integer_losses import STEPS, LossLaw, composed, tracking_step


def delta_upper(campaign: Campaign) -> float:
    """Delta at the declared eps of all states that the guarantee counts; 1 if it is not known."""
    eps, made = campaign.guarantee.eps, campaign.mechanism
    step = eps / STEPS
    laws = [
        made.integer_privacy(
            reports, values=campaign.guarantee.values, step=step or 1.0, participation=campaign.participation
        )
        for reports in {None, campaign.rounds}
    ]
    return min(_all_states(campaign, law, step).delta(eps) for law in laws)


def tracking_delta_upper(campaign: Campaign) -> float:
    """Delta at the declared gamma of one person against two, with all their states; 1 if it is not known."""
    gamma = campaign.guarantee.gamma
    step = tracking_step(gamma)
    return _tracking(campaign, campaign.rounds or LAST_ROUND, step).delta(gamma)


def recognition_upper(campaign: Campaign) -> float:
    """How often an observer of the places recognises a person among 1,000, by attendance and all states."""
    found = integer_recognition(
        campaign.mechanism,
        campaign.attending,
        campaign.rounds,
        lambda reports, step: _tracking(campaign, reports, step),
    )
    rounds, more = campaign.rounds or LAST_ROUND, (campaign.states or 1) - 1
    missed = MISSED if most_linked(campaign.mechanism, campaign.attending, rounds) < rounds else 0.0
    return min(1.0, found + more * missed)


def counted_rounds(campaign: Campaign, lives: list[int | None]) -> list[int | None]:
    """The number of rounds of each state that counts in a person's ledger, which knows these lives.

    Where the campaign declares wipes, the ledger may have begun after one. Then the campaign counts as a whole, as
    its guarantee does, with one more state for each earlier life that the ledger knows.
    """
    if not campaign.guarantee.wipes:
        return lives
    known = len(lives) - 1 if campaign.mechanism.charged_by == "states" else 0
    return [campaign.rounds] * ((campaign.states or 1) + known)


def problem_of_any_number(campaign: Campaign) -> list[str]:
    """Why no guarantee holds for any number of wipes, if each new state reveals more."""
    if campaign.states is not None:
        return []
    name = type(campaign.mechanism).__name__
    return [f"it declares any number of wipes, and with {name} each new state reveals more; give a number"]


def _tracking(campaign: Campaign, reports: int, step: float) -> LossLaw:
    law = campaign.mechanism.integer_tracking(reports, values=campaign.changing_values, step=step)
    return _all_states(campaign, law, step)


def _all_states(campaign: Campaign, law: LossLaw | None, step: float) -> LossLaw:
    """The law of all states together; everything is revealed if no law is known, or if there is no last state."""
    if law is None or campaign.states is None:
        return LossLaw.everything()
    return composed([law] * campaign.states, step)
