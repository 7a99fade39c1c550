"""Answers round by round: shares, mean and quantiles in words, as tables, for programs, as views and as charts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from untrackable.answers.answer import Answer
from untrackable.answers.trend import NAME as PEOPLE
from untrackable.answers.trend import NumberTrend, number_trends, people_trend, share_trends
from untrackable.arrays import FloatArray
from untrackable.brackets import Side
from untrackable.display import charts, view
from untrackable.display.charts import alt
from untrackable.display.estimate import (
    COUNTED,
    common_unit,
    fewest_words,
    people_columns,
    quantile_name,
    quantity,
    quantity_in,
    summary,
    value_bars,
)
from untrackable.display.estimate import as_dict as estimate_dict
from untrackable.display.numbers import CANNOT_TELL, NOT_TOLD, all_of, order_notes, percent
from untrackable.estimation.estimate import Estimate, Ranked, columns_by_round
from untrackable.estimation.rounds import Change, active_people
from untrackable.reports.sums import FileAnswer
from untrackable.units import converted

Unit = str | None
"""The unit of numbers, empty if they have none; None for shares of people."""
_NAMED = 4
"""Values that are named in one sentence."""


def amount(value: float, unit: Unit, side: Side = "nearest") -> str:
    """A share as a percentage, or a number in its unit, if the reports tell it."""
    if math.isnan(value):
        return CANNOT_TELL
    if unit is None:
        return percent(value, side)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return quantity(value, unit, side)


def band_note(beta: float, rounds: int, *, all_values: bool) -> str:
    """What the band of a trend promises."""
    scope = all_of(rounds, "rounds") if rounds > 1 else "this round"
    values = " and all values" if all_values else ""
    return f"band: holds for {scope}{values} together, except with probability {beta:.3g} (upper)"


def change_note(trend: NumberTrend, *, all_values: bool = False) -> str:
    """What the changes promise, and how they were found."""
    values, beta = " of all values" if all_values else "", trend.beta
    how = "stretches of rounds were compared" if trend.independent else "single rounds were compared"
    if not trend.independent and trend.name != PEOPLE:
        how += ", as rounds share errors: clients keep their noise, or strings are hashed"
    return f"changes: all of them{values} are real, except with probability {beta:.3g} (upper); {how}"


def invented_in_a_round(trends: Sequence[NumberTrend]) -> list[str]:
    """How few invented reports in one round would move one of these shares, if that can be said."""
    known = [trend.invented for trend in trends if trend.invented is not None]
    return [f"In one round: {fewest_words(min(known), 'band')}"] if known else []


def trend_name(trend: NumberTrend) -> str:
    """What a trend is called: a value's name, the mean, or a quantile such as the median."""
    return trend.name if trend.quantile is None else quantile_name(trend.quantile)


def trend_unit(trend: NumberTrend, unit: str) -> str:
    """The unit in which a trend is best read: its estimates, or its band if the reports tell none."""
    return common_unit(trend.upper if np.isnan(trend.estimates).all() else trend.estimates, unit)


def change_sentence(trend: NumberTrend, change: Change, unit: Unit) -> str:
    """When a number rose or fell, and by how much at least."""
    verb, side = ("rose", "above") if change.rose else ("fell", "below")
    when = f"in round {change.last}"
    if change.last > change.first + 1:
        when = f"between rounds {change.first} and {change.last}, most likely in round {change.at}"
    least = amount(change.lower if change.rose else -change.upper, unit, "down").replace(" %", " points")
    size = f"at least {least} {side}" if change.lower > 0 or change.upper < 0 else side
    after, before = _stretch(change.after), _stretch(change.before)
    are = "is" if change.after[0] == change.after[1] else "together are"
    subject = f"the {'share of ' if unit is None else ''}{trend_name(trend)}"
    return f"{subject} {verb} {when}: {after} {are} {size} {before}"


def unchanged_sentence(trends: Sequence[tuple[NumberTrend, Unit]]) -> str:
    """Which numbers have no change that is certain; empty if all have one."""
    still = [(trend_name(trend), unit) for trend, unit in trends if not trend.changes]
    if not still:
        return ""
    names = [f"the {name}" for name, unit in still if unit is not None]
    if shares := [name for name, unit in still if unit is None]:
        more = f" and {len(shares) - _NAMED} more" if len(shares) > _NAMED else ""
        names.append(f"the share{'s' * (len(shares) > 1)} of {', '.join(shares[:_NAMED])}{more}")
    return f"it is not certain that these changed: {', '.join(names)}"


def _stretch(rounds: tuple[int, int]) -> str:
    first, last = rounds
    return f"round {first}" if first == last else f"rounds {first} to {last}"


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


def tables(trends: Trends) -> list[view.Table]:
    """People, mean and quantiles with a row for each round, and then the shares."""
    people = () if trends.people is None else (trends.people,)
    numbers = [_number_table(each, unit) for each, unit in ((people, ""), (trends.numbers, trends.unit)) if each]
    return [*numbers, *([_share_table(trends.shares)] if trends.shares else [])]


def _number_table(trends: Sequence[NumberTrend], unit: str) -> view.Table:
    counted = {"round": trends[0].rounds, "reports": trends[0].reports}
    cells = {name: [f"{numbers[i]:,}" for i in _last(trends[0])] for name, numbers in counted.items()}
    for trend in trends:
        suited = trend_unit(trend, unit)
        cells[f"{trend_name(trend)}{f' ({suited})' if suited else ''}"] = [
            f"{quantity_in(float(trend.estimates[i]), unit, suited)} "
            f"({quantity_in(float(trend.lower[i]), unit, suited, 'down')} … "
            f"{quantity_in(float(trend.upper[i]), unit, suited, 'up')})"
            for i in _last(trend)
        ]
    return view.text_table(cells, first=2)


def _last(trend: NumberTrend) -> range:
    """The places of the rounds that a table has."""
    return range(max(0, len(trend.rounds) - _MOST_ROUNDS), len(trend.rounds))


def _share_table(trends: Sequence[NumberTrend]) -> view.Table:
    """A row for each round of each value."""
    rows = [
        ("" if place else trend_name(trend), *_cells(trend, i))
        for trend in trends
        for place, i in enumerate(_last(trend))
    ]
    return view.Table(("", "round", "reports", "estimate", "band"), rows)


def _cells(trend: NumberTrend, i: int) -> tuple[str, str, str, str]:
    """A round of a trend: its number, its reports, the estimate and the band."""
    middle, low, high = (float(each[i]) for each in (trend.estimates, trend.lower, trend.upper))
    band = f"{amount(low, trend.unit, 'down')} … {amount(high, trend.unit, 'up')}"
    return f"{trend.rounds[i]:,}", f"{trend.reports[i]:,}", amount(middle, trend.unit), band


def sentences(trends: Trends) -> list[str]:
    """What changed, and the trends without a certain change."""
    said = [change_sentence(trend, change, unit) for trend, unit in trends.units() for change in trend.changes]
    return [*said, *filter(None, [unchanged_sentence(trends.units())])]


def notes(trends: Trends) -> list[str]:
    """What bands and changes promise."""
    first, several = (trends.units()[-1][0]), len(trends.shares) > 1
    beyond = ["shares are cut off at 0 and 100 %"] * bool(trends.shares)
    beyond += ["a mean may be out of range"] * bool(trends.numbers)
    said = [
        "; ".join(
            ["estimate: unbiased", *beyond, *["behind it, its band"] * bool(trends.numbers or trends.people)]
        ),
        band_note(trends.beta, len(first.rounds), all_values=several),
        change_note(first, all_values=several),
    ]
    if len(first.rounds) > _MOST_ROUNDS:
        said.insert(
            0, f"the last {_MOST_ROUNDS} of {len(first.rounds):,} rounds; --json and --plot have all of them"
        )
    if trends.people is not None:
        said.append(
            f"people active: the number of reports of a round over the chance of a turn; {COUNTED}; their bands "
            "and changes hold together as well; shares and numbers of a round are of those who were active in it"
        )
    said += invented_in_a_round(trends.shares)
    if any(np.isnan(trend.estimates).any() for trend in trends.shares):
        said.append(NOT_TOLD)
    if trends.shares:
        said += order_notes([], others=trends.others)
    if trends.numbers and not trends.shares:
        said.append("the shares of single values are in --json, --plot and --export, and shown with --top")
    if trends.numbers:
        names = ", ".join(trend_name(trend) for trend in trends.numbers)
        said.append(
            f"{names}: these hold together as well; bands cover every position within buckets, and estimates and "
            "changes take numbers as the middle of their buckets"
        )
        if any(np.isnan(trend.estimates).any() for trend in trends.numbers):
            said.append(
                f"{CANNOT_TELL}: the band of that round leaves out less than a tenth of what is possible, or it is "
                "not certain that anybody holds the quantile"
            )
    return said


def rounds_view(answer: FileAnswer, trends: Trends, printed: Trends, *, consistent: bool) -> view.View:
    """All trends of the reports in files, and as text those that are `printed`.

    Files have all values of all rounds, and if they are numbers, the mean and quantiles of each round. The
    intervals of a value hold for all rounds together, and the simultaneous ones for all rounds and values.
    """

    def data() -> view.Columns:
        share = trends.beta / len(answer.rounds)
        each = {number: answer.labelled(replace(one, beta=share)) for number, one in answer.rounds.items()}
        people = [
            (one.frequencies.size, active_people([one.n], answer.question.turns, share))
            for one in answer.rounds.values()
        ]
        values = columns_by_round(each, consistent=consistent)
        return {**values, **_number_columns(each, trends.numbers), **people_columns(people)}

    reports = sum(one.n for one in answer.rounds.values())
    return view.View(
        title=f"{reports:,} reports in {len(answer.rounds):,} rounds",
        sentences=[*summary(answer)[:1], *sentences(printed)],
        tables=tables(printed),
        data=data,
        notes=notes(printed),
        about={"reports": reports, "beta": trends.beta, "intervals": "upper"},
        json=lambda: as_dict(answer, trends),
    )


def as_dict(answer: FileAnswer, trends: Trends) -> dict[str, Any]:
    """All trends for JSON."""
    about = estimate_dict(answer, top=1)
    return {
        **{name: about[name] for name in ("mechanism", "encoding", "files", "reports")},
        "beta": trends.beta,
        "bands": "upper, all rounds together",
        "changes": "upper, all together",
        **({} if trends.people is None else {"people": _trend_dict(trends.people)}),
        "shares": [_trend_dict(trend) for trend in trends.shares],
        "unit": trends.unit,
        "numbers": [_trend_dict(trend) for trend in trends.numbers],
    }


def _trend_dict(trend: NumberTrend) -> dict[str, Any]:
    return {
        "name": trend_name(trend),
        "independent": trend.independent,
        "rounds": view.rows_of(_trend_data(trend)),
        "changes": [change._asdict() for change in trend.changes],
    }


def _number_columns(each: Mapping[int, Estimate], numbers: Sequence[NumberTrend]) -> dict[str, Any]:
    """Mean and quantiles with their bands, the same in all rows of a round."""
    rows = [estimate.frequencies.size for estimate in each.values()]
    columns: dict[str, Any] = {}
    for trend in numbers:
        name = "mean" if trend.quantile is None else f"quantile_{trend.quantile:g}"
        for ending, values in (("", trend.estimates), ("_lower", trend.lower), ("_upper", trend.upper)):
            columns[name + ending] = view.Column(
                "float64", [_none_if_nan(each) for each in np.repeat(values, rows)]
            )
    return columns


def _none_if_nan(estimate: float) -> float | None:
    """A number that the reports do not tell is missing in files."""
    return None if np.isnan(estimate) else float(estimate)


@view.make_view.register
def _(trend: NumberTrend) -> view.View:
    count = len(trend.changes)
    changes = "no change is certain" if not count else f"{count} change{'s' * (count > 1)}"
    of = "share of " if trend.unit is None else ""
    title = f"{of}{trend_name(trend)} in {len(trend.rounds):,} rounds, {changes}"
    rows = [_cells(trend, i) for i in range(min(view.SHOWN_ROWS, len(trend.rounds)))]
    return view.View(
        title=title,
        sentences=[
            f"{title}.",
            *(change_sentence(trend, change, trend.unit) for change in trend.changes),
            band_note(trend.beta, len(trend.rounds), all_values=False),
            change_note(trend),
            *invented_in_a_round([trend]),
        ],
        tables=[view.Table(("round", "reports", "estimate", "band"), rows, more=len(trend.rounds) - len(rows))],
        data=lambda: _trend_data(trend),
    )


def _trend_data(trend: NumberTrend) -> view.Columns:
    errors = [None] * len(trend.rounds) if trend.standard_errors is None else trend.standard_errors
    estimates = [_none_if_nan(each) for each in trend.estimates.tolist()]
    return {
        "round": view.counts(trend.rounds),
        "reports": view.counts(trend.reports),
        "estimate": view.floats(estimates),
        "tells": view.truths(each is not None for each in estimates),
        "standard_error": view.floats(errors),
        "lower": view.floats(trend.lower),
        "upper": view.floats(trend.upper),
    }


_FEWEST_ROUNDS = 3


@view.make_charts.register
def _(answer: Answer, top: int) -> list[view.Chart]:
    """The same with the names of values, and below it the first of them over the rounds, from three rounds on.

    If nothing was asked, it is how many people were active.
    """
    if answer.only_counts:
        return list(view.charts_of(people_trend(answer, beta=answer.best.beta), top))
    rows = answer.best.top(top)
    pooled = "" if len(answer.rounds) == 1 else " of all rounds" if answer.pooled else " of the last round"
    made = [value_bars(answer.best, _in_order(answer, rows), answer.label, pooled)]
    if len(answer.rounds) >= _FEWEST_ROUNDS:
        drawn = answer.best.top(min(top, MOST_TRENDS))
        first = share_trends(answer, [row.value for row in _in_order(answer, drawn)], beta=answer.best.beta)
        few = "" if len(drawn) == len(rows) else f"with the {len(drawn)} largest estimates, "
        made += trend_group(first, f"The values {few}round by round")
    return made


def _in_order(answer: Answer, rows: list[Ranked]) -> list[Ranked]:
    """Numbers from the lowest to the highest, if all are shown; else those that are certainly frequent first."""
    whole = answer.encoding is not None and answer.encoding.ordered and len(rows) == answer.best.frequencies.size
    return sorted(rows, key=lambda row: row.value) if whole else rows


MOST_TRENDS = 6
"""The largest number of trends in a picture."""
_LONGEST = 60
_BAND = "#c5dbec"
"""The colour of a band in the legend."""


@view.make_charts.register
def _(trend: NumberTrend, top: int = 0) -> list[view.Chart]:
    """One number round by round."""
    return trend_group(
        [trend], f"The {'share of ' if trend.unit is None else ''}{trend_name(trend)}, round by round"
    )


@view.make_charts.register
def _(trends: Trends, top: int) -> list[view.Chart]:
    """How many were active, mean and quantiles, as far as known, and the values with the largest estimates."""
    shares = trends.shares[:MOST_TRENDS]
    left_out = len(trends.shares) - len(shares)
    more = f" ({left_out} more values are not drawn)" if left_out else ""
    return [
        *(trend_group([trends.people], "People active by round") if trends.people else ()),
        *(trend_group(trends.numbers, "Mean and quantiles by round") if trends.numbers else ()),
        *(trend_group(shares, f"Shares by round{more}") if shares else ()),
    ]


def trend_group(trends: Sequence[NumberTrend], title: str) -> list[view.Chart]:
    """A chart for each trend, all shares on one scale. The last one says what the marks mean."""
    finite = _finite(trends)
    shares = (float(finite.min()), float(finite.max())) if trends[0].unit is None else None
    made = []
    for place, trend in enumerate(trends):
        name = charts.axis_label(trend_name(trend), _LONGEST)
        chart = _trend_chart(
            trend, f"trend-{place}", name, shares, legend=trends if place == len(trends) - 1 else []
        )
        made.append(replace(chart, title=title) if len(trends) == 1 else chart)
    if len(trends) > 1:
        made[0] = replace(made[0], title=f"{title}: {made[0].title}")
    return made


def _trend_chart(
    trend: NumberTrend, chart: str, title: str, ends: tuple[float, float] | None, *, legend: Sequence[NumberTrend]
) -> view.Chart:
    unit = trend.unit and trend_unit(trend, trend.unit)
    scale = float(converted(Fraction(1), trend.unit, unit)) if trend.unit and unit else 1.0
    finite = _finite([trend])  # Numbers without a bound are drawn a little beyond the others.
    beyond = float(np.ptp(finite)) / 10 or 1.0
    low, high, middle = (
        [float(end) for end in np.clip(ends, finite.min() - beyond, finite.max() + beyond) * scale]
        for ends in (trend.lower, trend.upper, trend.estimates)
    )

    def height(change: Change) -> float:
        """Where a change is marked: at the estimate, or in the middle of the band if the reports do not tell it."""
        at = trend.rounds.index(change.at)
        return (low[at] + high[at]) / 2 if math.isnan(middle[at]) else middle[at]

    return view.Chart(
        name=chart,
        title=title,
        drawing=TrendBand(
            rounds=trend.rounds,
            low=tuple(low),
            high=tuple(high),
            estimates=tuple(None if math.isnan(each) else each for each in middle),
            told=tuple(amount(each, trend.unit) for each in trend.estimates.tolist()),
            changes=tuple((each, height(each)) for each in trend.changes),
            unit=unit,
            ends=ends,
            legend=tuple(_meanings(legend) if legend else ()),
        ),
    )


class TrendBand(NamedTuple):
    """A trend as it is drawn: its band, estimates with what is `told` of them, and changes with their heights.

    The `unit` is None for shares of people. `ends` are those of the axis, if several trends share them.
    """

    rounds: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    estimates: tuple[float | None, ...]
    told: tuple[str, ...]
    changes: tuple[tuple[Change, float], ...]
    unit: Unit
    ends: tuple[float, float] | None
    legend: tuple[charts.Series, ...]

    def altair(self) -> Any:
        rows = [
            {"round": number, "low": low, "high": high, "estimate": estimate}
            for number, low, high, estimate in zip(self.rounds, self.low, self.high, self.estimates, strict=True)
        ]
        if self.unit is None:
            up: dict[str, Any] = {"title": "share", "axis": charts.share_axis()}
        else:
            up = {"title": self.unit or "number", "axis": alt.Axis(tickCount=5)}
        domain = alt.Undefined if self.ends is None else list(self.ends)
        y = alt.Y("low:Q", scale=alt.Scale(zero=False, domain=domain), **up)
        rounds = alt.Axis(format="d", tickMinStep=1, tickCount=6)
        base = charts.points(rows).encode(
            x=alt.X("round:Q", title="round", axis=rounds, scale=alt.Scale(nice=False, padding=8, zero=False))
        )
        layers = [
            base.mark_area(color=charts.BLUE, opacity=0.25).encode(y=y, y2="high:Q"),
            base.mark_line(color=charts.BLUE, strokeWidth=1.5).encode(y="estimate:Q"),
            base.mark_point(color=charts.BLUE, filled=True, size=25, opacity=1).encode(y="estimate:Q"),
        ]
        for change, height in self.changes:
            colour, mark = _LOOKS[change.rose]
            seen = charts.points(
                [{"round": change.at, "first": change.first, "last": change.last, "height": height}]
            )
            reach = seen.mark_rule(color=colour, strokeWidth=5, opacity=0.5)
            layers.append(reach.encode(x="first:Q", x2="last:Q", y="height:Q"))
            layers.append(
                seen.mark_point(color=charts.INK, fill=colour, shape=mark, size=90, opacity=1).encode(
                    x="round:Q", y="height:Q"
                )
            )
        if self.legend:
            layers.append(charts.Key([], self.legend).legend)
        return alt.layer(*layers).properties(height=190)


def _finite(trends: Sequence[NumberTrend]) -> FloatArray:
    """All numbers that can be drawn."""
    ends = np.concatenate([end for trend in trends for end in (trend.lower, trend.upper, trend.estimates)])
    return ends[np.isfinite(ends)] if np.isfinite(ends).any() else np.zeros(1)


_LOOKS = {True: (charts.GREEN, "triangle-up"), False: (charts.RED, "triangle-down")}
"""The colour and the mark of a rise and of a fall."""


def _meanings(trends: Sequence[NumberTrend]) -> list[charts.Series]:
    """What all marks mean."""
    beta, changes = trends[0].beta, [change for trend in trends for change in trend.changes]
    band = f"holds for all rounds together, except with probability {beta:.3g} (upper)"
    meanings = [
        charts.dot("estimates (sampled)", charts.BLUE),
        charts.square(band, _BAND),
    ]
    for rose, word in ((True, "rose"), (False, "fell")):
        if any(change.rose == rose for change in changes):
            label = f"{word}, for certain within the rounds of its bar, most likely at the mark"
            colour, mark = _LOOKS[rose]
            meanings.append(charts.Series(label, colour, mark=mark, filled=True))
    return meanings
