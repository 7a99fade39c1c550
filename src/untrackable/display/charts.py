"""What all charts share: colours, sizes, axes, bars with names, and legends in which every mark is.

Charts are Altair's, and drawn by Vega-Lite: on a page by the browser, in a picture by vl-convert. On a page they
are as wide as there is room, and in a picture as a phone can show.

Modules of results take `alt`, Altair, from here: it is loaded when the first chart is drawn, not with their words.
A `Picture` is what a notebook shows of charts, and what is written as SVG, PDF or PNG.
"""

from __future__ import annotations

import math
import struct
import textwrap
import zlib
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from untrackable import checks, strict_json
from untrackable.display.numbers import shown_share
from untrackable.display.view import Chart, charts_of
from untrackable.extras import extra
from untrackable.reports.files import whole_file

if TYPE_CHECKING:
    import altair

    alt = altair
else:

    class _Altair:
        """Altair, loaded when something of it is first used."""

        def __getattr__(self, name: str) -> Any:
            with extra("plots"):
                import altair
            return getattr(altair, name)

    alt = _Altair()


Spec = dict[str, Any]
"""A chart as Vega-Lite."""
Row = dict[str, Any]
"""A row of the data of a chart."""

COLOURS = ["#2a78b5", "#c8552b", "#3a8a4d", "#8a5fb0", "#b8860b", "#5c6675", "#c2528b"]
BLUE, RED, GREEN, _, AMBER = COLOURS[:5]
INK, NEUTRAL = COLOURS[5], "#808894"
"""The colour of limits, guesses and intervals, readable on light and dark pages."""
WHISKER, LYING_WHISKER = "M0,-1L0,1", "M-1,0L1,0"
"""The shape of an error bar in a legend."""
HEIGHT = 240
_MARKS = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left"]
_PERIOD = 24
"""The length of a dash and its gap, in pixels."""
_LEGEND_LETTERS, _NARROW_LETTERS, _NARROW = 46, 20, 340
"""The letters of a line of a legend, those where it is narrow, and below how many pixels it is."""
_TITLE_LETTERS = 60
_LEGEND_WIDTH = "legendWidth"
"""The parameter with the room for legends. A page sets it to its own width, a picture to the picture's."""
_PICTURE, _LETTER = 500, 6.4
"""Pixels: the width of a picture, of which letters are still 9 pixels high on a phone, and that of a letter."""
_LONGEST = 27
"""Letters of a name beside its row."""
_ROW = 26
"""Pixels of a row of bars."""
_LINEAR = 30
"""If the largest length is more than this many times the smallest, their axis is logarithmic."""
FEWEST_ROWS = 2
"""A chart of bars has room for at least this many."""


class Series(NamedTuple):
    """How a line or a mark looks, on the chart and in its legend. A line may have marks at its points."""

    name: str
    colour: str
    dash: tuple[float, float] = (1, 0)
    mark: str = ""
    size: float = 60
    filled: bool = False

    @property
    def sample(self) -> str:
        """Its shape in the legend: the mark, or else two dashes of the line."""
        drawn = self.dash[0] / sum(self.dash)
        return self.mark or "".join(f"M{start},0L{start + 1.5 * drawn:.3g},0" for start in (-1.5, 0))


def square(name: str, colour: str) -> Series:
    """The look of bars and bands."""
    return Series(name, colour, mark="square", filled=True)


def dot(name: str, colour: str, size: float = 60) -> Series:
    """The look of filled points."""
    return Series(name, colour, mark="circle", size=size, filled=True)


def line_series(names: Sequence[str], *, marks: bool = False) -> list[Series]:
    """Lines in their colours. Later ones have longer gaps and smaller marks: those that coincide are all seen."""
    count = len(names)
    gap, step = (most / max(1, count - 1) for most in (0.55 * _PERIOD, min(9, 3 * (count - 1))))
    return [
        Series(
            name,
            COLOURS[i % len(COLOURS)],
            (_PERIOD - gap * i, gap * i),
            _MARKS[i % len(_MARKS)] if marks else "",
            (6 + step * (count - 1 - i)) ** 2,
        )
        for i, name in enumerate(names)
    ]


class Key:
    """The looks of all series of a chart, by the field `line`, and the one legend with all of them."""

    def __init__(
        self, lines: Sequence[Series], others: Sequence[Series] = (), *, shown: list[str] | None = None
    ) -> None:
        self._lines = lines
        self._series = {each.name: each for each in (*lines, *others)}
        names = self._series if shown is None else shown
        room = 7 * min(_LEGEND_LETTERS, max(map(len, names), default=0)) + 36  # pixels for a mark and a name
        wide, narrow = (
            strict_json.write({name: wrapped(name, letters) for name in names})
            for letters in (_LEGEND_LETTERS, _NARROW_LETTERS)
        )
        self._legend = alt.Legend(
            orient="top",
            columns=alt.ExprRef(f"max(1, floor({_LEGEND_WIDTH} / {room}))"),
            labelExpr=f"({_LEGEND_WIDTH} < {_NARROW} ? {narrow} : {wide})[datum.value]",
            labelLimit=0,
            symbolOpacity=1,
            symbolStrokeWidth=2,
            values=alt.Undefined if shown is None else shown,
        )

    def lines(self, chart: Any) -> list[Any]:
        """Rows as lines, and marks upon them where lines have marks.

        Dashes and shapes are looked up, not encoded by a scale: the legend would then have them too.
        """
        looks = {each.name: each for each in self._lines}
        base = chart
        for look in ("dash", "mark", "size"):
            values = strict_json.write({name: getattr(each, look) for name, each in looks.items()})
            base = base.transform_calculate(**{look: f"({values})[datum.line]"})
        dashes = alt.StrokeDash("dash:N", scale=None)
        drawn = [self.coloured(base).mark_line(strokeWidth=2).encode(strokeDash=dashes)]
        if any(each.mark for each in self._lines):
            shapes = {"shape": alt.Shape("mark:N", scale=None), "size": alt.Size("size:Q", scale=None)}
            drawn.append(self.coloured(base).mark_point(filled=False, opacity=1, strokeWidth=1.7).encode(**shapes))
        return drawn

    def coloured(self, chart: Any) -> Any:
        """Rows in the colours of their series."""
        return chart.encode(color=self._colour)

    def marks(self, chart: Any, name: str) -> Any:
        """Rows as the marks of this series."""
        look = self._series[name]
        return self.coloured(chart).mark_point(
            filled=False, opacity=1, shape=look.mark, size=look.size, strokeWidth=1.7
        )

    def rule(self, name: str, at: float, **more: Any) -> Any:
        """A line across the chart at this height."""
        chart = alt.Chart(alt.InlineData(values=[{"line": name, "y": at}]))
        return chart.mark_rule(strokeWidth=1.5, strokeDash=list(self._series[name].dash)).encode(
            y=alt.Y("y:Q"), color=self._colour, **more
        )

    @property
    def legend(self) -> Any:
        """A layer that draws nothing but the legend."""
        shapes = alt.Shape("line:N", title=None, scale=self._scale("sample"), legend=self._legend)
        fills = [each.colour if each.filled else "transparent" for each in self._series.values()]
        fill = alt.Fill(
            "line:N", title=None, scale=alt.Scale(domain=list(self._series), range=fills), legend=self._legend
        )
        return points([]).mark_point(opacity=1).encode(color=self._colour, shape=shapes, fill=fill)

    @property
    def _colour(self) -> Any:
        return alt.Color("line:N", title=None, scale=self._scale("colour"), legend=self._legend)

    def _scale(self, look: str) -> Any:
        return alt.Scale(domain=list(self._series), range=[getattr(each, look) for each in self._series.values()])


def legended(layers: Sequence[Any], series: Sequence[Series], height: int) -> Any:
    """Layers with a legend for their looks."""
    return alt.layer(*layers, Key([], series).legend).properties(height=height)


def points(rows: Sequence[Row]) -> Any:
    """A chart of these rows, without marks yet."""
    return alt.Chart(alt.InlineData(values=list(rows)))


def wrapped(words: str, letters: int) -> list[str]:
    """Words in lines of at most this many letters."""
    return textwrap.wrap(words, letters) or [""]


def span(low: float, high: float) -> alt.Scale:
    """A scale with exactly these ends."""
    return alt.Scale(domain=[low, high], nice=False)


def few_ticks() -> alt.Axis:
    """An axis of numbers, with about six of them."""
    return alt.Axis(tickCount=6)


def share_axis(**more: Any) -> alt.Axis:
    """An axis of shares as percentages, with as many digits as they need. Nothing is more than 100 %."""
    return alt.Axis(
        labelExpr="datum.value > 1 ? '' : format(100 * datum.value, '.4~g') + ' %'", **{"tickCount": 5, **more}
    )


def count_axis(**more: Any) -> alt.Axis:
    """An axis of large numbers of people: 10 k, 2 M, 5 bn."""
    units = "['', ' k', ' M', ' bn', ' tn'][floor(log(max(datum.value, 1)) / log(1000) + 1e-9)]"
    short = "format(datum.value / pow(1000, floor(log(max(datum.value, 1)) / log(1000) + 1e-9)), '.4~g')"
    return alt.Axis(labelExpr=f"{short} + {units}", **{"tickCount": 6, "labelOverlap": True, **more})


def log_ticks(low: float, high: float) -> list[float]:
    """Places of numbers on a logarithmic axis: powers of ten, and some between them if there are few."""
    digits = (1, 2, 5) if high < 40 * low else (1, 3) if high < 1000 * low else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in digits]
    return [tick for tick in ticks if low <= tick <= high]


def axis_label(name: str, longest: int) -> str:
    """A name that a chart can show: nothing unprintable, not too long."""
    plain = "".join(mark if mark.isprintable() else "�" for mark in name)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def length_axis(title: str, lengths: Sequence[float]) -> tuple[alt.X, float, float]:
    """The axis of bars of these lengths, and its ends. Behind the largest there is room for a number.

    It begins at 0, or later if the lengths differ so much that it is logarithmic.
    """
    most = max(lengths, default=1.0) or 1.0
    least = min((length for length in lengths if length > 0), default=most)
    if most <= _LINEAR * least:
        start, edge, axis = 0.0, most * 1.55, share_axis()
        scale = span(start, edge)
    else:
        start, edge = least / 2, most * (most / least) ** 0.7
        scale = alt.Scale(type="log", domain=[start, edge], nice=False)
        axis = share_axis(values=log_ticks(start, edge))
    return alt.X("length:Q", title=title, axis=axis, scale=scale), start, edge


def rows_beside(names: Sequence[str]) -> int:
    """The pixels that names beside rows take."""
    return round(_LETTER * min(_LONGEST, max(map(len, names), default=0))) + 24


class NamedBars:
    """A chart with a row for each name, the first at the top. Every kind of mark says in the legend what it means.

    Rows of data have the number of their `place`. The axis across is that of their field `length`.
    """

    def __init__(self, names: Sequence[str], x: alt.X) -> None:
        self._names, self._x = names, x
        shown = strict_json.write([axis_label(name, _LONGEST) for name in names])
        self._count = max(FEWEST_ROWS, len(names))
        axis = alt.Axis(
            labelExpr=f"({shown})[datum.value] || ''", labelLimit=0, labelPadding=6, ticks=False, domain=False
        )
        self._y = alt.Y("place:O", title=None, scale=alt.Scale(domain=list(range(self._count))), axis=axis)
        self._layers: list[Any] = []
        self._series: list[Series] = []

    def _add(self, rows: Sequence[Row], drawing: Any, look: Series) -> NamedBars:
        if rows:
            self._layers.append(drawing)
            self._series += [look] if look.name else []
        return self

    def bars(self, rows: Sequence[Row], means: str, colour: str, start: float = 0.0) -> NamedBars:
        """A bar for each row, from `start` to its field `length`."""
        look: dict[str, Any] = {"fill": colour, "fillOpacity": 0.5, "stroke": colour, "opacity": 1}
        chart = points([{**row, "start": start} for row in rows]).mark_bar(
            **look, strokeWidth=1.5, height={"band": 0.7}
        )
        return self._add(rows, chart.encode(y=self._y, x=self._x, x2="start:Q"), square(means, colour))

    def dots(self, rows: Sequence[Row], field: str, means: str) -> NamedBars:
        """A dot for each row at this field."""
        chart = points(rows).mark_point(color=INK, filled=True, opacity=1, size=45)
        return self._add(rows, chart.encode(y=self._y, x=f"{field}:Q"), dot(means, INK))

    def ticks(self, rows: Sequence[Row], field: str, means: str, colour: str) -> NamedBars:
        """A short line across each row at this field."""
        chart = points(rows).mark_tick(color=colour, thickness=2.5, bandSize=20)
        return self._add(rows, chart.encode(y=self._y, x=f"{field}:Q"), Series(means, colour, mark=WHISKER))

    def limits(self, at: Sequence[float], means: str, colour: str = NEUTRAL) -> NamedBars:
        """Dashed lines through all rows."""
        look = Series(means, colour, (4, 4))
        chart = points([{"x": each} for each in at]).mark_rule(color=colour, strokeDash=[4, 4], strokeWidth=1.5)
        return self._add([{}] * len(at), chart.encode(x="x:Q"), look)

    def intervals(self, rows: Sequence[Row], means: str) -> NamedBars:
        """A line for each row, from its field `lower` to its field `upper`."""
        x = self._x.copy()  # The axis is the same, and there where no row has a bar.
        x.shorthand = "lower:Q"
        chart = points(rows).mark_rule(color=INK, strokeWidth=1.5).encode(y=self._y, x=x, x2="upper:Q")
        return self._add(rows, chart, Series(means, INK, mark=LYING_WHISKER))

    def told(self, rows: Sequence[Row], at: str) -> NamedBars:
        """The words in the field `told`, right of the field `at`."""
        text = points(rows).mark_text(align="left", dx=7, fontSize=11)
        self._layers.append(text.encode(y=self._y, x=alt.X(f"{at}:Q"), text="told:N"))
        return self

    def drawing(self) -> Any:
        """All of it, as Altair's chart."""
        return legended(self._layers, self._series, _ROW * self._count)

    def chart(self, name: str, title: str) -> Chart:
        """All of it."""
        beside = rows_beside(self._names)
        return Chart(name=name, title=title, drawing=self.drawing(), beside=beside)


class Bar(NamedTuple):
    """A share (None if the reports do not tell it) with its interval, and whether somebody certainly holds it."""

    name: str
    share: float | None
    lower: float
    upper: float
    certain: bool


class BarWords(NamedTuple):
    """What the marks mean: bars of what somebody holds, bars of what may be nobody's, and the intervals."""

    title: str
    certain: str
    uncertain: str
    interval: str


def share_bars(name: str, shares: Sequence[Bar], words: BarWords, *, axis: str = "share of people") -> Chart:
    """Shares as bars with their intervals, the first at the top."""
    drawing = ShareBars(tuple(shares), words, axis)
    return Chart(name=name, title=words.title, drawing=drawing, beside=rows_beside([bar.name for bar in shares]))


class ShareBars(NamedTuple):
    """Bars with their intervals, the first at the top. None is longer than its interval."""

    bars: tuple[Bar, ...]
    words: BarWords
    axis: str

    def lengths(self) -> list[float | None]:
        """How long each bar is. An estimate beyond its interval is drawn at the interval's end."""
        return [None if bar.share is None else min(bar.upper, max(bar.lower, bar.share)) for bar in self.bars]

    def altair(self) -> Any:
        words = self.words
        rows: list[Row] = [
            {
                "place": place,
                "length": length,
                "lower": bar.lower,
                "upper": bar.upper,
                "certain": bar.certain,
                "told": shown_share(bar.share),
            }
            for place, (bar, length) in enumerate(zip(self.bars, self.lengths(), strict=True))
        ]
        high = max((bar.upper for bar in self.bars), default=1.0) or 1.0
        room = 1.2 if all(bar.share is not None for bar in self.bars) else 1.4
        x = alt.X("length:Q", title=self.axis, axis=share_axis(), scale=span(0.0, room * high))
        seen = [row for row in rows if row["length"] is not None]
        return (
            NamedBars([bar.name for bar in self.bars], x)
            .bars([row for row in seen if row["certain"]], words.certain, BLUE)
            .bars([row for row in seen if not row["certain"]], words.uncertain, NEUTRAL)
            .intervals(rows, words.interval)
            .dots(seen, "length", "")
            .told(rows, "upper")
            .drawing()
        )


def _altair(drawing: Any) -> Any:
    """What is drawn, as Altair's chart."""
    return drawing.altair() if hasattr(drawing, "altair") else drawing


def chart_spec(drawing: Any) -> Spec:
    """A chart as wide as its page, on the page's own background."""
    # The drawing's own width is known only after the legend has taken its place, so the container's counts.
    # It is looked up again whenever the width changes.
    room = alt.param(name=_LEGEND_WIDTH, expr="(containerSize()[0] || 500) + 0 * width - 110")
    spec: Spec = _altair(drawing).properties(width="container", background="transparent").add_params(room).to_dict()
    return spec


def pictured(charts: Sequence[Chart]) -> Any:
    """Charts below each other as one, which does not depend on the fonts and the width of a page."""
    beside = max(chart.beside for chart in charts)
    place: dict[str, Any] = {"anchor": "start", "frame": "group", "dx": -0.9 * beside, "fontSize": 14, "offset": 8}
    letters = {"labelFontSize": 11.5, "titleFontSize": 11.5}
    drawn = [
        _altair(chart.drawing).properties(
            width=_PICTURE - beside,
            title=alt.Title(wrapped(chart.title, _TITLE_LETTERS), **place),
        )
        for chart in charts
    ]
    return (
        alt.vconcat(*drawn, spacing=28, background="white", padding=8)
        .add_params(alt.param(name=_LEGEND_WIDTH, value=_PICTURE - 40))
        .resolve_scale(color="independent", shape="independent", fill="independent")
        .configure(font="Liberation Sans, Arial, Helvetica, sans-serif")
        .configure_axis(**letters, titleFontWeight="normal")
        .configure_legend(**letters)
        .configure_view(stroke=None)
    )


@cache
def converter() -> Any:
    """What draws a chart, loaded for the first picture."""
    with extra("plots"):
        import vl_convert
    return vl_convert


PICTURES = (".png", ".svg", ".pdf")
"""Endings of the pictures that can be written."""
_PIXELS = 2
"""How many pixels of a PNG are one of the drawing, in each direction."""


class Picture:
    """A picture and the words for those who cannot see it. `chart` is Altair's, for changes of one's own."""

    __slots__ = ("chart", "words")

    def __init__(self, chart: Any, words: str) -> None:
        self.chart, self.words = chart, words

    @classmethod
    def of(cls, charts: Sequence[Chart]) -> Picture:
        """Charts below each other. Their titles are the words."""
        drawn = [chart for chart in charts if not chart.detailed]
        return cls(pictured(drawn), "; ".join(chart.title for chart in drawn))

    def __repr__(self) -> str:
        return f"<Picture: {self.words}>"

    def _repr_svg_(self) -> str:
        """The picture in a notebook."""
        svg: str = converter().vegalite_to_svg(self.chart.to_dict())
        start, inside = svg.split(">", 1)
        return f'{start} role="img"><title>{escape(self.words)}</title>{inside}'

    def content(self, ending: str) -> bytes:
        """The file with this ending, one of .png, .svg and .pdf.

        The same numbers give the same bytes, but for the order of the parts of a PDF.
        """
        checks.choice("ending", ending, PICTURES)
        svg = self._repr_svg_()
        if ending == ".svg":
            return svg.encode()
        if ending == ".pdf":
            return bytes(converter().svg_to_pdf(svg))
        return _with_words(converter().svg_to_png(svg, scale=_PIXELS), self.words)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the picture, whole or not at all. A file that exists is replaced only with `force`."""
        path = picture_path(path, force=force)
        content = self.content(path.suffix.lower())
        with whole_file(path) as file:
            file.write(content)
        return path


def _with_words(png: bytes, words: str) -> bytes:
    """A PNG that says what it shows in an international text chunk. Its pixels are packed well, not fast."""
    signature, at, chunks = png[:8], 8, list[tuple[bytes, bytes]]()
    while at < len(png):
        (length,) = struct.unpack_from(">I", png, at)
        chunks.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + length]))
        at += 12 + length
    pixels = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
    before = [chunk for chunk in chunks if chunk[0] not in (b"IDAT", b"IEND")]
    text = b"Description\0\0\0\0\0" + words.encode()
    written = [*before, (b"iTXt", text), (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b"")]
    return signature + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in written
    )


def picture_of(result: object, top: int) -> Picture:
    """The picture of a result. If it has a bar for each value or string, there are at most `top` of them."""
    return Picture.of(charts_of(result, top))


def picture_path(path: str | Path, *, force: bool = False) -> Path:
    """A path that a picture can be written to, or an error that says why it cannot."""
    path = Path(path)
    if path.suffix.lower() not in PICTURES:
        raise ValueError(f"the name of a picture must end in one of {', '.join(PICTURES)}, got {path.name!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or give force=True to replace it")
    return path
