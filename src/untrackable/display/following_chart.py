"""A picture of who is followed: the share of people that an attack matches, as reports grow."""

from untrackable.auditing.following import PEOPLE, Followed
from untrackable.display.chart_theme import COLOURS, NEUTRAL, WHISKER, Key, Series, Spec, chart_spec
from untrackable.extras import extra

with extra("plots"):
    import altair as alt

_ACROSS = "reports from each of two places"
_UP = f"matched among {PEOPLE} (sampled)"
_APART = Series("people with different values", NEUTRAL, (5, 4))
_GUESS, _INTERVAL = Series("a guess", NEUTRAL, (2, 3)), Series("95 % interval", NEUTRAL, mark=WHISKER)
_ASIDE = 0.09
"""How far lines stand beside each other, so that no interval hides another, in powers of two of the axis."""


def following_chart(found: list[Followed]) -> Spec:
    """Each mechanism in its colour, people with the same value as a line and with different ones dashed."""
    names = list(dict.fromkeys(point.name for point in found))
    looks = {
        (name, different): Series(
            f"{name}, different values" if different else name,
            COLOURS[i % len(COLOURS)],
            (5, 4) if different else (1, 0),
            "square" if different else "circle",
            40,
        )
        for i, name in enumerate(names)
        for different in (False, True)
    }
    places = {of: 2 ** (_ASIDE * (i - (len(looks) - 1) / 2)) for i, of in enumerate(looks)}
    values = [
        {
            "line": looks[point.name, point.different].name,
            "x": point.reports * places[point.name, point.different],
            "reports": point.reports,
            "y": max(point.matched.sampled, 0.5 / PEOPLE),
            "share": point.matched.sampled,
            "low": max(point.matched.lower, 0.5 / PEOPLE),
            "high": point.matched.upper,
            "bound": None if point.bound is None else point.bound.upper,
        }
        for point in found
    ]
    others = [_APART, _INTERVAL, _GUESS]
    key = Key(list(looks.values()), others, shown=[*names, *(each.name for each in others)])
    up = alt.Scale(type="log", domain=[0.5 / PEOPLE, 1.0], nice=False)
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X(
            "x:Q",
            title=_ACROSS,
            scale=alt.Scale(type="log", base=2, nice=False, padding=12),
            axis=alt.Axis(values=sorted({point.reports for point in found}), format="d"),
        ),
        tooltip=[
            alt.Tooltip("line:N"),
            alt.Tooltip("reports:Q", title=_ACROSS),
            alt.Tooltip("share:Q", title="matched (sampled)", format=".3~g"),
            alt.Tooltip("bound:Q", title="at most (upper)", format=".3~g"),
        ],
    )
    share = alt.Y("y:Q", title=_UP, scale=up, axis=alt.Axis(tickCount=6, format="~g"))
    reach = key.coloured(base.mark_rule(strokeWidth=1.5, opacity=0.6)).encode(
        y=alt.Y("low:Q", scale=up), y2="high:Q"
    )
    rule = key.rule(_GUESS.name, 1 / PEOPLE)
    return chart_spec(alt.layer(reach, *key.lines(base.encode(y=share)), rule, key.legend), height=280)
