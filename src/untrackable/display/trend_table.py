"""An answer round by round, as a table for people or programs: estimates, bands and changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from untrackable.answers.answer import Answer
from untrackable.answers.number_trend import NumberTrend, number_trends, share_trends
from untrackable.answers.people_trend import people_trend
from untrackable.display.estimate_table import as_dict as estimate_dict
from untrackable.display.estimate_table import people_columns
from untrackable.display.notebook_columns import Column
from untrackable.display.number_words import quantity_in
from untrackable.display.people_words import COUNTED
from untrackable.display.percentages import CANNOT_TELL, NOT_TOLD, order_notes, percent, shown_share
from untrackable.display.table_file import write_table
from untrackable.display.trend_words import (
    Unit,
    band_note,
    change_note,
    change_sentence,
    trend_name,
    trend_unit,
    unchanged_sentence,
)
from untrackable.estimation.active_people import active_people
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.estimate_export import columns_by_round
from untrackable.reports.file_answers import FileAnswer

_MOST_ROUNDS = 24
"""The largest number of rounds in a table for people."""


class Trends(NamedTuple):
    """The values with the largest estimates over the rounds, and if values are numbers, their mean and quantiles.

    With turns, `people` is how many were active. `others` says that values which are not shown may be as frequent.
    """

    shares: tuple[NumberTrend, ...]
    numbers: tuple[NumberTrend, ...]
    beta: float
    unit: str
    others: bool = False
    people: NumberTrend | None = None

    def units(self) -> list[tuple[NumberTrend, Unit]]:
        """All trends, numbers first, each with its unit."""
        people: list[tuple[NumberTrend, Unit]] = [] if self.people is None else [(self.people, "")]
        return [*people, *((trend, self.unit) for trend in self.numbers), *((trend, None) for trend in self.shares)]


def trends_of(answer: Answer, *, top: int, quantiles: Sequence[float], beta: float) -> Trends:
    """The trends of the values with the largest estimates. Those of numbers hold together as well."""
    rows = [] if answer.only_counts else answer.best.top(top)
    return Trends(
        share_trends(answer, [row.value for row in rows], beta=beta) if rows else (),
        number_trends(answer, quantiles, beta=beta),
        beta,
        getattr(answer.encoding, "unit", ""),
        bool(rows) and not answer.best.certainly_top(rows),
        people_trend(answer, beta=beta) if answer.question.turns is not None or answer.only_counts else None,
    )


def tables(found: Trends, width: int) -> list[dict[str, list[str]]]:
    """People, mean and quantiles with a row for each round, as many beside each other as fit, then the shares."""
    shares = [_share_table(found.shares)] if found.shares else []
    people = [] if found.people is None else _number_tables([found.people], "", width)
    return [*people, *_number_tables(found.numbers, found.unit, width), *shares]


def _number_tables(trends: Sequence[NumberTrend], unit: str, width: int) -> list[dict[str, list[str]]]:
    made: list[dict[str, list[str]]] = []
    for trend in trends:
        last = _last(trend)
        suited = trend_unit(trend, unit)
        cells = [
            f"{quantity_in(float(trend.estimates[i]), unit, suited)} "
            f"({quantity_in(float(trend.lower[i]), unit, suited, 'down')} … "
            f"{quantity_in(float(trend.upper[i]), unit, suited, 'up')})"
            for i in last
        ]
        column = {f"{trend_name(trend)}{f' ({suited})' if suited else ''}": cells}
        if not made or _wide({**made[-1], **column}) > width:
            numbers = {"round": trend.rounds, "reports": trend.reports}
            made.append({name: [f"{counts[i]:,}" for i in last] for name, counts in numbers.items()})
        made[-1] |= column
    return made


def _wide(columns: dict[str, list[str]]) -> int:
    """How many characters the columns take, with the space between them."""
    return 1 + sum(2 + max(map(len, (title, *cells))) for title, cells in columns.items())


def _last(trend: NumberTrend) -> range:
    """The places of the rounds that a table has."""
    return range(max(0, len(trend.rounds) - _MOST_ROUNDS), len(trend.rounds))


def _share_table(trends: Sequence[NumberTrend]) -> dict[str, list[str]]:
    """A row for each round of each value."""
    cells: dict[str, list[str]] = {name: [] for name in ("", "round", "reports", "estimate", "band")}
    for trend in trends:
        for i in (last := _last(trend)):
            row = (
                trend_name(trend) if i == last.start else "",
                f"{trend.rounds[i]:,}",
                f"{trend.reports[i]:,}",
                shown_share(float(trend.estimates[i])),
                f"{percent(float(trend.lower[i]), 'down')} … {percent(float(trend.upper[i]), 'up')}",
            )
            for column, cell in zip(cells.values(), row, strict=True):
                column.append(cell)
    return cells


def sentences(found: Trends) -> list[str]:
    """What changed, and of which trends no change is certain."""
    said = [change_sentence(trend, change, unit) for trend, unit in found.units() for change in trend.changes]
    return [*said, *filter(None, [unchanged_sentence(found.units())])]


def notes(found: Trends) -> list[str]:
    """What bands and changes promise."""
    first, several = (found.units()[-1][0]), len(found.shares) > 1
    beyond = ["shares are cut off at 0 and 100 %"] * bool(found.shares)
    beyond += ["a mean may be out of range"] * bool(found.numbers)
    said = [
        "; ".join(["estimate: unbiased", *beyond, *["behind it, its band"] * bool(found.numbers or found.people)]),
        band_note(found.beta, len(first.rounds), all_values=several),
        change_note(first, all_values=several),
    ]
    if len(first.rounds) > _MOST_ROUNDS:
        said.insert(
            0, f"the last {_MOST_ROUNDS} of {len(first.rounds):,} rounds; --json and --plot have all of them"
        )
    if found.people is not None:
        said.append(
            f"people active: the number of reports of a round over the chance of a turn; {COUNTED}; their bands "
            "and changes hold together as well; shares and numbers of a round are of those who were active in it"
        )
    if any(np.isnan(trend.estimates).any() for trend in found.shares):
        said.append(NOT_TOLD)
    if found.shares:
        said += order_notes([], others=found.others)
    if found.numbers and not found.shares:
        said.append("the shares of single values are in --json, --plot and --export, and shown with --top")
    if found.numbers:
        names = ", ".join(trend_name(trend) for trend in found.numbers)
        said.append(
            f"{names}: these hold together as well; bands cover every position within buckets, and estimates and "
            "changes take numbers as the middle of their buckets"
        )
        if any(np.isnan(trend.estimates).any() for trend in found.numbers):
            said.append(
                f"{CANNOT_TELL}: the band of that round leaves out less than a tenth of what is possible, or it is "
                "not certain that anybody holds the quantile"
            )
    return said


def as_dict(answer: FileAnswer, found: Trends) -> dict[str, Any]:
    """All trends for JSON."""
    about = estimate_dict(answer, top=1)
    return {
        **{name: about[name] for name in ("mechanism", "encoding", "files", "reports")},
        "beta": found.beta,
        "bands": "upper, all rounds together",
        "changes": "upper, all together",
        **({} if found.people is None else {"people": _trend_dict(found.people)}),
        "shares": [_trend_dict(trend) for trend in found.shares],
        "unit": found.unit,
        "numbers": [_trend_dict(trend) for trend in found.numbers],
    }


def _trend_dict(trend: NumberTrend) -> dict[str, Any]:
    errors = trend.standard_errors
    return {
        "name": trend_name(trend),
        "independent": trend.independent,
        "rounds": [
            {
                "round": number,
                "reports": trend.reports[i],
                "estimate": _none_if_nan(trend.estimates[i]),
                "tells": not bool(np.isnan(trend.estimates[i])),
                "standard_error": None if errors is None else float(errors[i]),
                "lower": float(trend.lower[i]),
                "upper": float(trend.upper[i]),
            }
            for i, number in enumerate(trend.rounds)
        ],
        "changes": [change._asdict() for change in trend.changes],
    }


def export(path: Path, answer: Answer, found: Trends, *, consistent: bool = False) -> None:
    """Write all values of all rounds as a table, and if they are numbers, the mean and quantiles of each round.

    The intervals of a value hold for all rounds together, and the simultaneous ones for all rounds and values.
    """
    share = found.beta / len(answer.rounds)
    each = {number: answer.labelled(replace(estimate, beta=share)) for number, estimate in answer.rounds.items()}
    people = [
        (e.frequencies.size, active_people([e.n], answer.question.turns, share)) for e in answer.rounds.values()
    ]
    columns = columns_by_round(each, consistent=consistent) | _number_columns(each, found.numbers)
    columns |= people_columns(people)
    about = {"reports": sum(estimate.n for estimate in each.values()), "beta": found.beta, "intervals": "upper"}
    write_table(path, columns, about)


def _number_columns(each: Mapping[int, Estimate], numbers: Sequence[NumberTrend]) -> dict[str, Any]:
    """Mean and quantiles with their bands, the same in all rows of a round."""
    rows = [estimate.frequencies.size for estimate in each.values()]
    columns: dict[str, Any] = {}
    for trend in numbers:
        name = "mean" if trend.quantile is None else f"quantile_{trend.quantile:g}"
        for ending, values in (("", trend.estimates), ("_lower", trend.lower), ("_upper", trend.upper)):
            columns[name + ending] = Column("float64", [_none_if_nan(each) for each in np.repeat(values, rows)])
    return columns


def _none_if_nan(estimate: float) -> float | None:
    """A number that the reports do not tell is missing in files."""
    return None if np.isnan(estimate) else float(estimate)
