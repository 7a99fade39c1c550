"""The only place that reads and writes JSON. It is strict, so that all readers agree on the content."""

import json
import math
from collections.abc import Mapping
from typing import Any


def parse(data: bytes | str) -> Any:
    """The content of a JSON text; bytes are UTF-8. `ValueError` if it is not strictly JSON.

    NaN and infinities, numbers beyond the largest float, keys that occur twice and endless nesting are refused.
    Callers limit the size, because the text is in memory already.
    """
    text = data.decode() if isinstance(data, bytes) else data
    try:
        return json.loads(
            text, parse_constant=_no_constant, parse_float=_finite_number, object_pairs_hook=_each_key_once
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write(data: Any, *, indent: int | None = None, compact: bool = False, ascii: bool = False) -> str:
    """A JSON text; `compact` without spaces, `ascii` with escapes. `ValueError` for NaN and infinities."""
    separators = (",", ":") if compact else None
    return json.dumps(data, indent=indent, separators=separators, ensure_ascii=ascii, allow_nan=False)


def canonical(data: Any) -> bytes:
    """The only text for this content: sorted keys, no spaces, UTF-8."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def finite(data: Any) -> Any:
    """The data with NaN and infinities as strings, because JSON has no numbers for them."""
    if data is None or isinstance(data, (str, int)):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else str(data)
    if isinstance(data, Mapping):
        return {str(key): finite(item) for key, item in data.items()}
    return [finite(item) for item in data] if isinstance(data, (list, tuple)) else data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def _finite_number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number is too large")
    return number


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found
