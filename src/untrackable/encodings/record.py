"""An encoding for several attributes of a person, of which tables can be told: browser by system, for example."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

from untrackable import checks
from untrackable.encodings.asked_tables import AskedTable, AskedTables, Cell, View
from untrackable.encodings.encoding import LARGEST_BITS, Encoding, from_json
from untrackable.encodings.shown_text import check_shown

LARGEST_TABLE = 1 << 16
"""The largest number of cells of a table."""
_LARGEST_VIEW = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Encoding):
    """Encodes several attributes, each with an encoding of its own, one after the other, the first in the low bits.

    `tables` are the tables that can be estimated: names of one, two or more attributes each, by default every two.
    Each report is about one of the tables, drawn anew, so that only these are paid for. The table of each attribute
    by itself can be estimated from any table that it is part of.
    """

    attributes: Mapping[str, Encoding] | Sequence[tuple[str, Encoding]]
    tables: Sequence[Sequence[str]] = ()
    _encodings: Mapping[str, Encoding] = field(init=False, repr=False, compare=False)
    _starts: Mapping[str, int] = field(init=False, repr=False, compare=False)

    kind = "record"

    def __post_init__(self) -> None:
        encodings = dict(self.attributes)
        starts: dict[str, int] = {}
        end = 0
        for name, encoding in encodings.items():
            check_shown("attributes", name)
            if "," in name or "=" in name:
                raise ValueError(f"an attribute's name must not have a comma or '=', got {name!r}")
            if not isinstance(encoding, Encoding) or encoding.asked is not None:
                raise TypeError(f"the encoding of {name} must be one of single values")
            starts[name], end = end, end + encoding.bits
        if len(starts) < 2 or end > LARGEST_BITS:
            raise ValueError(f"attributes must be two or more, of at most {LARGEST_BITS} bits together")
        tables = tuple(tuple(table) for table in self.tables) or tuple(itertools.combinations(starts, 2))
        checks.settle(
            self, attributes=tuple(encodings.items()), tables=tables, _encodings=encodings, _starts=starts
        )
        self._check_tables()

    def _check_tables(self) -> None:
        order = list(self._encodings)
        for table in self.tables:
            if unknown := [name for name in table if name not in self._encodings]:
                raise ValueError(f"tables must be of attributes, and {', '.join(unknown)} is none")
            if not table or [order.index(name) for name in table] != sorted({order.index(name) for name in table}):
                raise ValueError("the attributes of a table must be different, and in the order of the record")
            if self._cells(table) > LARGEST_TABLE or len(self._view(table)) > _LARGEST_VIEW:
                raise ValueError(f"a table must have at most {LARGEST_TABLE:,} cells; {', '.join(table)} has more")
        if len(set(self.tables)) < len(self.tables):
            raise ValueError("tables must be different")

    @property
    def values(self) -> int:
        """The number of encoded values; not all of them stand for a record."""
        return 1 << sum(encoding.bits for encoding in self._encodings.values())

    @property
    def asked(self) -> AskedTables:
        """The tables, and then each attribute by itself."""
        return _asked(self)

    def _made_tables(self) -> AskedTables:
        used = {name for table in self.tables for name in table}
        alone = [(name,) for name in self._encodings if name in used and (name,) not in self.tables]
        found = (AskedTable(_table_name(table), tuple(self._table(table))) for table in (*self.tables, *alone))
        return AskedTables(tuple(self._view(table) for table in self.tables), tuple(found))

    def alone(self) -> tuple[tuple[str, Encoding], ...]:
        """A question for each table: about its only attribute, or else a record of its attributes."""
        return tuple((_table_name(table), self._alone(table)) for table in self.tables)

    def _alone(self, table: Sequence[str]) -> Encoding:
        if len(table) == 1:
            return self._encodings[table[0]]
        return Record(attributes={name: self._encodings[name] for name in table}, tables=[table])

    def attribute(self, name: str) -> Encoding:
        """The encoding of an attribute."""
        if name not in self._encodings:
            raise ValueError(f"an attribute must be one of {', '.join(self._encodings)}; the given one is not")
        return self._encodings[name]

    def encode(self, raw: Any) -> int:
        """The record of a mapping from every attribute's name to its raw value."""
        if not isinstance(raw, Mapping):
            raise TypeError("a record must map the names of attributes to values")
        if missing := [name for name in self._encodings if name not in raw]:
            raise ValueError(f"the record lacks {', '.join(missing)}")
        if unknown := len(set(raw) - set(self._encodings)):
            raise ValueError(f"the record has {unknown} attributes that are not asked for")
        return sum(self._encoded(name, raw[name]) << self._starts[name] for name in self._encodings)

    def _encoded(self, name: str, raw: Any) -> int:
        """One attribute. What is wrong with it is said with its name."""
        try:
            return self._encodings[name].encode(raw)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{name}: {error}") from None

    def stands(self, value: int) -> bool:
        """Whether an encoded value stands for a record."""
        return all(self._part(value, name) < encoding.values for name, encoding in self._encodings.items())

    def decode(self, value: int) -> dict[str, Any]:
        """Each attribute's raw value or label."""
        return {name: encoding.decode(self._part(value, name)) for name, encoding in self._encodings.items()}

    def label(self, value: int) -> str:
        """Each attribute with its label."""
        parts = ((name, encoding.label(self._part(value, name))) for name, encoding in self._encodings.items())
        return ", ".join(f"{name}={label}" for name, label in parts)

    def describe(self) -> str:
        """The attributes and the tables, in words for people."""
        parts = "; ".join(f"{name}: {encoding.describe()}" for name, encoding in self._encodings.items())
        tables = "; ".join(_table_name(table) for table in self.tables)
        return f"{len(self._encodings)} attributes ({parts}); tables that can be told: {tables}"

    def to_json(self) -> dict[str, Any]:
        """A description with the attributes in their order, from which `from_json` makes an equal encoding."""
        attributes = [{"name": name, "encoding": encoding.to_json()} for name, encoding in self._encodings.items()]
        tables = [list(table) for table in self.tables]
        return {"type": self.kind, "version": self.version, "attributes": attributes, "tables": tables}

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        attributes: dict[str, Encoding] = {}
        for each in parameters["attributes"]:
            if not isinstance(each, dict) or set(each) != {"name", "encoding"} or each["name"] in attributes:
                raise ValueError("each attribute must have its own name, and an encoding")
            attributes[each["name"]] = from_json(each["encoding"])
        return cls(attributes=attributes, tables=parameters["tables"])

    def _part(self, value: int, name: str) -> int:
        return self._value(value) >> self._starts[name] & ((1 << self._encodings[name].bits) - 1)

    def _view(self, table: Sequence[str]) -> View:
        """The bits of a table's attributes."""
        return tuple(self._starts[name] + bit for name in table for bit in range(self._encodings[name].bits))

    def _cells(self, table: Sequence[str]) -> int:
        cells = 1
        for name in table:
            cells *= self._encodings[name].values
        return cells

    def _table(self, table: Sequence[str]) -> Iterator[Cell]:
        """The cells of a table. Entries of its bits that stand for no value are none."""
        encodings, shown = [self._encodings[name] for name in table], self._view(table)
        for values in itertools.product(*(range(encoding.values) for encoding in encodings)):
            entry = shift = 0
            for value, encoding in zip(values, encodings, strict=True):
                entry |= value << shift
                shift += encoding.bits
            labels = (encoding.label(value) for value, encoding in zip(values, encodings, strict=True))
            yield Cell(" × ".join(labels), shown, entry)


@lru_cache(maxsize=16)
def _asked(record: Record) -> AskedTables:
    """Kept, because there may be many cells, and a plan asks for them again and again."""
    return record._made_tables()


def _table_name(table: Sequence[str]) -> str:
    return ", ".join(table)
