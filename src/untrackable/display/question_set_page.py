"""Several questions with one budget as one self-contained page: how it is divided, and the errors that follow."""

from typing import Any

from untrackable import strict_json
from untrackable.display import plan_page_words, question_set_words
from untrackable.display.chart_theme import COLOURS, WHISKER, Key, Series, Spec, chart_spec
from untrackable.display.page_shell import chart_page, command_line
from untrackable.extras import extra
from untrackable.planning.question_set import QuestionSet

with extra("plots"):
    import altair as alt

_LOOKS: dict[str, dict[str, Any]] = {
    "planned": {"colour": COLOURS[0], "mark": "circle", "size": 170},
    "alone": {"colour": COLOURS[5], "mark": "square", "size": 70},
    "record": {"colour": COLOURS[2], "mark": "diamond", "size": 110},
    "wanted": {"colour": COLOURS[1], "mark": WHISKER, "size": 200},
}
"""How each error that a question may have is drawn."""
_PART = Series("this question by itself (upper)", COLOURS[0], mark="circle", size=170)
_TOGETHER = Series("all questions together (upper)", COLOURS[3], mark="diamond", size=170)
_ROW, _NAME = 44, 300
"""Pixels of a row, and of the longest name above it."""
_LINEAR = 30
"""If the largest error is more than this many times the smallest, the axis is logarithmic."""


def question_set_page(found: QuestionSet, command: list[str]) -> str:
    """The page of questions that were planned together; `command` makes it again."""
    words = question_set_words
    wanted = {part.goals.want for part in found.parts if part.goals.discovered is None}
    return chart_page(
        title="How do several questions share one budget?",
        lead=words.sentences(found),
        pictures=[(name, *texts) for name, texts in plan_page_words.TOGETHER_CAPTIONS.items()],
        specs={"errors": _error_chart(found), "parts": _part_chart(found)},
        tables=[
            ("The questions", words.COLUMNS, [("", [words.cells(part) for part in found.parts])]),
            ("What the errors are of", ("question", "the error is of"), [("", words.promised(found))]),
        ],
        missing={},
        formulas=[
            ("The columns", f"{words.caption(found)}.", ""),
            *(plan_page_words.WANTED[want] for want in plan_page_words.WANTED if want in wanted),
            *(
                [plan_page_words.PREDICTED]
                if any(part.goals.discovered is not None for part in found.parts)
                else []
            ),
        ],
        how="",
        source="",
        parameters=strict_json.write({part.name: part.campaign().to_json() for part in found.parts}, indent=2),
        command=command_line(command),
        data=words.as_json(found),
    )


def _error_chart(found: QuestionSet) -> Spec:
    """The error of each question beside what was asked for, and what other plans would have."""
    drawn = question_set_words.errors(found)
    rows: list[dict[str, Any]] = [
        {"line": each.label, "question": part.name, "x": error}
        for each in drawn
        for part, error in zip(found.parts, each.errors, strict=True)
        if error is not None
    ]
    errors = [row["x"] for row in rows]
    logarithmic = max(errors) > _LINEAR * min(errors)
    scale = alt.Scale(type="log", padding=12) if logarithmic else alt.Scale(zero=True, padding=12)
    return _chart([Series(each.label, **_LOOKS[each.kind]) for each in drawn], rows, "error, at most", scale)


def _part_chart(found: QuestionSet) -> Spec:
    """The eps of each question by itself, and what all of them spend together."""
    where, _, spent = question_set_words.spending(found)
    rows: list[dict[str, Any]] = [
        {"line": _PART.name, "question": part.name, "x": question_set_words.question_eps(part)}
        for part in found.parts
    ]
    rows.append({"line": _TOGETHER.name, "question": "all together", "x": spent})
    return _chart([_PART, _TOGETHER], rows, f"eps{where}, at most", alt.Scale(zero=True, padding=12))


def _chart(series: list[Series], rows: list[dict[str, Any]], title: str, scale: Any) -> Spec:
    """Marks in a row for each question, in the order of the rows."""
    key = Key([], series)
    names = list(dict.fromkeys(row["question"] for row in rows))
    across = alt.X("x:Q", title=title, scale=scale, axis=alt.Axis(tickCount=4, format="~g"))
    axis = alt.Axis(
        ticks=False, domain=False, grid=True, labelAlign="left", labelLimit=_NAME, labelOffset=-13, labelPadding=0
    )
    up = alt.Y("question:N", title=None, sort=names, axis=axis)
    tips = [alt.Tooltip("question:N"), alt.Tooltip("line:N"), alt.Tooltip("x:Q", title=title, format=".4~g")]
    layers = [
        key.marks(alt.Chart(alt.InlineData(values=[row for row in rows if row["line"] == each.name])), each.name)
        for each in series
    ]
    drawn = [layer.encode(x=across, y=up, tooltip=tips) for layer in layers]
    return chart_spec(alt.layer(*drawn, key.legend), height=_ROW * len(names))
