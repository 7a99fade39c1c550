"""A plan as one self-contained page: the recommendation, the trade-offs, and sliders for other goals."""

from importlib import resources
from typing import Any

from untrackable.display import plan_words
from untrackable.display.chart_theme import COLOURS, Spec, chart_spec
from untrackable.display.numbers import as_dict
from untrackable.display.page_shell import chart_page, command_line
from untrackable.display.participation_charts import participation_charts
from untrackable.extras import extra
from untrackable.planning.participation_curve import participation_curve
from untrackable.planning.plans import Plan, Progress
from untrackable.planning.slider_grids import Grids, grids

with extra("plots"):
    import altair as alt

_CAPTIONS = {
    "errors": (
        "Error against rounds",
        "The error of the last published figure, by how often the question is asked. "
        "Each mechanism is set for that number of rounds at the chosen eps.",
    ),
    "people": (
        "People needed against eps",
        "How many people must take part for the chosen error, at the chosen number of rounds.",
    ),
    "tracking": (
        "Tracking against reports",
        "How well an observer can follow a person, by how many of the person's reports the observer holds. "
        "The dashed line is the tolerable limit. Lines at zero are exact: there is nothing to follow.",
    ),
}

_PREDICTED_CAPTIONS = {
    "errors": (
        "Strings found against rounds",
        "The predicted frequency from which on strings are found in the last published figure, by how often the "
        "question is asked. Each mechanism is set for that number of rounds at the chosen eps.",
    ),
    "people": (
        "People needed against eps",
        "The predicted number of people who must take part for strings of the chosen frequency to be "
        "found, at the chosen number of rounds.",
    ),
}

_ATTENDANCE_CAPTIONS = {
    "participation-errors": (
        "Error against participation",
        "The error of a published figure of the recommended mechanism, by how often clients answer. Fewer reports "
        "spend less of the privacy budget, so each may be louder. The point is the plan.",
    ),
    "participation-recognition": (
        "Recognition against participation",
        "How often an observer recognises a person among 1,000 by reports and attendance together, by how often "
        "clients answer, and for how many rounds people stay at one place. The dashed line is the tolerable limit, "
        "and the point is the plan. Guessing reaches 0.001.",
    ),
}

_PREDICTED = (
    "Frequency found",
    "predicted, not a bound: the threshold above which a bucket stands out of all buckets of one prefix, which has "
    "its share of the reports, and three standard errors more. The search weighs all prefixes together.",
    "",
)

_FORMULAS = (
    (
        "Everlasting privacy",
        "delta(eps) of all reports ever, one value against another; the parameters are the largest for which it "
        "is within the goal, found by a search in which the engine is asked at every step.",
        "",
    ),
    (
        "Tracking",
        "reports of one person against those of two, the worst split. Stored reports: 1 − E[(1 − M/L)^(k−j)], "
        "the probability of a slot on both sides. One kept bit: "
        "2a(1−a)·TV(Bin(j, q), Bin(j, p))·TV(Bin(k−j, q), Bin(k−j, p)).",
        "",
    ),
    (
        "Attendance",
        "each round, one person is seen at the first place with probability r·a, at the second with r·b, and never "
        "at both; two people are seen independently of each other. Rounds multiply, and so do the reports. For "
        "stays of B rounds, r becomes 1 − (1 − r)^B. Recognition is the power of the best test at a false positive "
        "rate of 1/1,000.",
        "",
    ),
    (
        "Other answers",
        "reports of one person against those of two people with different answers, the worst split. Independent "
        "reports: privacy itself. Otherwise the engine, or at most tracking and privacy together: "
        "TV(P, Q) ≤ TV(P, P′) + TV(P′, Q), where P′ are two people with the same answer.",
        "",
    ),
    (
        "Error",
        "span·√(ln(2m/β)/(2n)) for m values at once and n reports. If N people answer with probability r each, n "
        "is a little less than N·r, so that the bound holds on average, and for the frequencies of all people. "
        "Pooled over independent rounds √(Σ w²·radius²), with weights "
        "of one over the variance.",
        "Hoeffding 1963",
    ),
    (
        "The paper's own selection",
        "ε′ from the accuracy, L = ⌊ε²/(8ε′² ln(1/δ))⌋, tracking k²/L; its further term L²/2^d is left out.",
        "Naor, Vexler, parameter selection",
    ),
)


def plan_page(plan: Plan, command: list[str], progress: Progress = lambda what, done: None) -> str:
    """The page of a plan; `command` makes it again."""
    found = grids(plan, progress)
    best = plan.recommended
    curve = [] if best is None else participation_curve(best)
    captions = (
        _CAPTIONS | (_PREDICTED_CAPTIONS if found.predicted else {}) | (_ATTENDANCE_CAPTIONS if curve else {})
    )
    files = resources.files("untrackable.display")
    names = [line.name for line in found.lines]
    rows = [plan_words.cells(option) for option in plan.options]
    return chart_page(
        title="Which mechanism, with which parameters?",
        lead=plan_words.verdict(plan),
        pictures=[(name, *caption) for name, caption in captions.items()],
        specs=_charts(found, names) | (participation_charts(best, curve) if best and curve else {}),
        tables=[("Mechanisms that meet the goals", plan_words.COLUMNS, [("", rows)])] if rows else [],
        missing=dict(plan_words.refusals(plan)),
        missing_heading="Why not the others",
        formulas=[_PREDICTED if found.predicted and formula[0] == "Error" else formula for formula in _FORMULAS],
        how="",
        source="",
        parameters=plan_words.campaign_text(plan),
        command=command_line(command),
        data=plan_words.as_json(plan),
        controls=(files / "plan_controls.html").read_text(encoding="utf-8"),
        script=(files / "plan_sliders.js").read_text(encoding="utf-8"),
        grids=as_dict(found),
    )


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
    base = alt.Chart(alt.NamedData(name="rows")).encode(
        x=alt.X("x:Q", title=x, scale=across, axis=alt.Axis(tickCount=6, format="~g")),
        y=alt.Y("y:Q", title=y, scale=up, axis=axis),
        color=alt.Color(
            "line:N",
            title=None,
            scale=alt.Scale(domain=names, range=COLOURS[: len(names)]),
            legend=alt.Legend(orient="top", columns=4, labelLimit=200, values=alt.ExprRef("shown")),
        ),
        tooltip=[
            alt.Tooltip("line:N", title="mechanism"),
            alt.Tooltip("x:Q", title=x, format=".4~g"),
            alt.Tooltip("y:Q", title=y, format=".4~g"),
        ],
    )
    layers = [base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=35))]
    if limit is not None:
        rule = alt.Chart(alt.InlineData(values=[{"limit": limit}]))
        layers.append(rule.mark_rule(strokeDash=[5, 4], color="#888").encode(y="limit:Q"))
    spec = chart_spec(alt.layer(*layers).add_params(alt.param(name="shown", value=names)))
    spec.setdefault("datasets", {})["rows"] = []
    return spec
