"""One of a list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from untrackable import checks
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.normal_text import normal

LARGEST_LIST = 1 << 16
OTHER = "other"
_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories(Encoding):
    """The place of a string in a list of `names`; strings are compared in Unicode's composed form (NFC).

    A string that is not in the list is refused (`unknown="error"`), or counts as one more category, the last
    (`unknown="other"`), which people see as "other".
    """

    names: Sequence[str]
    unknown: Literal["error", "other"] = "error"
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    kind = "categories"

    def __post_init__(self) -> None:
        checks.choice("unknown", self.unknown, ("error", "other"))
        if isinstance(self.names, (str, bytes)) or not isinstance(self.names, Sequence):
            raise TypeError(f"names must be a list of strings, not {type(self.names).__name__}")
        names = tuple(normal("names", name) for name in self.names)
        if not 1 <= len(names) <= LARGEST_LIST:
            raise ValueError(f"names must be between 1 and {LARGEST_LIST}, got {len(names)}")
        places: dict[str, int] = {}
        for name in names:
            if name in places:
                raise ValueError(f"names must be different, got {name!r} twice")
            places[name] = len(places)
        if self.unknown == "other" and OTHER in places:
            raise ValueError(f'names must not contain {OTHER!r} where unknown="other" adds it')
        checks.settle(self, names=names, _places=places)
        if self.values < 2:
            raise ValueError('names must be at least 2, or 1 with unknown="other", for there to be a question')

    @property
    def values(self) -> int:
        """As many as there are names, and one for all others if that is declared."""
        return len(self.names) + (self.unknown == "other")

    def encode(self, raw: Any) -> int:
        """Its place in the list."""
        place = self._places.get(raw) if isinstance(raw, str) else None
        if place is None:
            place = self._places.get(normal("category", raw))
        if place is not None:
            return place
        if self.unknown == "other":
            return len(self.names)
        raise ValueError(f"category must be one of the {len(self.names)} in the list; the one given is not")

    def decode(self, value: int) -> str:
        """Its name."""
        value = self._value(value)
        return self.names[value] if value < len(self.names) else OTHER

    def label(self, value: int) -> str:
        """Its name; quotation marks for the empty one."""
        return self.decode(value) or '""'

    def describe(self) -> str:
        """The list, or its beginning."""
        shown = ", ".join(self.label(place) for place in range(min(_SHOWN, len(self.names))))
        more = f" and {len(self.names) - _SHOWN:,} more" if len(self.names) > _SHOWN else ""
        rest = f"all others count as {OTHER}" if self.unknown == "other" else "anything else is refused"
        return f"one of {len(self.names):,}: {shown}{more}; {rest}"
