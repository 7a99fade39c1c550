"""What audits of recorded reports found, as columns."""

from typing import Any

from untrackable.auditing.confidence import Share
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
