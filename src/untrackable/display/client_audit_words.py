"""The audit of a client as a black box, in plain words."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from untrackable.auditing.evidence.attack_bounds import POWER, TRACKING_LIMIT, Advantage, LossBound
from untrackable.auditing.evidence.client_audit import ClientAudit
from untrackable.brackets import at_least, at_most
from untrackable.display.numbers import all_of


class Measure(NamedTuple):
    """A number that was found: at least `lower`, with the audit's confidence; `sampled` is what was seen.

    `claimed` is what was claimed of it, and `by` the attack that found it, or a guess to compare it with.
    """

    what: str
    reports: int
    lower: float
    sampled: float
    claimed: float | None
    by: str

    @property
    def name(self) -> str:
        """What it is, and of how many reports."""
        if self.what.startswith("tracking"):
            return self.what
        return f"{self.what}, {'one report' if self.reports == 1 else f'{self.reports} reports'}"


def measures(found: ClientAudit) -> list[Measure]:
    """All numbers, in the order of their table."""
    count, guess = found.reports, f"a guess: {found.chance:.3f}"
    eps, one, gamma, tracking = found.eps, found.eps_one, found.gamma, found.tracking
    return [
        Measure("eps", count, eps.lower, eps.sampled, found.claimed_eps, eps.score),
        Measure("eps", 1, one.lower, one.sampled, found.claimed_eps_one, one.score),
        Measure("tracking gamma", count, gamma.lower, gamma.sampled, found.claimed_gamma, gamma.score),
        Measure(
            "tracking advantage",
            count,
            tracking.lower,
            tracking.sampled,
            found.claimed_advantage,
            tracking.similarity,
        ),
        Measure("guessed", count, found.recovered.lower, found.recovered.sampled, None, guess),
        Measure("guessed", 1, found.recovered_one.lower, found.recovered_one.sampled, None, guess),
    ]


COLUMNS = ("", "lower", "sampled", "claimed", "by")


def cells(measure: Measure) -> tuple[str, ...]:
    """A row of the table under `COLUMNS`."""
    claim = "" if measure.claimed is None else f"{measure.claimed:.3f}"
    sampled = "∞" if math.isinf(measure.sampled) else f"{measure.sampled:.3f}"
    return measure.name, at_least(measure.lower, 4), sampled, claim, measure.by


def title(found: ClientAudit) -> str:
    """What was found, in one line."""
    return (
        f"eps of {found.reports} reports is at least {at_least(found.eps.lower, 3)}, the tracking advantage at "
        f"least {at_least(found.tracking.lower, 3)} (lower, {_confidence(found)})"
    )


def verdict(found: ClientAudit) -> list[str]:
    """What the audit found, sentence by sentence. A warning that undermines the rest comes first."""
    return [
        *_shared_randomness(found),
        *_privacy(found, found.eps, found.claimed_eps, all_of(found.reports, "reports")),
        *_privacy(found, found.eps_one, found.claimed_eps_one, "one report"),
        _noise(found),
        *_tracking(found),
    ]


def failed_check(found: ClientAudit) -> str:
    """Why the client fails a check, in one line; empty if it passes."""
    told = {
        "eps": f"eps of {all_of(found.reports, 'reports')} is larger than claimed",
        "eps_one": "eps of one report is larger than claimed",
        "advantage": "the tracking advantage is larger than claimed",
        "gamma": "gamma is larger than claimed",
        "tracking": f"clients can be followed: the tracking advantage is certainly above {TRACKING_LIMIT:g}",
        "shared_randomness": "clients share randomness",
    }
    return "; ".join(told[failure] for failure in found.failures)


def missed(tracking: Advantage, who: str) -> str:
    """The advantage that an attack could have had without being noticed. `who` are people or clients."""
    least = tracking.found_from
    if least is None:
        return f"There are too few {who} to find anything: not even an attack that is always right would show."
    return (
        f"{f'There are only few {who}. ' if tracking.weak else ''}If this attack had an advantage of "
        f"{at_most(least, 3)} or more (upper), it would have been found with a probability of at least "
        f"{100 * POWER:g} %. A smaller one may have been missed."
    )


def _confidence(found: ClientAudit) -> str:
    return f"{100 * found.level:.12g} %"


def _shared_randomness(found: ClientAudit) -> Iterable[str]:
    if found.shares_randomness:
        how = (
            "all clients of a value send the same reports in the same order"
            if found.identical
            else "clients made one after the other agree more than others do"
        )
        yield f"SHARED RANDOMNESS: {how}. Clients are not independent, so do not rely on the bounds below."


def _tracking(found: ClientAudit) -> Iterable[str]:
    """How well a client is followed from one half of its reports to the other."""
    where, tracking = f"between the halves of {found.reports} reports", found.tracking
    for claim, name, lower, claimed in (
        ("advantage", "the tracking advantage", tracking.lower, found.claimed_advantage),
        ("gamma", f"gamma (at delta = {found.claimed_delta:.3g})", found.gamma.lower, found.claimed_gamma),
    ):
        bound = f"{name} {where} is at least {at_least(lower, 3)} (lower, {_confidence(found)})"
        if claim in found.refuted_by_persistence:
            bound = f"{name} {where} is above 0, because something persists (p = {found.persistence.p_value:.2g})"
        if claimed is not None:
            yield f"{_fate(claim in found.refuted_claims)}: {bound}; the claim is {claimed:.4g}."
        elif found.trackable and claim == "advantage":
            yield f"CLIENTS CAN BE FOLLOWED: {bound}."
        else:
            yield f"{bound[0].upper()}{bound[1:]}."
    if tracking.lower == 0:
        yield missed(tracking, "clients")


def _fate(refuted: bool) -> str:
    return "CLAIM REFUTED" if refuted else "The claim is not refuted"


def _privacy(found: ClientAudit, eps: LossBound, claimed: float | None, reports: str) -> Iterable[str]:
    bound = f"or {reports}, eps is at least {at_least(eps.lower, 3)} (lower, {_confidence(found)})"
    if claimed is None:
        yield f"F{bound}."
    else:
        yield f"{_fate(eps.lower > claimed)}: f{bound}; the claim is {claimed:.4g}."
    if eps.outside.hits == 0 and eps.inside.sampled > 0.5:
        yield (
            f"{eps.inside.sampled:.0%} of the clients of one value did what none of {eps.outside.trials:,} clients "
            "of another value did (sampled), so eps may well be infinite."
        )


def _noise(found: ClientAudit) -> str:
    if found.persists:
        return "Something persists in a client: its reports are correlated."
    if not found.averages_out:
        return "Nothing was found to persist in a client."
    fate = "NOISE IS NOT PERMANENT" if found.refuted else "Noise is fresh in every report"
    return (
        f"{fate}: nothing was found to persist in a client, and {found.reports} reports reveal the value of "
        f"{found.recovered.sampled:.1%} of the clients (sampled; {found.recovered.lower:.1%} or more), where one "
        f"report reveals that of {found.recovered_one.sampled:.1%}. Such noise protects a value only while there "
        "are few reports."
    )
