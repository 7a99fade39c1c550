"""The charts of an audit and of a comparison, as Vega-Lite: they show their numbers, and look right on paper."""

import math
from collections.abc import Iterable
from typing import Any

from untrackable.auditing.confidence import Matched
from untrackable.auditing.mechanism_audit import Audit
from untrackable.brackets import Bracket
from untrackable.display.chart_theme import COLOURS, FEW_TICKS, LEGEND, Spec, chart_spec
from untrackable.extras import extra

with extra("plots"):
    import altair as alt


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


def _lines(rows: list[dict[str, Any]], x: str, y: str, *, marks: bool = False, scale: Any = alt.Undefined) -> Any:
    names = list(dict.fromkeys(row["line"] for row in rows))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("x:Q", title=x),
        color=alt.Color(
            "line:N", title=None, scale=alt.Scale(domain=names, range=COLOURS[: len(names)]), legend=LEGEND
        ),
        tooltip=[
            alt.Tooltip("line:N", title="line"),
            alt.Tooltip("x:Q", title=x, format=".4~g"),
            alt.Tooltip("y:Q", title=y, format=".5~g"),
            alt.Tooltip("low:Q", title="at least", format=".5~g"),
            alt.Tooltip("certainty:N", title="certainty"),
        ],
    )
    height = alt.Y("y:Q", title=y, scale=scale, axis=FEW_TICKS)
    line = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=45) if marks else False).encode(y=height)
    band = base.mark_area(opacity=0.15).encode(y=height, y2="low:Q")
    return alt.layer(band, line)


def _gammas(audit: Audit) -> Spec | None:
    points = audit.curves.points
    rows = _rows("worst case", [(p.reports, p.tracking.pure) for p in points])
    rows += _rows(f"at delta = {audit.delta:g}", [(p.reports, p.tracking.gamma) for p in points])
    return chart_spec(_lines(rows, "reports", "gamma", marks=True)) if rows else None


def _recognised(audit: Audit) -> Spec:
    points = audit.curves.points
    rows = _rows("proved limit", [(p.reports, p.recognised) for p in points])
    rows += [
        {"line": "guessing", "x": p.reports, "y": 1 / audit.crowd, "low": 1 / audit.crowd, "certainty": "exact"}
        for p in (points[0], points[-1])
    ]
    scale = alt.Scale(domain=[0, 1])
    chart = _lines(rows, "reports, half from each of two places", "picked out of a crowd", marks=True, scale=scale)
    if audit.linked is None:
        return chart_spec(chart)
    return chart_spec(alt.layer(chart, *_carried_out(2 * audit.linked.reports, audit.linked.top1)))


def _attended(audit: Audit) -> Spec:
    found, least = audit.attended, 0.5 / audit.crowd
    rows = _rows("proved limit", found.curve)
    rows += [
        {"line": "guessing", "x": p.rounds, "y": 1 / audit.crowd, "low": 1 / audit.crowd, "certainty": "exact"}
        for p in (found.curve[0], found.curve[-1])
    ]
    chart = _lines(
        rows, "rounds", "picked out of a crowd", scale=alt.Scale(type="log", domain=[least, 1], nice=False)
    )
    if found.matched is None:
        return chart_spec(chart)
    return chart_spec(alt.layer(chart, *_carried_out(found.rounds, found.matched.alone, least)))


def _carried_out(x: int, share: Matched, least: float = 0.0) -> tuple[Any, Any]:
    """A mark for an attack that was carried out, and its interval; nothing is drawn below `least`."""
    ends = {"y": max(least, share.sampled), "low": max(least, share.lower), "high": max(least, share.upper)}
    seen = alt.Chart(alt.InlineData(values=[{"x": x, **ends}]))
    place = alt.X("x:Q")
    bar = seen.mark_rule(color=COLOURS[2], strokeWidth=2).encode(x=place, y="low:Q", y2="high:Q")
    dot = seen.mark_point(color=COLOURS[2], filled=True, size=90, shape="diamond").encode(
        x=place, y="y:Q", tooltip=[alt.Tooltip("y:Q", title="attack carried out (sampled)", format=".3~g")]
    )
    return bar, dot


def _deltas(audit: Audit) -> Spec | None:
    rows = _rows("delta", zip(audit.curves.gammas, audit.curves.deltas, strict=True), positive=True)
    if not rows:
        return None
    for row in rows:
        row["low"] = max(row["low"], 1e-12)
    return chart_spec(_lines(rows, "gamma", "delta", scale=alt.Scale(type="log")))


def _taus(audit: Audit) -> Spec | None:
    rows = [
        {"line": "τ", "x": tau.upper, "low": level, "y": level, "certainty": tau.certainty}
        for level, tau in zip(audit.curves.levels, audit.curves.taus, strict=True)
        if math.isfinite(tau.upper)
    ]
    scale = alt.Scale(domain=[0, 1])
    return chart_spec(_lines(rows, "τ", "probability that τ is at most this", scale=scale)) if rows else None


def _roc(audit: Audit) -> Spec:
    rows = _rows("best observer", zip(audit.curves.rates, audit.curves.powers, strict=True))
    rows += [{"line": "guessing", "x": x, "y": x, "low": x, "certainty": "exact"} for x in (0.0, 1.0)]
    scale = alt.Scale(domain=[0, 1])
    return chart_spec(_lines(rows, "two people taken for one", "one person recognised", scale=scale))


def comparison_chart(rows: list[dict[str, Any]], error: str, picked: str) -> Spec:
    """Accuracy against tracking, one mark for each mechanism: the best are in the lower left corner."""
    across = alt.X("error:Q", title=error, scale=alt.Scale(type="log", nice=False, padding=25), axis=FEW_TICKS)
    low = min(row["recognised"] for row in rows)
    scale = alt.Scale(type="log", domain=[low / 1.5, 1.6], nice=False)
    up = alt.Y("recognised:Q", title=picked, scale=scale, axis=FEW_TICKS)
    points = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=110, opacity=0.9)
        .encode(
            x=across,
            y=up,
            color=alt.Color(
                "lasts:N",
                title=None,
                scale=alt.Scale(range=COLOURS[:4]),
                legend=alt.Legend(orient="top", columns=1, symbolOpacity=1, labelLimit=400),
            ),
            tooltip=[
                alt.Tooltip("name:N", title="mechanism"),
                alt.Tooltip("error:Q", title=error, format=".4~g"),
                alt.Tooltip("recognised:Q", title=picked, format=".4~g"),
                alt.Tooltip("advantage:Q", title="tracking advantage, at most", format=".4~g"),
            ],
        )
    )
    labels = [{**row, "names": _lines_of_names(row["name"])} for row in _named(rows)]
    labels.sort(key=lambda row: (round(math.log10(row["recognised"]), 1), row["error"]))
    names = [
        alt.Chart(alt.InlineData(values=[label]))
        .mark_text(align="left", dx=6, dy=dy, fontSize=11, lineBreak="\n")
        .encode(x=across, y=up, text="names:N")
        for start, side in ((0, -10), (1, 14))  # neighbours above and below their marks in turn
        for label in labels[start::2]
        for dy in [side - 13 * label["names"].count("\n") if side < 0 else side]
    ]
    return chart_spec(alt.layer(points, *names), height=440)


def _lines_of_names(names: str) -> str:
    """Three names to a line, so that a narrow screen shows them all."""
    listed = names.split(", ")
    return ",\n".join(", ".join(listed[i : i + 3]) for i in range(0, len(listed), 3))


def _named(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One label for marks that lie close together."""
    labels: list[dict[str, Any]] = []
    for row in sorted(rows, key=lambda row: row["error"]):
        for label in labels:
            near = abs(math.log(row["error"] / label["last"])) < 0.15
            if near and abs(math.log(row["recognised"] / label["recognised"])) < 0.2:
                label["name"] += f", {row['name']}"
                label["last"] = row["error"]
                break
        else:
            labels.append({**row, "last": row["error"]})
    return labels
