"""Files with the simulated reports of a whole population, streamed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.encodings.capacity import check_room
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.encodings.encoding import Encoding
from untrackable.mechanisms.interface import Mechanism
from untrackable.progress import Progress
from untrackable.reports.population import MOST_PEOPLE, Population
from untrackable.reports.writer import Written, check_ending, write_reports
from untrackable.theory.turns import Turns


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
    progress: Progress | None = None,
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
            found, indices, counts = np.unique(values, return_inverse=True, return_counts=True)
            held[np.searchsorted(population.values, found)] += counts
            taken = _taken(found, encoding)[indices]
            yield from _sent(mechanism, taken, rounds, turns, _seed(seed, number))
            seen += len(values)
            if progress is not None:
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
