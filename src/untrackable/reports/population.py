"""The values that simulated people hold: uniform, Zipf, or counts from a file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.path import Path as AnswerPath
from untrackable.encodings.record import Record
from untrackable.encodings.text_values import from_text
from untrackable.errors import DecodeError
from untrackable.estimation.aggregators import FloatArray
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports.strict_csv import StrictCsv

MOST_VALUES = 1 << 22
"""The largest number of different values in a population."""

MOST_PEOPLE = 1 << 40
_BLOCK = 1 << 20
_NAMED = re.compile(r"(uniform|zipf:([0-9.eE+-]+))(?::(\d{1,9}))?")


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The shares of the values: people hold them at random with `weights`, or `counts` people hold each.

    Strings to be discovered are kept as text. Other values are encoded.
    """

    values: NDArray[Any]
    weights: FloatArray
    counts: NDArray[np.int64] | None = None

    @property
    def people(self) -> int | None:
        """The number of people, if there are counts."""
        return None if self.counts is None else int(self.counts.sum())

    def blocks(self, people: int | None, seed: int) -> Iterator[NDArray[Any]]:
        """The values of all people, up to a million at a time, in order. They are random if `people` is given."""
        total = self.people if people is None else people
        if total is None:
            raise ValueError("people must be given, as the population is not a list of counts")
        ends = None if self.counts is None else np.cumsum(self.counts)
        for number, start in enumerate(range(0, total, _BLOCK)):
            stop = min(start + _BLOCK, total)
            if people is None and ends is not None:
                cut = np.clip(ends, start, stop)
                counts = cut - np.concatenate(([start], cut[:-1]))
            else:
                counts = np.random.default_rng([seed, number]).multinomial(stop - start, self.weights)
            yield np.repeat(self.values, counts)


def population(asked: str, mechanism: Mechanism, encoding: Encoding | None = None) -> Population:
    """`uniform`, `zipf:1.3` (weight 1/rank^1.3, value 0 first), either with `:K` for the first K values; or a file.

    The file is CSV with a header `value,count`, its values being what the encoding takes, or integers.
    """
    if found := _NAMED.fullmatch(asked):
        if isinstance(encoding, DiscoveredStrings):
            raise ValueError("values must be a CSV file of value,count where strings are to be discovered")
        held = _answers(encoding, _size(mechanism, encoding, found[3]))
        weights = np.ones(held.size)
        if found[2]:
            weights = np.arange(1.0, held.size + 1) ** -checks.positive("exponent of zipf", _number(found[2]))
        return Population(held, weights / weights.sum())
    path = Path(asked)
    if not path.is_file():
        raise ValueError(
            f"values must be uniform, zipf:EXPONENT, either with :K, or a CSV file of value,count; got {asked!r}"
        )
    return _counted(path, mechanism, encoding)


def _answers(encoding: Encoding | None, size: int) -> NDArray[np.uint64]:
    """The first values that stand for an answer. Of a record or a path, some stand for none."""
    numbers = np.arange(size, dtype=np.uint64)
    if not isinstance(encoding, AnswerPath | Record):
        return numbers
    return np.array([value for value in numbers.tolist() if encoding.stands(value)], dtype=np.uint64)


def _size(mechanism: Mechanism, encoding: Encoding | None, asked: str | None) -> int:
    room = mechanism.capacity if encoding is None else encoding.values
    if asked is not None:
        return checks.integer("K", int(asked), low=1, high=min(MOST_VALUES, room or MOST_VALUES))
    if room is None or room > MOST_VALUES:
        raise ValueError(f"values must say of how many values, at most {MOST_VALUES}: for example uniform:1000")
    return room


def _counted(path: Path, mechanism: Mechanism, encoding: Encoding | None) -> Population:
    held: dict[Any, int] = {}
    file = StrictCsv(path, DecodeError)
    for line, cells in file.rows():
        if line == 1:
            if [cell.strip() for cell in cells] != ["value", "count"]:
                raise ValueError(f"{path}, line 1: the header must be value,count")
            continue
        if len(cells) != 2:
            raise ValueError(f"{path}, line {line}: {len(cells)} columns instead of 2")
        try:
            value = _value(cells[0], mechanism, encoding)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {line}: {error}") from None
        held[value] = held.get(value, 0) + file.whole(line, "count", cells[1], low=0, high=MOST_PEOPLE)
        if len(held) > MOST_VALUES:
            raise ValueError(f"{path}, line {line}: more than {MOST_VALUES} different values")
    counts = np.array(list(held.values()), dtype=np.int64)
    if not counts.sum():
        raise ValueError(f"{path} holds nobody: a row value,count for each value was expected")
    kept = sorted(held)
    counts = np.array([held[value] for value in kept], dtype=np.int64)
    return Population(np.array(kept), counts / counts.sum(), counts)


def _value(cell: str, mechanism: Mechanism, encoding: Encoding | None) -> Any:
    if encoding is None and mechanism.takes_strings:
        return cell
    if isinstance(encoding, DiscoveredStrings):
        return encoding.prepared_text(cell)
    raw = from_text(encoding, cell)
    return raw if encoding is None else encoding.encode(raw)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"exponent of zipf must be a number, got {text!r}") from None
