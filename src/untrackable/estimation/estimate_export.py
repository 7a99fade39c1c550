"""An estimate as a table: Arrow, pandas, CSV or JSON."""

import csv
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from untrackable import strict_json
from untrackable.extras import extra

if TYPE_CHECKING:
    import pyarrow as pa

    from untrackable.estimation.estimate import Estimate

_ROWS = _MOST_NUMBERS = 1 << 16


def columns(estimate: "Estimate", *, consistent: bool) -> dict[str, Any]:
    """The columns of every export."""
    alone, together = estimate.interval(), estimate.interval(simultaneous=True)
    values = np.arange(estimate.frequencies.size) if estimate.values is None else list(estimate.values)
    return {
        "value": values,
        "frequency": estimate.frequencies,
        **({"consistent": estimate.consistent()} if consistent else {}),
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
        "at_or_below": found.shares,
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
    """Columns as an Arrow table, with what it says about all rows in its metadata."""
    with extra("files"):
        import pyarrow as pa

    arrays = {
        name: column if isinstance(column, pa.Array) else pa.array(_texts_if_wide(column))
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
    """Columns as a CSV file with a header. Numbers have all their digits."""
    rows = len(next(iter(found.values()), ()))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(found)
        for start in range(0, rows, _ROWS):
            parts = [column[start : start + _ROWS] for column in found.values()]
            writer.writerows(zip(*(p.tolist() if isinstance(p, np.ndarray) else p for p in parts), strict=True))


def to_json(estimate: "Estimate", *, consistent: bool) -> str:
    """A JSON object of columns. Integers wider than 53 bits are text, as JSON readers would round them."""
    return json_text(columns(estimate, consistent=consistent), about(estimate))


def json_text(found: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Columns as a JSON object. Integers wider than 53 bits are text, as JSON readers would round them."""
    listed = {name: c.tolist() if isinstance(c, np.ndarray) else c for name, c in found.items()}
    listed = {name: _texts_if_wide(column, bits=53) for name, column in listed.items()}
    return strict_json.write(strict_json.finite({**about, "columns": listed}))


def _texts_if_wide(values: Any, bits: int = 63) -> Any:
    """All values as text if one integer is too wide."""
    if isinstance(values, list) and any(isinstance(value, int) and value.bit_length() > bits for value in values):
        return [str(value) for value in values]
    return values
