"""A plan as one self-contained page: the recommendation, the trade-offs, and sliders for other goals."""

from importlib import resources
from typing import Any

from untrackable.auditing.following import followed_beside
from untrackable.display import plan_json, plan_page_words, plan_words, way_words
from untrackable.display.chart_theme import NEUTRAL, Key, Series, Spec, chart_spec, line_series
from untrackable.display.crowd_chart import crowd_chart
from untrackable.display.following_chart import following_chart
from untrackable.display.numbers import as_dict
from untrackable.display.page_shell import chart_page, command_line
from untrackable.display.participation_charts import participation_charts
from untrackable.extras import extra
from untrackable.planning.other_crowds import other_crowds
from untrackable.planning.participation_curve import participation_curve
from untrackable.planning.plans import Plan
from untrackable.planning.slider_grids import Grids, grids
from untrackable.planning.ways_to_ask import Compared
from untrackable.progress import Progress, no_progress

with extra("plots"):
    import altair as alt

_LIMIT = Series("tolerable limit", NEUTRAL, (5, 4))
_CAPTIONS = plan_page_words.CROWD_CAPTIONS | plan_page_words.ATTENDANCE_CAPTIONS


def plan_page(plan: Plan, command: list[str], progress: Progress = no_progress) -> str:
    """The page of a plan; `command` makes it again."""
    if plan.goals.crowd_eps is not None or plan.goals.asked is not None:
        return _page_without_sliders(plan, command)
    if plan.goals.want != "frequencies":
        raise ValueError("a page's charts are of frequencies: leave it out where quantiles or a mean are wanted")
    found = grids(plan, progress)
    best = plan.recommended
    curve = [] if best is None else participation_curve(best)
    captions = (
        plan_page_words.CAPTIONS
        | (plan_page_words.PREDICTED_CAPTIONS if found.predicted else {})
        | (plan_page_words.ATTENDANCE_CAPTIONS if curve else {})
    )
    files = resources.files("untrackable.display")
    names = [line.name for line in found.lines]
    return chart_page(
        title="Which mechanism, with which parameters?",
        lead=plan_words.verdict(plan),
        pictures=[(name, *caption) for name, caption in captions.items()],
        specs=_charts(found, names) | (participation_charts(best, curve) if best and curve else {}),
        tables=_tables(plan),
        missing=dict(plan_words.refusals(plan)),
        missing_heading="Why not the others",
        formulas=[
            plan_page_words.PREDICTED if found.predicted and formula[0] == "Error" else formula
            for formula in plan_page_words.FORMULAS
        ],
        how="",
        source="",
        parameters=plan_words.campaign_text(plan),
        command=command_line(command),
        data=plan_json.as_json(plan),
        controls=(files / "plan_controls.html").read_text(encoding="utf-8"),
        script=(files / "plan_sliders.js").read_text(encoding="utf-8"),
        grids=as_dict(found),
    )


def _page_without_sliders(plan: Plan, command: list[str]) -> str:
    """The page of a plan for the crowd, or for several answers at once, where every setting takes seconds."""
    best, crowd = plan.recommended, plan.goals.crowd_eps is not None
    specs: dict[str, Spec] = {}
    if best is not None and not crowd:
        curve = participation_curve(best)
        specs |= participation_charts(best, curve) if curve else {}
    if best is not None and crowd:
        specs["crowd"] = crowd_chart(best, other_crowds(best))
        if best.goals.discovered is None:
            specs["following"] = following_chart(followed_beside(best.name, best.mechanism))
    return chart_page(
        title=f"Which mechanism, with which parameters{', in the crowd' * crowd}?",
        lead=plan_words.verdict(plan),
        pictures=[(name, *_CAPTIONS[name]) for name in specs],
        specs=specs,
        tables=_tables(plan),
        missing=dict(plan_words.refusals(plan)),
        missing_heading="Why not the others",
        formulas=plan_page_words.FORMULAS,
        how="",
        source="",
        parameters=plan_words.campaign_text(plan),
        command=command_line(command),
        data=plan_json.as_json(plan),
    )


def _tables(plan: Plan) -> list[tuple[Any, ...]]:
    """The options. The error of one round has a column only where a figure pools several."""
    compared = [] if plan.compared is None else [_ways(plan.compared)]
    if not plan.options:
        return compared
    pooled = plan.goals.pooled > 1
    kept = [i for i, column in enumerate(plan_words.COLUMNS) if pooled or column != "error of one round"]
    rows = [tuple(plan_words.cells(option)[i] for i in kept) for option in plan.options]
    columns = tuple(plan_words.COLUMNS[i] for i in kept)
    return [("Mechanisms that meet the goals", columns, [("", rows)]), *compared]


def _ways(compared: Compared) -> tuple[Any, ...]:
    """The ways to ask for several answers at once."""
    heading = f"Ways to ask for the same ({way_words.caption(compared)})"
    return heading, way_words.COLUMNS, [("", way_words.ways(compared))]


def _charts(found: Grids, names: list[str]) -> dict[str, Spec]:
    log = alt.Scale(type="log", nice=False, padding=8)
    error = "frequency, predicted" if found.predicted else "error, at most"
    people = "people" + (", predicted" if found.predicted else "")
    return {
        "errors": _chart(names, "rounds", error, log, alt.Scale(type="log")),
        "people": _chart(names, "everlasting eps", people, log, alt.Scale(type="log")),
        "tracking": _chart(names, "reports held", found.measure + ", at most", log, alt.Scale(), limit=found.limit),
    }


def _chart(names: list[str], x: str, y: str, across: Any, up: Any, limit: float | None = None) -> Spec:
    """Lines whose data the sliders set; `shown` are the names of those that have any."""
    billions: dict[str, Any] = {"format": "~s", "labelExpr": "replace(datum.label, 'G', 'B')"}
    axis = alt.Axis(tickCount=6, **(billions if y.startswith("people") else {"format": "~g"}))
    key = Key(line_series(names, marks=True), [] if limit is None else [_LIMIT], shown=alt.ExprRef("shown"))
    base = alt.Chart(alt.NamedData(name="rows")).encode(
        x=alt.X("x:Q", title=x, scale=across, axis=alt.Axis(tickCount=6, format="~g")),
        y=alt.Y("y:Q", title=y, scale=up, axis=axis),
        tooltip=[
            alt.Tooltip("line:N", title="mechanism"),
            alt.Tooltip("x:Q", title=x, format=".4~g"),
            alt.Tooltip("y:Q", title=y, format=".4~g"),
        ],
    )
    layers = [*key.lines(base), key.legend]
    if limit is not None:
        layers.append(key.rule(_LIMIT.name, limit))
    spec = chart_spec(alt.layer(*layers).add_params(alt.param(name="shown", value=names)))
    spec.setdefault("datasets", {})["rows"] = []
    return spec
