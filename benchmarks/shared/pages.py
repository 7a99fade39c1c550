"""The tables of measured numbers in the documents: `python -m benchmarks.shared.pages` writes them.

A table is between `<!-- measured: NAME -->` and `<!-- end of NAME -->`, and made of the stored rows of a benchmark.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.shared import sizing
from benchmarks.shared.measurements import Comparison, Measured, Row

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGES = sorted(DOCS.glob("*.md"))
_MARKED = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end of \2 -->)", re.DOTALL)
_TITLES = ("work", "size", "compared with", "measured", "goal")


def number(value: float) -> str:
    """Two digits, which is what a measurement on a shared machine is worth."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 or not rounded else f"{rounded:#.2g}"


def cells(rows: Sequence[Row]) -> tuple[str, ...]:
    """One line of a table: the same comparison at one size or at several, in their order."""
    made = rows[0].comparison
    sizes = list(dict.fromkeys(row.size for row in rows))
    values = "; ".join(number(row.value) for row in rows)
    return made.work, "; ".join(sizes), made.peer, f"{values} {made.unit}", _goal(rows)


def _goal(rows: Sequence[Row]) -> str:
    made, reached = rows[0].comparison, sum(row.reached is True for row in rows)
    for words, limit in (("at least", made.at_least), ("at most", made.at_most)):
        if limit is not None:
            said = (
                "reached"
                if reached == len(rows)
                else f"reached by {reached} of {len(rows)}"
                if reached
                else "**missed**"
            )
            return f"{words} {limit:,g}: {said}"
    return ""


def lines(measured: Measured) -> list[tuple[str, ...]]:
    """One line for each comparison."""
    found: dict[Comparison, list[Row]] = {}
    for row in measured.rows:
        found.setdefault(row.comparison, []).append(row)
    return [cells(rows) for rows in found.values()]


def table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table, without the columns in which nothing is said."""
    said = [i for i in range(len(titles)) if any(row[i] for row in rows)]
    lines = [[row[i] for i in said] for row in (titles, *rows)]
    head, *body = (f"| {' | '.join(line)} |\n" for line in lines)
    return head + "|" + "---|" * len(said) + "\n" + "".join(body)


def without_repeats(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows with empty cells at their beginning where these are the same as in the row above."""
    shown = rows[:1]
    for above, row in pairwise(rows):
        same = next((i for i, (one, other) in enumerate(zip(above, row, strict=True)) if one != other), len(row))
        shown.append(("",) * same + row[same:])
    return shown


def rendered(name: str) -> str:
    """What a document shows of a benchmark."""
    if name == sizing.NAME:
        return table(sizing.TITLES, sizing.needs(Measured.stored("scale")))
    measured = Measured.stored(name)
    shown = table(_TITLES, without_repeats(lines(measured)))
    return f"{shown}\n{measured.month}, {measured.machine}: `make bench ONLY={name}`.\n"


def written(page: str) -> str:
    """A document with the tables of the stored rows."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{rendered(found[2])}\n{found[3]}", page)


def by_hand(page: str) -> str:
    """A document without these tables."""
    return _MARKED.sub("", page)


def shown_names() -> list[str]:
    """The benchmarks that documents show."""
    return [found[2] for page in PAGES for found in _MARKED.finditer(page.read_text(encoding="utf-8"))]


def write() -> None:
    """Write the tables of all documents."""
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        if (after := written(before)) != before:
            page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    write()
