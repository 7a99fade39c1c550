"""An estimate as a table: Arrow, pandas, CSV or JSON."""

import csv
import importlib
import math
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from untrackable import strict_json
from untrackable.extras import extra

if TYPE_CHECKING:
    import pyarrow as pa

    from untrackable.estimation.estimate import Estimate

_ROWS = _MOST_NUMBERS = 1 << 16
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SIGNS = frozenset("=+-@\u2212")
"""What formulas begin with, and the minus sign of typesetters."""
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters that nobody sees. Other blanks are known by their category."""
_BREAKS = frozenset("\t\r\n")
"""What a spreadsheet may take for the end of a cell, so that the next one begins with a sign."""


def columns(estimate: "Estimate", *, consistent: bool) -> dict[str, Any]:
    """The columns of every export. A share that the reports do not tell is missing (NaN).

    `frequency` is within [0, 1]; `unclamped` is the unbiased estimate, for sums and means of several values.
    """
    alone, together = estimate.interval(), estimate.interval(simultaneous=True)
    values = np.arange(estimate.frequencies.size) if estimate.values is None else list(estimate.values)
    return {
        "value": values,
        "frequency": estimate.shares(),
        "tells": (tells := estimate.tells()),
        "unclamped": estimate.frequencies,
        **({"consistent": np.where(tells, estimate.consistent(), np.nan)} if consistent else {}),
        "standard_error": estimate.standard_error,
        "lower": alone.lower,
        "upper": alone.upper,
        "lower_simultaneous": together.lower,
        "upper_simultaneous": together.upper,
        **_cumulative(estimate),
    }


def columns_by_round(estimates: Mapping[int, "Estimate"], *, consistent: bool) -> dict[str, Any]:
    """The columns of several rounds, one after the other, with the number of each round and of its reports."""
    each = [
        {
            "round": np.full(estimate.frequencies.size, number),
            "reports": np.full(estimate.frequencies.size, estimate.n),
            **columns(estimate, consistent=consistent),
        }
        for number, estimate in estimates.items()
    ]
    return {
        name: np.concatenate([part[name] for part in each])
        if isinstance(each[0][name], np.ndarray)
        else [value for part in each for value in part[name]]
        for name in each[0]
    }


def _cumulative(estimate: "Estimate") -> dict[str, Any]:
    """The share of people at or below each number, with a band for all numbers at once, if values are numbers."""
    if estimate.numbers is None or estimate.frequencies.size > _MOST_NUMBERS:
        return {}
    try:
        found = estimate.distribution()
    except ValueError:
        return {}
    if found.shares.size + 1 != estimate.frequencies.size:
        return {}
    shares = {
        "at_or_below": np.where(found.tells, np.clip(found.shares, 0, 1), np.nan),
        "at_or_below_lower": found.lower_simultaneous,
        "at_or_below_upper": found.upper_simultaneous,
    }
    return {name: np.append(share, 1.0) for name, share in shares.items()}


def to_arrow(estimate: "Estimate", *, consistent: bool) -> "pa.Table":
    """An Arrow table. The number of reports and beta are in its metadata."""
    return arrow_table(columns(estimate, consistent=consistent), about(estimate))


def about(estimate: "Estimate") -> dict[str, Any]:
    """What a table says about all its rows."""
    return {"reports": estimate.n, "beta": estimate.beta, "intervals": "upper"}


def arrow_table(found: Mapping[str, Any], about: Mapping[str, Any]) -> "pa.Table":
    """Columns as an Arrow table, with what it says about all rows in its metadata. NaN becomes null."""
    with extra("files"):
        import pyarrow as pa

    arrays = {
        name: column if isinstance(column, pa.Array) else pa.array(_texts_if_wide(column), from_pandas=True)
        for name, column in found.items()
    }
    table = pa.table(arrays)
    return table.replace_schema_metadata({name: str(value) for name, value in about.items()})


def to_pandas(estimate: "Estimate", *, consistent: bool) -> Any:
    """A data frame."""
    try:
        importlib.import_module("pandas")
    except ImportError:
        raise ImportError("pandas is not installed: `pip install pandas`, or use to_arrow() or to_csv()") from None
    return to_arrow(estimate, consistent=consistent).to_pandas()


def to_csv(estimate: "Estimate", path: Path, *, consistent: bool) -> None:
    """A CSV file with a header and a row for each value. Numbers have all their digits."""
    write_csv(columns(estimate, consistent=consistent), path)


def write_csv(found: Mapping[str, Any], path: Path) -> None:
    """Columns as a CSV file with a header. Numbers have all their digits, and NaN is an empty cell."""
    rows = len(next(iter(found.values()), ()))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(map(csv_cell, found))
        for start in range(0, rows, _ROWS):
            parts = [column[start : start + _ROWS] for column in found.values()]
            lists = (p.tolist() if isinstance(p, np.ndarray) else p for p in parts)
            writer.writerows(zip(*(map(csv_cell, cells) for cells in lists), strict=True))


def csv_cell(value: Any) -> Any:
    """A cell of a CSV file that no spreadsheet runs. Every table that is written as CSV has its cells from here.

    Spreadsheets take a text for a formula if it begins with =, +, - or @. They skip blanks and invisible characters
    before it, and read full-width signs as these. People who answer may choose such a text. It gets an apostrophe
    in front, and `csv_text` takes it away again. Numbers stay numbers, also those that are written as text. NaN is
    an empty cell.
    """
    if isinstance(value, float) and math.isnan(value):
        return None
    return f"'{value}" if isinstance(value, str) and _runs(value.lstrip("'")) else value


def csv_text(cell: str) -> str:
    """The text that `csv_cell` made this cell of."""
    return cell[1:] if cell.startswith("'") and _runs(cell.lstrip("'")) else cell


def _runs(text: str) -> bool:
    """Whether a spreadsheet might run this text."""
    if _NUMBER.fullmatch(text):
        return False
    seen = next((each for each in text if each not in _BLANKS and unicodedata.category(each)[0] not in "ZCM"), "")
    return text[:1] in _BREAKS or unicodedata.normalize("NFKC", seen)[:1] in _SIGNS


def to_json(estimate: "Estimate", *, consistent: bool) -> str:
    """A JSON object of columns. Integers wider than 53 bits are text, as JSON readers would round them."""
    return json_text(columns(estimate, consistent=consistent), about(estimate))


def json_text(found: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Columns as a JSON object. Integers wider than 53 bits are text, as JSON readers would round them.

    NaN in an array of numbers is null.
    """
    listed = {name: _none_if_nan(c) if isinstance(c, np.ndarray) else c for name, c in found.items()}
    listed = {name: _texts_if_wide(column, bits=53) for name, column in listed.items()}
    return strict_json.write(strict_json.finite({**about, "columns": listed}))


def _none_if_nan(column: NDArray[Any]) -> list[Any]:
    """The numbers of an array; those that are missing are None."""
    listed: list[Any] = column.tolist()
    return [None if isinstance(each, float) and math.isnan(each) else each for each in listed]


def _texts_if_wide(values: Any, bits: int = 63) -> Any:
    """All values as text if one integer is too wide."""
    if isinstance(values, list) and any(isinstance(value, int) and value.bit_length() > bits for value in values):
        return [str(value) for value in values]
    return values
