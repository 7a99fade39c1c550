"""An encoding for a question without an answer, which counts the people who take part."""

from dataclasses import dataclass
from typing import Any

from untrackable import checks
from untrackable.encodings.encoding import Encoding


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence(Encoding):
    """Encodes True or 1 as 0, the only value. A report then says nothing but that somebody sent it."""

    kind = "presence"

    @property
    def values(self) -> int:
        """The number of encoded values, 1."""
        return 1

    def encode(self, raw: Any) -> int:
        """Encode true as 0. Somebody who is not there sends nothing, so there is no other value."""
        if getattr(getattr(raw, "dtype", None), "kind", "") == "b":
            raw = raw.item()  # NumPy's truth values do not count as integers, but Python's do.
        if checks.private_integer("presence", raw, below=2) == 0:
            raise ValueError("presence must be true: who is not there sends nothing")
        return 0

    def decode(self, value: int) -> bool:
        """True."""
        return self._value(value) == 0

    def label(self, value: int) -> str:
        """The name of the only value."""
        self._value(value)
        return "present"

    def describe(self) -> str:
        """What is counted, in words for people."""
        return "nothing is asked; those who take part are counted"
