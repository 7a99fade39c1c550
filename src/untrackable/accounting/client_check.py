"""Guarantees recomputed beside the person: with the standard library for the inner-product family and Bitwise.

All numbers are upper bounds. For the inner-product family the laws are exact up to roundings that are all on the
safe side; other mechanisms are believed only as far as the full engine, where it is installed, confirms them.
"""

import contextlib
import importlib
from dataclasses import dataclass
from fractions import Fraction

from untrackable.accounting import bitwise_losses, inner_product_losses
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.wrappers.dealt import Dealt
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND
from untrackable.theory.integer_losses import STEPS, LossLaw

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
    if getattr(campaign.mechanism, "slots", 0) > inner_product_losses.MOST_SLOTS:
        return Recomputed(
            1.0, 1.0, (f"it has more than the {inner_product_losses.MOST_SLOTS:,} slots that are kept",)
        )
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
    """A bound is not the truth, so a promise above which it lies may still be kept."""
    return f"which cannot be confirmed here: at most {bound:g} (upper)"


def privacy(campaign: Campaign, reports: int | None, step: float) -> LossLaw:
    """What so many reports, or all there can ever be, tell of the value: the declared kind, fixed or any."""
    mechanism, fixed = campaign.mechanism, campaign.guarantee.values == "fixed"
    step = step or 1.0
    match mechanism:
        case Dealt() if (base := inner_product_losses.dealt_base(mechanism)) is not None:
            return inner_product_losses.dealt(base, mechanism.slots, reports)
        case Fading():
            return inner_product_losses.fading(mechanism, reports, step)
        case InnerProduct():
            return (inner_product_losses.stored if fixed else inner_product_losses.stored_any)(mechanism, reports)
        case Bitwise():
            return (
                bitwise_losses.fixed(mechanism, reports, step)
                if fixed
                else bitwise_losses.any_values(mechanism, reports)
            )
    return LossLaw.declared(campaign.guarantee.eps, campaign.guarantee.delta)


def tracking_delta(campaign: Campaign, reports: int | None, gamma: float) -> float:
    """One user against two of the same values: delta at gamma, for the worst split of so many rounds (upper)."""
    mechanism, count = campaign.mechanism, LAST_ROUND if reports is None else reports
    if isinstance(mechanism, Bitwise) and not _changes(campaign, count):
        return bitwise_losses.tracking(mechanism, count, gamma)
    found = tracking(campaign, reports, tracking_step(gamma)).delta(gamma)
    if not _recomputed(mechanism) and _engine():
        from untrackable.accounting.verification import tracking as by_the_engine

        with contextlib.suppress(ValueError):
            return min(found, by_the_engine(campaign).delta(gamma).upper)
    return found


def tracking_step(gamma: float) -> float:
    """A common step for delta at gamma."""
    return min(max(gamma, _NEAREST), _FARTHEST) / STEPS if gamma else 1 / STEPS


def tracking(campaign: Campaign, reports: int | None, step: float) -> LossLaw:
    """The same for every gamma, as a law: exact for stored inner products and a kept bit, or what is declared.

    Where reports are independent, it is nothing. Stored inner products of several values are drawn from separate
    slots, so that they show up twice no more often than those of one.
    """
    mechanism, count = campaign.mechanism, LAST_ROUND if reports is None else reports
    match mechanism:
        case Dealt():
            return LossLaw.nothing() if count <= mechanism.slots else LossLaw.everything()
        case InnerProduct():
            cross = Fraction(inner_product_losses.crossing(mechanism.slots, count))
            return LossLaw.of(Fraction(0), {0: 1 - cross}, infinite=cross)
        case Bitwise():
            law = bitwise_losses.tracking_law_any if _changes(campaign, count) else bitwise_losses.tracking_law
            return law(mechanism, count, step)
    if mechanism.independent or count < 2:
        return LossLaw.nothing()
    return LossLaw.declared(campaign.guarantee.gamma, campaign.guarantee.tracking_delta)


def _changes(campaign: Campaign, reports: int) -> bool:
    """Whether two values may be reported twice each."""
    return campaign.guarantee.values == "any" and campaign.encoding.values > 1 and reports > 3


def _recomputed(mechanism: Mechanism) -> bool:
    """Whether it is one of those that are accounted for here."""
    if isinstance(mechanism, Dealt):
        return inner_product_losses.dealt_base(mechanism) is not None
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
    from untrackable.accounting.verification import verify

    verdict = verify(campaign)
    delta, tracking = (1.0 if end is None else end.upper for end in (verdict.delta, verdict.tracking_delta))
    return Recomputed(delta, tracking, verdict.problems)
