"""An encoding for questions that are answered with yes or no."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from untrackable import checks
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.normal_text import normalise
from untrackable.encodings.shown_text import check_shown

if TYPE_CHECKING:
    from untrackable.estimation.ordered_values import NumberEdges


@dataclass(frozen=True, slots=True, kw_only=True)
class Bit(Encoding):
    """Encodes True or 1 as 1, and False or 0 as 0. `one` and `zero` are the names that people see."""

    zero: str = "no"
    one: str = "yes"

    kind = "bit"

    def __post_init__(self) -> None:
        checks.settle(self, zero=_name("zero", self.zero), one=_name("one", self.one))
        if self.zero == self.one:
            raise ValueError(f"zero and one must have different names, got {self.one!r} for both")

    @property
    def values(self) -> int:
        """The number of encoded values, 2."""
        return 2

    def encode(self, raw: Any) -> int:
        """Encode 0, 1 or a truth value as 0 or 1. Nothing else counts as true or false."""
        if getattr(getattr(raw, "dtype", None), "kind", "") == "b":
            raw = raw.item()  # NumPy's truth values do not count as integers, but Python's do.
        return checks.private_integer("bit", raw, below=2)

    def decode(self, value: int) -> bool:
        """Whether the encoded value is 1."""
        return bool(self._value(value))

    def numbers(self) -> "NumberEdges":
        """0 and 1. The mean is the share of ones."""
        import numpy as np

        from untrackable.estimation.ordered_values import NumberEdges

        return NumberEdges(np.array([0.0, 1.0]), np.array([0.0, 1.0]))

    def label(self, value: int) -> str:
        """The name of the value."""
        return self.one if self._value(value) else self.zero

    def describe(self) -> str:
        """The two names, in words for people."""
        return f"{self.zero} (0) or {self.one} (1); anything else is refused"


def _name(parameter: str, given: object) -> str:
    return check_shown(parameter, normalise(parameter, given))
