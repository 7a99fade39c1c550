"""Charts of what participation trades: the error of figures, and how well people are recognised."""

from typing import Any

from untrackable.display.chart_theme import COLOURS, Spec, chart_spec
from untrackable.extras import extra
from untrackable.planning.participation_curve import Point
from untrackable.planning.plans import Option

with extra("plots"):
    import altair as alt

_ACROSS = "one answer in so many rounds"


def participation_charts(option: Option, curve: list[Point]) -> dict[str, Spec]:
    """Error and recognition by participation, with the plan's own marked."""
    own = "as in the goals" if option.goals.persistence > 1 else "1 round"
    stays = {own: "recognition", "7 rounds": "stays_of_7", "30 rounds": "stays_of_30"}
    errors = [(option.name, float(1 / point.participation), point.error_upper) for point in curve]
    seen = [
        (stay, float(1 / point.participation), getattr(point, name).upper)
        for stay, name in stays.items()
        for point in curve
    ]
    chosen = float(1 / option.goals.answered)
    limit = option.goals.recognition if option.goals.recognition < 1 else None
    return {
        "participation-errors": _chart(errors, "error, at most", "linear", chosen, option.name),
        "participation-recognition": _chart(seen, "recognition, at most", "log", chosen, own, limit),
    }


def _chart(
    rows: list[tuple[str, float, float]], title: str, up: Any, chosen: float, own: str, limit: float | None = None
) -> Spec:
    """Lines of (name, x, y); a point marks the chosen x on the plan's own line."""
    names = list(dict.fromkeys(name for name, _, _ in rows))
    values = [{"line": name, "x": x, "y": y} for name, x, y in rows]
    axis = alt.Axis(tickCount=6, format="~g")
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("x:Q", title=_ACROSS, scale=alt.Scale(type="log", nice=False, padding=8), axis=axis),
        y=alt.Y("y:Q", title=title, scale=alt.Scale(type=up), axis=axis),
        color=alt.Color(
            "line:N",
            title="stays of" if len(names) > 1 else None,
            scale=alt.Scale(domain=names, range=COLOURS[: len(names)]),
            legend=alt.Legend(orient="top", columns=4, labelLimit=200),
        ),
        tooltip=[
            alt.Tooltip("x:Q", title=_ACROSS, format=".4~g"),
            alt.Tooltip("y:Q", title=title, format=".4~g"),
        ],
    )
    mark = base.transform_filter((alt.datum.x == chosen) & (alt.datum.line == own))
    layers: list[Any] = [base.mark_line(strokeWidth=2), mark.mark_point(size=110, filled=True, opacity=1)]
    if limit is not None:
        rule = alt.Chart(alt.InlineData(values=[{"limit": limit}]))
        layers.append(rule.mark_rule(strokeDash=[5, 4], color="#888").encode(y="limit:Q"))
    return chart_spec(alt.layer(*layers))
