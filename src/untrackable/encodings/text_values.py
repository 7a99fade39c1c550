"""What people hold, written down: from a cell of a file to what an encoding takes."""

from typing import Any

from untrackable.encodings.bit import Bit
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.number_ranges import Buckets, IntegerRange


def from_text(encoding: Encoding | None, text: str) -> Any:
    """A number where the encoding takes numbers, otherwise the text; integers if there is no encoding."""
    if isinstance(encoding, Bit):
        return {encoding.zero: 0, encoding.one: 1, "0": 0, "1": 1}.get(text, text)
    if encoding is None or isinstance(encoding, IntegerRange):
        return _number(int, text, "an integer")
    if isinstance(encoding, Buckets):
        return _number(float, text, "a number")
    return text


def _number(kind: type[int] | type[float], text: str, what: str) -> int | float:
    try:
        return kind(text)
    except ValueError:
        pass  # its message has the text in it, and an error raised here would keep it
    raise ValueError(f"value must be {what}; the one given is not")
