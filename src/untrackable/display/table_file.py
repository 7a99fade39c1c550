"""A table of results as a file: CSV, Parquet, Arrow or JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from untrackable import checks, strict_json
from untrackable.display.notebook_columns import Column, arrow_array
from untrackable.errors import ReportFileError
from untrackable.estimation.estimate_export import arrow_table, json_text, write_csv
from untrackable.extras import extra
from untrackable.reports.atomic_file import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = (".csv", ".parquet", ".arrow", ".json")
"""Endings of the tables that can be written."""
_NOTHING: Mapping[str, Any] = {}


def write_table(path: Path, columns: Mapping[str, Any], about: Mapping[str, Any] = _NOTHING) -> None:
    """Write columns as a table, whole or not at all. The ending of the name chooses the format.

    A column is a sequence, or a `Column` that says its type. JSON, Parquet and Arrow also say what `about` says
    about all rows.
    """
    checks.choice("ending", path.suffix, TABLES)
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


def _values(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: column.values if isinstance(column, Column) else column for name, column in columns.items()}


def _cells(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns whose cells are one text each: several texts are a JSON list."""

    def cell(value: Any) -> Any:
        return strict_json.write(list(value)) if isinstance(value, (list, tuple)) else value

    return {
        name: [cell(value) for value in column] if isinstance(column, list) else column
        for name, column in _values(columns).items()
    }


def _arrow(columns: Mapping[str, Any], about: Mapping[str, Any]) -> "pa.Table":
    arrays = {
        name: arrow_array(column) if isinstance(column, Column) else column for name, column in columns.items()
    }
    return arrow_table(arrays, about)
