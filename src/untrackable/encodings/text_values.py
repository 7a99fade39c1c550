"""Values written as text, such as the cells of a file, turned into the type that an encoding takes."""

from typing import Any

from untrackable.encodings.encoding import Bit, Choices, Encoding, Presence
from untrackable.encodings.numbers import Buckets, IntegerRange
from untrackable.encodings.record import Path, Record
from untrackable.units import converted, read_quantity


def from_text(encoding: Encoding | None, text: str) -> Any:
    """A number if the encoding takes numbers, otherwise the text. Without an encoding, an integer.

    Choices are separated by commas, and the attributes of a record are too, each as name=value. The answers of a
    path are separated by semicolons.
    """
    if isinstance(encoding, Path):
        return [from_text(encoding.of, part.strip()) for part in text.split(";")]
    if isinstance(encoding, Choices):
        return [part.strip() for part in text.split(",") if part.strip()]
    if isinstance(encoding, Record):
        return _record(encoding, text)
    if isinstance(encoding, Bit):
        return {encoding.zero: 0, encoding.one: 1, "0": 0, "1": 1}.get(text, text)
    if isinstance(encoding, Presence):
        return text in ("1", "yes", encoding.label(0))
    if encoding is None or isinstance(encoding, IntegerRange):
        return _number(int, text, "an integer")
    if isinstance(encoding, Buckets):
        return _quantity(encoding.unit, text) if encoding.unit else _number(float, text, "a number")
    return text


def _record(encoding: Record, text: str) -> dict[str, Any]:
    """The attributes of a record, of which none may come twice."""
    attributes: dict[str, Any] = {}
    for part in text.split(","):
        if part.strip():
            name, _, value = (each.strip() for each in part.partition("="))
            attribute = encoding.attribute(name)
            if name in attributes:
                raise ValueError(f"the record has {name} more than once")
            try:
                attributes[name] = from_text(attribute, value)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
    return attributes


def _quantity(unit: str, text: str) -> float:
    """A number in a unit, which the text may leave out, or give as another unit that can be turned into it."""
    try:
        number, given = read_quantity(text)
        return float(converted(number, given or unit, unit))
    except (ValueError, OverflowError):
        pass  # As below.
    raise ValueError(f"value must be a number in {unit}; the given one (not shown) is not")


def _number(kind: type[int] | type[float], text: str, what: str) -> int | float:
    try:
        return kind(text)
    except ValueError:
        pass  # Its message contains the private text, and an error raised here would keep it as its context.
    raise ValueError(f"value must be {what}; the given one (not shown) is not")
