"""An encoding for questions that are answered with one entry of a list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from untrackable import checks
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.normal_text import normalise
from untrackable.encodings.shown_text import check_shown

LARGEST_LIST = 1 << 16
"""The largest number of names in a list."""
OTHER = "other"
"""The name of the category for strings that are not in the list."""
_SHOWN = 8
"""`describe` lists this number of names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories(Encoding):
    """Encodes a string as its position in a list of `names`. Strings are compared in Unicode's composed form (NFC).

    A string that is not in the list is refused (`unknown="error"`), or counts as one more category at the end,
    which people see as "other" (`unknown="other"`).
    """

    names: Sequence[str]
    unknown: Literal["error", "other"] = "error"
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    kind = "categories"

    def __post_init__(self) -> None:
        checks.choice("unknown", self.unknown, ("error", "other"))
        places = named_places(self.names, most=LARGEST_LIST)
        if self.unknown == "other" and OTHER in places:
            raise ValueError(f'names must not contain {OTHER!r}, because unknown="other" adds it')
        checks.settle(self, names=tuple(places), _places=places)
        if self.values < 2:
            raise ValueError('names must have at least 2 entries, or 1 with unknown="other"')

    @property
    def values(self) -> int:
        """The number of names, plus one if `unknown` is "other"."""
        return len(self.names) + (self.unknown == "other")

    def encode(self, raw: Any) -> int:
        """The position of the string in the list."""
        place = self._places.get(raw) if isinstance(raw, str) else None
        if place is None:
            place = self._places.get(normalise("category", raw))
        if place is not None:
            return place
        if self.unknown == "other":
            return len(self.names)
        raise ValueError(
            f"category must be one of the {len(self.names)} in the list; the given one (not shown) is not"
        )

    def decode(self, value: int) -> str:
        """The name at this position."""
        value = self._value(value)
        return self.names[value] if value < len(self.names) else OTHER

    def label(self, value: int) -> str:
        """The name at this position."""
        return self.decode(value)

    def describe(self) -> str:
        """The list or its beginning, in words for people."""
        rest = f"all others count as {OTHER}" if self.unknown == "other" else "anything else is refused"
        return f"one of {described_names(self.names)}; {rest}"


def named_places(names: Sequence[str], *, most: int) -> dict[str, int]:
    """The position of every name of a list, after checks."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Sequence):
        raise TypeError(f"names must be a list of strings, not {type(names).__name__}")
    if not 1 <= len(names) <= most:
        raise ValueError(f"names must have between 1 and {most} entries, got {len(names)}")
    places: dict[str, int] = {}
    for given in names:
        name = check_shown("names", normalise("names", given))
        if name in places:
            raise ValueError(f"names must be different, got {name!r} twice")
        places[name] = len(places)
    return places


def described_names(names: Sequence[str]) -> str:
    """The number of names, and the first of them."""
    shown = ", ".join(names[:_SHOWN])
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{len(names):,}: {shown}{more}"
