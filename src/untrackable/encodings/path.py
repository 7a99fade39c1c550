"""An encoding for the path of a person: the answers in several consecutive parts of a round, in one report."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self

from untrackable import checks
from untrackable.encodings.asked_tables import AskedTable, AskedTables
from untrackable.encodings.encoding import Encoding, from_json
from untrackable.encodings.record import Record

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
    def asked(self) -> AskedTables:
        """The table of each look, then of every two neighbouring ones, from reports about all looks together."""
        tables = self._record.asked.tables
        changes = self.looks - 1
        return AskedTables((tuple(range(self.bits)),), (*tables[changes:], *tables[:changes]))

    def look(self, number: int) -> AskedTable:
        """The table of a look, 1 for the first."""
        return self.asked.tables[number - 1]

    def alone(self) -> tuple[tuple[str, Encoding], ...]:
        """The question of each look."""
        return tuple((name, self.of) for name in look_names(self.looks))

    def encode(self, raw: Any) -> int:
        """The path of a list with the answer in each look."""
        if isinstance(raw, (str, bytes)) or not isinstance(raw, Sequence):
            raise TypeError("a path must be a list of answers")
        if len(raw) != self.looks:
            raise ValueError(f"a path must have {self.looks} answers, one for each look, got {len(raw)}")
        return self._record.encode(dict(zip(look_names(self.looks), raw, strict=True)))

    def joined(self, values: Sequence[int]) -> int:
        """The path of the encoded answers."""
        return sum(value << i * self.of.bits for i, value in enumerate(values))

    def stands(self, value: int) -> bool:
        """Whether an encoded value stands for a path."""
        return self._record.stands(value)

    def decode(self, value: int) -> list[Any]:
        """The raw value or label of each look."""
        return list(self._record.decode(value).values())

    def label(self, value: int) -> str:
        """The labels of all looks in their order."""
        return self._record.label(value)

    def describe(self) -> str:
        """What is asked, in words for people."""
        return f"{self.of.describe()}; the answers in {self.looks} consecutive looks, in one report"

    def to_json(self) -> dict[str, Any]:
        """A description from which `from_json` makes an equal encoding."""
        return {"type": self.kind, "version": self.version, "of": self.of.to_json(), "looks": self.looks}

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        return cls(of=from_json(parameters["of"]), looks=parameters["looks"])


def look_names(looks: int) -> list[str]:
    """The names of the looks."""
    return [f"look {number}" for number in range(1, looks + 1)]
