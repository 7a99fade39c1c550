"""The sums of a closed round in a Parquet file: one row, with how its reports were made and a checksum."""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from untrackable.encodings.encoding import Encoding
from untrackable.errors import ReportFileError, SumsError
from untrackable.estimation.aggregators import Aggregator
from untrackable.extras import extra
from untrackable.mechanisms.interface import Mechanism, round_number
from untrackable.reports.arrow import FAILURES, metadata_text
from untrackable.reports.files import (
    FOOTER_KEY,
    HEADER_KEY,
    REPORT,
    ROUND,
    SUMS,
    Header,
    SourceFile,
    agreed,
    whole_file,
)
from untrackable.reports.reader import type_of
from untrackable.theory.turns import Turns

with extra("files"):
    import pyarrow as pa
    import pyarrow.parquet as pq

_ROW = {"campaign": pa.string(), ROUND: pa.int64(), "reports": pa.int64(), SUMS: pa.large_binary()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SumsFile:
    """Sums of one round of a campaign, and how their reports were made; with `has_footer`, damage is noticed."""

    path: Path
    mechanism: Mechanism
    encoding: Encoding | None
    turns: Turns | None
    campaign: str
    round: int
    reports: int
    has_footer: bool

    def sums(self) -> Aggregator:
        """The sums, after a check that the file is as it was written."""
        row, metadata = _read(self.path, list(_ROW))
        header = metadata_text(metadata, HEADER_KEY)
        if header is not None and metadata_text(metadata, FOOTER_KEY) != _footer(header, row):
            raise _source(self.path).damaged("or was changed", "its checksum does not match")
        try:
            sums = self.mechanism.restore_sums(row[SUMS], self.round)
        except (SumsError, ValueError) as error:
            raise ReportFileError(f"{self.path}: {error}") from None
        if sums.n != self.reports:
            raise ReportFileError(f"{self.path}: its sums are of {sums.n} reports where it says {self.reports}")
        return sums


def write_sums(
    path: Path, header: Header, *, campaign: str, round: int, reports: int, sums: bytes, mode: int = 0o666
) -> None:
    """Write a file that takes its name when it is complete; `Mechanism.restore_sums` reads its sums."""
    row = {"campaign": campaign, ROUND: round, "reports": reports, SUMS: sums}
    said = {HEADER_KEY: header.text(), FOOTER_KEY: _footer(header.text(), row)}
    table = pa.table({name: [row[name]] for name in _ROW}, schema=pa.schema(_ROW, metadata=said))
    try:
        with whole_file(path, mode=mode) as file:
            pq.write_table(table, file, write_page_checksum=True, compression="none")
    except OSError as error:
        raise ReportFileError(f"cannot write {path}: {error.strerror or error}") from None


def has_sums(path: Path) -> bool:
    """Whether a file is one of sums. For one that cannot be read, reading it as reports says what is wrong."""
    try:
        names = pq.read_schema(path).names if type_of(path) == "parquet" else []
    except FAILURES:
        return False
    return SUMS in names and REPORT not in names


def read_sums(
    path: Path,
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    assume_round: int | None = None,
) -> SumsFile:
    """A file of sums. What is given must not contradict it; give the mechanism if the file does not name it."""
    row, metadata = _read(path, [name for name in _ROW if name != SUMS])
    try:
        header = metadata_text(metadata, HEADER_KEY)
        known = None if header is None else Header.read(header)
        made = agreed("mechanism", known and known.mechanism, mechanism)
        meant = agreed("encoding", known and known.encoding, encoding)
        number = round_number(row[ROUND])
    except (ReportFileError, ValueError) as error:
        raise ReportFileError(f"{path}: {error}") from None
    if made is None:
        raise ReportFileError(f"{path} does not say which mechanism made its reports; give the mechanism")
    if assume_round is not None and assume_round != number:
        raise ReportFileError(f"{path} is of round {number}, not of the one given, {assume_round}")
    return SumsFile(
        path=path,
        mechanism=made,
        encoding=meant,
        turns=None if known is None else known.turns,
        campaign=row["campaign"],
        round=number,
        reports=row["reports"],
        has_footer=header is not None,
    )


def _read(path: Path, names: list[str]) -> tuple[dict[str, Any], dict[bytes, bytes]]:
    """The one row, and the metadata."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            one_row = file.metadata.num_rows == 1  # More rows may not fit into memory.
            table, metadata = file.read(columns=names if one_row else []), file.metadata.metadata or {}
        if set(table.column_names) != set(names):
            raise ReportFileError(f"{path} must have one row of {', '.join(_ROW)} to be the sums of a round")
        (row,) = table.select(names).cast(pa.schema([(name, _ROW[name]) for name in names])).to_pylist()
    except FAILURES as error:
        raise _source(path).damaged_somewhere(error) from None
    del table
    pa.default_memory_pool().release_unused()  # It holds three times the sums, which may be half a gigabyte.
    if missing := [name for name in names if row[name] is None]:
        raise ReportFileError(f"{path} lacks {', '.join(missing)}")
    return row, metadata


def _source(path: Path) -> SourceFile:
    return SourceFile(path, ReportFileError)


def _footer(header: str, row: dict[str, Any]) -> str:
    """A checksum of header and row."""
    text = "\n".join((header, *(str(row[name]) for name in _ROW if name != SUMS)))
    return f"crc32={zlib.crc32(row[SUMS], zlib.crc32(text.encode())):08x}"
