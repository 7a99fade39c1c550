"""The audit of a file of reports in plain words."""

from collections.abc import Iterable

from untrackable.auditing.evidence.file_audit import FileAudit
from untrackable.brackets import at_least


def verdict(found: FileAudit) -> list[str]:
    """Whether people can be followed, then what else a reader of the result should know."""
    return [_finding(found), _attendance(found), *_remarks(found)]


def _finding(found: FileAudit) -> str:
    tracking = found.tracking
    if tracking.lower > 0:
        return (
            "People in this file can be followed by their reports. An attack that uses "
            f"{tracking.similarity} tells whether two windows are of one person or of two people, with an "
            f"advantage of at least {at_least(tracking.lower, 3)} (lower, {100 * found.level:.12g} %; "
            f"{tracking.sampled:.3g} sampled). "
            "An advantage of 0 is a guess, and 1 is certainty."
        )
    return (
        "No way to follow the people in this file by their reports was found. The attack had an advantage of "
        f"{tracking.sampled:.3g} (sampled), which may be luck with {tracking.different.trials:,} pairs of people. "
        "Another attack may do better."
    )


def _attendance(found: FileAudit) -> str:
    """Whether people can be followed by the rounds in which they were seen."""
    if found.attendance is None:
        return f"Attendance was not looked at: {found.attendance_missing}."
    tracking, matched, sure = found.attendance.tracking, found.attendance.matched, f"{100 * found.level:.12g} %"
    first = (
        f"Of {matched.people:,} people who were held out, {100 * matched.sampled:.3g} % were matched right "
        f"(sampled; {sure} interval {100 * matched.lower:.3g} % to {100 * matched.upper:.3g} %; a guess: "
        f"{100 / matched.people:.2g} %)."
    )
    told = (
        f"{found.attendance.rounds:,} rounds tell one person from two with an advantage of at least "
        f"{at_least(tracking.lower, 3)} (lower, {sure}; {tracking.sampled:.3g} sampled)"
    )
    if tracking.lower > 0 and matched.lower > 1 / matched.people:
        return f"Attendance gives people away, whatever their reports say: the {told}. {first}"
    if tracking.lower > 0:
        return f"By attendance alone, {told}, but nobody is found by it in a crowd. {first}"
    return (
        f"By attendance alone, in {found.attendance.rounds:,} rounds, no way to follow people was found. The "
        f"attack had an advantage of {tracking.sampled:.3g} (sampled), which may be luck. {first}"
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
