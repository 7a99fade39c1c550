"""Guarantees recomputed beside the person, with the standard library alone where the mechanism allows it.

All numbers are upper bounds, in whole numbers rounded to the safe side. A mechanism that cannot be recomputed like
that is trusted only as far as the full engine, where it is installed, confirms it.
"""

import contextlib
import importlib
from dataclasses import dataclass

from untrackable.accounting import verification
from untrackable.brackets import at_most
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.integer_losses import STEPS, LossLaw
from untrackable.theory.integer_slots import MOST_SLOTS

_NEAREST, _FARTHEST = 1e-3, 80.0
"""Steps are made for gammas between these; those beyond can be asked about all the same."""

_ENGINE = "scipy"


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What a campaign's reports tell: delta at the declared eps and gamma (upper), and what is wrong, if any."""

    delta_upper: float
    tracking_delta_upper: float
    problems: tuple[str, ...]


def recompute(campaign: Campaign) -> Recomputed:
    """Is the declared guarantee no stronger than the truth? All rounds are counted, for ever if that suffices."""
    mechanism, declared = campaign.mechanism, campaign.guarantee
    if mechanism.stored_reports > MOST_SLOTS:
        return Recomputed(1.0, 1.0, (f"it has more than the {MOST_SLOTS:,} slots that are kept",))
    laws = [_privacy(campaign, reports, declared.eps / STEPS) for reports in {None, campaign.rounds}]
    deltas = [law.delta(declared.eps) for law in laws if law is not None]
    if not deltas:
        return _by_the_engine(campaign)
    delta, problems = min(deltas), []
    if not mechanism.has_room_for(campaign.encoding.values):
        problems.append(f"the mechanism does not take all {campaign.encoding.values} values of the encoding")
    if delta > declared.delta:
        problems.append(f"it declares delta = {declared.delta:g} at eps = {declared.eps:g}, {_unconfirmed(delta)}")
    tracking = tracking_delta(campaign, campaign.rounds, declared.gamma)
    if tracking > declared.tracking_delta:
        problems.append(
            f"it declares tracking_delta = {declared.tracking_delta:g} at gamma = {declared.gamma:g}, "
            f"{_unconfirmed(tracking)}"
        )
    if problems and _engine():
        found = _by_the_engine(campaign)  # which is sharper where rounds fade
        if not found.problems:
            return found
    return Recomputed(delta, tracking, tuple(problems))


def _unconfirmed(bound: float) -> str:
    """An upper bound above the promise does not mean that the promise is broken."""
    return f"which cannot be confirmed here: at most {at_most(bound)} (upper)"


def privacy(campaign: Campaign, reports: int | None, step: float) -> LossLaw:
    """What so many reports, or all there can ever be, reveal of the value; where that is unknown, as declared."""
    found = _privacy(campaign, reports, step)
    return LossLaw.declared(campaign.guarantee.eps, campaign.guarantee.delta) if found is None else found


def _privacy(campaign: Campaign, reports: int | None, step: float) -> LossLaw | None:
    return campaign.mechanism.integer_privacy(reports, values=campaign.guarantee.values, step=step or 1.0)


def tracking_delta(campaign: Campaign, reports: int | None, gamma: float) -> float:
    """One person against two of the same values: delta at gamma, for the worst split of so many rounds (upper)."""
    count, values = LAST_ROUND if reports is None else reports, verification.changing_values(campaign)
    found = campaign.mechanism.integer_tracking_delta(count, values=values, gamma=gamma)
    if found is not None:
        return found
    step = tracking_step(gamma)
    known = campaign.mechanism.integer_tracking(count, values=values, step=step)
    if known is not None:
        return known.delta(gamma)
    declared = tracking(campaign, reports, step).delta(gamma)
    if _engine():
        with contextlib.suppress(ValueError):
            return min(declared, verification.tracking(campaign).delta(gamma).upper)
    return declared


def tracking_step(gamma: float) -> float:
    """A common step for delta at gamma."""
    return min(max(gamma, _NEAREST), _FARTHEST) / STEPS if gamma else 1 / STEPS


def tracking(campaign: Campaign, reports: int | None, step: float) -> LossLaw:
    """The same for every gamma, as a law; where that is unknown, as declared."""
    count = LAST_ROUND if reports is None else reports
    found = campaign.mechanism.integer_tracking(count, values=verification.changing_values(campaign), step=step)
    if found is None:
        return LossLaw.declared(campaign.guarantee.gamma, campaign.guarantee.tracking_delta)
    return found


def _engine() -> bool:
    """Whether the full package is there."""
    try:
        importlib.import_module(_ENGINE)
    except ImportError:
        return False
    return True


def _by_the_engine(campaign: Campaign) -> Recomputed:
    name = type(campaign.mechanism).__name__
    if not _engine():
        return Recomputed(1.0, 1.0, (f"the guarantee of {name} cannot be recomputed without the full package",))
    verdict = verification.verify(campaign)
    delta, tracking = (1.0 if end is None else end.upper for end in (verdict.delta, verdict.tracking_delta))
    return Recomputed(delta, tracking, verdict.problems)
