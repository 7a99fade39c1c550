"""A comparison of mechanisms: what it shows in words, a row for each, and accuracy against tracking as a chart."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from untrackable.auditing.comparison import (
    FOR_EVER,
    LARGEST_EPS,
    ONE_TURN,
    THESE_ROUNDS,
    ComparedMechanism,
    Comparison,
)
from untrackable.brackets import Bracket
from untrackable.display import view
from untrackable.display.audit import crowd_cell
from untrackable.display.campaign import share
from untrackable.display.charts import COLOURS, Key, Series, alt, few_ticks, points
from untrackable.display.numbers import as_dict, cell, number, said, upper
from untrackable.display.page import result_page


def verdict(comparison: Comparison) -> list[str]:
    """What the comparison shows."""
    hidden = _hidden(comparison)
    followed = [r for r in comparison.rows if r.recognised.upper > 1 / comparison.crowd * (1 + 1e-6)]
    sentences = _turns(comparison)
    if hidden:
        best = min(hidden, key=lambda row: row.all_rounds)
        sentences.append(
            f"With everybody in every round, reports cannot be linked with {_listed([r.name for r in hidden])} "
            f"(exact), but people are recognised by attendance, whatever the mechanism: an attack matched "
            f"{share(comparison.matched.alone.sampled)} of {comparison.matched.people:,} (sampled). The most "
            f"accurate of these mechanisms is {best.name}: standard error {number(best.all_rounds)} after "
            f"{comparison.reports} rounds (exact)."
        )
    temporary = "" if all(r.lasts for r in comparison.rows) else ", or where marked * for those of these rounds"
    sentences.append(
        f"All mechanisms answer a question with {comparison.values} possible answers, asked of "
        f"{comparison.people:,} people in {comparison.reports} rounds, with eps = {number(comparison.eps)} at "
        f"delta = {comparison.delta:g} for all reports ever sent{temporary}."
    )
    sentences += _crowd(comparison)
    if followed:
        worst = max(followed, key=lambda r: (r.recognised.upper, r.tracking.advantage.upper))
        sentences.append(
            f"The easiest to follow by reports is {worst.name}: an observer with {comparison.reports} of them "
            f"tells one person from two with advantage {said(worst.tracking.advantage)}, and picks a person out of "
            f"{comparison.crowd:,} with probability at most {upper(worst.recognised.upper)} (upper)."
        )
    return sentences


def _turns(comparison: Comparison) -> list[str]:
    """What one turn gives, and where everybody in every round would be more accurate."""
    turn = next(row for row in comparison.rows if row.name == ONE_TURN)
    better = (
        f"at no eps up to {LARGEST_EPS:g}"
        if comparison.every_round_from is None
        else f"only from an eps of {comparison.every_round_from:g} on (upper)"
    )
    return [
        "If each person answers once, in a round that their device draws in secret (one turn), no two reports "
        f"exist that could be linked (exact). An observer of two places recognises a person among "
        f"{comparison.crowd:,} with probability at most {upper(turn.attended.upper)} (upper), and the standard "
        f"error of one round is {number(turn.standard_error)}, for a share of {share(comparison.share)} (exact). "
        f"A deck that everybody answers in every round would have a smaller error of a round {better}. Mechanisms "
        "that keep their noise may have a smaller one at any eps, and their reports can be linked."
    ]


def _hidden(comparison: Comparison) -> list[ComparedMechanism]:
    """Those for every round whose reports cannot be linked and whose privacy lasts."""
    limit = 1 / comparison.crowd * (1 + 1e-6)
    return [row for row in comparison.rows if row.lasts and row.recognised.upper <= limit and row.name != ONE_TURN]


def _crowd(comparison: Comparison) -> list[str]:
    """What a relay adds: which mechanisms a crowd hides, and how well."""
    hidden = {row.name: row.in_crowd.eps for row in comparison.rows if row.in_crowd.eps is not None}
    if not hidden:
        return []
    told = ", ".join(f"{name} {upper(eps.upper)}" for name, eps in hidden.items())
    return [
        f"If a relay hides who sends which report, eps of these {comparison.reports} rounds in the crowd of "
        f"{comparison.people:,} people is at most: {told} (upper; with one turn, the crowd of one round). The "
        "others do not gain: their reports can be linked."
    ]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


_BRACKETS: dict[str, tuple[str, Callable[[ComparedMechanism], Bracket | None]]] = {
    "recognised": ("recognised among {crowd:,}", lambda row: row.recognised),
    "recognised_with_attendance": ("with attendance", lambda row: row.attended),
    "tracking_advantage": ("tracking advantage", lambda row: row.tracking.advantage),
    "tracking_gamma": ("gamma({delta:g})", lambda row: row.tracking.gamma),
    "tracking_worst_gamma": ("worst gamma", lambda row: row.tracking.pure),
    "change_noticed": ("change noticed", lambda row: row.noticed),
    "eps": ("eps({delta:g})", lambda row: row.privacy.gamma),
    "eps_in_crowd": ("eps in the crowd({delta:g})", lambda row: row.in_crowd.eps),
    "eps_changing_values": ("eps, changing values", lambda row: row.privacy_any),
    "eps_one_report": ("eps of one report", lambda row: row.one_report),
}
"""The brackets of a row by the names of their columns in files, each with its heading in the table."""


def columns(comparison: Comparison) -> tuple[str, ...]:
    """Headings of the table."""
    about = {"crowd": comparison.crowd, "delta": comparison.delta}
    brackets = [heading.format(**about) for heading, _ in _BRACKETS.values()]
    errors = ("error, one round", f"error, {comparison.reports} rounds", "radius, one round")
    return "mechanism", *brackets, *errors, "one dishonest report"


def cells(row: ComparedMechanism) -> tuple[str, ...]:
    """One row of the table."""
    brackets = [of(row) for _, of in _BRACKETS.values()]
    return (
        row.name + ("" if row.lasts else " *"),
        *(crowd_cell(row.in_crowd) if each is None else cell(each) for each in brackets),
        number(row.standard_error),
        number(row.all_rounds),
        f"≤ {upper(row.radius)}",
        "" if row.shift is None else f"{number(row.shift)} people",
    )


@view.make_view.register
def _(comparison: Comparison) -> view.View:
    sentences = verdict(comparison)
    table = view.Table(
        columns(comparison),
        [cells(row) for row in comparison.rows],
        caption="Numbers are exact, or upper where marked ≤. Recognised: by reports, then by attendance too. "
        "Error: the standard error for a value that nobody holds (RAPPOR: for equally frequent values; one turn: "
        f"for a share of {100 * comparison.share:g} %, the sample included). "
        "* Private for these rounds only",
        title="All mechanisms",
        spare=(5, 10, 13, 14, 9, 6, 4, 7, 2, 11),
    )
    return view.View(
        title=f"{len(comparison.rows)} mechanisms at eps {comparison.eps:g}",
        sentences=sentences,
        tables=[table],
        data=lambda: _data(comparison.rows),
        notes=[f"{name} is left out: {why}" for name, why in comparison.left_out.items()],
        json=lambda: {"verdict": sentences, **as_dict(comparison)},
    )


def _data(rows: Sequence[ComparedMechanism]) -> view.Columns:
    brackets: view.Columns = {}
    for name, (_, of) in _BRACKETS.items():
        brackets = {**brackets, **view.ends(name, rows, of)}
    return {
        "mechanism": view.texts(row.name for row in rows),
        "private_for_ever": view.truths(row.lasts for row in rows),
        **brackets,
        "error_one_round_exact": view.floats(row.standard_error for row in rows),
        "error_all_rounds_exact": view.floats(row.all_rounds for row in rows),
        "radius_one_round_upper": view.floats(row.radius for row in rows),
        "one_dishonest_report_exact": view.floats(row.shift for row in rows),
        "parameters": view.texts(row.mechanism for row in rows),
    }


_LOOKS = (
    Series(FOR_EVER, COLOURS[0], mark="circle", size=110),
    Series(THESE_ROUNDS, COLOURS[1], mark="diamond", size=40),
)
_HEIGHT, _WIDTHS = 440, (235, 436, 940)
"""Pixels of the drawing: its height, and its width on a phone, in a picture and on a wide screen."""
_PADDING = 25
_LETTER, _LINE = 6.6, 13
"""Pixels of a letter and of a line of names."""
_FAR = 16
"""A name further than this above or below its mark is joined to it by a line."""
_RIGHT, _LEFT, _MIDDLE = ("left", 9), ("right", -9), ("center", 0)
"""How a name is aligned, and how far it is from its mark."""


class Box(NamedTuple):
    """A rectangle on the drawing, in pixels from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float

    def hits(self, other: "Box") -> bool:
        """Whether two rectangles overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


class Label(NamedTuple):
    """Names beside the mark of a row, and their place: how they are aligned, and pixels from the mark."""

    names: str
    row: dict[str, Any]
    align: str
    dx: float
    dy: float


@view.make_charts.register
def _(comparison: Comparison, top: int) -> list[view.Chart]:
    """Accuracy against tracking, one mark for each mechanism: the best are in the lower left corner."""
    error = f"standard error after {comparison.reports} rounds"
    picked = f"picked out of {comparison.crowd:,} by reports, at most"
    rows = [row.drawn() for row in sorted(comparison.rows, key=lambda row: row.lasts)]
    across = alt.X(
        "error:Q", title=error, scale=alt.Scale(type="log", nice=False, padding=_PADDING), axis=few_ticks()
    )
    scale = alt.Scale(type="log", domain=list(_ends(rows)), nice=False)
    up = alt.Y("recognised:Q", title=picked, scale=scale, axis=few_ticks())
    key = Key([], [look for look in _LOOKS if any(row["lasts"] == look.name for row in rows)])
    tips = [
        alt.Tooltip("name:N", title="mechanism"),
        alt.Tooltip("error:Q", title=error, format=".4~g"),
        alt.Tooltip("recognised:Q", title=picked, format=".4~g"),
        alt.Tooltip("advantage:Q", title="tracking advantage, at most", format=".4~g"),
    ]
    marks = [
        key.marks(points([{**row, "line": kind} for row in rows if row["lasts"] == kind]), kind).encode(
            x=across, y=up, tooltip=tips
        )
        for kind in dict.fromkeys(row["lasts"] for row in rows)
    ]
    drawn: list[Any] = []
    for label in _placed_labels(rows):
        base = points([{**label.row, "names": label.names}]).encode(x=across, y=up)
        if label.dy > _FAR or label.dy + _high(label.names) < -_FAR:
            end = label.dy if label.dy > 0 else label.dy + _high(label.names)
            line = base.mark_rule(color="gray", x2Offset=label.dx, y2Offset=end, strokeWidth=1)
            drawn.append(line.encode(x2="error:Q", y2="recognised:Q"))
        text = base.mark_text(
            align=label.align,
            baseline="top",
            dx=label.dx,
            dy=label.dy,
            fontSize=11,
            lineHeight=_LINE,
            lineBreak="\n",
        )
        drawn.append(text.encode(text="names:N"))
    drawing = alt.layer(*drawn, *marks, key.legend).properties(height=_HEIGHT)
    return [view.Chart(name="comparison", title="Accuracy against tracking", drawing=drawing)]


def _ends(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """The ends of the axis up."""
    return min(row["recognised"] for row in rows) / 2, 2.0


def _placed_labels(rows: list[dict[str, Any]]) -> list[Label]:
    """A place for each name, next to its mark and clear of all else, whatever the width."""
    places = [_places(rows, row) for row in rows]
    taken = [[Box(x - 6, y - 6, x + 6, y + 6) for x, y in spots] for spots in zip(*places, strict=True)]
    labels = []
    for row in sorted(_grouped(rows), key=lambda row: (-row["recognised"], row["error"])):
        names = _lines_of_names(row["name"])
        spots = _places(rows, row)
        label, boxes = min(
            ((label, [_box(label, *spot) for spot in spots]) for label in _candidates(row, names)),
            key=lambda place: _badness(place[0], place[1], taken),
        )
        for boxed, box in zip(taken, boxes, strict=True):
            boxed.append(box)
        labels.append(label)
    return labels


def _badness(label: Label, boxes: list[Box], taken: list[list[Box]]) -> tuple[float, float]:
    """How much a label covers or is cut off, and how far it is from its mark."""
    bad = 0
    for box, others, width in zip(boxes, taken, _WIDTHS, strict=True):
        bad += sum(box.hits(other) for other in others)
        bad += box.left < 0 or box.right > width or box.top < 0 or box.bottom > _HEIGHT
    return bad, abs(label.dy + _high(label.names) / 2) + (5 if label.align == "center" else 0)


def _candidates(row: dict[str, Any], names: str) -> list[Label]:
    """Places beside the mark first, then above and below it, further and further."""
    high = _high(names)
    beside = [Label(names, row, *side, -high / 2) for side in (_RIGHT, _LEFT)]
    above = [(side, -high - 4.0 - step) for step in range(0, 140, 7) for side in (_RIGHT, _LEFT, _MIDDLE)]
    below = [(side, 4.0 + step) for step in range(0, 140, 7) for side in (_RIGHT, _LEFT, _MIDDLE)]
    return beside + [Label(names, row, *side, dy) for side, dy in (*above, *below)]


def _box(label: Label, x: float, y: float) -> Box:
    wide = _LETTER * max(map(len, label.names.split("\n")))
    start = x + label.dx - {"left": 0.0, "center": wide / 2, "right": wide}[label.align]
    return Box(start, y + label.dy, start + wide, y + label.dy + _high(label.names))


def _high(names: str) -> float:
    return float(_LINE * (names.count("\n") + 1))


def _places(rows: list[dict[str, Any]], row: dict[str, Any]) -> list[tuple[float, float]]:
    """Where a mark is on drawings of each width."""
    errors = [math.log(each["error"]) for each in rows]
    least, most = (math.log(end) for end in _ends(rows))
    y = _HEIGHT * (most - math.log(row["recognised"])) / (most - least)
    part = (math.log(row["error"]) - min(errors)) / ((max(errors) - min(errors)) or 1.0)
    return [(_PADDING + (width - 2 * _PADDING) * part, y) for width in _WIDTHS]


def _lines_of_names(names: str) -> str:
    """Two names to a line, so that a narrow screen shows them all."""
    listed = names.split(", ")
    return ",\n".join(", ".join(listed[i : i + 2]) for i in range(0, len(listed), 2))


def _grouped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
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


def comparison_page(comparison: Comparison, command: list[str]) -> str:
    """The page of a comparison; `command` makes it again."""
    return result_page(
        view.make_view(comparison),
        view.make_charts(comparison, 0),
        command,
        title="Which mechanism is accurate and hard to follow, at the same level of privacy?",
        formulas="audit_formulas.html",
        parameters="\n".join(row.mechanism for row in comparison.rows),
    )
