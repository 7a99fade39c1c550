"""The audit of a client as a black box, in plain words."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from untrackable.auditing.evidence.attack_bounds import Epsilon
from untrackable.auditing.evidence.client_audit import ClientAudit
from untrackable.brackets import at_least
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
        if self.what == "tracking advantage":
            return self.what
        return f"{self.what}, {'one report' if self.reports == 1 else f'{self.reports} reports'}"


def measures(found: ClientAudit) -> list[Measure]:
    """All numbers, in the order of their table."""
    count, guess = found.reports, f"a guess: {found.chance:.3f}"
    eps, one, tracking = found.eps, found.eps_one, found.tracking
    return [
        Measure("eps", count, eps.lower, eps.sampled, found.claimed_eps, eps.score),
        Measure("eps", 1, one.lower, one.sampled, found.claimed_eps_one, one.score),
        Measure("tracking advantage", count, tracking.lower, tracking.sampled, None, tracking.similarity),
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
        f"Tracking advantage between the halves of {found.reports} reports: at least "
        f"{at_least(found.tracking.lower, 3)} (lower, {_confidence(found)}).",
    ]


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


def _privacy(found: ClientAudit, eps: Epsilon, claimed: float | None, reports: str) -> Iterable[str]:
    bound = f"or {reports}, eps is at least {at_least(eps.lower, 3)} (lower, {_confidence(found)})"
    if claimed is None:
        yield f"F{bound}."
    else:
        fate = "CLAIM REFUTED" if eps.lower > claimed else "The claim is not refuted"
        yield f"{fate}: f{bound}; the claim is {claimed:.4g}."
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
