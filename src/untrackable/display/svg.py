"""Charts as SVG within a page, in the colours of its style sheet: what a server draws for everybody who looks.

The numbers are those of the same chart elsewhere, and `svg.html` has the elements. Altair and vl-convert would take
longer for each chart than the whole page, and as much memory as the rest of the server.
"""

import math
from collections.abc import Iterable
from functools import singledispatch
from typing import Any, NamedTuple

from untrackable.auditing.attacks import PEOPLE
from untrackable.display.charts import COLOURS, WHISKER, Series, ShareBars
from untrackable.display.numbers import percent
from untrackable.display.observer import ACROSS, Matches
from untrackable.display.page import page_template
from untrackable.display.trend import TrendBand

_TICKS = 4
"""About how many marks an axis has."""
_LETTER = 6.8
"""How wide a letter of a mark is, in the units of the drawing."""
_PANEL, _MATCHES = (280, 110), (320, 210)
"""Width and height of the inner part of a drawing."""


def _drawn(macro: str, *numbers: Any, **named: Any) -> str:
    """What a macro makes of these numbers."""
    return str(getattr(page_template("untrackable.display", "svg.html").module, macro)(*numbers, **named))


@singledispatch
def svg_of(drawing: Any, label: str) -> str:
    """A chart as an SVG element. The label is for those who cannot see it."""
    raise TypeError(f"{type(drawing).__name__} has no numbers to draw")


def bar_rows(shares: ShareBars) -> list[str]:
    """Bars as an SVG element each, for the rows of a table. All have the scale of the widest interval."""
    widest = max((bar.upper for bar in shares.bars), default=1.0) or 1.0
    return [
        _drawn(
            "bar", bar.certain, *(round(100 * (end or 0.0) / widest, 2) for end in (bar.lower, bar.upper, length))
        )
        for bar, length in zip(shares.bars, shares.lengths(), strict=True)
    ]


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
    return _drawn(
        "trend",
        label=label,
        width=width,
        height=height,
        left=max(44.0, 14 + _LETTER * max((len(text) for _, text in marks), default=0)),
        marks=marks,
        band=edge,
        dots=[
            (across(n), up(estimate), f"round {n:,}: {told}")
            for n, estimate, told in zip(band.rounds, band.estimates, band.told, strict=True)
            if estimate is not None
        ],
        changes=[(c.rose, across(c.first), across(c.at), across(c.last), up(at)) for c, at in band.changes],
        first=f"{first:,}",
        last=f"{last:,}",
    )


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

    def line(name: str) -> list[tuple[float, float, float, float]]:
        return [
            (across(row["x"]), up(row["y"]), up(row["low"]), up(row["high"])) for row in rows if row["line"] == name
        ]

    return _drawn(
        "matches",
        label=label,
        width=width,
        height=height,
        marks=[(up(share), f"{100 * share:g} %") for share in (1.0, 0.3, 0.1, 0.03, 0.01)],
        lines=[(_Look.of(series), line(series.name)) for series in matches.lines()],
        guess=_Look.of(matches.legend()[-1]),
        guess_y=up(1 / PEOPLE),
        counts=[(across(count), count) for count in counts],
        across=ACROSS,
    )


class _Look(NamedTuple):
    """The look of a line: the class that chooses its colour, its dashes, and its mark if it has one."""

    name: str
    dash: str
    mark: str
    upright: bool

    @staticmethod
    def of(series: Series) -> "_Look":
        known, upright = series.colour in COLOURS, series.mark == WHISKER
        name = f"colour-{COLOURS.index(series.colour) + 1}" if known else "neutral"
        dash = "{:g} {:g}".format(*series.dash) if series.dash[1] else ""
        return _Look(name, dash, "" if upright else series.mark, upright)


def legend(series: Iterable[Series]) -> list[tuple[str, str]]:
    """What each line or mark looks like, as an SVG element, and its name."""
    return [(_drawn("key", _Look.of(each)), each.name) for each in series]


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between two ends."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    return [round(step * i, 12) for i in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def _tick(number: float, unit: str | None) -> str:
    return percent(number).replace(".00 %", " %") if unit is None else f"{number:,.10g} {unit}".rstrip()
