"""Checks a campaign's guarantee on a client, with the standard library alone if the mechanism allows it.

All numbers are upper bounds, computed in whole numbers and rounded to the safe side. If a mechanism cannot be
computed like that, the full engine has to confirm the guarantee, and must be installed.
"""

import contextlib
import importlib
from dataclasses import dataclass, replace

from untrackable.accounting import verification, wiped_storage
from untrackable.brackets import at_most, rounded
from untrackable.mechanisms.attended_tracking import MISSED, integer_recognition, most_linked
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.attendance import AMONG
from untrackable.theory.integer_losses import STEPS, LossLaw, tracking_step
from untrackable.theory.integer_slots import MOST_SLOTS

ATTENDANCE_STEP = 2.0**-8
"""The step on which attendance and reports are composed."""

_ENGINE = "scipy"


@dataclass(frozen=True, slots=True)
class Recomputed:
    """The recomputed deltas at the declared eps and gamma, the recognition (upper), and all problems in words.

    `crowd_delta_upper` is delta at the declared eps in a crowd; None if the campaign does not rely on one.
    """

    delta_upper: float
    tracking_delta_upper: float
    recognition_upper: float
    problems: tuple[str, ...]
    crowd_delta_upper: float | None = None


def recompute(campaign: Campaign) -> Recomputed:
    """Check that the declared guarantee is no stronger than the truth, for all rounds of the campaign."""
    mechanism, declared = campaign.mechanism, campaign.guarantee
    if mechanism.stored_reports > MOST_SLOTS:
        return Recomputed(1.0, 1.0, 1.0, (f"it has more than {MOST_SLOTS:,} slots, the most that a client keeps",))
    laws = [_privacy(campaign, reports, declared.eps / STEPS) for reports in {None, campaign.rounds}]
    deltas = [law.delta(declared.eps) for law in laws if law is not None]
    if not deltas:
        return _by_the_engine(campaign)
    delta, problems = min(deltas), wiped_storage.problem_of_any_number(campaign)
    tracking = tracking_delta(campaign, campaign.rounds, declared.gamma)
    if campaign.states != 1:
        delta, tracking = wiped_storage.delta_upper(campaign), wiped_storage.tracking_delta_upper(campaign)
    if not mechanism.has_room_for(campaign.encoding.values):
        problems.append(f"the mechanism does not take all {campaign.encoding.values} values of the encoding")
    if delta > declared.delta:
        problems.append(f"it declares delta = {declared.delta:g} at eps = {declared.eps:g}, {_unconfirmed(delta)}")
    if tracking > declared.tracking_delta:
        problems.append(
            f"it declares tracking_delta = {declared.tracking_delta:g} at gamma = {declared.gamma:g}, "
            f"{_unconfirmed(tracking)}"
        )
    recognised = recognition(campaign)
    if declared.recognition is not None and recognised > declared.recognition:
        problems.append(
            f"it declares that at most {declared.recognition:g} of people are recognised among {AMONG:,}, "
            f"{_unconfirmed(recognised)}"
        )
    hidden = crowd_delta(campaign)
    if hidden is not None and declared.crowd is not None and hidden > declared.crowd.delta:
        problems.append(
            f"it declares delta = {declared.crowd.delta:g} at eps = {declared.crowd.eps:g} in a crowd of "
            f"{declared.crowd.people:,} people, {_unconfirmed(hidden)}"
        )
    if problems and _engine():
        # The full engine is sharper, above all for mechanisms that fade.
        sharper = _by_the_engine(campaign)
        if not sharper.problems:
            return sharper
    return Recomputed(delta, tracking, recognised, tuple(problems), hidden)


def _unconfirmed(bound: float) -> str:
    """An upper bound above the promise does not mean that the promise is broken."""
    return f"which cannot be confirmed here: at most {at_most(bound)} (upper)"


def privacy(campaign: Campaign, reports: int | None, step: float) -> LossLaw:
    """The privacy loss of this many reports, or of all for ever. If it is unknown, the declared guarantee."""
    law = _privacy(campaign, reports, step)
    return LossLaw.declared(campaign.guarantee.eps, campaign.guarantee.delta) if law is None else law


def _privacy(campaign: Campaign, reports: int | None, step: float) -> LossLaw | None:
    return campaign.mechanism.integer_privacy(
        reports, values=campaign.guarantee.values, step=step or 1.0, participation=campaign.participation
    )


def crowd_delta(campaign: Campaign) -> float | None:
    """Delta of all rounds at the declared eps in the declared crowd (upper); None if the campaign has no crowd.

    If it is not known with the standard library alone, the full engine computes it, if it is installed.
    """
    declared = campaign.guarantee.crowd
    if declared is None:
        return None
    law = _crowd(campaign, campaign.rounds)
    if law is not None:
        return law.delta(declared.eps)
    if not _engine():
        return 1.0
    try:
        return verification.crowd_delta(campaign).upper
    except ValueError:
        return 1.0


def crowd(campaign: Campaign, reports: int | None, step: float) -> LossLaw:
    """What this many reports reveal to somebody who sees everybody's and does not know who sent which.

    If that is unknown, the declared guarantee. Without a crowd, an observer may know whose reports these are.
    """
    declared = campaign.guarantee.crowd
    if declared is None:
        return privacy(campaign, reports, step)
    law = _crowd(campaign, reports)
    return LossLaw.declared(declared.eps, declared.delta) if law is None else law


def _crowd(campaign: Campaign, reports: int | None) -> LossLaw | None:
    declared = campaign.guarantee.crowd
    if declared is None:
        return None
    return campaign.mechanism.integer_crowd(
        people=declared.people, reports=reports, participation=campaign.participation
    )


def tracking_delta(campaign: Campaign, reports: int | None, gamma: float) -> float:
    """Delta at gamma of one person against two with the same values, for the worst split of the rounds (upper)."""
    count, values = LAST_ROUND if reports is None else reports, campaign.changing_values
    delta = campaign.mechanism.integer_tracking_delta(count, values=values, gamma=gamma)
    if delta is not None:
        return delta
    step = tracking_step(gamma)
    law = campaign.mechanism.integer_tracking(count, values=values, step=step)
    if law is not None:
        return law.delta(gamma)
    declared = tracking(campaign, reports, step).delta(gamma)
    if _engine():
        with contextlib.suppress(ValueError):
            return min(declared, verification.tracking(campaign).delta(gamma).upper)
    return declared


def tracking(campaign: Campaign, reports: int | None, step: float) -> LossLaw:
    """How well reports can be linked, for every gamma, as a law. If that is unknown, the declared guarantee."""
    count = LAST_ROUND if reports is None else reports
    law = campaign.mechanism.integer_tracking(count, values=campaign.changing_values, step=step)
    if law is None:
        return LossLaw.declared(campaign.guarantee.gamma, campaign.guarantee.tracking_delta)
    return law


def declaring_recognition(campaign: Campaign) -> Campaign:
    """The same campaign that declares the smallest recognition, to three digits, that every client can confirm."""
    found = min(1.0, rounded(recognition(campaign), 3, "up"))
    return replace(campaign, guarantee=replace(campaign.guarantee, recognition=found))


def recognition(campaign: Campaign) -> float:
    """How often an observer of the places recognises a person among 1,000, by reports and attendance (upper).

    The law of the reports is that of two people. With more places, and reports that can be linked, only the full
    engine knows a bound.
    """
    if campaign.states != 1:
        return wiped_storage.recognition_upper(campaign)
    found = integer_recognition(
        campaign.mechanism,
        campaign.attending,
        campaign.rounds,
        lambda reports, step: tracking(campaign, reports, step),
    )
    if found == 1 and len(campaign.attending.places) > 2 and _engine():
        return verification.recognition(campaign).upper
    return found


def attended_reports(campaign: Campaign, rounds: int | None, step: float) -> tuple[LossLaw, float]:
    """How well the reports of this many rounds can be linked, and the probability that the law does not hold.

    With that probability, there are more reports than the law counts.
    """
    if rounds is None:
        return tracking(campaign, None, step), 0.0
    reports = most_linked(campaign.mechanism, campaign.attending, rounds)
    return tracking(campaign, reports, step), MISSED if reports < rounds else 0.0


def _engine() -> bool:
    """Whether the full engine is installed."""
    try:
        importlib.import_module(_ENGINE)
    except ImportError:
        return False
    return True


def _by_the_engine(campaign: Campaign) -> Recomputed:
    name = type(campaign.mechanism).__name__
    if not _engine():
        return Recomputed(
            1.0, 1.0, 1.0, (f"the guarantee of {name} cannot be recomputed without the full package",)
        )
    verdict = verification.verify(campaign)
    delta, tracking = (1.0 if end is None else end.upper for end in (verdict.delta, verdict.tracking_delta))
    hidden = None if campaign.guarantee.crowd is None else 1.0 if verdict.crowd is None else verdict.crowd.upper
    return Recomputed(delta, tracking, verdict.recognition.upper, verdict.problems, hidden)
