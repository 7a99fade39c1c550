"""The audit of a file of reports in plain words."""

from collections.abc import Iterable

from untrackable.auditing.evidence.attack_bounds import Advantage
from untrackable.auditing.evidence.file_audit import FileAudit
from untrackable.auditing.evidence.recorded_attendance import MOST_ROUNDS
from untrackable.brackets import at_least
from untrackable.display.client_audit_words import missed


def verdict(found: FileAudit) -> list[str]:
    """What was compared, whether people can be followed, then what else a reader of the result should know."""
    return [compared(found), _finding(found), _attendance(found), *_remarks(found)]


def compared(found: FileAudit) -> str:
    """Which reports were compared, and how much of the file that is."""
    if found.windows is None:
        how = "Each person's reports were dealt at random into two halves, and the halves were compared"
    else:
        first, second = (f"{found.columns.window} {window}" for window in found.windows)
        how = f"Reports with {first} were compared with those with {second}"
    each = f"on average {found.reports / found.people:.3g} for each of {found.people:,} people"
    used = (
        f"Used were {found.reports:,} of {found.rows:,} rows, {each}. There are {found.pseudonyms:,} people in the "
        f"{'uniform sample that was looked at' if found.sampled else 'file'}"
    )
    if found.rounds is not None:
        count = f"more than {MOST_ROUNDS:,}" if found.rounds > MOST_ROUNDS else f"{found.rounds:,}"
        used += f", and {count} {'round' if found.rounds == 1 else 'rounds'} (column {found.columns.round})"
    elsewhere = f" NOT USED: {found.elsewhere:,} rows in other windows." if found.elsewhere else ""
    return f"{how}.{elsewhere} {used}."


def parts(found: FileAudit) -> str:
    """What a person's reports were divided into."""
    return "halves" if found.windows is None else "windows"


def summary(found: FileAudit) -> str:
    """What was found, in one line."""
    best = max(attack.lower for attack in found.attacks.values())
    if best > 0:
        sure = f"lower, {100 * found.level:.12g} %"
        return f"people can be followed with an advantage of at least {at_least(best, 3)} ({sure})"
    if found.tracking.weak:
        return f"{found.people:,} people are too few to say whether they can be followed"
    return f"no way to follow {found.people:,} people was found"


def failed_check(found: FileAudit) -> str:
    """Why the file fails a check, in one line; empty if it passes."""
    if not found.failures:
        return ""
    limit = "the limit without a claim" if found.claimed_advantage is None else "the claim"
    return (
        f"people can be followed by their {' and by their '.join(found.failures)}: the advantage is certainly "
        f"above {found.limit:g}, {limit}"
    )


def _finding(found: FileAudit) -> str:
    tracking = found.tracking
    if tracking.lower > 0:
        return (
            "People in this file can be followed by their reports. An attack that uses "
            f"{tracking.similarity} tells whether two {parts(found)} are of one person or of two people, with an "
            f"advantage of at least {at_least(tracking.lower, 3)} (lower, {100 * found.level:.12g} %; "
            f"{tracking.sampled:.3g} sampled). "
            "An advantage of 0 is a guess, and 1 is certainty."
        )
    if tracking.weak:
        few = f"NOT DECIDED: {found.people:,} people are too few to say whether they can be followed."
        return f"{few} {_luck(tracking)}"
    where = " between these two windows" if found.elsewhere else ""
    return f"No way to follow the people in this file by their reports was found{where}. {_luck(tracking)}"


def _luck(tracking: Advantage) -> str:
    return (
        f"The attack had an advantage of {tracking.sampled:.3g} (sampled), which may be luck with "
        f"{tracking.different.trials:,} pairs of people. {missed(tracking, 'people')} Another attack may do better."
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
    nothing = (
        "it is NOT DECIDED whether people can be followed" if tracking.weak else "no way to follow people was found"
    )
    return (
        f"By attendance alone, in {found.attendance.rounds:,} rounds, {nothing}. The attack had an advantage of "
        f"{tracking.sampled:.3g} (sampled), which may be luck. {missed(tracking, 'people')} {first}"
    )


def _remarks(found: FileAudit) -> Iterable[str]:
    if found.malformed:
        where = "; ".join(f"{found.unit} {number}: {reason}" for number, reason in found.examples)
        more = "" if found.malformed <= len(found.examples) else "; …"
        yield f"{found.malformed:,} of {found.rows:,} rows are malformed and were left out ({where}{more})."
    if found.columns.passed_over is not None:
        name = found.columns.passed_over
        yield (
            f"The column {name} was not used, because it does not have exactly two values. To compare two of them, "
            f"name them: --window-column {name} --windows A,B. To compare the first of all values with the last: "
            f"--window-column {name}."
        )
    yield (
        "This is about the file as it is: people can also be followed if they hold different values or send "
        "different numbers of reports. The definition of untrackable is about people with equal values."
    )
