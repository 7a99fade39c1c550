"""What an encoding is.

An encoding is the public rule that turns what a person holds into an integer, and integers back into words. It is a
frozen value object with nothing secret in it. What to do with a value that does not fit is part of the rule: an
error, or a fallback that the encoding declares. Errors never contain the value.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from untrackable import checks
from untrackable.errors import EncodingError
from untrackable.mechanisms.registry import plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_BITS = 256
WIDEST_ARRAY = 64
"""Encoded values that are wider than this do not fit into an array of words."""

_HOMES = {
    "bit": "bit.Bit",
    "integer-range": "number_ranges.IntegerRange",
    "buckets": "number_ranges.Buckets",
    "categories": "categories.Categories",
    "hashed-strings": "hashed_strings.HashedStrings",
    "discovered-strings": "discovered_strings.DiscoveredStrings",
}


class Encoding(ABC):
    """Turns what a person holds (raw) into an integer 0 … values-1 (encoded), and integers into words."""

    __slots__ = ()

    kind: ClassVar[str]
    """Its type in JSON."""
    version: ClassVar[int] = 1
    """Of its JSON, and of what it does: an encoding that comes to encode otherwise gets another."""

    @property
    @abstractmethod
    def values(self) -> int:
        """How many integers there are: 0 … values-1."""

    @property
    def bits(self) -> int:
        """Width of an encoded value, d."""
        return (self.values - 1).bit_length()

    @abstractmethod
    def encode(self, raw: Any) -> int:
        """The integer for what a person holds."""

    def encode_many(self, raws: "Iterable[Any] | NDArray[Any]") -> "NDArray[np.uint64]":
        """The same for each of many, as an array in the shape of the one given."""
        import numpy as np

        if self.bits > WIDEST_ARRAY:
            raise ValueError(f"bits must be at most {WIDEST_ARRAY} for an array, got {self.bits}")
        if isinstance(raws, np.ndarray):
            return self._encode_array(raws)
        if isinstance(raws, (str, bytes)):
            raise TypeError("raws must be a collection of values, not one string")
        return np.array(self._encode_each(raws), dtype=np.uint64)

    def _encode_each(self, raws: Iterable[Any]) -> list[int]:
        return [self.encode(raw) for raw in raws]

    def _encode_array(self, raws: "NDArray[Any]") -> "NDArray[np.uint64]":
        import numpy as np

        return np.array(self._encode_each(raws.ravel().tolist()), dtype=np.uint64).reshape(raws.shape)

    @abstractmethod
    def decode(self, value: int) -> Any:
        """What is encoded as this integer; its label where that is not one thing."""

    @abstractmethod
    def label(self, value: int) -> str:
        """A few words for a table or a chart."""

    @abstractmethod
    def describe(self) -> str:
        """What is asked and what happens to values that do not fit, for people."""

    def to_json(self) -> dict[str, Any]:
        """What `from_json` takes back."""
        parameters = {field.name: plain(getattr(self, field.name)) for field in fields(self) if field.init}  # type: ignore[arg-type]
        return {"type": self.kind, "version": self.version, **parameters}

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        return cls(**parameters)

    def _value(self, value: int) -> int:
        return checks.private_integer("value", value, below=self.values)


def from_json(description: Mapping[str, Any]) -> Encoding:
    """The encoding that wrote this; whatever `to_json` would not have written is an `EncodingError`."""
    if not isinstance(description, Mapping):
        raise EncodingError("an encoding must be a JSON object")
    kind = description.get("type")
    if not isinstance(kind, str) or kind not in _HOMES:
        raise EncodingError(f"type must be one of {', '.join(_HOMES)}")
    module, name = _HOMES[kind].split(".")
    found: type[Encoding] = getattr(importlib.import_module(f"untrackable.encodings.{module}"), name)
    version = description.get("version")
    if type(version) is not int or version != found.version:
        raise EncodingError(f"version of {kind} must be {found.version}")
    wanted = [field.name for field in fields(found) if field.init]  # type: ignore[arg-type]
    parameters = {key: given for key, given in description.items() if key not in ("type", "version")}
    if missing := [key for key in wanted if key not in parameters]:
        raise EncodingError(f"{kind} lacks {', '.join(missing)}")
    if unknown := [key for key in parameters if key not in wanted]:
        raise EncodingError(f"{kind} has no field {', '.join(map(repr, unknown))}")
    try:
        encoding = found._from_parameters(parameters)
    except (TypeError, ValueError) as error:
        raise EncodingError(f"{kind}: {error}") from error
    written = encoding.to_json()
    if changed := [key for key in wanted if written[key] != parameters[key]]:
        raise EncodingError(f"{kind}: {', '.join(changed)} must be as `to_json` writes it")
    return encoding
