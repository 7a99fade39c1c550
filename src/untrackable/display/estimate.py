"""An answer, an estimate or a distribution: in words, as tables for people and programs, as views and as charts."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from untrackable.answers.answer import (
    MEDIAN_AND_95,
    Answer,
    DaysShare,
    NumberSummary,
    active_shares,
    asks_about_days,
    number_summary,
    returned_shares,
)
from untrackable.answers.trend import people_trend
from untrackable.brackets import Side, rounded
from untrackable.display import charts, view
from untrackable.display.charts import alt
from untrackable.display.numbers import (
    CANNOT_TELL,
    NOT_TOLD,
    number,
    order_notes,
    percent,
    range_words,
    shown_share,
)
from untrackable.estimation.estimate import (
    Distribution,
    Estimate,
    Functional,
    Invented,
    Quantile,
    Ranked,
    about,
    columns,
)
from untrackable.estimation.rounds import ActivePeople, active_people
from untrackable.reports.sums import FileAnswer
from untrackable.units import converted, readable_unit

_NUMBER_DIGITS = 3
_UNKNOWN = f"these reports {CANNOT_TELL}"
_GAPS = "perhaps with gaps"


class NumberRow(NamedTuple):
    """A number for people: its name, its value, and where it lies."""

    name: str
    value: str
    interval: str


def number_rows(summary: NumberSummary) -> list[NumberRow]:
    """Mean, median and other quantiles. A number that the reports do not tell has no value."""
    rows = [] if summary.mean is None else [_row("mean", summary.mean, summary.unit)]
    return rows + [_row(quantile_name(each.q), each, summary.unit) for each in summary.quantiles]


def number_notes(summary: NumberSummary) -> list[str]:
    """How certain the numbers are, and why some are not given."""
    remarks = []
    if summary.mean is not None or summary.quantiles:
        remarks.append(
            f"mean and quantiles: each holds alone, except with probability {summary.beta:.3g} (upper), for every "
            "population and wherever numbers are within their buckets"
        )
    if any(each.tells and each.gaps for each in summary.quantiles):
        remarks.append(
            f"{_GAPS}: it is not certain that somebody holds each of the numbers in that interval; a quantile is "
            "only named if somebody certainly holds it, with the same probability"
        )
    remarks += [f"numbers {side} the range count as its nearest number" for side in summary.clamped]
    return remarks + [f"not given: {reason}" for reason in summary.refusals]


def quantile_name(q: float) -> str:
    """`median` for 0.5, and `95th percentile` for 0.95."""
    if q == 0.5:
        return "median"
    percent = format((Decimal(repr(q)) * 100).normalize(), "f")
    ending = {"1": "st", "2": "nd", "3": "rd"}.get(percent[-1], "th")
    teen = percent[-2:] in ("11", "12", "13") and "." not in percent[-2:]
    return f"{percent}{'th' if teen or '.' in percent else ending} percentile"


def quantity(number: float, unit: str, side: Side = "nearest") -> str:
    """A number with three digits in the unit that suits it. Upper ends are rounded up, lower ones down."""
    suited = readable_unit(Fraction(number), unit)
    return f"{quantity_in(number, unit, suited, side)} {suited}".rstrip()


def common_unit(numbers: Iterable[float], unit: str) -> str:
    """The unit in which the largest of these numbers is best read, for an axis or a column with all of them."""
    largest = max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
    return readable_unit(Fraction(largest), unit)


def quantity_in(number: float, unit: str, shown: str, side: Side = "nearest") -> str:
    """A number with three digits in the unit `shown`, which a heading names, if the reports tell it."""
    if math.isnan(number):
        return CANNOT_TELL
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    shortened = rounded(float(converted(Fraction(number), unit, shown)), _NUMBER_DIGITS, side)
    return format(Decimal(repr(shortened)).normalize(), ",f")


def _row(name: str, estimate: Functional | Quantile, unit: str) -> NumberRow:
    if not estimate.tells:
        return NumberRow(name, _UNKNOWN, "")
    low, high = estimate.lower, estimate.upper
    if math.isinf(low):
        between = f"at most {quantity(high, unit, 'up')}"
    elif math.isinf(high):
        between = f"at least {quantity(low, unit, 'down')}"
    else:
        between = f"between {quantity(low, unit, 'down')} and {quantity(high, unit, 'up')}" if low < high else ""
    gaps = f", {_GAPS}" if isinstance(estimate, Quantile) and estimate.gaps else ""
    return NumberRow(
        name, _value(estimate, unit), f"{between}{gaps}" if between else f"exactly {quantity(low, unit)}"
    )


def _value(estimate: Functional | Quantile, unit: str) -> str:
    if math.isnan(estimate.value):
        return "no single number"
    if math.isinf(estimate.value):
        return "out of range"
    return quantity(estimate.value, unit)


def rounds_words(rounds: Sequence[int]) -> str:
    """Which rounds an estimate is of."""
    if len(rounds) == 1:
        return f"round {rounds[0]:,}"
    return f"{len(rounds):,} rounds pooled, {rounds[0]:,} to {rounds[-1]:,}"


def interval_words(
    beta: float, rows: Sequence[Mapping[str, Any]], *, discovered: bool, others: bool = False
) -> list[str]:
    """How to read the shares, intervals and bars of these rows, and how certain their order is.

    The interval alone says which answers stand out. There are `others` if answers that are not listed may be as
    frequent.
    """
    chance = f"{100 * beta:g} %"
    sentences = [
        f"All intervals hold at once, except with probability {chance} (upper).",
        "An answer stands out if its interval excludes zero: its bar is filled. Pale bars may be noise.",
    ]
    notes = [NOT_TOLD] * any(row["frequency"] is None for row in rows)
    notes += order_notes([(row["lower"], row["upper"]) for row in rows], others=others, listed=not discovered)
    sentences += [f"{note[:1].upper()}{note[1:]}." for note in notes]
    if discovered:
        sentences.append(
            f"Nobody listed these strings: each of them is held by somebody, except with probability {chance} "
            "(upper). Rare strings are not found, and other strings may add a little to a share by chance."
        )
    return sentences


BALLOTS_NEEDED = (
    "Each report shows a ballot of its own, so nobody can invent more reports than they have ballots, but for the "
    "issuer of ballots."
)
"""What is said of invented reports if a campaign has ballots."""
UNKNOWN_IF_DISCOVERED = (
    "It is not known how few invented reports would move these shares: they could also change which strings are "
    "found."
)
UNKNOWN_OF_NUMBERS = (
    "It is not known how few invented reports would move a mean or a quantile: there is no close bound on what one "
    "report adds to them."
)
_REAL = "Nothing tells them from real ones."


def invented_words(invented: Invented | None, *, ballots: bool = False) -> list[str]:
    """How few invented reports would move a share, if that can be said, and who could invent them."""
    end = BALLOTS_NEEDED if ballots else _REAL
    return [end] * ballots if invented is None else [f"{fewest_words(invented, 'interval')} {end}"]


def fewest_words(invented: Invented, of: str) -> str:
    """How few invented reports would move a share as far as its interval or band reaches."""
    points = f"{100 * rounded(invented.shift, 2, 'up'):.2g} points"
    few = f"As few as {_invented(invented.reports)}"
    return f"{few} could move a share by {points}, as far as its {of} reaches (lower)."


def invented_people_words(people: ActivePeople, chance: float, rounds: int, *, ballots: bool = False) -> list[str]:
    """How few invented reports would move a number of people as far up as its interval reaches."""
    end, few = BALLOTS_NEEDED if ballots else _REAL, people.invented(chance, rounds)
    if not few:
        return [f"Each invented report would add one person (exact). {end}"]
    more = f"{rounded(people.upper - people.value, _PEOPLE_DIGITS, 'up'):,.0f} people"
    return [f"As few as {_invented(few)} would add {more}, as far as the interval reaches (exact). {end}"]


def _invented(count: int) -> str:
    return f"{count:,} invented report{'s' * (count != 1)}"


_PEOPLE_DIGITS = 3
COUNTED = "those who forgot that they had answered count again, and those who send nothing do not count"
"""What the number of people leaves out."""


def people_words(people: ActivePeople) -> str:
    """A number of people with its interval."""
    ends: tuple[tuple[float, Side], ...] = (
        (people.lower, "down"),
        (people.value, "nearest"),
        (people.upper, "up"),
    )
    low, middle, high = (f"{rounded(number, _PEOPLE_DIGITS, side):,.0f}" for number, side in ends)
    return f"{middle} people ({low} to {high}: interval, {100 * (1 - people.beta):g} %)"


def active_notes(people: ActivePeople, rounds: int, *, shares: bool = True) -> list[str]:
    """How many people were active in a round, or in each of several, and what `shares` are of; with turns only."""
    if rounds == 1:
        active = f"about {people_words(people)} were active in this round; {COUNTED}"
        of = "those who answered are a random sample of them: shares, errors and intervals are of them"
    else:
        active = f"on average about {people_words(people)} were active in each of these rounds; {COUNTED}"
        of = (
            "nobody answered twice: those who answered are a random sample, and each report weighs the same, so "
            "people count as often as they were active"
        )
    return [active, *[of] * shares]


def days_shares(answer: Answer, beta: float) -> list[DaysShare]:
    """What is asked about days of use; nothing if the question is another one, or nothing is known of the error."""
    asked = asks_about_days(answer)
    if asked is None:
        return []
    try:
        return active_shares(answer, beta=beta) if asked == "active-days" else returned_shares(answer, beta=beta)
    except ValueError:
        return []


def days_rows(answer: Answer, beta: float) -> list[NumberRow]:
    """Each share with where it lies."""
    words = "{} or more" if asks_about_days(answer) == "active-days" else "D{}: back on that day"
    return [
        NumberRow(
            words.format(share.days),
            percent(share.value) if share.tells else _UNKNOWN,
            f"between {percent(share.lower, 'down')} and {percent(share.upper, 'up')}" if share.tells else "",
        )
        for share in days_shares(answer, beta)
    ]


def days_notes(answer: Answer, beta: float) -> list[str]:
    """What these shares are of, and how certain they are."""
    shares = days_shares(answer, beta)
    if not shares:
        return []
    sure = f"these intervals hold together, except with probability {beta:.3g} (upper)"
    if asks_about_days(answer) == "active-days":
        return [f"or more: {sure}"]
    known = ", ".join(f"D{share.days} {percent(share.known)}" for share in shares)
    return [
        f"coming back: {sure}; each is a share of those whose day is over and who were new when first asked "
        f"(of all people, estimated: {known}); those who removed the program do not answer"
    ]


def days_json(answer: Answer, beta: float) -> list[dict[str, Any]]:
    """The shares for JSON."""
    return [
        dataclasses.asdict(share) | ({} if share.tells else {"value": None}) for share in days_shares(answer, beta)
    ]


_SPARKS = "▁▂▃▄▅▆▇█"
_MOST_SPARKS = 20
_BAR = 16
"""How many characters a bar has."""
_BY_RATE = "by fdr"
_SPARE = ("over rounds", _BY_RATE, "± error", "")
"""The columns that are left out where there is no room, in this order."""


def summary(answer: FileAnswer) -> list[str]:
    """Which files were read, and which rounds the table is about."""
    names = [str(file.path) for file in answer.files]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more files" if len(names) > 3 else "")
    numbers, best = list(answer.rounds), answer.best
    about = f"round {numbers[-1]}"
    if len(numbers) > 1:
        about = f"{len(numbers)} rounds, {numbers[0]} to {numbers[-1]}"
        about += ", pooled" if answer.pooled is not None else f"; here round {numbers[-1]}"
    return [f"{shown}: {answer.reports:,} reports of {answer.mechanism!r}", f"{about}: {best.n:,} reports counted"]


def answer_view(
    answer: Answer,
    *,
    top: int = view.SHOWN_ROWS,
    fdr: float = 0.05,
    consistent: bool = False,
    quantiles: Sequence[float] = MEDIAN_AND_95,
    beta: float = 0.05,
) -> view.View:
    """The values with the largest estimates, numbers, days of use, and how many people were active.

    Files have all values of the best estimate, and in every row how many people were active. `consistent` adds the
    nearest frequencies that are possible.
    """
    best, count = answer.best, answer.best.frequencies.size
    numbers = number_summary(answer.encoding, best, quantiles)
    rows = _ranked(answer, best, top, fdr)
    further = [*([] if numbers is None else number_rows(numbers)), *days_rows(answer, beta)]
    title = f"{count:,} values from {best.n:,} reports"

    def data() -> view.Columns:
        people = people_columns([(count, answer.people(beta=best.beta))])
        return {**columns(answer.labelled(best), consistent=consistent), **people}

    def json() -> dict[str, Any]:
        days = days_json(answer, beta)
        told = as_dict(answer, top=top, fdr=fdr, consistent=consistent, quantiles=quantiles)
        return {**told, **({"days": days} if days else {})}

    values = value_table(best, rows, answer.label, fdr=fdr, consistent=consistent, rounds=[*answer.rounds.values()])
    return view.View(
        title=title,
        sentences=summary(answer) if isinstance(answer, FileAnswer) else [f"{title}."],
        tables=[*[values] * bool(rows), *[view.Table(("", "", ""), further)] * bool(further)],
        data=data,
        notes=[*notes(answer, rows, numbers), *days_notes(answer, beta)],
        about=about(answer.labelled(best)),
        json=json,
    )


def notes(answer: Answer, rows: Sequence[Ranked] = (), numbers: NumberSummary | None = None) -> list[str]:
    """What is known of these rows and numbers, and what could not be checked."""
    best = answer.best
    remarks = row_notes(best, rows) + ([] if numbers is None else number_notes(numbers))
    if best.turns is not None:
        rounds = len(answer.rounds) if answer.pooled is not None else 1
        remarks += active_notes(answer.people(beta=best.beta), rounds, shares=not answer.only_counts)
    if answer.only_counts and best.turns is not None:
        people = answer.people(beta=best.beta)
        remarks += invented_people_words(people, float(best.turns.chance), rounds)
    if not answer.only_counts:
        remarks += invented_words(best.invented())
    if answer.pooling:
        remarks.append(f"rounds: {answer.pooling}")
    open_to_damage = "has no checksum: some damage to it cannot be noticed"
    files = answer.files if isinstance(answer, FileAnswer) else ()
    return remarks + [f"{file.path} {open_to_damage}" for file in files if not file.checked]


def row_notes(estimate: Estimate, rows: Sequence[Ranked]) -> list[str]:
    """Why shares are missing, and what is not certain about the order of these rows."""
    order = order_notes(
        [(row.lower, row.upper) for row in rows], others=bool(rows) and not estimate.certainly_top(list(rows))
    )
    return [NOT_TOLD] * any(row.frequency is None for row in rows) + order


def as_dict(
    answer: Answer,
    *,
    top: int = 20,
    fdr: float = 0.05,
    consistent: bool = False,
    quantiles: Sequence[float] = MEDIAN_AND_95,
) -> dict[str, Any]:
    """The most frequent values of all rounds together and of each round, for JSON."""
    files = answer.files if isinstance(answer, FileAnswer) else ()

    def told(estimate: Estimate) -> dict[str, Any]:
        return _estimate(answer, estimate, top, fdr, consistent, quantiles)

    return {
        "mechanism": answer.mechanism.to_json(),
        "encoding": None if answer.encoding is None else answer.encoding.to_json(),
        "files": [{"path": str(f.path), "reports": f.reports, "sealed": f.checked} for f in files],
        "reports": sum(f.reports for f in files),
        "pooled": None if answer.pooled is None else told(answer.pooled),
        "pooling": answer.pooling,
        "rounds": [{"round": number, **told(estimate)} for number, estimate in answer.rounds.items()],
    }


def _estimate(
    answer: Answer, estimate: Estimate, top: int, fdr: float, consistent: bool, quantiles: Sequence[float]
) -> dict[str, Any]:
    rows = _ranked(answer, estimate, top, fdr)
    people = answer.people(beta=estimate.beta)
    if estimate is not answer.pooled:
        people = active_people([estimate.n], estimate.turns, estimate.beta)
    numbers = number_summary(answer.encoding, estimate, quantiles)
    nearest = _nearest(estimate, rows) if consistent else {}
    invented = estimate.invented()
    return {
        "reports": estimate.n,
        "chance": "1" if estimate.turns is None else str(estimate.turns.chance),
        "people": people.to_json(),
        "beta": estimate.beta,
        "intervals": "upper, simultaneous",
        "p_values": estimate.tail,
        "fdr": fdr,
        "values": estimate.frequencies.size,
        **({} if numbers is None else {"numbers": numbers.to_json()}),
        **({} if invented is None else {"invented": invented.to_json()}),
        "top": [
            {
                **row._asdict(),
                "value": answer.label(row.value),
                "tells": row.frequency is not None,
                **({"consistent": nearest[row.value]} if consistent else {}),
            }
            for row in rows
        ],
    }


def _ranked(answer: Answer, estimate: Estimate, top: int, fdr: float) -> list[Ranked]:
    """The values with the largest estimates; none if nothing was asked."""
    return [] if answer.only_counts else estimate.top(top, fdr=fdr)


def _nearest(estimate: Estimate, rows: Sequence[Ranked]) -> dict[Any, float | None]:
    """The consistent frequencies of some values; None if the reports do not tell their shares."""
    nearest = estimate.consistent()
    places = {value: i for i, value in enumerate(estimate.values)} if estimate.values is not None else None
    return {
        row.value: None
        if row.frequency is None
        else float(nearest[row.value if places is None else places[row.value]])
        for row in rows
    }


def value_table(
    estimate: Estimate,
    rows: Sequence[Ranked],
    label: Callable[[Any], str],
    *,
    fdr: float = 0.05,
    consistent: bool = False,
    rounds: Sequence[Estimate] = (),
) -> view.Table:
    """These values with their estimates, each as a bar too, and from three `rounds` on round by round."""
    shown = {"value": [label(row.value) for row in rows]}
    shown["frequency"] = [shown_share(row.frequency) for row in rows]
    if consistent:
        nearest = _nearest(estimate, rows)
        shown["consistent"] = [shown_share(nearest[row.value]) for row in rows]
    if any(row.frequency is not None for row in rows):
        shown["± error"] = ["" if row.frequency is None else percent(row.standard_error) for row in rows]
    shown["interval"] = [f"{percent(row.lower, 'down')} … {percent(row.upper, 'up')}" for row in rows]
    scale = max((row.upper for row in rows), default=1.0) or 1.0
    shown[""] = [bar(row, scale, _BAR) for row in rows]
    shown["found"] = ["✓" if row.stands_out else "" for row in rows]
    shown[_BY_RATE] = ["✓" if row.passes_fdr else "" for row in rows]
    if len(rounds) > 2:
        shown["over rounds"] = [spark(rounds, row.value) for row in rows]
    told = {
        "frequency": "frequency: unbiased, and then cut off at 0 and 100 %",
        "± error": "± error: one standard error (estimated)",
        "interval": f"interval: holds for all values at once, except with probability {estimate.beta:.3g} (upper)",
        "": "█ up to the interval's lower end, ▒ up to the estimate, ─ up to the interval's upper end",
        "found": "✓ found: the interval excludes 0",
        _BY_RATE: f"{_BY_RATE}: a second test, which finds more; a share of {fdr:.3g} of its ✓ is expected to be "
        f"noise (false discovery rate; p-values: {estimate.tail})",
    }
    spare = [place for name in _SPARE for place, heading in enumerate(shown) if heading == name]
    return view.text_table(shown, told=told, spare=spare, more=estimate.frequencies.size - len(rows))


def bar(row: Ranked, scale: float, width: int) -> str:
    """The estimate as a bar: solid up to the lower end of its interval, and a line up to the upper end."""
    estimate = row.lower if row.frequency is None else min(row.upper, max(row.lower, row.frequency))
    low, middle, high = (round(width * share / scale) for share in (row.lower, estimate, row.upper))
    line = "─" * (high - middle - 1) + "┤" if high > middle else ""
    return "█" * low + "▒" * (middle - low) + line


def spark(rounds: Sequence[Estimate], value: Any) -> str:
    """A value's estimates round by round, as small bars from 0 to the largest; a blank where they tell nothing."""
    shares = []
    for estimate in rounds:
        place = value if estimate.values is None else list(estimate.values).index(value)
        shares.append(float(estimate.shares()[place]))
    most = max((share for share in shares if not math.isnan(share)), default=0.0) or 1.0
    step = max(1, -(-len(shares) // _MOST_SPARKS))
    return "".join(
        " " if math.isnan(share) else _SPARKS[round(share / most * (len(_SPARKS) - 1))] for share in shares[::step]
    )


def people_columns(each: Sequence[tuple[int, ActivePeople]]) -> dict[str, Any]:
    """The columns of how many people were active, the same in all rows of a round."""
    names = {"people": 1, "people_lower": 0, "people_upper": 2}
    return {
        name: np.repeat([(p.lower, p.value, p.upper)[i] for _, p in each], [rows for rows, _ in each])
        for name, i in names.items()
    }


@view.make_view.register
def _(estimate: Estimate) -> view.View:
    title = f"{estimate.frequencies.size:,} values from {estimate.n:,} reports"
    rows = estimate.top(view.SHOWN_ROWS)
    return view.View(
        title=title,
        sentences=[f"{title}."],
        tables=[value_table(estimate, rows, str)],
        data=lambda: columns(estimate, consistent=False),
        notes=[*row_notes(estimate, rows), *invented_words(estimate.invented())],
    )


@view.make_view.register
def _(answer: Answer) -> view.View:
    return view.view_of(people_trend(answer, beta=answer.best.beta)) if answer.only_counts else answer_view(answer)


@view.make_view.register
def _(distribution: Distribution) -> view.View:
    count = distribution.edges.size
    title = f"the share of people at or below each of {count:,} numbers"
    told = (
        f"{title.capitalize()} (sampled). Intervals hold for all numbers at once, except with probability "
        f"{distribution.beta:g} (upper)."
    )
    lower, upper = distribution.lower_simultaneous, distribution.upper_simultaneous
    rows = [
        (
            number(float(distribution.edges[i])),
            shown_share(float(distribution.curve[i]) if distribution.tells[i] else None),
            range_words(float(lower[i]), float(upper[i])),
        )
        for i in range(0, count, -(-count // view.SHOWN_ROWS))
    ]
    return view.View(
        title=title,
        sentences=[told],
        tables=[view.Table(("number", "share", "interval"), rows, more=count - len(rows))],
        data=lambda: _distribution_data(distribution),
    )


def _distribution_data(distribution: Distribution) -> view.Columns:
    names = ("standard_error", "lower", "upper", "lower_simultaneous", "upper_simultaneous")
    tells = distribution.tells.tolist()
    shown = {"share": distribution.shares.clip(0, 1), "curve": distribution.curve}
    return {
        "number": view.floats(distribution.edges),
        **{
            name: view.floats(share if told else None for share, told in zip(shares, tells, strict=True))
            for name, shares in shown.items()
        },
        "tells": view.truths(tells),
        "unclamped": view.floats(distribution.shares),
        **{name: view.floats(getattr(distribution, name)) for name in names},
    }


@view.make_charts.register
def _(estimate: Estimate, top: int) -> list[view.Chart]:
    """The values with the largest estimates, with intervals that hold for all values at once."""
    return [value_bars(estimate, estimate.top(top), str, "")]


def value_bars(estimate: Estimate, rows: list[Ranked], label: Callable[[Any], str], pooled: str) -> view.Chart:
    """The shares of these values as bars; `pooled` names their rounds."""
    count = estimate.frequencies.size
    shown = f"{count:,} values"
    if len(rows) < count:
        which = "most frequent" if estimate.certainly_top(rows) else "largest estimates"
        shown = f"the {len(rows)} {which} of {count:,} values"
    shares = [charts.Bar(label(row.value), row.frequency, row.lower, row.upper, row.stands_out) for row in rows]
    return interval_bars(f"Shares of {shown}, from {estimate.n:,} reports{pooled}", shares, estimate.beta)


def interval_bars(title: str, shares: Sequence[charts.Bar], beta: float) -> view.Chart:
    """These shares as bars. Their intervals hold for all values at once."""
    order = "".join(f"; {note}" for note in order_notes([(bar.lower, bar.upper) for bar in shares]))
    words = charts.BarWords(
        title,
        "stands out: the interval excludes 0",
        "may be noise: the interval includes 0",
        "estimate (sampled), and an interval that holds for all values at once, except with probability "
        f"{beta:.3g} (upper){order}",
    )
    return charts.share_bars("shares", shares, words)


@view.make_charts.register
def _(distribution: Distribution, top: int) -> list[view.Chart]:
    """The curve that does not decrease, its estimates, and the bands for one number and for all."""
    columns = {
        "x": distribution.edges,
        "low": distribution.lower,
        "high": distribution.upper,
        "least": distribution.lower_simultaneous,
        "most": distribution.upper_simultaneous,
        "curve": distribution.curve,
        "share": distribution.shares.clip(0, 1),
        "tells": distribution.tells,
    }
    table = zip(*(column.tolist() for column in columns.values()), strict=True)
    rows = [row for cells in table if math.isfinite((row := dict(zip(columns, cells, strict=True)))["x"])]
    for row in rows:
        if not row.pop("tells"):
            row |= {"curve": None, "share": None}
    base = charts.points(rows).encode(x=alt.X("x:Q", title="number", scale=alt.Scale(nice=False, zero=False)))
    up: dict[str, Any] = {
        "title": "share of people",
        "axis": charts.share_axis(),
        "scale": alt.Scale(domain=[0, 1]),
    }
    beta = f"except with probability {distribution.beta:.3g} (upper)"
    series = [
        charts.dot("estimates (sampled)", charts.NEUTRAL),
        charts.Series("the nearest curve that does not fall (sampled)", charts.BLUE),
        charts.square(f"band for one number, {beta}", "#7fb0d6"),
        charts.square(f"band for all numbers at once, {beta}", "#c5dbec"),
    ]
    layers = [
        base.mark_area(color=charts.BLUE, opacity=0.2).encode(y=alt.Y("least:Q", **up), y2="most:Q"),
        base.mark_area(color=charts.BLUE, opacity=0.3).encode(y="low:Q", y2="high:Q"),
        base.mark_line(color=charts.BLUE, strokeWidth=2).encode(y="curve:Q"),
        base.mark_point(color=charts.NEUTRAL, filled=True, size=22, opacity=1).encode(y="share:Q"),
    ]
    title = "The share of people at or below each number"
    return [view.Chart(name="distribution", title=title, drawing=charts.legended(layers, series, 300))]
