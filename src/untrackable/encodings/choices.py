"""An encoding for questions to which people give several answers at once: which of these did you use?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from untrackable import checks
from untrackable.encodings.asked_tables import AskedTable, AskedTables, Cell
from untrackable.encodings.bit import Bit
from untrackable.encodings.categories import described_names, named_places
from untrackable.encodings.encoding import LARGEST_BITS, Encoding
from untrackable.encodings.normal_text import normalise

NAME = "choices"
"""The name of the only table that is asked for."""
NONE = "none of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices(Encoding):
    """Encodes a set of names as one bit for each of the `names`: 1 if it is in the set.

    Each report is about one of the names, drawn anew. The share of people who chose a name is estimated for all
    names together. Which names go together is not asked, and cannot be told.
    """

    names: Sequence[str]
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    kind = "choices"

    def __post_init__(self) -> None:
        places = named_places(self.names, most=LARGEST_BITS)
        if len(places) < 2:
            raise ValueError("names must have at least 2 entries; for one, ask a yes/no question")
        checks.settle(self, names=tuple(places), _places=places)

    @property
    def values(self) -> int:
        """The number of sets of names."""
        return 1 << len(self.names)

    @property
    def asked(self) -> AskedTables:
        """One table, with the share of people who chose each name."""
        cells = tuple(Cell(name, (place,), 1) for place, name in enumerate(self.names))
        return AskedTables(tuple((place,) for place in range(len(self.names))), (AskedTable(NAME, cells),))

    def alone(self) -> tuple[tuple[str, Encoding], ...]:
        """A yes/no question for each name."""
        return tuple((name, Bit()) for name in self.names)

    def encode(self, raw: Any) -> int:
        """The bits of a collection of names, which may be empty. A name that comes twice counts once."""
        if isinstance(raw, (str, bytes, Mapping)) or not isinstance(raw, Iterable):
            raise TypeError("choices must be a list or set of names")
        value = 0
        for name in raw:
            place = self._places.get(normalise("choice", name))
            if place is None:
                raise ValueError(
                    f"each choice must be one of the {len(self.names)} in the list; one (not shown) is not"
                )
            value |= 1 << place
        return value

    def decode(self, value: int) -> tuple[str, ...]:
        """The names in the set."""
        value = self._value(value)
        return tuple(name for place, name in enumerate(self.names) if value >> place & 1)

    def label(self, value: int) -> str:
        """The names in the set, in the order of the list."""
        return ", ".join(self.decode(value)) or NONE

    def describe(self) -> str:
        """The list or its beginning, in words for people."""
        return f"any number of {described_names(self.names)}; anything else is refused"
