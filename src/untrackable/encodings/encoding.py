"""The interface of all encodings.

An encoding is the public rule that turns a person's value into an integer, and integers back into words. It is a
frozen object with nothing secret in it. The rule also says what happens to a value that does not fit: an error, or
a fallback that the encoding declares. Errors never contain the value.
"""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from untrackable import checks
from untrackable.encodings.asked_tables import AskedTables
from untrackable.errors import EncodingError
from untrackable.mechanisms.registry import plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from untrackable.estimation.ordered_values import NumberEdges

LARGEST_BITS = 256
"""The largest width of an encoded value, in bits."""
WIDEST_ARRAY = 64
"""Encoded values with more bits than this do not fit into an array of words."""

_HOMES = {
    "bit": "bit.Bit",
    "integer-range": "number_ranges.IntegerRange",
    "buckets": "number_ranges.Buckets",
    "categories": "categories.Categories",
    "hashed-strings": "hashed_strings.HashedStrings",
    "discovered-strings": "discovered_strings.DiscoveredStrings",
    "choices": "choices.Choices",
    "presence": "presence.Presence",
    "record": "record.Record",
    "path": "path.Path",
}


class Encoding(ABC):
    """Turns a person's raw value into an encoded integer 0 … values-1, and encoded integers into words."""

    __slots__ = ()

    kind: ClassVar[str]
    """The encoding's type in JSON."""
    version: ClassVar[int] = 1
    """The version of the JSON and of the rule. An encoding whose rule changes gets a new version."""

    ordered: ClassVar[bool] = False
    """Whether people answer with numbers, so that mean and quantiles are of interest."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Parameters that JSON leaves out if they are empty."""

    @property
    @abstractmethod
    def values(self) -> int:
        """The number of encoded values, which are the integers 0 … values-1."""

    @property
    def bits(self) -> int:
        """The width d of an encoded value, in bits."""
        return (self.values - 1).bit_length()

    @property
    def asked(self) -> AskedTables | None:
        """The tables that are asked for, if reports are about parts of a value; None if about whole values."""
        return None

    def alone(self) -> "tuple[tuple[str, Encoding], ...]":
        """For each table that reports are about, its name and the encoding of a question about it alone."""
        return ()

    @abstractmethod
    def encode(self, raw: Any) -> int:
        """The integer for a person's raw value."""

    def encode_many(self, raws: "Iterable[Any] | NDArray[Any]") -> "NDArray[np.uint64]":
        """Encode many raw values as an array of the same shape."""
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
        """The raw value that is encoded as this integer, or its label if it stands for several raw values."""

    @abstractmethod
    def label(self, value: int) -> str:
        """A short name of the encoded value for a table or a chart."""

    def numbers(self) -> "NumberEdges":
        """The numbers that each encoded value stands for, in order; an error if values are not numbers."""
        raise ValueError("these values are not numbers, so they have no mean and no quantiles")

    @abstractmethod
    def describe(self) -> str:
        """The question in words, and what happens to values that do not fit."""

    def to_json(self) -> dict[str, Any]:
        """A description from which `from_json` makes an equal encoding."""
        parameters = {field.name: plain(getattr(self, field.name)) for field in fields(self) if field.init}  # type: ignore[arg-type]
        for name in self.optional:
            if not parameters[name]:
                del parameters[name]
        return {"type": self.kind, "version": self.version, **parameters}

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        return cls(**parameters)

    def _value(self, value: int) -> int:
        return checks.private_integer("value", value, below=self.values)


def from_json(description: Mapping[str, Any]) -> Encoding:
    """The encoding that wrote this description. Anything that `to_json` does not write is an `EncodingError`."""
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
    if missing := [key for key in wanted if key not in {*parameters, *found.optional}]:
        raise EncodingError(f"{kind} lacks {', '.join(missing)}")
    if unknown := [key for key in parameters if key not in wanted]:
        raise EncodingError(f"{kind} has no field {', '.join(map(repr, unknown))}")
    try:
        encoding = found._from_parameters(parameters)
    except (TypeError, ValueError) as error:
        raise EncodingError(f"{kind}: {error}") from error
    written = encoding.to_json()
    if changed := [key for key in wanted if written.get(key) != parameters.get(key)]:
        raise EncodingError(f"{kind}: {', '.join(changed)} must be written exactly as `to_json` writes it")
    return encoding
