"""The charts of an audit and of a comparison, as Vega-Lite: they show their numbers, and look right on paper."""

import math
from collections.abc import Iterable
from typing import Any

from untrackable.auditing.confidence import Matched
from untrackable.auditing.mechanism_audit import Audit
from untrackable.brackets import Bracket
from untrackable.display.chart_theme import COLOURS, FEW_TICKS, NEUTRAL, Key, Series, Spec, chart_spec, line_series
from untrackable.extras import extra

with extra("plots"):
    import altair as alt

_ATTACK = Series("attack, with interval (sampled)", COLOURS[2], mark="diamond", size=110)
_BAND = Series("between lower and upper bound", NEUTRAL, mark="square")


def audit_charts(audit: Audit) -> dict[str, Spec]:
    """One chart for each question, by name; a chart without a finite number is left out."""
    made = {
        "gammas": _gammas(audit),
        "recognised": _recognised(audit),
        "attended": _attended(audit),
        "deltas": _deltas(audit),
        "taus": _taus(audit),
        "roc": _roc(audit),
    }
    return {name: spec for name, spec in made.items() if spec is not None}


def _rows(line: str, points: Iterable[tuple[float, Bracket]], *, positive: bool = False) -> list[dict[str, Any]]:
    """Points with both ends, without infinite ones, and without zeros where an axis is logarithmic."""
    return [
        {"line": line, "x": x, "y": bracket.upper, "low": bracket.lower, "certainty": bracket.certainty}
        for x, bracket in points
        if math.isfinite(bracket.upper) and (bracket.upper > 0 or not positive)
    ]


def _lines(
    rows: list[dict[str, Any]],
    x: str,
    y: str,
    *,
    marks: bool = False,
    whole: bool = False,
    scale: Any = alt.Undefined,
    attack: tuple[int, Matched, float] | None = None,
) -> Spec:
    """Lines with their brackets as bands, and an attack that was carried out; `whole`: x counts something."""
    names = list(dict.fromkeys(row["line"] for row in rows))
    key = Key(
        line_series(names, marks=marks),
        ([_BAND] if _band_seen(rows) else []) + ([_ATTACK] if attack else []),
    )
    across = _across(x, [row["x"] for row in rows] if whole else [])
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=across,
        tooltip=[
            alt.Tooltip("line:N", title="line"),
            alt.Tooltip("x:Q", title=x, format=".4~g"),
            alt.Tooltip("y:Q", title=y, format=".5~g"),
            alt.Tooltip("low:Q", title="at least", format=".5~g"),
            alt.Tooltip("certainty:N", title="certainty"),
        ],
    )
    height = alt.Y("y:Q", title=y, scale=scale, axis=FEW_TICKS)
    band = base.mark_area(opacity=0.15, color=NEUTRAL).encode(y=height, y2="low:Q", detail="line:N")
    layers = [band, *key.lines(base.encode(y=height)), key.legend]
    return chart_spec(alt.layer(*layers, *(_carried_out(key, across, *attack) if attack else ())))


def _across(title: str, counted: list[int]) -> Any:
    """The axis across. Of numbers that are counted, it marks about six whole ones."""
    marked: dict[str, Any] = {}
    if counted:
        first, last = min(counted), max(counted)
        marked = {"values": list(range(first, last + 1, math.ceil((last - first + 1) / 6))), "format": ",d"}
    axis = alt.Axis(tickCount=6, labelOverlap=True, **marked)
    return alt.X("x:Q", title=title, axis=axis, scale=alt.Scale(nice=False, padding=8, zero=False))


def _band_seen(rows: list[dict[str, Any]]) -> bool:
    """Whether a bracket is wide enough to be seen."""
    highest = max(row["y"] for row in rows)
    return any(row["y"] - row["low"] > 0.01 * highest for row in rows)


def _gammas(audit: Audit) -> Spec | None:
    points = audit.curves.points
    rows = _rows("worst case", [(p.reports, p.tracking.pure) for p in points])
    rows += _rows(f"at delta = {audit.delta:g}", [(p.reports, p.tracking.gamma) for p in points])
    return _lines(rows, "reports", "gamma", marks=True, whole=True) if rows else None


def _recognised(audit: Audit) -> Spec:
    points = audit.curves.points
    rows = _rows("proved limit", [(p.reports, p.recognised) for p in points])
    rows += [
        {"line": "guessing", "x": p.reports, "y": 1 / audit.crowd, "low": 1 / audit.crowd, "certainty": "exact"}
        for p in (points[0], points[-1])
    ]
    attack = None if audit.linked is None else (2 * audit.linked.reports, audit.linked.top1, 0.0)
    title, scale = "reports, half from each of two places", alt.Scale(domain=[0, 1])
    return _lines(rows, title, "picked out of a crowd", marks=True, whole=True, scale=scale, attack=attack)


def _attended(audit: Audit) -> Spec:
    found, least = audit.attended, 0.5 / audit.crowd
    rows = _rows("proved limit", found.curve)
    rows += [
        {"line": "guessing", "x": p.rounds, "y": 1 / audit.crowd, "low": 1 / audit.crowd, "certainty": "exact"}
        for p in (found.curve[0], found.curve[-1])
    ]
    attack = None if found.matched is None else (found.rounds, found.matched.alone, least)
    scale = alt.Scale(type="log", domain=[least, 1], nice=False)
    return _lines(rows, "rounds", "picked out of a crowd", whole=True, scale=scale, attack=attack)


def _carried_out(key: Key, across: Any, x: int, share: Matched, least: float) -> tuple[Any, Any]:
    """A mark for an attack that was carried out, and its interval; nothing is drawn below `least`."""
    ends = {"y": max(least, share.sampled), "low": max(least, share.lower), "high": max(least, share.upper)}
    seen = alt.Chart(alt.InlineData(values=[{"x": x, "line": _ATTACK.name, **ends}])).encode(x=across)
    bar = seen.mark_rule(color=_ATTACK.colour, strokeWidth=2).encode(y="low:Q", y2="high:Q")
    tip = alt.Tooltip("y:Q", title=_ATTACK.name, format=".3~g")
    return bar, key.marks(seen, _ATTACK.name).encode(y="y:Q", tooltip=[tip])


def _deltas(audit: Audit) -> Spec | None:
    rows = _rows("delta", zip(audit.curves.gammas, audit.curves.deltas, strict=True), positive=True)
    if not rows:
        return None
    for row in rows:
        row["low"] = max(row["low"], 1e-12)
    return _lines(rows, "gamma", "delta", scale=alt.Scale(type="log"))


def _taus(audit: Audit) -> Spec | None:
    rows = [
        {"line": "τ", "x": tau.upper, "low": level, "y": level, "certainty": tau.certainty}
        for level, tau in zip(audit.curves.levels, audit.curves.taus, strict=True)
        if math.isfinite(tau.upper)
    ]
    scale = alt.Scale(domain=[0, 1])
    title = "probability that τ is at most this"
    return _lines(rows, "τ", title, marks=len(rows) < 2, scale=scale) if rows else None


def _roc(audit: Audit) -> Spec:
    rows = _rows("best observer", zip(audit.curves.rates, audit.curves.powers, strict=True))
    rows += [{"line": "guessing", "x": x, "y": x, "low": x, "certainty": "exact"} for x in (0.0, 1.0)]
    scale = alt.Scale(domain=[0, 1])
    return _lines(rows, "two people taken for one", "one person recognised", scale=scale)
