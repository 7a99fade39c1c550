"""google/rappor's map.csv: which bits each candidate string sets in each cohort."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import DecodeError
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.progress import Progress, no_progress
from untrackable.rappor_decode.rappor_files import write
from untrackable.reports.strict_csv import StrictCsv

_OFTEN = 1 << 9
"""Progress is shown each time this many candidates have been hashed."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateMap:
    """Candidate strings and their bits. `positions[i, c]` are the bits that candidate i sets in cohort c, from 0.

    `repeated` is how often a candidate was given again.
    """

    names: tuple[str, ...]
    positions: NDArray[np.int32]
    repeated: int = 0

    def __post_init__(self) -> None:
        if self.positions.ndim != 3 or self.positions.shape[0] != len(self.names):
            raise ValueError(f"positions must be candidates × cohorts × hashes, got shape {self.positions.shape}")
        if len(set(self.names)) != len(self.names):
            raise ValueError("names must be different candidates")

    @classmethod
    def of(cls, params: Rappor, candidates: Sequence[str], *, progress: Progress = no_progress) -> Self:
        """Hash candidates as the published clients do. A candidate that is given more than once counts once."""
        if isinstance(candidates, str) or not all(isinstance(name, str) for name in candidates):
            raise TypeError("candidates must be a sequence of strings")
        names = tuple(dict.fromkeys(candidates))
        positions = np.empty((len(names), params.cohorts, params.hashes), dtype=np.int32)
        for i, name in enumerate(names):
            positions[i] = [params.hashed(name, cohort) for cohort in range(params.cohorts)]
            if i % _OFTEN == 0:
                progress("hashing the candidates", i / len(names))
        return cls(names, positions, len(candidates) - len(names))

    def differing(self, params: Rappor, *, progress: Progress = no_progress) -> list[str]:
        """Candidates whose bits are not those that the published clients would set."""
        self.check(params)
        own = CandidateMap.of(params, self.names, progress=progress)
        unlike = np.any(own.positions != self.positions, axis=2)  # The order of the hashes does not matter.
        for i, cohort in np.argwhere(unlike):
            unlike[i, cohort] = set(own.positions[i, cohort].tolist()) != set(self.positions[i, cohort].tolist())
        return [self.names[i] for i in np.flatnonzero(unlike.any(axis=1))]

    def check(self, params: Rappor) -> None:
        """Refuse a map that was made for other parameters."""
        shape = params.cohorts, params.hashes
        if self.positions.shape[1:] != shape:
            raise DecodeError(f"the map must have {shape[0]} cohorts and {shape[1]} hashes, as the parameters do")
        if self.positions.size and not 0 <= self.positions.min() <= self.positions.max() < params.bloom_bits:
            raise DecodeError(f"the map must only have bits below {params.bloom_bits}, as the parameters do")


def read_map(path: str | Path, params: Rappor) -> CandidateMap:
    """Read map.csv. Each row is a candidate, then its bits in each cohort, written as cohort·k + bit + 1.

    A cell may be empty where two hashes of a cohort set the same bit. A candidate may be repeated with the same
    bits, and then counts once. With other bits, it is an error.
    """
    file = StrictCsv(path, DecodeError)
    width = params.cohorts * params.hashes
    starts = np.repeat(np.arange(params.cohorts) * params.bloom_bits + 1, params.hashes)
    seen: dict[str, tuple[int, NDArray[np.int32]]] = {}
    repeated = 0
    for line, cells in file.rows():
        if len(cells) != width + 1:
            wanted = f"{width + 1}: a candidate and its bits in each cohort"
            raise file.malformed(line, f"{len(cells)} columns instead of {wanted}")
        name, digits = cells[0], _filled([cell.strip() for cell in cells[1:]], params.hashes)
        if not all(cell.isascii() and cell.isdecimal() and len(cell) < 10 for cell in digits):
            bad = next(i for i, c in enumerate(digits) if not (c.isascii() and c.isdecimal() and len(c) < 10))
            raise file.malformed(line, f"column {bad + 2} must be a whole number")
        bits = np.array(digits, dtype=np.int64) - starts
        wrong = np.flatnonzero((bits < 0) | (bits >= params.bloom_bits))
        if wrong.size:
            first = int(starts[wrong[0]])
            raise file.malformed(
                line,
                f"column {wrong[0] + 2} is a bit of cohort {wrong[0] // params.hashes} and must be between "
                f"{first} and {first + params.bloom_bits - 1}, got {digits[wrong[0]]}",
            )
        if name in seen:
            if not np.array_equal(seen[name][1], bits):
                raise file.malformed(line, f"this candidate is also in line {seen[name][0]}, with other bits")
            repeated += 1
        else:
            seen[name] = line, bits.astype(np.int32)
    if not seen:
        raise file.empty("a row for each candidate was expected")
    positions = np.stack([bits for _, bits in seen.values()])
    return CandidateMap(tuple(seen), positions.reshape(len(seen), params.cohorts, params.hashes), repeated)


def _filled(cells: list[str], hashes: int) -> list[str]:
    """Fill empty cells: google/rappor leaves a cell empty where two hashes of a cohort set the same bit."""
    filled = []
    for start in range(0, len(cells), hashes):
        cohort = cells[start : start + hashes]
        given = next((cell for cell in cohort if cell), "")
        filled += [cell or given for cell in cohort]
    return filled


def write_map(path: str | Path, params: Rappor, candidates: CandidateMap) -> None:
    """Write map.csv."""
    candidates.check(params)
    starts = np.arange(params.cohorts)[:, None] * params.bloom_bits + 1
    numbers = (candidates.positions + starts).reshape(len(candidates.names), -1).tolist()
    write(path, ([name, *row] for name, row in zip(candidates.names, numbers, strict=True)))
