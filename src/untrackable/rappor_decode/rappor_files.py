"""google/rappor's files params.csv, counts.csv and reports.csv: strict readers, and writers."""

import csv
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import DecodeError
from untrackable.mechanisms.kept.rappor import Rappor, RapporAggregator
from untrackable.progress import Progress, no_progress
from untrackable.reports.column_names import are_names, column_words
from untrackable.reports.strict_csv import CsvRow, StrictCsv

_HEADER = ["k", "h", "m", "p", "q", "f"]
_LARGEST = (1 << 53) - 1
"""Larger counts are not exact as floating-point numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """For each cohort, the number of its reports, and for each bit how many of them have it set."""

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
    found = list(itertools.islice(file.rows(), 3))
    if not found:
        raise file.empty("a header k,h,m,p,q,f and one row were expected")
    names = [cell.strip() for cell in found[0].cells]
    if names != _HEADER:
        there = column_words(names, shown=are_names(names) or set(names) <= {*_HEADER})
        raise file.malformed(found[0].line, f"the header must be k,h,m,p,q,f: {there}")
    if len(found) != 2:
        where = found[2].line if len(found) > 2 else found[0].line + 1
        there = "more" if len(found) > 2 else "none"
        raise file.malformed(where, f"one row of parameters was expected, there are {there}")
    line, cells = found[1]
    _check_width(file, found[1], len(_HEADER))
    k, h, m = (
        file.whole(line, name, cell, low=1, high=most)
        for name, cell, most in zip("khm", cells, (256, 16, 1 << 16), strict=False)
    )
    p, q, f = (file.real(line, name, cell) for name, cell in zip("pqf", cells[3:], strict=True))
    try:
        return Rappor(bloom_bits=k, hashes=h, cohorts=m, p=p, q=q, f=f)
    except ValueError as error:
        raise file.malformed(line, error) from None


def write_params(path: str | Path, params: Rappor) -> None:
    """Write params.csv."""
    row = [params.bloom_bits, params.hashes, params.cohorts, params.p, params.q, params.f]
    write(path, [_HEADER, row])


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


def write_counts(path: str | Path, counts: Counts) -> None:
    """Write counts.csv."""
    write(path, np.column_stack((counts.reports, counts.bits)).tolist())


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


_BATCH = 1 << 14
"""Reports are counted in batches of this size."""


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
    file, found = StrictCsv(path, DecodeError), []
    for number, text in file.lines():
        candidate = text.removesuffix("\n").removesuffix("\r")
        if not candidate:
            raise file.malformed(number, "the line is empty; each line must be a candidate")
        found.append(candidate)
    if not found:
        raise file.empty("a candidate on each line was expected")
    return found


def _check_width(file: StrictCsv, row: CsvRow, width: int) -> None:
    if len(row.cells) != width:
        raise file.malformed(row.line, f"{len(row.cells)} columns instead of {width}")


def write(path: str | Path, table: Iterable[Sequence[object]]) -> None:
    """Write rows as comma-separated text, with quotation marks around everything that is not a number."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerows(table)
