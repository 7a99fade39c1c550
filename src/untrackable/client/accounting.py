"""Guarantees recomputed beside the person: with the standard library for the inner-product family and Bitwise.

All numbers are upper bounds. For the inner-product family the laws are exact up to roundings that are all on the
safe side; other mechanisms are believed only as far as the full engine, where it is installed, confirms them.
"""

import importlib
from dataclasses import dataclass

from untrackable.campaign import LAST_ROUND, Campaign
from untrackable.client import inner_products, kept_bit
from untrackable.client.laws import Law
from untrackable.mechanisms.base import Mechanism
from untrackable.mechanisms.bitwise import Bitwise
from untrackable.mechanisms.dealt import Dealt
from untrackable.mechanisms.fading import Fading
from untrackable.mechanisms.inner_product import InnerProduct

STEPS = 512
"""A common step is this part of the eps that is asked about."""

_ENGINE = "scipy"


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What a campaign's reports tell: delta at the declared eps and gamma (upper), and what is wrong, if any."""

    delta_upper: float
    tracking_delta_upper: float
    problems: tuple[str, ...]


def recompute(campaign: Campaign) -> Recomputed:
    """Is the declared guarantee no stronger than the truth? All rounds are counted, for ever if that suffices."""
    if not _recomputed(campaign.mechanism):
        return _by_the_engine(campaign)
    declared, problems = campaign.guarantee, []
    if not _fits(campaign):
        problems.append(f"the mechanism does not take all {campaign.encoding.values} values of the encoding")
    delta = min(
        privacy(campaign, reports, declared.eps / STEPS).delta(declared.eps) for reports in {None, campaign.rounds}
    )
    if delta > declared.delta:
        problems.append(f"it declares delta = {declared.delta:g} at eps = {declared.eps:g}, {_unconfirmed(delta)}")
    tracking = tracking_delta(campaign)
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
    """A bound is not the truth, so a promise above which it lies may still be kept."""
    return f"which cannot be confirmed here: at most {bound:g} (upper)"


def privacy(campaign: Campaign, reports: int | None, step: float) -> Law:
    """What so many reports, or all there can ever be, tell of the value: the declared kind, fixed or any."""
    mechanism, fixed = campaign.mechanism, campaign.guarantee.values == "fixed"
    step = step or 1.0
    match mechanism:
        case Dealt() if (base := inner_products.dealt_base(mechanism)) is not None:
            return inner_products.dealt(base, mechanism.slots, reports)
        case Fading():
            return inner_products.fading(mechanism, reports, step)
        case InnerProduct():
            return (inner_products.stored if fixed else inner_products.stored_any)(mechanism, reports)
        case Bitwise():
            return kept_bit.fixed(mechanism, reports, step) if fixed else kept_bit.any_values(mechanism, reports)
    return Law.declared(campaign.guarantee.eps, campaign.guarantee.delta)


def tracking_delta(campaign: Campaign) -> float:
    """One user against two of the same value: delta at the declared gamma, for the worst split of all rounds."""
    mechanism, reports = campaign.mechanism, max(2, campaign.rounds or LAST_ROUND)
    match mechanism:
        case Dealt() if _recomputed(mechanism):
            return 0.0 if reports <= mechanism.slots else 1.0
        case Fading():
            return 0.0
        case InnerProduct():
            return inner_products.crossing(mechanism.slots, reports)
        case Bitwise():
            return kept_bit.tracking(mechanism, reports, campaign.guarantee.gamma)
    return campaign.guarantee.tracking_delta


def _recomputed(mechanism: Mechanism) -> bool:
    """Whether it is one of those that are accounted for here."""
    if isinstance(mechanism, Dealt):
        return inner_products.dealt_base(mechanism) is not None
    return isinstance(mechanism, (Fading, InnerProduct, Bitwise))


def _fits(campaign: Campaign) -> bool:
    match campaign.mechanism:
        case Bitwise():
            values = 2
        case Fading(bits=bits):
            values = 1 << bits
        case Dealt(base=base) | InnerProduct(base=base):
            values = base.values
        case _:
            return False
    return campaign.encoding.values <= values


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
    from untrackable.verification import verify

    verdict = verify(campaign)
    delta, tracking = (1.0 if end is None else end.upper for end in (verdict.delta, verdict.tracking_delta))
    return Recomputed(delta, tracking, verdict.problems)
