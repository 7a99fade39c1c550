"""A chart of what happens with fewer people than planned."""

from untrackable.display.chart_theme import COLOURS, Key, Series, Spec, chart_spec
from untrackable.extras import extra
from untrackable.planning.other_crowds import CrowdPoint
from untrackable.planning.plans import Option

with extra("plots"):
    import altair as alt

_LINE = Series("the collector without the relay", COLOURS[0])
_PLAN = Series("the plan", COLOURS[0], mark="circle", size=110)
_TOGETHER = Series("relay and collector together", COLOURS[1], (5, 4))


def crowd_chart(option: Option, curve: list[CrowdPoint]) -> Spec:
    """The eps in the crowd (upper) by its size, and the eps of an observer who knows whose reports are whose."""
    own = option.goals.enrolled
    key = Key([_LINE], [_PLAN, _TOGETHER])
    values = [{"line": _LINE.name, "x": point.people, "y": point.eps.upper} for point in curve]
    marked = [{**value, "line": _PLAN.name} for value in values if value["x"] == own]
    across = alt.X(
        "x:Q",
        title="people enrolled",
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(tickCount=6, format="~s"),
    )
    axis = alt.Axis(tickCount=6, format="~g")
    up = alt.Y("y:Q", title="eps, at most", scale=alt.Scale(type="log"), axis=axis)
    tips = [
        alt.Tooltip("x:Q", title="people", format=",d"),
        alt.Tooltip("y:Q", title="eps, at most", format=".4~g"),
    ]
    line, mark = (
        alt.Chart(alt.InlineData(values=rows)).encode(x=across, y=up, tooltip=tips) for rows in (values, marked)
    )
    alone = key.rule(_TOGETHER.name, option.everlasting.upper, tooltip=[tips[1]])
    return chart_spec(alt.layer(alone, *key.lines(line), key.marks(mark, _PLAN.name), key.legend))
