"""Yes or no."""

from dataclasses import dataclass
from typing import Any

from untrackable import checks
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.normal_text import normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Bit(Encoding):
    """True or 1, and False or 0; `one` and `zero` are their names for people."""

    zero: str = "no"
    one: str = "yes"

    kind = "bit"

    def __post_init__(self) -> None:
        checks.settle(self, zero=normal("zero", self.zero), one=normal("one", self.one))
        if self.zero == self.one:
            raise ValueError(f"zero and one must have different names, got {self.one!r} for both")

    @property
    def values(self) -> int:
        """Two."""
        return 2

    def encode(self, raw: Any) -> int:
        """0 or 1, from either of these or from a truth value; nothing else counts as true or false."""
        if getattr(getattr(raw, "dtype", None), "kind", "") == "b":
            raw = raw.item()  # NumPy's truth values are no integers
        return checks.private_integer("bit", raw, below=2)

    def decode(self, value: int) -> bool:
        """Whether it is 1."""
        return bool(self._value(value))

    def label(self, value: int) -> str:
        """Its name."""
        return self.one if self._value(value) else self.zero

    def describe(self) -> str:
        """The two names."""
        return f"{self.zero} (0) or {self.one} (1); anything else is refused"
