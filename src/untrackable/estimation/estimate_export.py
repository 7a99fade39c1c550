"""An estimate as a table: Arrow, pandas, CSV or JSON."""

import csv
import importlib
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
    with extra("files"):
        import pyarrow as pa

    found = columns(estimate, consistent=consistent)
    if estimate.values is not None:
        found["value"] = _texts_if_wide(found["value"])
    table = pa.table({name: pa.array(column) for name, column in found.items()})
    return table.replace_schema_metadata({"reports": str(estimate.n), "beta": repr(estimate.beta)})


def to_pandas(estimate: "Estimate", *, consistent: bool) -> Any:
    """A data frame."""
    try:
        importlib.import_module("pandas")
    except ImportError:
        raise ImportError("pandas is not installed: `pip install pandas`, or use to_arrow() or to_csv()") from None
    return to_arrow(estimate, consistent=consistent).to_pandas()


def to_csv(estimate: "Estimate", path: Path, *, consistent: bool) -> None:
    """A CSV file with a header and a row for each value. Numbers have all their digits."""
    found = columns(estimate, consistent=consistent)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(found)
        for start in range(0, estimate.frequencies.size, _ROWS):
            parts = [column[start : start + _ROWS] for column in found.values()]
            writer.writerows(zip(*(p.tolist() if isinstance(p, np.ndarray) else p for p in parts), strict=True))


def to_json(estimate: "Estimate", *, consistent: bool) -> str:
    """A JSON object of columns. Integers wider than 53 bits are text, as JSON readers would round them."""
    found = columns(estimate, consistent=consistent)
    listed = {name: c.tolist() if isinstance(c, np.ndarray) else c for name, c in found.items()}
    listed["value"] = _texts_if_wide(listed["value"], bits=53)
    content = {"reports": estimate.n, "beta": estimate.beta, "intervals": "upper", "columns": listed}
    return strict_json.write(strict_json.finite(content))


def _texts_if_wide(values: list[Any], bits: int = 63) -> list[Any]:
    """All values as text if one integer is too wide."""
    if any(isinstance(value, int) and value.bit_length() > bits for value in values):
        return [str(value) for value in values]
    return values
