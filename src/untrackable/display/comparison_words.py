"""A comparison in plain words: what it shows, and a table with one row for each mechanism."""

from untrackable.auditing.comparison import Comparison, Row
from untrackable.brackets import Bracket
from untrackable.display.numbers import number, shown


def verdict(comparison: Comparison) -> list[str]:
    """What the comparison shows."""
    guess = 1 / comparison.crowd
    hidden = [r for r in comparison.rows if r.lasts and r.recognised.upper <= guess * (1 + 1e-6)]
    followed = [r for r in comparison.rows if r.recognised.upper > guess * (1 + 1e-6)]
    told = [
        f"{comparison.values} possible answers, {comparison.reports} reports a person, "
        f"{comparison.people:,} people, everlasting "
        f"eps = {number(comparison.eps)} at delta = {comparison.delta:g}."
    ]
    if hidden:
        best = min(hidden, key=lambda r: r.all_rounds)
        told.insert(
            0,
            f"{', '.join(r.name for r in hidden)}: nobody can be followed (exact). Of these {best.name} is the "
            f"most accurate: standard error {number(best.all_rounds)} after {comparison.reports} rounds.",
        )
    if followed:
        worst = max(followed, key=lambda r: (r.recognised.upper, r.tracking.advantage.upper))
        told.append(
            f"The easiest to follow, {worst.name}: recognised among {comparison.crowd:,} with probability at most "
            f"{number(worst.recognised.upper)}."
        )
    return told


def columns(comparison: Comparison) -> tuple[str, ...]:
    """Headings of the table."""
    return (
        "mechanism",
        f"recognised among {comparison.crowd:,}",
        "tracking advantage",
        f"gamma({comparison.delta:g})",
        "worst gamma",
        "change noticed",
        f"eps({comparison.delta:g})",
        "eps, any sequence",
        "eps of one report",
        "error, one round",
        f"error, {comparison.reports} rounds",
        "radius, one round",
    )


def cells(row: Row) -> tuple[str, ...]:
    """One row of the table."""
    return (
        row.name + ("" if row.lasts else " *"),
        _cell(row.recognised),
        _cell(row.tracking.advantage),
        _cell(row.tracking.gamma),
        _cell(row.tracking.pure),
        _cell(row.noticed),
        _cell(row.privacy.gamma),
        _cell(row.privacy_any),
        _cell(row.one_report),
        number(row.standard_error),
        number(row.all_rounds),
        f"≤ {number(row.radius)}",
    )


def _cell(bracket: Bracket) -> str:
    text, certainty = shown(bracket)
    return f"≤ {text}" if certainty == "upper" else text.split(" ±")[0]
