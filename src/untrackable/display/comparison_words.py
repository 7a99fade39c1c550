"""A comparison in plain words: what it shows, the caption, and a table with one row for each mechanism."""

from untrackable.auditing.comparison import ComparedMechanism, Comparison
from untrackable.display.audited_attendance_words import answering, stays
from untrackable.display.crowd_words import crowd_cell
from untrackable.display.numbers import cell, number, said, upper
from untrackable.display.truth_words import share

CAPTION = (
    "Accuracy against tracking",
    "Further down is harder to follow, further left is more accurate. All keep the same privacy for ever, except "
    "those that are private for these rounds only. Attendance is counted if clients do not answer every round; "
    "people who do are recognised by it, whatever the mechanism.",
)
"""The title and the caption of the chart."""


def verdict(comparison: Comparison) -> list[str]:
    """What the comparison shows."""
    hidden = _hidden(comparison)
    followed = [r for r in comparison.rows if r.recognised.upper > 1 / comparison.crowd * (1 + 1e-6)]
    sentences = []
    best = most_accurate_hidden(comparison)
    if best is not None:
        sentences.append(
            f"Reports cannot be linked with {_listed([r.name for r in hidden])} (exact), "
            f"{_attended(comparison, best)}. The most accurate of them is {best.name}: standard error "
            f"{number(best.all_rounds)} after {comparison.reports} rounds (exact)."
        )
    temporary = "" if all(r.lasts for r in comparison.rows) else ", or where marked * for those of these rounds"
    sentences.append(
        f"All mechanisms answer a question with {comparison.values} possible answers, asked of "
        f"{comparison.people:,} people in {comparison.reports} rounds, with eps = {number(comparison.eps)} at "
        f"delta = {comparison.delta:g} for all reports ever sent{temporary}."
    )
    sentences += _crowd(comparison)
    if followed:
        worst = max(followed, key=lambda r: (r.recognised.upper, r.tracking.advantage.upper))
        sentences.append(
            f"The easiest to follow by reports is {worst.name}: an observer with {comparison.reports} of them "
            f"tells one person from two with advantage {said(worst.tracking.advantage)}, and picks a person out of "
            f"{comparison.crowd:,} with probability at most {upper(worst.recognised.upper)} (upper)."
        )
    return sentences


def most_accurate_hidden(comparison: Comparison) -> ComparedMechanism | None:
    """The most accurate mechanism whose reports cannot be linked and whose privacy lasts, if there is one."""
    return min(_hidden(comparison), key=lambda row: row.all_rounds, default=None)


def _hidden(comparison: Comparison) -> list[ComparedMechanism]:
    guess = 1 / comparison.crowd
    return [row for row in comparison.rows if row.lasts and row.recognised.upper <= guess * (1 + 1e-6)]


def _crowd(comparison: Comparison) -> list[str]:
    """What a relay adds: which mechanisms a crowd hides, and how well."""
    hidden = {row.name: row.in_crowd.eps for row in comparison.rows if row.in_crowd.eps is not None}
    if not hidden:
        return []
    told = ", ".join(f"{name} {upper(eps.upper)}" for name, eps in hidden.items())
    return [
        f"If a relay hides who sends which report, eps of these {comparison.reports} rounds in the crowd of "
        f"{comparison.people:,} people is at most: {told} (upper). The others do not gain: their reports can be "
        "linked."
    ]


def _attended(comparison: Comparison, row: ComparedMechanism) -> str:
    """What attendance adds where reports cannot be linked."""
    often, matched = answering(comparison.attendance.participation, comparison.reports), comparison.matched
    if comparison.attendance.participation == 1:
        told = f"an attack matched {share(matched.alone.sampled)} of {matched.people:,} (sampled)"
        return f"but people who answer every round are recognised by attendance, whatever the mechanism: {told}"
    return (
        f"and with attendance included a person is recognised among {comparison.crowd:,} with probability at most "
        f"{upper(row.attended.upper)} (upper), if {often} and {stays(comparison.attendance.persistence)}"
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def columns(comparison: Comparison) -> tuple[str, ...]:
    """Headings of the table."""
    return (
        "mechanism",
        f"recognised among {comparison.crowd:,}",
        "with attendance",
        "tracking advantage",
        f"gamma({comparison.delta:g})",
        "worst gamma",
        "change noticed",
        f"eps({comparison.delta:g})",
        f"eps in the crowd({comparison.delta:g})",
        "eps, changing values",
        "eps of one report",
        "error, one round",
        f"error, {comparison.reports} rounds",
        "radius, one round",
        "one dishonest report",
    )


def cells(row: ComparedMechanism) -> tuple[str, ...]:
    """One row of the table."""
    return (
        row.name + ("" if row.lasts else " *"),
        cell(row.recognised),
        cell(row.attended),
        cell(row.tracking.advantage),
        cell(row.tracking.gamma),
        cell(row.tracking.pure),
        cell(row.noticed),
        cell(row.privacy.gamma),
        crowd_cell(row.in_crowd),
        cell(row.privacy_any),
        cell(row.one_report),
        number(row.standard_error),
        number(row.all_rounds),
        f"≤ {upper(row.radius)}",
        "" if row.shift is None else f"{number(row.shift)} people",
    )
