"""A table of results as a file: CSV, Parquet, Arrow or JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untrackable import checks
from untrackable.errors import ReportFileError
from untrackable.estimation.estimate_export import arrow_table, json_text, write_csv
from untrackable.extras import extra
from untrackable.reports.atomic_file import whole_file

TABLES = (".csv", ".parquet", ".arrow", ".json")
"""Endings of the tables that can be written."""
_NOTHING: Mapping[str, Any] = {}


def write_table(path: Path, columns: Mapping[str, Any], about: Mapping[str, Any] = _NOTHING) -> None:
    """Write columns as a table, whole or not at all. The ending of the name chooses the format.

    JSON, Parquet and Arrow also say what `about` says about all rows.
    """
    checks.choice("ending", path.suffix, TABLES)
    try:
        with whole_file(path) as file:
            if path.suffix == ".json":
                file.write(json_text(columns, about).encode())
            elif path.suffix == ".csv":
                write_csv(columns, Path(file.name))
            elif path.suffix == ".parquet":
                with extra("files"):
                    import pyarrow.parquet

                pyarrow.parquet.write_table(arrow_table(columns, about), file)
            else:
                with extra("files"):
                    import pyarrow.feather

                pyarrow.feather.write_feather(arrow_table(columns, about), file, compression="uncompressed")
    except OSError as error:
        raise ReportFileError(f"cannot write {path}: {error.strerror or error}") from None
