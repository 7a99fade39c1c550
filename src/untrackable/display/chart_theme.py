"""What all charts of the pages share: colours, size, axes, and legends in which every mark is."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from untrackable import strict_json
from untrackable.extras import extra

with extra("plots"):
    import altair as alt


Spec = dict[str, Any]
"""A chart as Vega-Lite."""

COLOURS = ["#2a78b5", "#c8552b", "#3a8a4d", "#8a5fb0", "#b8860b", "#5c6675", "#c2528b"]
NEUTRAL = "#808894"
"""The colour of limits and guesses, readable on light and dark pages."""
WHISKER = "M0,-1L0,1"
"""The shape of an error bar in a legend."""
HEIGHT = 240
FEW_TICKS = alt.Axis(tickCount=6)
_MARKS = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left"]
_PERIOD = 24
"""The length of a dash and its gap, in pixels."""


class Series(NamedTuple):
    """How a line or a mark looks, on the chart and in its legend. A line may have marks at its points."""

    name: str
    colour: str
    dash: tuple[float, float] = (1, 0)
    mark: str = ""
    size: float = 60

    @property
    def sample(self) -> str:
        """Its shape in the legend: the mark, or else two dashes of the line."""
        drawn = self.dash[0] / sum(self.dash)
        return self.mark or "".join(f"M{start},0L{start + 1.5 * drawn:.3g},0" for start in (-1.5, 0))


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
        self, lines: Sequence[Series], others: Sequence[Series] = (), *, shown: Any = alt.Undefined
    ) -> None:
        self._lines = lines
        self._series = {each.name: each for each in (*lines, *others)}
        names = self._series if shown is alt.Undefined or not isinstance(shown, list) else shown
        room = 7 * max(map(len, names), default=0) + 36  # pixels for a mark and the longest name
        self._legend = alt.Legend(
            orient="top",
            # The drawing's own width is known only after the legend has taken its place, so the container's counts.
            # It is looked up again whenever the width changes.
            columns=alt.ExprRef(f"max(1, floor(((containerSize()[0] || 500) + 0 * width - 110) / {room}))"),
            labelLimit=400,
            symbolOpacity=1,
            symbolStrokeWidth=2,
            symbolFillColor="transparent",
            values=shown,
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
        nothing = alt.Chart(alt.InlineData(values=[])).mark_point(filled=False, opacity=1)
        return nothing.encode(color=self._colour, shape=shapes)

    @property
    def _colour(self) -> Any:
        return alt.Color("line:N", title=None, scale=self._scale("colour"), legend=self._legend)

    def _scale(self, look: str) -> Any:
        return alt.Scale(domain=list(self._series), range=[getattr(each, look) for each in self._series.values()])


def chart_spec(chart: Any, height: int = HEIGHT) -> Spec:
    """A chart as wide as its page, on the page's own background."""
    spec: Spec = chart.properties(width="container", height=height, background="transparent").to_dict()
    return spec
