"""The audit of a file of reports in plain words."""

from collections.abc import Iterable

from untrackable.auditing.evidence.file_audit import FileAudit
from untrackable.brackets import at_least


def verdict(found: FileAudit) -> list[str]:
    """Whether people can be followed, then what else a reader of the result should know."""
    return [_finding(found), *_remarks(found)]


def _finding(found: FileAudit) -> str:
    tracking = found.tracking
    if tracking.lower > 0:
        return (
            f"People in this file can be followed. An attack that uses {tracking.similarity} tells whether two "
            "windows are of one person or of two people, with an advantage of at least "
            f"{at_least(tracking.lower, 3)} (lower, {100 * found.level:.12g} %; {tracking.sampled:.3g} sampled). "
            "An advantage of 0 is a guess, and 1 is certainty."
        )
    return (
        "No way to follow the people in this file was found. The attack had an advantage of "
        f"{tracking.sampled:.3g} (sampled), which may be luck with {tracking.different.trials:,} pairs of people. "
        "Another attack may do better."
    )


def _remarks(found: FileAudit) -> Iterable[str]:
    if found.malformed:
        where = "; ".join(f"{found.unit} {number}: {reason}" for number, reason in found.examples)
        more = "" if found.malformed <= len(found.examples) else "; …"
        yield f"{found.malformed:,} of {found.rows:,} rows are malformed and were left out ({where}{more})."
    if found.elsewhere:
        yield f"{found.elsewhere:,} rows are in other windows and were not used."
    if found.sampled:
        yield f"The audit looked at a uniform sample of {found.pseudonyms:,} pseudonyms."
    yield (
        "This is about the file as it is: people can also be followed if they hold different values or send "
        "different numbers of reports. The definition of untrackable is about people with equal values."
    )
