"""Encodings of several answers of a person in one report: a record of attributes, and a path through a round.

A record has several attributes, of which tables can be told: browser by system, for example. A path has the answers
in several consecutive parts of a round. It is a record of them that also tells the changes.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Self

from untrackable import checks
from untrackable.encodings.encoding import (
    LARGEST_BITS,
    AskedTable,
    AskedTables,
    Cell,
    Encoding,
    View,
    check_shown,
    from_json,
)

LARGEST_TABLE = 1 << 16
"""The largest number of cells of a table."""
_LARGEST_VIEW = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Encoding):
    """Encodes several attributes, each with an encoding of its own, one after the other, the first in the low bits.

    `tables` are the tables that can be estimated: names of one, two or more attributes each, by default every two.
    Each report is about one of the tables, drawn independently, so that only these are paid for. The table of each
    attribute by itself can be estimated from any table that it is part of.
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
        return 1 << sum(encoding.bits for encoding in self._encodings.values())

    @property
    def asked(self) -> AskedTables:
        return _asked(self)

    def _made_tables(self) -> AskedTables:
        used = {name for table in self.tables for name in table}
        alone = [(name,) for name in self._encodings if name in used and (name,) not in self.tables]
        made = (AskedTable(_table_name(table), tuple(self._table(table))) for table in (*self.tables, *alone))
        return AskedTables(tuple(self._view(table) for table in self.tables), tuple(made))

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
        if not isinstance(raw, Mapping):
            raise TypeError("a record must map the names of attributes to values")
        if missing := [name for name in self._encodings if name not in raw]:
            raise ValueError(f"the record lacks {', '.join(missing)}")
        if unknown := len(set(raw) - set(self._encodings)):
            raise ValueError(f"the record has {unknown} attributes that are not asked for")
        return sum(self._encoded(name, raw[name]) << self._starts[name] for name in self._encodings)

    def from_text(self, text: str) -> dict[str, Any]:
        """Attributes are separated by commas, each as name=value. None may come twice."""
        attributes: dict[str, Any] = {}
        for part in text.split(","):
            if part.strip():
                name, _, value = (each.strip() for each in part.partition("="))
                attribute = self.attribute(name)
                if name in attributes:
                    raise ValueError(f"the record has {name} more than once")
                try:
                    attributes[name] = attribute.from_text(value)
                except ValueError as error:
                    raise ValueError(f"{name}: {error}") from None
        return attributes

    def _encoded(self, name: str, raw: Any) -> int:
        """One attribute. An error says its name."""
        try:
            return self._encodings[name].encode(raw)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{name}: {error}") from None

    def stands(self, value: int) -> bool:
        """Whether an encoded value stands for a record."""
        return all(self._part(value, name) < encoding.values for name, encoding in self._encodings.items())

    def decode(self, value: int) -> dict[str, Any]:
        return {name: encoding.decode(self._part(value, name)) for name, encoding in self._encodings.items()}

    def label(self, value: int) -> str:
        parts = ((name, encoding.label(self._part(value, name))) for name, encoding in self._encodings.items())
        return ", ".join(f"{name}={label}" for name, label in parts)

    def describe(self) -> str:
        parts = "; ".join(f"{name}: {encoding.describe()}" for name, encoding in self._encodings.items())
        tables = "; ".join(_table_name(table) for table in self.tables)
        return f"{len(self._encodings)} attributes ({parts}); tables that can be told: {tables}"

    def to_json(self) -> dict[str, Any]:
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
    """Kept, because there may be many cells, and a plan asks for them many times."""
    return record._made_tables()


def _table_name(table: Sequence[str]) -> str:
    return ", ".join(table)


LARGEST_PATH = 16
"""The largest number of bits of a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Path(Encoding):
    """Encodes the answers in each of the `looks`, the equal parts of a round, the first one in the low bits.

    `of` is the encoding of one answer. The client remembers answers and sends them in one report, at the end of the
    round. The shares of each look can be estimated, and the tables of every two neighbouring ones, which tell how
    many people changed their answer.
    """

    of: Encoding
    looks: int
    _record: Record = field(init=False, repr=False, compare=False)

    kind = "path"

    def __post_init__(self) -> None:
        if not isinstance(self.of, Encoding) or self.of.asked is not None:
            raise TypeError("of must be an encoding of single values")
        looks = checks.integer("looks", self.looks, low=2, high=LARGEST_PATH)
        if not 1 <= self.of.bits <= LARGEST_PATH // looks:
            raise ValueError(
                f"a path must have at most {LARGEST_PATH} bits, which is {LARGEST_PATH // looks} for each of its "
                f"{looks} looks; these answers have {self.of.bits}"
            )
        names = look_names(looks)
        record = Record(attributes=dict.fromkeys(names, self.of), tables=list(pairwise(names)))
        checks.settle(self, looks=looks, _record=record)

    @property
    def values(self) -> int:
        """The number of encoded values; not all of them stand for a path."""
        return self._record.values

    @property
    def path(self) -> "Path":
        return self

    @property
    def asked(self) -> AskedTables:
        """The table of each look, then of every two neighbouring ones, from reports about all looks together."""
        tables = self._record.asked.tables
        changes = self.looks - 1
        return AskedTables((tuple(range(self.bits)),), (*tables[changes:], *tables[:changes]))

    def look(self, number: int) -> AskedTable:
        """The table of a look, 1 for the first."""
        return self.asked.tables[number - 1]

    def alone(self) -> tuple[tuple[str, Encoding], ...]:
        return tuple((name, self.of) for name in look_names(self.looks))

    def encode(self, raw: Any) -> int:
        if isinstance(raw, (str, bytes)) or not isinstance(raw, Sequence):
            raise TypeError("a path must be a list of answers")
        if len(raw) != self.looks:
            raise ValueError(f"a path must have {self.looks} answers, one for each look, got {len(raw)}")
        return self._record.encode(dict(zip(look_names(self.looks), raw, strict=True)))

    def from_text(self, text: str) -> list[Any]:
        """Answers are separated by semicolons."""
        return [self.of.from_text(part.strip()) for part in text.split(";")]

    def joined(self, values: Sequence[int]) -> int:
        """The path of the encoded answers."""
        return sum(value << i * self.of.bits for i, value in enumerate(values))

    def stands(self, value: int) -> bool:
        """Whether an encoded value stands for a path."""
        return self._record.stands(value)

    def decode(self, value: int) -> list[Any]:
        return list(self._record.decode(value).values())

    def label(self, value: int) -> str:
        return self._record.label(value)

    def describe(self) -> str:
        return f"{self.of.describe()}; the answers in {self.looks} consecutive looks, in one report"

    def to_json(self) -> dict[str, Any]:
        return {"type": self.kind, "version": self.version, "of": self.of.to_json(), "looks": self.looks}

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        return cls(of=from_json(parameters["of"]), looks=parameters["looks"])


def look_names(looks: int) -> list[str]:
    """The names of the looks."""
    return [f"look {number}" for number in range(1, looks + 1)]
