"""google/rappor's files params.csv, counts.csv, reports.csv and map.csv: strict readers."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import DecodeError
from untrackable.mechanisms.rappor import Rappor, RapporAggregator
from untrackable.progress import Progress, no_progress
from untrackable.reports.csv import CsvRow, StrictCsv
from untrackable.reports.files import are_names, column_words

_HEADER = ["k", "h", "m", "p", "q", "f"]
_LARGEST = (1 << 53) - 1
"""Larger counts are not exact as floating-point numbers."""
_BATCH = 1 << 14
"""Reports are counted in batches of this size."""
_OFTEN = 1 << 9
"""Progress is shown each time this many candidates have been hashed."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """For each cohort, the number of its reports, and for each bit the number of reports that have it set."""

    reports: NDArray[np.int64]
    bits: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name, array, axes in (("reports", self.reports, 1), ("bits", self.bits, 2)):
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
                raise TypeError(f"{name} must be an array of integers")
            if array.ndim != axes:
                raise ValueError(f"{name} must have {axes} axes, got shape {array.shape}")
        if self.bits.shape[:1] != self.reports.shape:
            raise ValueError(f"bits must have a row for each of {self.reports.size} cohorts, got {self.bits.shape}")
        if np.any(self.bits < 0) or np.any(self.bits > self.reports[:, None]):
            raise ValueError("bits must be between 0 and the cohort's number of reports")

    @staticmethod
    def of(sums: RapporAggregator) -> "Counts":
        """The counts in sums of reports."""
        return Counts(sums.cohorts.copy(), sums.counts.copy())

    @property
    def total(self) -> int:
        """The number of reports of all cohorts."""
        return int(self.reports.sum())


def read_params(path: str | Path) -> Rappor:
    """Read params.csv: a header k,h,m,p,q,f and one row. f = 0 is allowed."""
    file = StrictCsv(path, DecodeError)
    rows = list(itertools.islice(file.rows(), 3))
    if not rows:
        raise file.empty("a header k,h,m,p,q,f and one row were expected")
    names = [cell.strip() for cell in rows[0].cells]
    if names != _HEADER:
        there = column_words(names, shown=are_names(names) or set(names) <= {*_HEADER})
        raise file.malformed(rows[0].line, f"the header must be k,h,m,p,q,f: {there}")
    if len(rows) != 2:
        where = rows[2].line if len(rows) > 2 else rows[0].line + 1
        there = "more" if len(rows) > 2 else "none"
        raise file.malformed(where, f"one row of parameters was expected, there are {there}")
    line, cells = rows[1]
    _check_width(file, rows[1], len(_HEADER))
    k, h, m = (
        file.whole(line, name, cell, low=1, high=most)
        for name, cell, most in zip("khm", cells, (256, 16, 1 << 16), strict=False)
    )
    p, q, f = (file.real(line, name, cell) for name, cell in zip("pqf", cells[3:], strict=True))
    try:
        return Rappor(bloom_bits=k, hashes=h, cohorts=m, p=p, q=q, f=f)
    except ValueError as error:
        raise file.malformed(line, error) from None


def read_counts(path: str | Path, params: Rappor) -> Counts:
    """Read counts.csv: a row for each cohort with its number of reports, then the number that have each bit set."""
    file = StrictCsv(path, DecodeError)
    table = np.zeros((params.cohorts, params.bloom_bits + 1), dtype=np.int64)
    number = 0
    for number, row in enumerate(file.rows(), start=1):
        if number > params.cohorts:
            raise file.malformed(row.line, f"there are more rows than the {params.cohorts} cohorts")
        _check_width(file, row, params.bloom_bits + 1)
        people = file.whole(row.line, "the number of reports", row.cells[0], low=0, high=_LARGEST)
        table[number - 1, 0] = people
        for i, cell in enumerate(row.cells[1:]):
            table[number - 1, i + 1] = file.whole(row.line, f"the count of bit {i}", cell, low=0, high=people)
    if number < params.cohorts:
        raise DecodeError(f"{path} has {number} rows, but there are {params.cohorts} cohorts")
    return Counts(table[:, 0], table[:, 1:])


def read_reports(path: str | Path, params: Rappor, *, progress: Progress = no_progress) -> Counts:
    """Count the reports in reports.csv: a header, then rows of user_id, cohort, bloom, prr, irr.

    The last character of irr is bit 0. The columns `cohort` and `irr` (or `rappor`) are found by name. If the
    header lacks these names and has five columns, they are the second and the last. Nothing else is read.
    """
    file = StrictCsv(path, DecodeError)
    rows = file.rows()
    header = next(rows, None)
    if header is None:
        raise file.empty("a header was expected")
    cohort_column, report_column = _columns(file, header)
    reports = np.zeros(params.cohorts, dtype=np.int64)
    bits = np.zeros((params.cohorts, params.bloom_bits), dtype=np.int64)
    pending: list[str] = []
    cohorts: list[int] = []
    size, read = max(1, file.path.stat().st_size), 0
    for row in rows:
        read += sum(map(len, row.cells)) + len(row.cells)
        _check_width(file, row, len(header.cells))
        cohorts.append(file.whole(row.line, "the cohort", row.cells[cohort_column], low=0, high=params.cohorts - 1))
        irr = row.cells[report_column].strip()
        if len(irr) != params.bloom_bits or irr.strip("01"):
            raise file.malformed(row.line, f"the report must be {params.bloom_bits} characters 0 or 1")
        pending.append(irr)
        if len(pending) == _BATCH:
            _count(pending, cohorts, reports, bits)
            progress("reading the reports", min(1.0, read / size))
    _count(pending, cohorts, reports, bits)
    return Counts(reports, bits)


def _count(pending: list[str], cohorts: list[int], reports: NDArray[np.int64], bits: NDArray[np.int64]) -> None:
    """Add reports to the counts, and forget them."""
    if pending:
        characters = np.frombuffer("".join(pending).encode("ascii"), dtype=np.uint8).reshape(len(pending), -1)
        np.add.at(bits, cohorts, (characters[:, ::-1] == ord("1")).astype(np.int64))
        np.add.at(reports, cohorts, 1)
        pending.clear()
        cohorts.clear()


def _columns(file: StrictCsv, header: CsvRow) -> tuple[int, int]:
    names = [cell.strip().lower() for cell in header.cells]
    for name in ("irr", "rappor"):
        if names.count("cohort") == 1 and names.count(name) == 1:
            return names.index("cohort"), names.index(name)
    if len(names) == 5 and not any(name.isdecimal() for name in names):
        return 1, 4
    there = column_words(header.cells, shown=are_names(header.cells))
    raise file.malformed(header.line, f"the header must name the columns cohort and irr: {there}")


def read_candidates(path: str | Path) -> list[str]:
    """Read candidate strings, one on each line. Blanks count, and an empty line is an error."""
    file, candidates = StrictCsv(path, DecodeError), []
    for number, text in file.lines():
        candidate = text.removesuffix("\n").removesuffix("\r")
        if not candidate:
            raise file.malformed(number, "the line is empty; each line must be a candidate")
        candidates.append(candidate)
    if not candidates:
        raise file.empty("a candidate on each line was expected")
    return candidates


def _check_width(file: StrictCsv, row: CsvRow, width: int) -> None:
    if len(row.cells) != width:
        raise file.malformed(row.line, f"{len(row.cells)} columns instead of {width}")


# --- map.csv: the bits that each candidate string sets in each cohort -------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CandidateMap:
    """Candidate strings and their bits. `positions[i, c]` are the bits that candidate i sets in cohort c, from 0.

    `repeated` is the number of times that a candidate was given again.
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
