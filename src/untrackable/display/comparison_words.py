"""A comparison in plain words: what it shows, the caption, and a table with one row for each mechanism."""

from untrackable.auditing.comparison import LARGEST_EPS, ONE_TURN, ComparedMechanism, Comparison
from untrackable.display.crowd_words import crowd_cell
from untrackable.display.numbers import cell, number, said, upper
from untrackable.display.truth_words import share

CAPTION = (
    "Accuracy against tracking",
    "Further down is harder to follow by what reports say, further left is more accurate. All keep the same "
    "privacy for ever, except those that are private for these rounds only. People who answer every round are "
    "recognised by attendance, whatever the mechanism. People who have one turn are not.",
)
"""The title and the caption of the chart."""


def verdict(comparison: Comparison) -> list[str]:
    """What the comparison shows."""
    hidden = _hidden(comparison)
    followed = [r for r in comparison.rows if r.recognised.upper > 1 / comparison.crowd * (1 + 1e-6)]
    sentences = _turns(comparison)
    best = most_accurate_hidden(comparison)
    if best is not None:
        sentences.append(
            f"With everybody in every round, reports cannot be linked with {_listed([r.name for r in hidden])} "
            f"(exact), but people are recognised by attendance, whatever the mechanism: an attack matched "
            f"{share(comparison.matched.alone.sampled)} of {comparison.matched.people:,} (sampled). The most "
            f"accurate of these mechanisms is {best.name}: standard error {number(best.all_rounds)} after "
            f"{comparison.reports} rounds (exact)."
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


def _turns(comparison: Comparison) -> list[str]:
    """What one turn gives, and where everybody in every round would be more accurate."""
    turn = next(row for row in comparison.rows if row.name == ONE_TURN)
    better = (
        f"at no eps up to {LARGEST_EPS:g}"
        if comparison.every_round_from is None
        else f"only from an eps of {comparison.every_round_from:g} on (upper)"
    )
    return [
        "If each person answers once, in a round that their device draws in secret (one turn), no two reports "
        f"exist that could be linked (exact). An observer of two places recognises a person among "
        f"{comparison.crowd:,} with probability at most {upper(turn.attended.upper)} (upper), and the standard "
        f"error of one round is {number(turn.standard_error)}, for a share of {share(comparison.share)} (exact). "
        f"A deck that everybody answers in every round would have a smaller error of a round {better}. Mechanisms "
        "that keep their noise may have a smaller one at any eps, and their reports can be linked."
    ]


def most_accurate_hidden(comparison: Comparison) -> ComparedMechanism | None:
    """The most accurate one for every round whose reports cannot be linked and whose privacy lasts, if any."""
    return min(_hidden(comparison), key=lambda row: row.all_rounds, default=None)


def _hidden(comparison: Comparison) -> list[ComparedMechanism]:
    limit = 1 / comparison.crowd * (1 + 1e-6)
    return [row for row in comparison.rows if row.lasts and row.recognised.upper <= limit and row.name != ONE_TURN]


def _crowd(comparison: Comparison) -> list[str]:
    """What a relay adds: which mechanisms a crowd hides, and how well."""
    hidden = {row.name: row.in_crowd.eps for row in comparison.rows if row.in_crowd.eps is not None}
    if not hidden:
        return []
    told = ", ".join(f"{name} {upper(eps.upper)}" for name, eps in hidden.items())
    return [
        f"If a relay hides who sends which report, eps of these {comparison.reports} rounds in the crowd of "
        f"{comparison.people:,} people is at most: {told} (upper; with one turn, the crowd of one round). The "
        "others do not gain: their reports can be linked."
    ]


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
