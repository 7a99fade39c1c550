"""Reads files of reports of all formats, piece by piece. Every error names the file and the row."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.encodings.encoding import Encoding
from untrackable.errors import ReportFileError, UntrackableError
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.observed_rounds import LARGEST_ROUND, round_number
from untrackable.reports.column_names import column_words
from untrackable.reports.file_type import open_source
from untrackable.reports.header import Footer, Header, agreed
from untrackable.reports.report_columns import REPORT, ROUND, SUMS
from untrackable.reports.storage_layout import OutOfRangeError, StorageLayout, StoredReports, runs
from untrackable.reports.table import ArrayBatch, Source, Table
from untrackable.theory.turns import Turns

_ROUND_LAYOUT = StorageLayout(63)


class Piece(NamedTuple):
    """Reports of one round, the numbers of their rows or lines, and the share of the file that has been read."""

    round: int
    reports: StoredReports
    rows: Sequence[int] | NDArray[np.int64]
    done: float


class ReportFile:
    """A file of reports: how they were made, and the reports themselves, streamed."""

    def __init__(
        self,
        table: Table,
        mechanism: Mechanism,
        encoding: Encoding | None,
        round: int | None,
        turns: Turns | None = None,
    ) -> None:
        self.path = table.file.path
        self.mechanism = mechanism
        self.encoding = encoding
        self.turns = turns
        """In which rounds each person answered once, if the file says it."""
        self.unit = table.unit
        self.size = table.file.size
        self.has_footer = table.header is not None and table.file.sealed
        """Whether it has a count and a checksum, so that any damage is noticed."""
        self._table, self._round = table, round

    def __repr__(self) -> str:
        return f"<reports of {self.mechanism!r} in {self.path}>"

    def pieces(self) -> Iterator[Piece]:
        """All reports, up to about a million at a time.

        The checksum is of the whole file, so an error may come after the last piece. Nothing is certain before the
        end has been reached without an error.
        """
        layout, number = StorageLayout(self.mechanism.report_bits), self._table.first
        layouts = {REPORT: layout} | ({ROUND: _ROUND_LAYOUT} if ROUND in self._table.columns else {})
        footer = Footer(self._table.header or "")
        for batch in self._table.arrays(layouts):
            try:
                reports, rounds = layout.checked(batch.columns[REPORT]), self._rounds(batch)
            except OutOfRangeError as error:
                raise self.refused(number + error.index, error) from None
            if self.has_footer:
                footer.add(rounds, reports)
            yield from _by_round(rounds, reports, number, batch.done)
            number += len(reports)
        if self.has_footer:
            try:
                footer.confirm(self._table.footer)
            except ReportFileError as error:
                read = f"read up to {self.unit} {number - 1}"
                raise ReportFileError(f"{self.path} is damaged or truncated ({read}): {error}") from None

    def refused(self, row: int, why: object) -> UntrackableError:
        """A report that is not one of this mechanism's."""
        return self._table.file.malformed(self.unit, row, why)

    def _rounds(self, batch: ArrayBatch) -> NDArray[np.int64]:
        rounds = batch.columns.get(ROUND)
        if rounds is None:
            if self._round is None:
                raise ReportFileError(f"{self.path} does not say of which round its reports are; give the round")
            return np.full(len(batch.columns[REPORT]), self._round, dtype=np.int64)
        if rounds.size and not 1 <= rounds.min() <= rounds.max() <= LARGEST_ROUND:
            wrong = (rounds < 1) | (rounds > LARGEST_ROUND)
            raise OutOfRangeError(int(np.argmax(wrong)), f"a round must be between 1 and {LARGEST_ROUND}")
        if self._round is not None and (rounds != self._round).any():
            index = int(np.argmax(rounds != self._round))
            raise OutOfRangeError(index, "it is of another round than the one given")
        return rounds.astype(np.int64, copy=False)


def _by_round(rounds: NDArray[np.int64], reports: StoredReports, number: int, done: float) -> Iterator[Piece]:
    """Pieces of one round each. If rounds are in order, nothing is copied."""
    rows: Sequence[int] | NDArray[np.int64] = range(number, number + len(reports))
    found = runs(rounds)
    if any(later[0] < earlier[0] for earlier, later in itertools.pairwise(found)):
        order = np.argsort(rounds, kind="stable")
        rounds, reports, rows = rounds[order], reports[order], number + order
        found = runs(rounds)
    for round, start, end in found:
        yield Piece(round, reports[start:end], rows[start:end], done)


def read_reports(
    path: Source,
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    assume_round: int | None = None,
) -> ReportFile:
    """Open a file of reports: Parquet, Arrow (file or stream), CSV (also with gzip), .npz or .npy, by its content.

    Files written here say how their reports were made. For others give the mechanism, and the round if they have no
    column for it. What is given must not contradict the file. In place of a file, anything does that gives Arrow
    data, such as a DuckDB query, or a Polars or pandas data frame.
    """
    table = _report_table(path)
    path = table.file.path
    try:
        header = None if table.header is None else Header.read(table.header)
        if header is None and table.footer is not None:
            raise ReportFileError("the description of its mechanism is missing, so the file is damaged")
        made = agreed("mechanism", header and header.mechanism, mechanism)
        meant = agreed("encoding", header and header.encoding, encoding)
    except ReportFileError as error:
        raise ReportFileError(f"{path}: {error}") from None
    if made is None:
        raise ReportFileError(f"{path} does not say which mechanism made its reports; give the mechanism")
    number = None if assume_round is None else round_number(assume_round)
    return ReportFile(table, made, meant, number, None if header is None else header.turns)


def _report_table(source: Source) -> Table:
    """The file as a table that has a column of reports."""
    table = open_source(source, ReportFileError)
    file = table.file
    if REPORT in table.columns:
        return table
    if {"campaign", SUMS} <= set(table.columns):
        raise file.error(
            f"{file.path} has the sums of a closed round, not reports; `untrackable estimate` and "
            "Mechanism.restore_sums take them"
        )
    there = column_words(table.columns, shown=table.names_may_be_shown)
    raise file.error(f"{file.path} has no column {REPORT!r}: {there}")
