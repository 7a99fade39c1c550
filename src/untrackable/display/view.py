"""One result, one view: all that is shown of a result anywhere, and what it is shown as.

`view_of` gives the view of a result: what it is in one line, sentences, tables, charts, and columns for data tools.
The terminal (`cli/terminal.py`), a page (`page.py`) and a picture (`charts.py`) are made of it, and here what a
notebook shows and files of columns. What is dear is made when it is asked for: charts need Altair, and a command
that says one line loads nothing but this.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from untrackable import checks, strict_json
from untrackable.brackets import Bracket
from untrackable.errors import ReportFileError
from untrackable.extras import extra

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["bool", "float64", "int64", "string", "texts"]
T = TypeVar("T")

SHOWN_ROWS = 20
"""The largest number of rows of a table in a notebook."""
FILES = (".csv", ".parquet", ".arrow", ".json")
"""Endings of the files that columns can be written to."""
_NOTHING: Mapping[str, Any] = {}
_MODULES = {
    "Answer": "trend",
    "Audit": "audit",
    "ClientAudit": "evidence",
    "Comparison": "comparison",
    "Decoded": "strings",
    "Discovered": "strings",
    "Distribution": "estimate",
    "Estimate": "estimate",
    "FileAudit": "evidence",
    "FloorComparison": "floor",
    "NumberTrend": "trend",
    "Plan": "plan",
    "QuestionSet": "plan",
    "Trends": "trend",
    "TurnsAudit": "audit",
    "WorldPair": "observer",
}
"""The module with the view and the charts of each kind of result. It is loaded when these are shown."""


class Column(NamedTuple):
    """A column for data tools: what is in it, in the names of Arrow's types (or several texts), and its values."""

    kind: Kind
    values: Sequence[Any]


Columns = Mapping[str, Any]
"""Columns by name. Each is a `Column` that says its type, or a sequence. None stands for what is not known."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people. A page has its `title` above it.

    With `grouped`, the first cell of a row is the heading of the rows below it. `more` rows are not here. `told`
    says what columns mean, by their headings. Where there is no room, columns that are `spare` are left out, in
    this order; or the table is broken into parts, which all begin with the `first` columns.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    title: str = ""
    grouped: bool = False
    more: int = 0
    told: Mapping[str, str] = field(default_factory=dict)
    spare: Sequence[int] = ()
    first: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart with the words for those who cannot see it.

    `name` is its own on a page, which has more words for it (`chart_captions.html`). `drawing` is Altair's, or has
    its numbers: what has `altair()` can be drawn without Altair, too (`svg.py`). In a picture there are `beside`
    pixels left of it, for its axis. `detailed` charts are on pages alone.
    """

    name: str
    title: str
    drawing: Any
    beside: int = 64
    detailed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is shown of a result, but for its charts. `notes` follow the tables, and `commands` to type next.

    Files have `data`, with what `about` says about all rows. `json` is by default a list of the rows of data. The
    sentences of a `listing` are lines that other programs may read.
    """

    title: str
    sentences: Sequence[str]
    tables: Sequence[Table] = ()
    data: Callable[[], Columns] = dict
    notes: Sequence[str] = ()
    commands: Sequence[Sequence[str]] = ()
    listing: bool = False
    about: Mapping[str, Any] = field(default_factory=dict)
    json: Callable[[], Any] | None = None

    def to_json(self) -> Any:
        if self.json is not None:
            return self.json()
        return rows_of(self.data())


@singledispatch
def make_view(result: object) -> View:
    """Make the view of a result. The modules of results register how."""
    raise TypeError(f"there is no view of {type(result).__name__}")


@singledispatch
def make_charts(result: object, top: int) -> Sequence[Chart]:
    """Make the charts of a result. The modules of charts register how."""
    raise TypeError(f"there are no charts of {type(result).__name__}")


def view_of(result: object) -> View:
    """What is shown of a result."""
    _load(result)
    return make_view(result)


def charts_of(result: object, top: int = SHOWN_ROWS) -> Sequence[Chart]:
    """The charts of a result. If they have a bar for each value or string, there are at most `top` of them."""
    _load(result)
    return make_charts(result, top)


def _load(result: object) -> None:
    for kind in type(result).__mro__:
        if kind.__name__ in _MODULES:
            importlib.import_module(f"untrackable.display.{_MODULES[kind.__name__]}")
            return


def fragment(view: View) -> str:
    """A view in a notebook: sentences and tables as HTML without scripts, everything escaped."""
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in view.sentences)
    notes = "".join(f"<p>{escape(note)}</p>" for note in view.notes)
    return f"<div>{sentences}{''.join(map(_html_table, view.tables))}{notes}</div>"


def _html_table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in table.headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows[:SHOWN_ROWS]
    )
    more = table.more + max(0, len(table.rows) - SHOWN_ROWS)
    below = f"<p>and {more:,} more</p>" if more else ""
    below += f"<p>{escape(table.caption)}.</p>" if table.caption else ""
    below += "".join(f"<p>{escape(told)}</p>" for told in table.told.values())
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def arrow_array(column: Column) -> "pa.Array":
    """A column as an Arrow array of its kind, also if nothing in it is known."""
    import pyarrow as pa

    types = {"texts": pa.list_(pa.string())}
    return pa.array(column.values, type=types.get(column.kind, column.kind))


def write_columns(path: Path, columns: Columns, about: Mapping[str, Any] = _NOTHING) -> None:
    """Write columns as a file, whole or not at all. The ending of the name chooses the format.

    JSON, Parquet and Arrow also say what `about` says about all rows.
    """
    from untrackable.estimation.estimate import json_text, write_csv
    from untrackable.reports.files import whole_file

    checks.choice("ending", path.suffix, FILES)
    try:
        with whole_file(path) as file:
            if path.suffix == ".json":
                file.write(json_text(_values(columns), about).encode())
            elif path.suffix == ".csv":
                write_csv(_cells(columns), Path(file.name))
            elif path.suffix == ".parquet":
                with extra("files"):
                    import pyarrow.parquet

                pyarrow.parquet.write_table(_arrow(columns, about), file)
            else:
                with extra("files"):
                    import pyarrow.feather

                pyarrow.feather.write_feather(_arrow(columns, about), file, compression="uncompressed")
    except OSError as error:
        raise ReportFileError(f"cannot write {path}: {error.strerror or error}") from None


def _values(columns: Columns) -> dict[str, Any]:
    return {name: column.values if isinstance(column, Column) else column for name, column in columns.items()}


def rows_of(columns: Columns) -> list[dict[str, Any]]:
    """The rows of these columns, by the names of the columns."""
    values = _values(columns)
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


def _cells(columns: Columns) -> dict[str, Any]:
    """Columns whose cells are one text each: several texts are a JSON list."""

    def cell(value: Any) -> Any:
        return strict_json.write(list(value)) if isinstance(value, (list, tuple)) else value

    return {
        name: [cell(value) for value in column] if isinstance(column, (list, tuple)) else column
        for name, column in _values(columns).items()
    }


def _arrow(columns: Columns, about: Mapping[str, Any]) -> "pa.Table":
    from untrackable.estimation.estimate import arrow_table

    arrays = {
        name: arrow_array(column) if isinstance(column, Column) else column for name, column in columns.items()
    }
    return arrow_table(arrays, about)


def text_table(columns: Mapping[str, Sequence[str]], **more: Any) -> Table:
    """A table of columns by their headings."""
    return Table(tuple(columns), list(zip(*columns.values(), strict=True)), **more)


def texts(values: Iterable[str | None]) -> Column:
    """A column of texts."""
    return Column("string", list(values))


def floats(values: Iterable[float | None]) -> Column:
    """A column of numbers."""
    return Column("float64", list(values))


def counts(values: Iterable[int | None]) -> Column:
    """A column of whole numbers."""
    return Column("int64", list(values))


def truths(values: Iterable[bool]) -> Column:
    """A column of yes and no."""
    return Column("bool", list(values))


def ends(name: str, rows: Sequence[T], of: Callable[[T], Bracket | None]) -> dict[str, Column]:
    """Three columns of one number: both ends, as far as they are known, and the certainty."""
    brackets = [of(row) for row in rows]
    known = [(None, None) if each is None else each.known_ends for each in brackets]
    return {
        f"{name}_lower": floats(lower for lower, _ in known),
        f"{name}_upper": floats(upper for _, upper in known),
        f"{name}_certainty": texts(None if each is None else each.certainty for each in brackets),
    }
