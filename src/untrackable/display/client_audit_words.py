"""The audit of a client as a black box, in plain words."""

from collections.abc import Iterable

from untrackable.auditing.evidence.attack_bounds import Epsilon
from untrackable.auditing.evidence.client_audit import ClientAudit
from untrackable.brackets import at_least
from untrackable.display.numbers import all_of


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
