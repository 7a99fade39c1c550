"""An answer as a table for people or programs: names, estimates, intervals, bars."""

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from untrackable.answers.answer import Answer
from untrackable.answers.number_summary import MEDIAN_AND_95, NumberSummary, number_summary
from untrackable.display.number_words import number_notes
from untrackable.display.people_words import active_notes
from untrackable.display.percentages import NOT_TOLD, order_notes, percent, shown_share
from untrackable.display.table_file import write_table
from untrackable.estimation.active_people import ActivePeople, active_people
from untrackable.estimation.estimate import Estimate, Ranked
from untrackable.estimation.estimate_export import about, columns
from untrackable.reports.file_answers import FileAnswer

_SPARKS = "▁▂▃▄▅▆▇█"
_MOST_SPARKS = 20
_SHORTEST_BAR, _LONGEST_BAR, _LONGEST, _MARK = 8, 24, 30, 10
"""How many characters a bar has, a value's name before it is wrapped, and the column of ✓."""
_BY_RATE = "by fdr"


def summary(answer: FileAnswer) -> list[str]:
    """Which files were read, and which rounds the table is about."""
    names = [str(file.path) for file in answer.files]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more files" if len(names) > 3 else "")
    numbers, best = list(answer.rounds), answer.best
    about = f"round {numbers[-1]}"
    if len(numbers) > 1:
        about = f"{len(numbers)} rounds, {numbers[0]} to {numbers[-1]}"
        about += ", pooled" if answer.pooled is not None else f"; here round {numbers[-1]}"
    return [f"{shown}: {answer.reports:,} reports of {answer.mechanism!r}", f"{about}: {best.n:,} reports counted"]


def notes(
    answer: FileAnswer,
    *,
    fdr: float,
    columns: Collection[str],
    top: int = 20,
    numbers: NumberSummary | None = None,
) -> list[str]:
    """What the columns of the table mean, and what could not be checked."""
    best = answer.best
    told = {
        "frequency": "frequency: unbiased, and then cut off at 0 and 100 %",
        "± error": "± error: one standard error (estimated)",
        "interval": f"interval: holds for all values at once, except with probability {best.beta:.3g} (upper)",
        "": "█ up to the interval's lower end, ▒ up to the estimate, ─ up to the interval's upper end",
        "found": "✓ found: the interval excludes 0",
        _BY_RATE: f"{_BY_RATE}: a second test, which finds more; a share of {fdr:.3g} of its ✓ is expected to be "
        f"noise (false discovery rate; p-values: {best.tail})",
    }
    found = [words for title, words in told.items() if title in columns and not answer.only_counts]
    rows = _ranked(answer, best, top, fdr)
    found += [NOT_TOLD] * any(row.frequency is None for row in rows)
    found += order_notes(
        [(row.lower, row.upper) for row in rows], others=bool(rows) and not best.certainly_top(rows)
    )
    if numbers is not None:
        found += number_notes(numbers)
    if best.turns is not None:
        rounds = len(answer.rounds) if answer.pooled is not None else 1
        found += active_notes(answer.people(beta=best.beta), rounds, shares=not answer.only_counts)
    if answer.pooling:
        found.append(f"rounds: {answer.pooling}")
    open_to_damage = "has no checksum: some damage to it cannot be noticed"
    return found + [f"{file.path} {open_to_damage}" for file in answer.files if not file.checked]


def as_dict(
    answer: FileAnswer,
    *,
    top: int = 20,
    fdr: float = 0.05,
    consistent: bool = False,
    quantiles: Sequence[float] = MEDIAN_AND_95,
) -> dict[str, Any]:
    """The most frequent values of all rounds together and of each round, for JSON."""
    each = {
        "rounds": [
            {"round": number, **_estimate(answer, estimate, top, fdr, consistent, quantiles)}
            for number, estimate in answer.rounds.items()
        ]
    }
    pooled = None if answer.pooled is None else _estimate(answer, answer.pooled, top, fdr, consistent, quantiles)
    return {
        "mechanism": answer.mechanism.to_json(),
        "encoding": None if answer.encoding is None else answer.encoding.to_json(),
        "files": [{"path": str(f.path), "reports": f.reports, "sealed": f.checked} for f in answer.files],
        "reports": answer.reports,
        "pooled": pooled,
        "pooling": answer.pooling,
        **each,
    }


def _estimate(
    answer: Answer, estimate: Estimate, top: int, fdr: float, consistent: bool, quantiles: Sequence[float]
) -> dict[str, Any]:
    rows = _ranked(answer, estimate, top, fdr)
    people = answer.people(beta=estimate.beta)
    if estimate is not answer.pooled:
        people = active_people([estimate.n], estimate.turns, estimate.beta)
    numbers = number_summary(answer.encoding, estimate, quantiles)
    nearest = _nearest(estimate, rows) if consistent else {}
    return {
        "reports": estimate.n,
        "chance": "1" if estimate.turns is None else str(estimate.turns.chance),
        "people": people.to_json(),
        "beta": estimate.beta,
        "intervals": "upper, simultaneous",
        "p_values": estimate.tail,
        "fdr": fdr,
        "values": estimate.frequencies.size,
        **({} if numbers is None else {"numbers": numbers.to_json()}),
        "top": [
            {
                "value": answer.label(row.value),
                "frequency": row.frequency,
                "tells": row.frequency is not None,
                "unclamped": row.unclamped,
                **({"consistent": nearest[row.value]} if consistent else {}),
                "standard_error": row.standard_error,
                "lower": row.lower,
                "upper": row.upper,
                "p_value": row.p_value,
                "stands_out": row.stands_out,
                "passes_fdr": row.passes_fdr,
            }
            for row in rows
        ],
    }


def _ranked(answer: Answer, estimate: Estimate, top: int, fdr: float) -> list[Ranked]:
    """The values with the largest estimates; none if nothing was asked."""
    return [] if answer.only_counts else estimate.top(top, fdr=fdr)


def _nearest(estimate: Estimate, rows: list[Ranked]) -> dict[Any, float | None]:
    """The consistent frequencies of some values; None if the reports do not tell their shares."""
    found = estimate.consistent()
    places = {value: i for i, value in enumerate(estimate.values)} if estimate.values is not None else None
    return {
        row.value: None
        if row.frequency is None
        else float(found[row.value if places is None else places[row.value]])
        for row in rows
    }


def table(
    answer: Answer, *, top: int = 20, fdr: float = 0.05, consistent: bool = False, width: int = 80
) -> dict[str, list[str]]:
    """Columns of the values with the largest estimates, as they fit the width; ✓ found: the interval excludes 0."""
    estimate = answer.best
    rows = _ranked(answer, estimate, top, fdr)
    found = {"value": [answer.label(row.value) for row in rows]}
    found["frequency"] = [shown_share(row.frequency) for row in rows]
    if consistent:
        nearest = _nearest(estimate, rows)
        found["consistent"] = [shown_share(nearest[row.value]) for row in rows]
    if any(row.frequency is not None for row in rows):
        found["± error"] = ["" if row.frequency is None else percent(row.standard_error) for row in rows]
    found["interval"] = [f"{percent(row.lower, 'down')} … {percent(row.upper, 'up')}" for row in rows]
    if width < _wide(found) + _SHORTEST_BAR + _MARK:
        found.pop("± error", None)
    room = min(_LONGEST_BAR, width - _wide(found) - _MARK)
    if room >= _SHORTEST_BAR:
        scale = max((row.upper for row in rows), default=1.0) or 1.0
        found[""] = [bar(row, scale, room) for row in rows]
    found["found"] = ["✓" if row.stands_out else "" for row in rows]
    further = {_BY_RATE: ["✓" if row.passes_fdr else "" for row in rows]}
    if len(answer.rounds) > 2:
        further["over rounds"] = [spark(answer, row.value) for row in rows]
    for title, cells in further.items():
        found |= {title: cells} if _wide({**found, title: cells}) <= width else {}
    return found


def _wide(columns: dict[str, list[str]]) -> int:
    """How many characters the columns take, with the space between them."""
    return sum(2 + min(_LONGEST, max(map(len, (title, *cells)))) for title, cells in columns.items())


def bar(row: Ranked, scale: float, width: int) -> str:
    """The estimate as a bar: solid up to the lower end of its interval, and a line up to the upper end."""
    estimate = row.lower if row.frequency is None else min(row.upper, max(row.lower, row.frequency))
    low, middle, high = (round(width * share / scale) for share in (row.lower, estimate, row.upper))
    line = "─" * (high - middle - 1) + "┤" if high > middle else ""
    return "█" * low + "▒" * (middle - low) + line


def spark(answer: Answer, value: Any) -> str:
    """A value's estimates round by round, as small bars from 0 to the largest; a blank where they tell nothing."""
    shares = []
    for estimate in answer.rounds.values():
        place = value if estimate.values is None else list(estimate.values).index(value)
        shares.append(float(estimate.shares()[place]))
    most = max((share for share in shares if not math.isnan(share)), default=0.0) or 1.0
    step = max(1, -(-len(shares) // _MOST_SPARKS))
    return "".join(
        " " if math.isnan(share) else _SPARKS[round(share / most * (len(_SPARKS) - 1))] for share in shares[::step]
    )


def export(path: Path, answer: Answer, *, consistent: bool = False) -> None:
    """Write all values of the best estimate as a table. The ending of the name chooses the format.

    `consistent` adds the nearest frequencies that are possible. How many people were active is in every row.
    """
    estimate = answer.labelled(answer.best)
    people = answer.people(beta=estimate.beta)
    rows = estimate.frequencies.size
    write_table(
        path, {**columns(estimate, consistent=consistent), **people_columns([(rows, people)])}, about(estimate)
    )


def people_columns(each: Sequence[tuple[int, ActivePeople]]) -> dict[str, Any]:
    """The columns of how many people were active, the same in all rows of a round."""
    names = {"people": 1, "people_lower": 0, "people_upper": 2}
    return {
        name: np.repeat([(p.lower, p.value, p.upper)[i] for _, p in each], [rows for rows, _ in each])
        for name, i in names.items()
    }
