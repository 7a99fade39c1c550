"""Reading files of reports, piece by piece, whatever their format; what is wrong has a place."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from untrackable.encodings.encoding import Encoding
from untrackable.errors import ReportFileError
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.observed_rounds import LARGEST_ROUND, round_number
from untrackable.reports.file_format import Batch, Source
from untrackable.reports.file_type import kind_of
from untrackable.reports.header import Footer, Header, agreed
from untrackable.reports.storage_layout import Misfit, StorageLayout, Stored, runs


class Piece(NamedTuple):
    """Reports of one round, the numbers of their rows (or lines), and how much of the file has been read, of 1."""

    round: int
    reports: Stored
    rows: Sequence[int] | NDArray[np.int64]
    done: float


class ReportFile:
    """A file of reports: how they were made, and the reports themselves, streamed."""

    def __init__(
        self, path: Path, source: Source, mechanism: Mechanism, encoding: Encoding | None, round: int | None
    ) -> None:
        self.path = path
        self.mechanism = mechanism
        self.encoding = encoding
        self.unit = source.unit
        self.sealed = source.header is not None
        """Whether it carries a count and a checksum, so that any damage is noticed."""
        self._source, self._round = source, round

    def __repr__(self) -> str:
        return f"<reports of {self.mechanism!r} in {self.path}>"

    def pieces(self) -> Iterator[Piece]:
        """All reports, up to about a million at a time; only when it ends without an error was all as it should be.

        The checksum is of the whole file: an error may come after the last piece.
        """
        layout, number = StorageLayout(self.mechanism.report_bits), self._source.first
        seal = Footer(self._source.header or "")
        for batch in self._source.batches(layout):
            try:
                reports, rounds = layout.checked(batch.reports), self._rounds(batch)
            except Misfit as misfit:
                raise self.refused(number + misfit.place, misfit) from None
            if self.sealed:
                seal.add(rounds, reports)
            yield from _by_round(rounds, reports, number, batch.done)
            number += len(reports)
        if self.sealed:
            try:
                seal.confirm(self._source.seal)
            except ReportFileError as error:
                read = f"read up to {self.unit} {number - 1}"
                raise ReportFileError(f"{self.path} is damaged or truncated ({read}): {error}") from None

    def refused(self, row: int, why: object) -> ReportFileError:
        """A report that is not one of this mechanism's."""
        return ReportFileError(f"{self.path}, {self.unit} {row}: {why}")

    def _rounds(self, batch: Batch) -> NDArray[np.int64]:
        if batch.rounds is None:
            if self._round is None:
                raise ReportFileError(f"{self.path} does not say of which round its reports are; give the round")
            return np.full(len(batch.reports), self._round, dtype=np.int64)
        if batch.rounds.size and not 1 <= batch.rounds.min() <= batch.rounds.max() <= LARGEST_ROUND:
            wrong = (batch.rounds < 1) | (batch.rounds > LARGEST_ROUND)
            raise Misfit(int(np.argmax(wrong)), f"a round must be between 1 and {LARGEST_ROUND}")
        if self._round is not None and (batch.rounds != self._round).any():
            raise Misfit(int(np.argmax(batch.rounds != self._round)), "it is of another round than the one given")
        return batch.rounds.astype(np.int64, copy=False)


def _by_round(rounds: NDArray[np.int64], reports: Stored, number: int, done: float) -> Iterator[Piece]:
    """Pieces of one round each; of rounds that are in order, without copying."""
    rows: Sequence[int] | NDArray[np.int64] = range(number, number + len(reports))
    found = runs(rounds)
    if any(later[0] < earlier[0] for earlier, later in itertools.pairwise(found)):
        order = np.argsort(rounds, kind="stable")
        rounds, reports, rows = rounds[order], reports[order], number + order
        found = runs(rounds)
    for round, start, end in found:
        yield Piece(round, reports[start:end], rows[start:end], done)


def read_reports(
    path: str | Path,
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    assume_round: int | None = None,
) -> ReportFile:
    """A file of reports: Parquet, Arrow (file or stream), CSV (also with gzip), .npz or .npy, told by its content.

    Files written here say how their reports were made; of others the mechanism must be given, and the round if they
    have no column for it. What is given must not contradict the file.
    """
    path = Path(path)
    source = _opened(path)
    try:
        header = None if source.header is None else Header.read(source.header)
        if header is None and source.seal is not None:
            raise ReportFileError("the description of its mechanism is missing, so the file is damaged")
        made = agreed("mechanism", header and header.mechanism, mechanism)
        meant = agreed("encoding", header and header.encoding, encoding)
    except ReportFileError as error:
        raise ReportFileError(f"{path}: {error}") from None
    if made is None:
        raise ReportFileError(f"{path} does not say which mechanism made its reports; give the mechanism")
    return ReportFile(path, source, made, meant, None if assume_round is None else round_number(assume_round))


def _opened(path: Path) -> Source:
    try:
        kind = kind_of(path)
    except OSError as error:
        raise ReportFileError(f"cannot read {path}: {error.strerror}") from None
    if kind == "empty":
        raise ReportFileError(f"{path} is empty (0 bytes)")
    if kind == "unknown":
        raise ReportFileError(
            f"{path} is neither Parquet, Arrow, CSV nor NumPy: its first bytes are of none of them"
        )
    if kind == "parquet":
        from untrackable.reports.parquet_format import Parquet

        return Parquet(path)
    if kind in ("arrow", "stream"):
        from untrackable.reports.arrow_format import Arrow

        return Arrow(path, stream=kind == "stream")
    if kind in ("npz", "npy"):
        from untrackable.reports.numpy_format import Archive, Plain

        return Archive(path) if kind == "npz" else Plain(path)
    from untrackable.reports.csv_format import Text

    return Text(path, compressed=kind == "gzip")
