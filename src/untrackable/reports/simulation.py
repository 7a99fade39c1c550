"""Files with the simulated reports of a whole population, streamed; and the values that simulated people hold."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.encodings.encoding import Encoding, check_room, from_text
from untrackable.encodings.record import Path as AnswerPath
from untrackable.encodings.record import Record
from untrackable.encodings.strings import DiscoveredStrings
from untrackable.errors import DecodeError
from untrackable.mechanisms.interface import Mechanism
from untrackable.progress import Progress, no_progress
from untrackable.reports.csv import StrictCsv
from untrackable.reports.files import Written, check_ending, write_reports
from untrackable.theory.turns import Turns

MOST_VALUES = 1 << 22
"""The largest number of different values in a population."""

MOST_PEOPLE = 1 << 40

_BLOCK = 1 << 20

_NAMED = re.compile(r"(uniform|zipf:(\d{0,9}\.?\d{1,9}(?:[eE][+-]?\d{1,3})?))(?::(\d{1,9}))?")


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
    if named := _NAMED.fullmatch(asked):
        if isinstance(encoding, DiscoveredStrings):
            raise ValueError("values must be a CSV file of value,count where strings are to be discovered")
        held = _answers(encoding, _size(mechanism, encoding, named[3]))
        weights = np.ones(held.size)
        if named[2]:
            weights = np.arange(1.0, held.size + 1) ** -checks.positive("exponent of zipf", float(named[2]))
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
        raise ValueError(f"values must say their number, at most {MOST_VALUES}: for example uniform:1000")
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
    kept = sorted(held)
    counts = np.array([held[value] for value in kept], dtype=np.int64)
    if not counts.sum():
        raise ValueError(f"{path} holds nobody: a row value,count for each value was expected")
    return Population(np.array(kept), counts / counts.sum(), counts)


def _value(cell: str, mechanism: Mechanism, encoding: Encoding | None) -> Any:
    if encoding is None and mechanism.takes_strings:
        return cell
    if isinstance(encoding, DiscoveredStrings):
        return encoding.prepared_text(cell)
    raw = from_text(encoding, cell)
    return raw if encoding is None else encoding.encode(raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """The file, the number of people, and the most frequent values with their true shares."""

    written: Written
    people: int
    most_held: tuple[tuple[Any, float], ...]


def simulate_file(
    path: str | Path,
    mechanism: Mechanism,
    population: Population,
    *,
    people: int | None = None,
    rounds: int | Sequence[int] = 1,
    encoding: Encoding | None = None,
    turns: Turns | None = None,
    seed: int = 1,
    progress: Progress = no_progress,
) -> Simulated:
    """Write the reports of a simulated population; memory does not grow with the number of people.

    The same arguments give the same file. Without `people`, everyone in the population's counts takes part. With
    `turns`, each of them answers once, in one of the rounds of the turns; those of other `rounds` are not written.
    """
    path = Path(path)
    check_ending(path)
    seed = checks.integer("seed", seed, low=0)
    if people is not None:
        people = checks.integer("people", people, low=0, high=MOST_PEOPLE)
    if encoding is not None:
        check_room(mechanism, encoding)
    total = population.people if people is None else people
    held = np.zeros(population.values.size, dtype=np.int64)
    seen = 0

    def pieces() -> Iterator[tuple[int, NDArray[Any]]]:
        nonlocal seen
        for number, values in enumerate(population.blocks(people, seed)):
            different, indices, counts = np.unique(values, return_inverse=True, return_counts=True)
            held[np.searchsorted(population.values, different)] += counts
            taken = _taken(different, encoding)[indices]
            yield from _sent(mechanism, taken, rounds, turns, _seed(seed, number))
            seen += len(values)
            progress("simulating", seen / max(1, total or 1))

    # Arguments that are wrong are refused now, before anything is written.
    mechanism.simulate(_taken(population.values, encoding), rounds=rounds, seed=seed)
    written = write_reports(path, pieces(), mechanism=mechanism, encoding=encoding, turns=turns)
    top = np.argsort(-held, kind="stable")[:5].tolist() if seen else []
    return Simulated(
        written=written,
        people=seen,
        most_held=tuple((population.values[index].item(), int(held[index]) / seen) for index in top if held[index]),
    )


def _taken(values: NDArray[Any], encoding: Encoding | None) -> NDArray[Any]:
    """Values as mechanisms take them: strings to be discovered as the hashes of their prefixes."""
    return encoding.encode_many(values) if isinstance(encoding, DiscoveredStrings) else values


def _sent(
    mechanism: Mechanism, values: NDArray[Any], rounds: int | Sequence[int], turns: Turns | None, seed: int
) -> Iterator[tuple[int, NDArray[Any]]]:
    """The reports of some people, with their rounds. With turns, everybody has one round of all, or none."""
    if turns is None:
        for batch in mechanism.simulate(values, rounds=rounds, seed=seed):
            for index, round in enumerate(batch.rounds):
                yield round, batch.reports[:, index]
        return
    rng = np.random.default_rng([seed, 2])
    drawn = rng.integers(1, turns.rounds + 1, size=len(values))
    drawn[rng.integers(turns.share.denominator, size=len(values)) >= turns.share.numerator] = 0
    wanted = range(1, rounds + 1) if isinstance(rounds, int) else rounds
    for round in wanted:
        for batch in mechanism.simulate(values[drawn == round], rounds=[round], seed=seed + round):
            yield round, batch.reports[:, 0]


def _seed(seed: int, block: int) -> int:
    """A seed for each block of people, different from the one that draws their values."""
    words = np.random.SeedSequence([seed, block, 1]).generate_state(2, np.uint64)
    return int(words[0]) << 64 | int(words[1])
