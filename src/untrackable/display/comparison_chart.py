"""The chart of a comparison: accuracy against tracking, with every mark and every name in sight."""

import math
from typing import Any, NamedTuple

from untrackable.auditing.comparison import FOR_EVER, THESE_ROUNDS
from untrackable.display.chart_theme import COLOURS, FEW_TICKS, Key, Series, Spec, chart_spec
from untrackable.extras import extra

with extra("plots"):
    import altair as alt

_LOOKS = (
    Series(FOR_EVER, COLOURS[0], mark="circle", size=110),
    Series(THESE_ROUNDS, COLOURS[1], mark="diamond", size=40),
)
_HEIGHT, _WIDTHS = 440, (235, 940)
"""Pixels of the drawing: its height, and its width on a phone and on a wide screen."""
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
    """Names beside a mark: which, of which mark, and where from there in pixels."""

    names: str
    row: dict[str, Any]
    align: str
    dx: float
    dy: float


def comparison_chart(rows: list[dict[str, Any]], error: str, picked: str) -> Spec:
    """Accuracy against tracking, one mark for each mechanism: the best are in the lower left corner."""
    across = alt.X(
        "error:Q", title=error, scale=alt.Scale(type="log", nice=False, padding=_PADDING), axis=FEW_TICKS
    )
    scale = alt.Scale(type="log", domain=list(_ends(rows)), nice=False)
    up = alt.Y("recognised:Q", title=picked, scale=scale, axis=FEW_TICKS)
    key = Key([], [look for look in _LOOKS if any(row["lasts"] == look.name for row in rows)])
    tips = [
        alt.Tooltip("name:N", title="mechanism"),
        alt.Tooltip("error:Q", title=error, format=".4~g"),
        alt.Tooltip("recognised:Q", title=picked, format=".4~g"),
        alt.Tooltip("advantage:Q", title="tracking advantage, at most", format=".4~g"),
    ]
    marks = [
        key.marks(_chart([{**row, "line": kind} for row in rows if row["lasts"] == kind]), kind).encode(
            x=across, y=up, tooltip=tips
        )
        for kind in dict.fromkeys(row["lasts"] for row in rows)
    ]
    drawn: list[Any] = []
    for label in _placed_labels(rows):
        base = _chart([{**label.row, "names": label.names}]).encode(x=across, y=up)
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
    return chart_spec(alt.layer(*drawn, *marks, key.legend), height=_HEIGHT)


def _chart(rows: list[dict[str, Any]]) -> Any:
    return alt.Chart(alt.InlineData(values=rows))


def _ends(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """The ends of the axis up."""
    return min(row["recognised"] for row in rows) / 2, 2.0


def _placed_labels(rows: list[dict[str, Any]]) -> list[Label]:
    """A place for each name, next to its mark and clear of all else, on a narrow screen and on a wide one."""
    places = [_places(rows, row) for row in rows]
    taken = [[Box(x - 6, y - 6, x + 6, y + 6) for x, y in spots] for spots in zip(*places, strict=True)]
    labels = []
    for row in sorted(_grouped(rows), key=lambda row: (-row["recognised"], row["error"])):
        names = _lines_of_names(row["name"])
        spots = _places(rows, row)
        label, boxes = min(
            ((label, [_box(label, *spot) for spot in spots]) for label in _candidates(row, names)),
            key=lambda found: _badness(found[0], found[1], taken),
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
    """Where a mark is on drawings of either width."""
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
