"""The only place that reads and writes JSON. It is strict, so that all readers agree on the content.

Files of JSON and of other short texts are read by `small_file`, which stops at a limit.
"""

import errno
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

LARGEST_FILE = 1 << 22
"""The most bytes of a file that is read as a whole: campaigns, plans, mechanisms, settings and lists of names."""


def small_file(path: str | Path, most: int = LARGEST_FILE) -> bytes:
    """The bytes of a file of at most that size. `OSError` for a larger one, and for a device that never ends."""
    with Path(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes, the most that are read", os.fspath(path))
    return data


def small_text(path: str | Path, most: int = LARGEST_FILE) -> str:
    """The text of such a file, which must be UTF-8. Ends of lines become a line feed."""
    return small_file(path, most).decode().replace("\r\n", "\n").replace("\r", "\n")


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


def plain(parameter: Any, describe: Callable[[Any], Any] | None = None) -> Any:
    """A parameter in JSON. If it is no number, text, bytes or tuple of them, `describe` turns it into JSON.

    Whole numbers have no decimal point, so that every JSON writer agrees on them.
    """
    if isinstance(parameter, tuple):
        return [plain(entry, describe) for entry in parameter]
    if isinstance(parameter, bytes):
        return parameter.hex()
    if isinstance(parameter, float) and parameter.is_integer() and abs(parameter) < 2**53:
        return int(parameter)
    if parameter is None or isinstance(parameter, (bool, int, float, str)) or describe is None:
        return parameter
    return describe(parameter)


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
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key occurs twice")
    return members
