"""What audits of recorded reports and of black boxes found, as columns."""

from typing import Any

from untrackable.auditing.confidence import Share
from untrackable.auditing.evidence.client_audit import ClientAudit
from untrackable.auditing.evidence.file_audit import FileAudit


def file_audit_columns(found: FileAudit) -> dict[str, list[Any]]:
    """One row for each kind of pair: how often the attack took two windows for those of one person."""
    rows = taken_for_one(found)
    return {
        "by": [by for by, _, _ in rows],
        "windows_of": [whose for _, whose, _ in rows],
        "pairs": [share.trials for *_, share in rows],
        "sampled": [share.sampled for *_, share in rows],
        "lower": [share.lower for *_, share in rows],
        "upper": [share.upper for *_, share in rows],
        "level": [found.level for _ in rows],
    }


def taken_for_one(found: FileAudit) -> list[tuple[str, str, Share]]:
    """By what, whose windows, and how often these were taken for those of one person."""
    tried = [("reports", found.tracking)]
    if found.attendance is not None:
        tried.append(("attendance", found.attendance.tracking))
    return [
        (by, whose, share)
        for by, result in tried
        for whose, share in (("one person", result.same), ("two people", result.different))
    ]


def client_audit_columns(found: ClientAudit) -> dict[str, list[Any]]:
    """One row for each measure: at least `lower`, with the confidence `level`; `sampled` is what was seen."""
    rows: list[tuple[str, int, Any, float | None]] = [
        ("eps", found.reports, found.eps, found.claimed_eps),
        ("eps", 1, found.eps_one, found.claimed_eps_one),
        ("tracking_advantage", found.reports, found.tracking, None),
        ("guessed", found.reports, found.recovered, None),
        ("guessed", 1, found.recovered_one, None),
    ]
    return {
        "what": [what for what, *_ in rows],
        "reports": [reports for _, reports, *_ in rows],
        "lower": [float(result.lower) for *_, result, _ in rows],
        "sampled": [float(result.sampled) for *_, result, _ in rows],
        "claimed": [claim for *_, claim in rows],
        "level": [found.level for _ in rows],
    }
