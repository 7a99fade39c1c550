"""Charts of what participation trades: the error of figures, and how well people are recognised."""

from typing import Any

from untrackable.display.chart_theme import COLOURS, NEUTRAL, Key, Series, Spec, chart_spec, line_series
from untrackable.extras import extra
from untrackable.planning.participation_curve import Point
from untrackable.planning.plans import Option

with extra("plots"):
    import altair as alt

_ACROSS = "one answer in so many rounds"
_PLAN = Series("the plan", COLOURS[3], mark="circle", size=130)
_LIMIT = Series("tolerable limit", NEUTRAL, (5, 4))


def participation_charts(option: Option, curve: list[Point]) -> dict[str, Spec]:
    """Error and recognition by participation, with the plan's own marked."""
    own = "stays as in the goals" if option.goals.persistence > 1 else "stays of 1 round"
    stays = {own: "recognition", "stays of 7 rounds": "stays_of_7", "stays of 30 rounds": "stays_of_30"}
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
    key = Key(line_series(names), [_PLAN] if limit is None else [_PLAN, _LIMIT])
    axis = alt.Axis(tickCount=6, format="~g")
    base, mark = (
        alt.Chart(alt.InlineData(values=drawn)).encode(
            x=alt.X("x:Q", title=_ACROSS, scale=alt.Scale(type="log", nice=False, padding=8), axis=axis),
            y=alt.Y("y:Q", title=title, scale=alt.Scale(type=up), axis=axis),
            tooltip=[
                alt.Tooltip("line:N"),
                alt.Tooltip("x:Q", title=_ACROSS, format=".4~g"),
                alt.Tooltip("y:Q", title=title, format=".4~g"),
            ],
        )
        for drawn in (values, [{**v, "line": _PLAN.name} for v in values if v["x"] == chosen and v["line"] == own])
    )
    layers = [*key.lines(base), key.marks(mark, _PLAN.name), key.legend]
    if limit is not None:
        layers.append(key.rule(_LIMIT.name, limit))
    return chart_spec(alt.layer(*layers))
