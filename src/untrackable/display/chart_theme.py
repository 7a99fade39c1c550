"""What all charts of the pages share: colours, size, legends and axes."""

from typing import Any

from untrackable.extras import extra

with extra("plots"):
    import altair as alt


Spec = dict[str, Any]
"""A chart as Vega-Lite."""

COLOURS = ["#2a78b5", "#c8552b", "#3a8a4d", "#8a5fb0", "#b8860b", "#5c6675", "#c2528b"]
HEIGHT = 240
LEGEND = alt.Legend(orient="top", symbolOpacity=1, labelLimit=400)
FEW_TICKS = alt.Axis(tickCount=6)


def chart_spec(chart: Any, height: int = HEIGHT) -> Spec:
    """A chart as wide as its page, on the page's own background."""
    spec: Spec = chart.properties(width="container", height=height, background="transparent").to_dict()
    return spec
