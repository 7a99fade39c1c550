"""Charts as SVG within a page, in the colours of its style sheet: what a server draws for everybody who looks.

The numbers are those of the same chart elsewhere. Altair and vl-convert would take longer for each chart than the
whole page, and as much memory as the rest of the server.
"""

import math
from collections.abc import Iterable, Sequence
from functools import singledispatch
from html import escape
from typing import Any

from untrackable.auditing.attacks import PEOPLE
from untrackable.display.charts import COLOURS, WHISKER, Series, ShareBars
from untrackable.display.numbers import percent
from untrackable.display.observer import ACROSS, Matches
from untrackable.display.trend import TrendBand

_TICKS = 4
"""About how many marks an axis has."""
_LETTER = 6.8
"""How wide a letter of a mark is, in the units of the drawing."""
_PANEL, _MATCHES = (280, 110), (320, 210)
"""Width and height of the inner part of a drawing."""
_MARKS = {True: "M0 -5L5 4H-5Z", False: "M0 5L5 -4H-5Z"}
"""The shapes of a rise and of a fall."""


@singledispatch
def svg_of(drawing: Any, label: str) -> str:
    """A chart as an SVG element. The label is for those who cannot see it."""
    raise TypeError(f"{type(drawing).__name__} has no numbers to draw")


def bar_rows(shares: ShareBars) -> list[str]:
    """Bars as an SVG element each, for the rows of a table. All have the scale of the widest interval."""
    widest = max((bar.upper for bar in shares.bars), default=1.0) or 1.0
    elements = []
    for bar, length in zip(shares.bars, shares.lengths(), strict=True):
        low, high, end = (round(100 * (share or 0.0) / widest, 2) for share in (bar.lower, bar.upper, length))
        inside = _element("rect", class_="fill", y=1, width=end, height=14)
        inside += _element("path", class_="whisker", d=f"M{low} 8H{high}M{low} 4V12M{high} 4V12")
        look = {"class_": "bar" if bar.certain else "bar pale", "viewBox": "0 0 100 16"}
        elements.append(_element("svg", inside, **look, preserveAspectRatio="none", aria_hidden="true"))
    return elements


@svg_of.register
def _(band: TrendBand, label: str) -> str:
    """A band above 0, a dot for each round that the reports tell, and a triangle for each change."""
    width, height = _PANEL
    first, last = band.rounds[0], band.rounds[-1]
    drawn = [number for number in (*band.low, *band.high, *band.estimates) if number is not None]
    lowest, highest = band.ends or (min(drawn), max(drawn))
    lowest, highest = min(0.0, lowest), max(1e-9, highest)

    def across(number: int) -> float:
        return round(width * (number - first) / (last - first), 2)

    def up(number: float) -> float:
        return round(height * (highest - number) / (highest - lowest), 2)

    marks = [(up(tick), _tick(tick, band.unit)) for tick in ticks(lowest, highest)]
    edge = [(across(n), up(end)) for n, end in zip(band.rounds, band.high, strict=True)]
    edge += reversed([(across(n), up(end)) for n, end in zip(band.rounds, band.low, strict=True)])
    dots = [
        (across(n), up(estimate), f"round {n:,}: {told}")
        for n, estimate, told in zip(band.rounds, band.estimates, band.told, strict=True)
        if estimate is not None
    ]
    parts = [*_grid(marks, 0, width), _element("polygon", class_="band", points=_points(edge))]
    parts.append(_element("polyline", class_="line", points=_points((x, y) for x, y, _ in dots)))
    parts += [
        _element("circle", _element("title", escape(told)), class_="dot", cx=x, cy=y, r=3) for x, y, told in dots
    ]
    for change, at in band.changes:
        look = f"change {'rose' if change.rose else 'fell'}"
        reach = f"M{across(change.first)} {up(at)}H{across(change.last)}"
        parts.append(_element("path", class_=f"{look} reach", d=reach))
        place = f"translate({across(change.at)} {up(at)})"
        parts.append(_element("path", class_=look, d=_MARKS[change.rose], transform=place))
    parts.append(_text(f"round {first:,}", 0, height + 18, "start"))
    parts.append(_text(f"{last:,}", width, height + 18, "end"))
    left = max(44.0, 14 + _LETTER * max((len(text) for _, text in marks), default=0))
    box = f"{-left} -8 {width + left + 12} {height + 30}"
    return _element("svg", "".join(parts), class_="panel", viewBox=box, role="img", aria_label=label)


@svg_of.register
def _(matches: Matches, label: str) -> str:
    """Lines over the number of reports, with the interval of each point."""
    width, height = _MATCHES
    counts, rows = sorted({point.reports for point in matches.points}), matches.rows()
    most = math.log(counts[-1]) or 1.0

    def across(reports: float) -> float:
        return round(width * math.log(reports) / most, 1)

    def up(share: float) -> float:
        return round(height * math.log(share) / math.log(matches.lowest), 1)

    marks = [(up(share), f"{100 * share:g} %") for share in (1.0, 0.3, 0.1, 0.03, 0.01)]
    parts = [_text("matched (sampled)", -74, -18, "start"), *_grid(marks, -20, width + 20)]
    for series in matches.lines():
        line = [row for row in rows if row["line"] == series.name]
        inside = [
            _element("path", class_="reach", d=f"M{across(row['x'])} {up(row['low'])}V{up(row['high'])}")
            for row in line
        ]
        places = [(across(row["x"]), up(row["y"])) for row in line]
        inside.append(_element("polyline", points=_points(places), **_dash(series)))
        inside += [_mark(series.mark, *place) for place in places]
        parts.append(_element("g", "".join(inside), class_=_look(series)))
    guess = up(1 / PEOPLE)
    look = matches.legend()[-1]
    parts.append(_element("path", class_=_look(look), d=f"M-20 {guess}H{width + 20}", **_dash(look)))
    parts += [_text(str(count), across(count), height + 20, "middle") for count in counts]
    parts.append(_text(ACROSS, width / 2, height + 38, "middle"))
    box = f"-74 -34 {width + 98} {height + 80}"
    return _element("svg", "".join(parts), class_="matches", viewBox=box, role="img", aria_label=label)


def legend(series: Iterable[Series]) -> list[tuple[str, str]]:
    """What each line or mark looks like, as an SVG element, and its name."""
    keys = []
    for each in series:
        mark = each.mark if each.mark != WHISKER else ""
        inside = _element("path", d="M10 0V10" if each.mark == WHISKER else "M0 5H20", **_dash(each))
        inside += _mark(mark, 10, 5) if mark else ""
        key = {"class_": f"key {_look(each)}", "viewBox": "0 0 20 10", "aria_hidden": "true"}
        keys.append((_element("svg", inside, **key), each.name))
    return keys


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between two ends."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    return [round(step * i, 12) for i in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def _tick(number: float, unit: str | None) -> str:
    return percent(number).replace(".00 %", " %") if unit is None else f"{number:,.10g} {unit}".rstrip()


def _look(series: Series) -> str:
    """The class of a line, which chooses its colour."""
    return f"colour-{COLOURS.index(series.colour) + 1}" if series.colour in COLOURS else "neutral"


def _dash(series: Series) -> dict[str, str]:
    return {"stroke_dasharray": "{:g} {:g}".format(*series.dash)} if series.dash[1] else {}


def _mark(kind: str, x: float, y: float) -> str:
    if kind == "circle":
        return _element("circle", cx=x, cy=y, r=4.5)
    return _element("rect", x=x - 4, y=y - 4, width=8, height=8)


def _grid(marks: Sequence[tuple[float, str]], start: float, end: float) -> list[str]:
    """A line across the drawing at each mark of the upright axis, and its text."""
    return [
        _element("path", class_="grid", d=f"M{start} {y}H{end}") + _text(text, start - 6, y + 4, "end")
        for y, text in marks
    ]


def _text(text: str, x: float, y: float, anchor: str) -> str:
    return _element("text", escape(text), class_="tick", x=x, y=round(y, 2), text_anchor=anchor)


def _points(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in places)


def _element(name: str, inside: str = "", /, **attributes: Any) -> str:
    """An element. Underscores in the names of attributes stand for hyphens, and for nothing at their end."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(given))}"' for key, given in attributes.items()
    )
    return f"<{name}{words}>{inside}</{name}>"
