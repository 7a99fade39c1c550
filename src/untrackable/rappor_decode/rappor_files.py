"""google/rappor's params.csv, counts.csv and reports.csv: read strictly, and written back the same."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from untrackable.errors import DecodeError
from untrackable.mechanisms.kept.rappor import Rappor, RapporAggregator
from untrackable.reports.csv_rows import Row, lines, malformed, real, rows, whole

_HEADER = ["k", "h", "m", "p", "q", "f"]
_LARGEST = (1 << 53) - 1
"""Counts beyond are not exact as floating-point numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Of each cohort, how many reports there are and how many of them have each bit set."""

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
        """The counts of reports that were aggregated here."""
        return Counts(sums.cohorts.copy(), sums.counts.copy())

    @property
    def total(self) -> int:
        """Reports of all cohorts."""
        return int(self.reports.sum())


def read_params(path: str | Path) -> Rappor:
    """The parameters in params.csv: a header k,h,m,p,q,f and one row. f = 0 is allowed."""
    path = Path(path)
    found = list(rows(path))
    if not found:
        raise DecodeError(f"{path} is empty; a header k,h,m,p,q,f and one row were expected")
    if [cell.strip() for cell in found[0].cells] != _HEADER:
        raise malformed(path, found[0].line, "the header must be k,h,m,p,q,f")
    if len(found) != 2:
        where = found[2].line if len(found) > 2 else found[0].line + 1
        raise malformed(path, where, f"one row of parameters was expected, there are {len(found) - 1}")
    line, cells = found[1]
    _width(path, found[1], len(_HEADER))
    k, h, m = (
        whole(path, line, name, cell, low=1, high=most)
        for name, cell, most in zip("khm", cells, (256, 16, 1 << 16), strict=False)
    )
    p, q, f = (real(path, line, name, cell) for name, cell in zip("pqf", cells[3:], strict=True))
    try:
        return Rappor(bloom_bits=k, hashes=h, cohorts=m, p=p, q=q, f=f)
    except ValueError as error:
        raise malformed(path, line, str(error)) from None


def write_params(path: str | Path, params: Rappor) -> None:
    """Write params.csv."""
    row = [params.bloom_bits, params.hashes, params.cohorts, params.p, params.q, params.f]
    write(path, [_HEADER, row])


def read_counts(path: str | Path, params: Rappor) -> Counts:
    """counts.csv: a row for each cohort, its number of reports and then for each bit how many had it set."""
    path = Path(path)
    table = np.zeros((params.cohorts, params.bloom_bits + 1), dtype=np.int64)
    number = 0
    for number, row in enumerate(rows(path), start=1):
        if number > params.cohorts:
            raise malformed(path, row.line, f"there are more rows than the {params.cohorts} cohorts")
        _width(path, row, params.bloom_bits + 1)
        people = whole(path, row.line, "the number of reports", row.cells[0], low=0, high=_LARGEST)
        table[number - 1, 0] = people
        for i, cell in enumerate(row.cells[1:]):
            table[number - 1, i + 1] = whole(path, row.line, f"the count of bit {i}", cell, low=0, high=people)
    if number < params.cohorts:
        raise DecodeError(f"{path} has {number} rows, where there are {params.cohorts} cohorts")
    return Counts(table[:, 0], table[:, 1:])


def write_counts(path: str | Path, counts: Counts) -> None:
    """Write counts.csv."""
    write(path, np.column_stack((counts.reports, counts.bits)).tolist())


def read_reports(path: str | Path, params: Rappor) -> Counts:
    """Count reports.csv: a header, then user_id, cohort, bloom, prr, irr, the last character of irr being bit 0.

    The columns `cohort` and `irr` (or `rappor`) are found by name, and where the header lacks these names by their
    places among five. Nothing else is looked at.
    """
    path = Path(path)
    found = rows(path)
    header = next(found, None)
    if header is None:
        raise DecodeError(f"{path} is empty; a header was expected")
    where, what = _columns(path, header)
    reports = np.zeros(params.cohorts, dtype=np.int64)
    bits = np.zeros((params.cohorts, params.bloom_bits), dtype=np.int64)
    pending: list[str] = []
    of: list[int] = []
    for row in found:
        _width(path, row, len(header.cells))
        of.append(whole(path, row.line, "the cohort", row.cells[where], low=0, high=params.cohorts - 1))
        irr = row.cells[what].strip()
        if len(irr) != params.bloom_bits or irr.strip("01"):
            raise malformed(path, row.line, f"the report must be {params.bloom_bits} characters 0 or 1")
        pending.append(irr)
        if len(pending) == _BATCH:
            _count(pending, of, reports, bits)
    _count(pending, of, reports, bits)
    return Counts(reports, bits)


_BATCH = 1 << 14


def _count(pending: list[str], of: list[int], reports: NDArray[np.int64], bits: NDArray[np.int64]) -> None:
    """Add reports to the counts, and forget them."""
    if pending:
        told = np.frombuffer("".join(pending).encode("ascii"), dtype=np.uint8).reshape(len(pending), -1)
        np.add.at(bits, of, (told[:, ::-1] == ord("1")).astype(np.int64))
        np.add.at(reports, of, 1)
        pending.clear()
        of.clear()


def _columns(path: Path, header: Row) -> tuple[int, int]:
    names = [cell.strip().lower() for cell in header.cells]
    for name in ("irr", "rappor"):
        if names.count("cohort") == 1 and names.count(name) == 1:
            return names.index("cohort"), names.index(name)
    if len(names) == 5 and not any(name.isdecimal() for name in names):
        return 1, 4
    raise malformed(path, header.line, "the header must name the columns cohort and irr")


def read_candidates(path: str | Path) -> list[str]:
    """Candidate strings, one a line, taken as they are: blanks count, an empty line is an error."""
    path, found = Path(path), []
    for number, text in lines(path):
        candidate = text.removesuffix("\n").removesuffix("\r")
        if not candidate:
            raise malformed(path, number, "an empty line; each line is a candidate")
        found.append(candidate)
    if not found:
        raise DecodeError(f"{path} is empty; a candidate on each line was expected")
    return found


def _width(path: Path, row: Row, width: int) -> None:
    if len(row.cells) != width:
        raise malformed(path, row.line, f"{len(row.cells)} columns instead of {width}")


def write(path: str | Path, table: Iterable[Sequence[object]]) -> None:
    """Write rows as comma-separated text, whatever is not a number in quotation marks."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerows(table)
