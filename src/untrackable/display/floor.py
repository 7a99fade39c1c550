"""The floor of tracking, in words, as tables and as charts: tracking against the people that are needed."""

from typing import Any

from untrackable.auditing.floor import DECK, FLOOR, RARELY, TURN, FloorComparison, FloorPoint
from untrackable.display.charts import (
    AMBER,
    BLUE,
    COLOURS,
    GREEN,
    INK,
    NEUTRAL,
    RED,
    Key,
    Series,
    alt,
    count_axis,
    log_ticks,
    points,
)
from untrackable.display.numbers import as_dict, cell, lower, number, said
from untrackable.display.page import result_page
from untrackable.display.view import (
    Chart,
    Columns,
    Table,
    View,
    counts,
    ends,
    floats,
    make_charts,
    make_view,
    texts,
)

_PEOPLE = (100_000, 1_000_000, 10_000_000, 100_000_000)
"""The numbers of people in the tables."""
_LEAST, _NOTHING = 1e-4, 4e-5
"""The smallest tracking on the axis up, and the place of 0."""
_HEIGHT = 330
_BELOW = (
    "The least tracking advantage with at most this many people, for a standard error of {:g}. The floor is a "
    "lower end for any mechanism, and its proof is in docs/floor.md"
)


def _horizon(rounds: int | None) -> str:
    return "for ever" if rounds is None else f"{rounds:,} rounds"


def verdict(comparison: FloorComparison) -> list[str]:
    """What the comparison shows."""
    asked, people = comparison.rounds, _PEOPLE[1]
    floors = {rounds: floor.lower for rounds in asked if (floor := comparison.least(FLOOR, rounds, people))}
    told = [f"at least {lower(floor)} {_within(rounds)}" for rounds, floor in floors.items() if floor]
    told += [f"not known to be above 0 {_within(rounds)}" for rounds, floor in floors.items() if not floor]
    sentences = [
        f"Let a yes/no question have everlasting eps = {number(comparison.eps)}, and a standard error of "
        f"{comparison.error:g} with {people:,} people. Whatever the mechanism, the advantage of an observer who "
        f"tells one person from two is {', '.join(told)} (lower)."
    ]
    rarely = comparison.least(RARELY, None, people)
    if rarely is not None:
        sentences.append(
            f"Rarely has {said(rarely)}: few people answer, and send the same answer for ever. That is an average: "
            "those who answer are followed with certainty, so no plan proposes it."
        )
    for rounds in asked:
        needed = {p.name: p for p in comparison.points if p.rounds == rounds and p.name in (TURN, DECK)}
        if needed:
            sentences.append(
                f"In {rounds:,} rounds, nobody can be followed by the reports of a deck, which needs "
                f"{needed[DECK].people:,.0f} people. One turn needs {needed[TURN].people:,.0f} (exact), and there "
                f"are no two reports: its advantage of {said(needed[TURN].tracking)} is by silence, which tells "
                "who somebody is not, and finds nobody."
            )
    return sentences


def _within(rounds: int | None) -> str:
    return "for ever" if rounds is None else f"in {rounds:,} rounds"


def _tables(comparison: FloorComparison) -> list[Table]:
    tables = []
    for rounds in comparison.rounds:
        names = dict.fromkeys(p.name for p in comparison.points if p.rounds == rounds)
        rows = [(name, *(_least(comparison, name, rounds, people) for people in _PEOPLE)) for name in names]
        tables.append(
            Table(
                (_horizon(rounds), *(f"{people:,} people" for people in _PEOPLE)),
                rows,
                caption=_BELOW.format(comparison.error) if rounds == comparison.rounds[-1] else "",
                title=f"The least tracking, {_horizon(rounds)}",
                spare=(4, 1),
            )
        )
    return tables


def _least(comparison: FloorComparison, name: str, rounds: int | None, people: int) -> str:
    """A cell of a table."""
    found = comparison.least(name, rounds, people)
    if found is None:
        return "needs more"
    return "not known" if name == FLOOR and not found.lower else cell(found)


@make_view.register
def _(comparison: FloorComparison) -> View:
    sentences = verdict(comparison)
    return View(
        title=f"The floor of tracking at eps {comparison.eps:g}",
        sentences=sentences,
        tables=_tables(comparison),
        data=lambda: _data(comparison),
        json=lambda: {"verdict": sentences, **as_dict(comparison)},
    )


def _data(comparison: FloorComparison) -> Columns:
    rows = comparison.points
    return {
        "mechanism": texts(row.name for row in rows),
        "rounds": counts(row.rounds for row in rows),
        "people_exact": floats(row.people for row in rows),
        **ends("tracking", rows, lambda row: row.tracking),
        "parameters": texts(row.mechanism for row in rows),
    }


_LOOKS = (
    Series(FLOOR, INK),
    Series(RARELY, RED, mark="circle", size=30),
    Series("Bitwise", AMBER, (6, 3), mark="triangle-up", size=45),
    Series("RAPPOR", COLOURS[3], (6, 3), mark="square", size=45),
    Series("RNIP", COLOURS[6], (6, 3), mark="diamond", size=50),
    Series("LOLOHA", NEUTRAL, (2, 3), mark="cross", size=45),
    Series("memoised", NEUTRAL, mark="circle", size=140),
    Series(TURN, GREEN, mark="triangle-down", size=170),
    Series(DECK, BLUE, mark="square", size=150),
    Series("Fading", BLUE, mark="diamond", size=150),
)
"""The floor, mechanisms with a parameter that is varied as lines, and the others as marks."""
_VARIED = _LOOKS[1:6]


@make_charts.register
def _(comparison: FloorComparison, top: int) -> list[Chart]:
    """A chart for each number of rounds."""
    return [_chart(comparison, rounds) for rounds in comparison.rounds]


def _chart(comparison: FloorComparison, rounds: int | None) -> Chart:
    rows = [row for point in comparison.points if point.rounds == rounds and (row := _row(point)) is not None]
    seen = {row["line"] for row in rows}
    key = Key(
        [look for look in _VARIED if look.name in seen],
        [look for look in _LOOKS if look not in _VARIED and look.name in seen],
        shown=[look.name for look in _LOOKS if look.name in seen],
    )
    people = f"people for a standard error of {comparison.error:g}"
    everybody = [point.people for point in comparison.points]
    ends = [min(everybody) / 1.4, max(everybody) * 1.4]
    across = alt.X(
        "people:Q",
        title=people,
        scale=alt.Scale(type="log", nice=False, domain=ends),
        axis=count_axis(values=log_ticks(*ends)),
    )
    shown = "datum.value < 1e-4 ? '0' : format(datum.value, '.4~g')"
    axis = alt.Axis(values=[_NOTHING, *(10.0**power for power in range(-4, 1))], labelExpr=shown)
    up = alt.Y(
        "place:Q",
        title="tracking advantage",
        axis=axis,
        scale=alt.Scale(type="log", domain=[0.75 * _NOTHING, 1.3], nice=False),
    )
    tips = [
        alt.Tooltip("line:N", title="mechanism"),
        alt.Tooltip("people:Q", title="people", format=",.0f"),
        alt.Tooltip("tracking:Q", title="tracking", format=".4~g"),
    ]

    def drawn(names: list[str]) -> Any:
        return points([row for row in rows if row["line"] in names]).encode(x=across, y=up, tooltip=tips)

    floor = key.coloured(drawn([FLOOR]))
    below = drawn([FLOOR]).mark_area(color=INK, opacity=0.12).encode(y2=alt.datum(0.75 * _NOTHING))
    layers = [below, floor.mark_line(strokeWidth=3.5), *key.lines(drawn([look.name for look in _VARIED]))]
    layers += [key.marks(drawn([look.name]), look.name) for look in _LOOKS[6:] if look.name in seen]
    title = f"Tracking against people, {_horizon(rounds)}"
    drawing = alt.layer(*layers, key.legend).properties(height=_HEIGHT)
    name = "floor-for-ever" if rounds is None else f"floor-{rounds}"
    return Chart(name=name, title=title, drawing=drawing)


def _row(point: FloorPoint) -> dict[str, Any] | None:
    """A row of a chart; None if it does not fit. Exactly 0 has a place at the bottom, but for the floor."""
    tracking = point.tracking.lower if point.name == FLOOR else point.tracking.upper
    if tracking < _LEAST and (tracking > 0 or point.name == FLOOR):
        return None
    return {
        "line": point.name,
        "people": point.people,
        "tracking": tracking,
        "place": max(_NOTHING, tracking),
    }


def floor_page(comparison: FloorComparison, command: list[str]) -> str:
    """The page of the floor; `command` makes it again."""
    return result_page(
        make_view(comparison),
        make_charts(comparison, 0),
        command,
        title="How trackable must a private and accurate answer be?",
        formulas="floor_formulas.html",
        parameters="\n".join(dict.fromkeys(point.mechanism for point in comparison.points)),
    )
