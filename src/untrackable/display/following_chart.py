"""A picture of who is followed: the share of people that an attack matches, as reports grow."""

from untrackable.auditing.following import PEOPLE, Followed
from untrackable.display.chart_theme import COLOURS, Spec, chart_spec
from untrackable.extras import extra

with extra("plots"):
    import altair as alt

_ACROSS = "reports from each of two places"
_UP = f"matched among {PEOPLE} (sampled)"


def following_chart(found: list[Followed]) -> Spec:
    """Each mechanism in its colour, people with the same value as a line and with different ones dashed."""
    names = list(dict.fromkeys(point.name for point in found))
    values = [
        {
            "mechanism": point.name,
            "values": "different values" if point.different else "the same value",
            "x": point.reports,
            "y": max(point.matched.sampled, 0.5 / PEOPLE),
            "share": point.matched.sampled,
            "low": max(point.matched.lower, 0.5 / PEOPLE),
            "high": point.matched.upper,
            "bound": None if point.bound is None else point.bound.upper,
        }
        for point in found
    ]
    up = alt.Scale(type="log", domain=[0.5 / PEOPLE, 1.0], nice=False)
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X(
            "x:Q",
            title=_ACROSS,
            scale=alt.Scale(type="log", base=2, nice=False, padding=12),
            axis=alt.Axis(values=sorted({point.reports for point in found}), format="d"),
        ),
        color=alt.Color(
            "mechanism:N",
            title=None,
            scale=alt.Scale(domain=names, range=COLOURS[: len(names)]),
            legend=alt.Legend(orient="top", columns=1, labelLimit=300, symbolOpacity=1),
        ),
    )
    share = alt.Y("y:Q", title=_UP, scale=up, axis=alt.Axis(tickCount=6, format="~g"))
    line = base.mark_line(strokeWidth=2).encode(
        y=share,
        strokeDash=alt.StrokeDash(
            "values:N",
            title=None,
            scale=alt.Scale(domain=["the same value", "different values"], range=[[1, 0], [5, 4]]),
            legend=alt.Legend(orient="bottom", labelLimit=300, symbolStrokeColor="#888", symbolSize=400),
        ),
    )
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        y=share,
        tooltip=[
            alt.Tooltip("mechanism:N"),
            alt.Tooltip("values:N", title="people with"),
            alt.Tooltip("x:Q", title=_ACROSS),
            alt.Tooltip("share:Q", title="matched (sampled)", format=".3~g"),
            alt.Tooltip("bound:Q", title="at most (upper)", format=".3~g"),
        ],
    )
    reach = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", scale=up), y2="high:Q")
    guess = alt.Chart(alt.InlineData(values=[{"guess": 1 / PEOPLE}]))
    rule = guess.mark_rule(strokeDash=[2, 3], color="#888").encode(y=alt.Y("guess:Q", scale=up))
    return chart_spec(alt.layer(rule, reach, line, points), height=280)
