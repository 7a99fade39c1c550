"""A chart of what happens with fewer people than planned."""

from untrackable.display.chart_theme import COLOURS, Spec, chart_spec
from untrackable.extras import extra
from untrackable.planning.other_crowds import CrowdPoint
from untrackable.planning.plans import Option

with extra("plots"):
    import altair as alt


def crowd_chart(option: Option, curve: list[CrowdPoint]) -> Spec:
    """The eps in the crowd (upper) by its size, and the eps of an observer who knows whose reports are whose."""
    own = option.goals.enrolled
    values = [{"x": point.people, "y": point.eps.upper, "own": point.people == own} for point in curve]
    axis = alt.Axis(tickCount=6, format="~g")
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X(
            "x:Q",
            title="people enrolled",
            scale=alt.Scale(type="log", nice=False, padding=8),
            axis=alt.Axis(tickCount=6, format="~s"),
        ),
        y=alt.Y("y:Q", title="eps in the crowd, at most", scale=alt.Scale(type="log"), axis=axis),
        tooltip=[
            alt.Tooltip("x:Q", title="people", format=",d"),
            alt.Tooltip("y:Q", title="eps, at most", format=".4~g"),
        ],
    )
    alone = alt.Chart(alt.InlineData(values=[{"eps": option.everlasting.upper}]))
    rule = alone.mark_rule(strokeDash=[5, 4], color=COLOURS[1]).encode(
        y="eps:Q", tooltip=[alt.Tooltip("eps:Q", title="eps alone", format=".4~g")]
    )
    line = base.mark_line(strokeWidth=2, color=COLOURS[0])
    mark = base.transform_filter(alt.datum.own).mark_point(size=110, filled=True, opacity=1, color=COLOURS[0])
    return chart_spec(alt.layer(rule, line, mark))
