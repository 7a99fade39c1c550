"""A plan, of one question or several, as one self-contained page: the verdict, tables and two charts."""

from typing import Any

import numpy as np

from untrackable.display import plan_json, plan_words, question_set_words
from untrackable.display.chart_theme import COLOURS, Key, Series, Spec, chart_spec, line_series
from untrackable.display.page_shell import chart_page, command_line
from untrackable.extras import extra
from untrackable.planning.plans import Plan
from untrackable.planning.question_set import QuestionSet

with extra("plots"):
    import altair as alt

_POINTS = 25
_PLAN = Series("the plan, one round", COLOURS[0], mark="circle", size=110)
_ONE, _ALL = "one round", "all rounds together"
_CAPTIONS = {
    "people": (
        "The error by people",
        "How far a figure may be off (upper), with the report of this plan, for other numbers of people.",
    ),
    "rounds": (
        "The error by rounds",
        "How far one round may be off (upper) if the same time has fewer and longer rounds, or more of them.",
    ),
}
_FORMULAS = [
    (
        "One turn",
        "each of n people answers in one of k rounds, with probability q/k in each: m = n·q/k reports.",
        "",
    ),
    (
        "Standard error",
        "√(V/m + p(1−p)(1−m/n)/m): V is the variance of one report given its value, p the share of people.",
        "",
    ),
    (
        "Error",
        "the law of the count of reports is inverted (Clopper, Pearson 1934; Hoeffding 1956), or sums are "
        "bounded (Hoeffding 1963, Bernstein 1946), for the fewest reports that 99 of 100 rounds have.",
        "",
    ),
    ("Privacy", "the largest log ratio of probabilities of one report, times the answers that wipes allow.", ""),
]


def plan_page(plan: Plan, command: list[str], *, together: QuestionSet | None = None) -> str:
    """The page of a plan, or of several questions `together`; `command` makes it again."""
    lead = plan_words.verdict(plan) if together is None else question_set_words.sentences(together)
    charts = {"people": _people_chart(plan), "rounds": _rounds_chart(plan)}
    specs = {name: spec for name, spec in charts.items() if spec is not None}
    return chart_page(
        title="What will this campaign tell?" if together is None else "What will these questions tell?",
        lead=lead,
        pictures=[(name, *caption) for name, caption in _CAPTIONS.items() if name in specs],
        specs=specs,
        tables=_tables(plan, together),
        missing={},
        formulas=[("The columns", f"{plan_words.caption(plan)}.", ""), *_FORMULAS],
        how="",
        source="",
        parameters=plan_words.campaign_text(plan),
        command=command_line(command),
        data=plan_json.as_json(plan) if together is None else plan_json.set_json(together),
    )


def _tables(plan: Plan, together: QuestionSet | None) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = [
        ("How far off figures will be", plan_words.COLUMNS, [("", plan_words.rows(plan))])
    ]
    if together is not None:
        cells = [question_set_words.cells(part) for part in together.parts]
        found.append(
            (f"The questions ({question_set_words.caption(together)})", question_set_words.COLUMNS, [("", cells)])
        )
    if plan.ways:
        found.append(("Ways to ask for the same", plan_words.WAY_COLUMNS, [("", plan_words.way_rows(plan.ways))]))
    return found


def _people_chart(plan: Plan) -> Spec | None:
    """The error with fewer or more people; None if none of them would be enough to tell anything."""
    goals, planned = plan.solved, plan.solved.people or 1
    people = np.unique(np.geomspace(max(10.0, planned / 100), planned * 100, _POINTS).round().astype(np.int64))
    rows = [
        {"line": name, "x": int(count), "y": found}
        for name, rounds in ((_ONE, 1), (_ALL, plan.all_rounds.rounds))
        for count in people
        if (found := plan.law.promise(goals.replace(people=int(count)), rounds).radius_upper) <= 1
    ]
    return _chart(rows, [_ONE, _ALL], "people", plan, planned)


def _rounds_chart(plan: Plan) -> Spec | None:
    """The error with fewer or more rounds, in the same way."""
    goals, planned = plan.solved, plan.all_rounds.rounds
    stretches = np.unique(np.geomspace(1, max(4, plan.turns.rounds * 4), _POINTS).round().astype(np.int64))
    rows = []
    for count in np.unique([*(stretches * plan.looks), planned]):
        found = plan.law.promise(goals.replace(rounds=int(count), pooled=1), 1).radius_upper
        if found <= 1:
            rows.append({"line": _ONE, "x": int(count), "y": found})
    return _chart(rows, [_ONE], "rounds", plan, planned)


def _chart(rows: list[dict[str, Any]], names: list[str], x: str, plan: Plan, planned: int) -> Spec | None:
    if not rows:
        return None
    marked = [{"line": _PLAN.name, "x": planned, "y": plan.one_round.radius_upper}]
    key = Key(line_series(names), [_PLAN])
    axes: dict[str, Any] = {
        "x": alt.X(
            "x:Q",
            title=x,
            scale=alt.Scale(type="log", nice=False, padding=8),
            axis=alt.Axis(format="~s", tickCount=6, labelBound=True),
        ),
        "y": alt.Y(
            "y:Q", title="error, at most", scale=alt.Scale(type="log"), axis=alt.Axis(format="~%", tickCount=6)
        ),
        "tooltip": [
            alt.Tooltip("line:N", title="figure"),
            alt.Tooltip("x:Q", title=x, format=",.0f"),
            alt.Tooltip("y:Q", title="error, at most", format=".3~%"),
        ],
    }
    lines = key.lines(alt.Chart(alt.InlineData(values=rows)).encode(**axes))
    shown = marked if plan.one_round.radius_upper <= 1 else []
    return chart_spec(
        alt.layer(*lines, key.marks(alt.Chart(alt.InlineData(values=shown)).encode(**axes), _PLAN.name), key.legend)
    )
