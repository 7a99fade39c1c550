"""Files with the simulated reports of a whole population, streamed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
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
from untrackable.theory.chance_of_answering import EVERY_ROUND


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
    participation: Fraction = EVERY_ROUND,
    seed: int = 1,
    progress: Progress | None = None,
) -> Simulated:
    """Write the reports of a simulated population; memory does not grow with the number of people.

    The same arguments give the same file. Without `people`, everyone in the population's counts takes part. With a
    `participation` below 1, each of them answers a round with that probability only.
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
            coins = np.random.default_rng([seed, number, 2])
            for batch in mechanism.simulate(taken, rounds=rounds, seed=_seed(seed, number)):
                for index, round in enumerate(batch.rounds):
                    reports = batch.reports[:, index]
                    yield (
                        round,
                        reports if participation == 1 else reports[_answering(len(reports), participation, coins)],
                    )
                seen += batch.reports.shape[0]
                if progress is not None:
                    progress("simulating", seen / max(1, total or 1))

    # Arguments that are wrong are refused now, before anything is written.
    mechanism.simulate(_taken(population.values, encoding), rounds=rounds, seed=seed)
    written = write_reports(path, pieces(), mechanism=mechanism, encoding=encoding)
    top = np.argsort(-held, kind="stable")[:5].tolist() if seen else []
    return Simulated(
        written=written,
        people=seen,
        most_held=tuple((population.values[index].item(), int(held[index]) / seen) for index in top if held[index]),
    )


def _taken(values: NDArray[Any], encoding: Encoding | None) -> NDArray[Any]:
    """Values as mechanisms take them: strings to be discovered as the hashes of their prefixes."""
    return encoding.encode_many(values) if isinstance(encoding, DiscoveredStrings) else values


def _answering(people: int, participation: Fraction, coins: np.random.Generator) -> NDArray[np.bool_]:
    """Who answers a round: each person with this probability."""
    share = participation.as_integer_ratio()
    return coins.integers(share[1], size=people) < share[0]


def _seed(seed: int, block: int) -> int:
    """A seed for each block of people, different from the one that draws their values."""
    words = np.random.SeedSequence([seed, block, 1]).generate_state(2, np.uint64)
    return int(words[0]) << 64 | int(words[1])
