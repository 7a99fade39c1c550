"""Adds up reports on a Spark cluster, and audits recorded reports there.

The sums are the same integers as on one machine, and so are the estimates. Each task adds up the reports that it
reads, with the same code as one machine does. Its sums are cut into pieces of a megabyte or less, and each piece is
added to those of other tasks at one place. So no executor holds more than the sums of its own reports.
"""

import dataclasses
import heapq
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from untrackable import checks
from untrackable.answers.answer import Question
from untrackable.auditing.black_box import FEWEST_PEOPLE
from untrackable.auditing.file_audit import FileAudit, audit_file, rank
from untrackable.auditing.recordings import NO_WINDOW, as_bytes, find_columns, has_two_values, open_recorded
from untrackable.encodings.encoding import Encoding
from untrackable.errors import AuditError, ReportFileError, UntrackableError
from untrackable.extras import extra
from untrackable.mechanisms.interface import Mechanism
from untrackable.progress import Progress, no_progress
from untrackable.reports.arrow import StreamTable
from untrackable.reports.files import (
    FOOTER_KEY,
    HEADER_KEY,
    REPORT,
    ROUND,
    Header,
    Source,
    agreed,
    column_words,
    sealed_count,
)
from untrackable.reports.reader import ReportFile
from untrackable.reports.sums import Ask, Feeds, FileSums, ReadFile, add_file, feeds_of, own_rounds

with extra("files"):
    import pyarrow as pa
with extra("spark"):
    from py4j.protocol import Py4JJavaError
    from pyspark import TaskContext
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession, functions
    from pyspark.sql.types import DecimalType, StructField, StructType


_ROWS = 1 << 18
"""The number of reports that a task reads at a time."""
_SHOWN_EVERY = 1.0
"""Progress is shown at these intervals, in seconds."""
_FILE, _ROW = "file of the report", "row of the report"
_VERIFIED = "parquet.page.verify-checksum.enabled"


class SparkEngine:
    """Adds up reports in a Spark session: `estimate_files(paths, add_up=SparkEngine(session))`.

    Reports are in Parquet files on any file system that Spark reads, or in one data frame with the columns `round`
    and `report`. Raw reports of several collectors may have a column `nonce`: with its name given here, reports
    with the same nonce count once, and two different reports with one nonce are an error.
    """

    def __init__(self, session: SparkSession, *, nonce: str | None = None) -> None:
        self._session, self._nonce = session, nonce

    def made(
        self, paths: Sequence[Source], mechanism: Mechanism | None = None, encoding: Encoding | None = None
    ) -> tuple[Mechanism, Encoding | None]:
        """How the reports in these files were made, by what is given and by what all files say."""
        return _Reports(self._session, paths, self._nonce).agreed(mechanism, encoding)

    def __call__(
        self,
        paths: Sequence[Source],
        *,
        mechanism: Mechanism | None = None,
        encoding: Encoding | None = None,
        assume_round: int | None = None,
        rounds: Sequence[int] | None = None,
        ask: Ask | None = None,
        together: bool = False,
        progress: Progress = no_progress,
    ) -> FileSums:
        """The sums of all reports, as `sum_files` gives them."""
        given = _Reports(self._session, paths, self._nonce)
        made, meant = given.agreed(mechanism, encoding)
        question = None if ask is None else ask(made, meant, given.turns)
        chosen = None if rounds is None else frozenset(rounds)
        with _failures(given.name), _arrow_batches(self._session), _shown_progress(self._session, progress):
            frame = given.frame(assume_round)
            seen: frozenset[int] = frozenset()
            if not own_rounds(made):
                seen = frozenset(int(row[0]) for row in frame.select(ROUND).distinct().collect())
            task = _Task(made, meant, question, together, feeds_of(made, seen, chosen))
            result = FileSums(made, meant, question, together, given.turns)
            count = _collect(result, frame, task)
            if count is None:
                raise given.located(assume_round, task)
        given.confirm(count)
        result.files.append(ReadFile(path=Path(given.name), reports=count, checked=given.sealed is not None))
        return result


class _Reports:
    """Where the reports are, and what their files say about them."""

    def __init__(self, session: SparkSession, paths: Sequence[Source], nonce: str | None) -> None:
        self._nonce = nonce
        self.headers: set[str] = set()
        self.turns: Any = None
        """The rounds in which each person answered once, when the files have been asked."""
        self.sealed: int | None = None
        """The number of reports that the files say they hold, if all of them say so."""
        frames = [path for path in paths if isinstance(path, DataFrame)]
        files = [fspath(path) for path in paths if isinstance(path, (str, PathLike))]
        if len(frames) + len(files) != len(paths) or (frames and len(paths) > 1) or not paths:
            raise TypeError("Spark takes Parquet files, or one Spark data frame")
        if len(set(files)) < len(files):
            raise ReportFileError("a file is given twice: its reports would count twice")
        self.name = "<DataFrame>" if frames else ", ".join(files)
        self._from_files = bool(files)
        with _failures(self.name):
            self._frame = frames[0] if frames else session.read.option(_VERIFIED, "true").parquet(*files)
            if files:
                self._read_headers(session)
        missing = [name for name in (REPORT, nonce) if name is not None and name not in self._frame.columns]
        if missing:
            there = column_words(self._frame.columns, shown=True)
            raise ReportFileError(f"{self.name} has no column {missing[0]!r}: {there}")

    def _read_headers(self, session: SparkSession) -> None:
        """What the files themselves say, through Spark's own file systems."""
        jvm, counts = session._jvm, []
        hadoop = session._jsc.hadoopConfiguration()
        for file in self._frame.inputFiles():
            path = jvm.org.apache.hadoop.fs.Path(file)  # type: ignore[union-attr]
            opened = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, hadoop)  # type: ignore[union-attr]
            reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(opened)  # type: ignore[union-attr]
            try:
                said = reader.getFileMetaData().getKeyValueMetaData()
                header, footer = said.get(HEADER_KEY), said.get(FOOTER_KEY)
            finally:
                reader.close()
            if header is None and footer is not None:
                raise ReportFileError(
                    f"{_shown(file)}: the description of its mechanism is missing, so it is damaged"
                )
            if header is not None:
                self.headers.add(header)
            try:
                counts.append(None if header is None else sealed_count(footer))
            except ReportFileError as error:
                raise ReportFileError(f"{_shown(file)} is damaged or truncated: {error}") from None
        self.sealed = sum(counts) if counts and None not in counts else None  # type: ignore[arg-type]

    def agreed(self, mechanism: Mechanism | None, encoding: Encoding | None) -> tuple[Mechanism, Encoding | None]:
        """How the reports were made, by what is given and by what all files say."""
        for text in sorted(self.headers):
            header = Header.read(text)
            mechanism = agreed("mechanism", header.mechanism, mechanism)
            encoding = agreed("encoding", header.encoding, encoding)
            self.turns = agreed("turns", header.turns, self.turns)
        if mechanism is None:
            raise ReportFileError(f"{self.name} does not say which mechanism made its reports; give the mechanism")
        return mechanism, encoding

    def frame(self, assume_round: int | None, *, located: bool = False) -> DataFrame:
        """A data frame of rounds and reports; with `located`, also of the file and the row of each."""
        frame = self._frame
        if located:
            frame = frame.select(
                "*",
                functions.col("_metadata.file_path").alias(_FILE),
                functions.col("_metadata.row_index").alias(_ROW),
            )
        if ROUND not in frame.columns:
            if assume_round is None:
                raise ReportFileError(f"{self.name} does not say of which round its reports are; give the round")
            frame = frame.withColumn(ROUND, functions.lit(assume_round).cast("long"))
        elif assume_round is not None and frame.filter(functions.col(ROUND) != assume_round).limit(1).count():
            raise ReportFileError(f"{self.name} has reports of another round than the one given")
        if self._nonce is not None and not located:
            frame = _once(frame, self._nonce, self.name)
        return frame.select(ROUND, REPORT, *((_FILE, _ROW) if located else ()))

    def located(self, assume_round: int | None, task: "_Task") -> ReportFileError:
        """The error about a report that cannot be counted, with its file and row."""
        if not self._from_files:
            return ReportFileError(f"{self.name}: {_first_problem(self.frame(assume_round), task)}")
        return ReportFileError(_first_problem(self.frame(assume_round, located=True), task))

    def confirm(self, count: int) -> None:
        """Check that as many reports were read as the files say."""
        if self.sealed not in (None, count) and self._nonce is None:
            raise ReportFileError(
                f"{self.name} is damaged or truncated: {count} reports were read where {self.sealed} should be"
            )


@dataclass(frozen=True, slots=True)
class _Task:
    """What every task does with the reports that it reads. It is sent to the executors."""

    mechanism: Mechanism
    encoding: Encoding | None
    question: Question | None
    together: bool
    feeds: Feeds

    def sums(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The sums of these reports in pieces, or what is wrong with them."""
        result = FileSums(self.mechanism, self.encoding, self.question, self.together)
        first = next(batches, None)
        if first is None:
            return
        table = _BatchTable(first, batches)
        try:
            file = ReportFile(table, self.mechanism, self.encoding, None)
            read = add_file(result, file, self.feeds, lambda done: None)
        except (ReportFileError, ValueError) as error:
            yield _piece_row(0, PROBLEM, 0, b"", str(error).encode())
            return
        yield _piece_row(0, SEEN, 0, b"", np.array([read]).tobytes())
        for number in sorted(result.rounds):
            yield _piece_row(number, SEEN, 0, b"", b"")
        for number, sums in result.sums.items():
            for name, addend in sums.addends().items():
                yield from pieces_of(0 if self.together else number, name, addend)


class _BatchTable(StreamTable):
    """The reports of one task as a table. Errors name the file and row of a report where the batch has them."""

    def __init__(self, first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> None:
        self._last, self._before = first, 0
        source = pa.RecordBatchReader.from_batches(first.schema, self._all(first, others))
        super().__init__(source, ReportFileError, self._place)

    def _all(self, first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield first
        for batch in others:
            self._before += self._last.num_rows
            self._last = batch
            yield batch

    def _place(self, number: int) -> str:
        """Where a row of the last batch comes from."""
        if _FILE not in self._last.schema.names:
            return f"row {number} of partition {TaskContext.get().partitionId()}"  # type: ignore[union-attr]
        file, row = (self._last.column(name)[number - 1 - self._before].as_py() for name in (_FILE, _ROW))
        return f"{_shown(file)}, row {row + 1}"


def _first_problem(frame: DataFrame, task: _Task) -> str:
    """What is wrong with the first report that cannot be counted."""
    problems = frame.mapInArrow(task.sums, _PIECES).filter(functions.col("name") == PROBLEM).collect()
    said = [bytes(row.numbers).decode() for row in problems]
    return min(said, key=lambda text: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)])


def _once(frame: DataFrame, nonce: str, name: str) -> DataFrame:
    """Each report once, although several collectors may have it."""
    report = functions.col(REPORT)
    distinct = frame.groupBy(ROUND, nonce).agg(
        functions.min(report).alias(REPORT), functions.max(report).alias("other")
    )
    if distinct.filter(functions.col(REPORT) != functions.col("other")).limit(1).count():
        raise ReportFileError(f"{name} has two different reports with one nonce; nothing was estimated")
    return distinct


@contextmanager
def _arrow_batches(session: SparkSession) -> Iterator[None]:
    """Read many reports at a time, so that calls cost little, and leave the session as it was."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = session.conf.get(name) or str(_ROWS)
    session.conf.set(name, _ROWS)
    try:
        yield
    finally:
        session.conf.set(name, before)


@contextmanager
def _shown_progress(session: SparkSession, progress: Progress) -> Iterator[None]:
    """Show every second which share of the known tasks is done."""
    if progress is no_progress:
        yield
        return
    ended, tracker = threading.Event(), session.sparkContext.statusTracker()

    def show() -> None:
        while not ended.wait(_SHOWN_EVERY):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            total = sum(stage.numTasks for stage in stages if stage)
            done = sum(stage.numCompletedTasks for stage in stages if stage)
            progress("adding up on the cluster", done / total if total else None)

    progress("adding up on the cluster", None)
    shown = threading.Thread(target=show, daemon=True)
    shown.start()
    try:
        yield
    finally:
        ended.set()
        shown.join()


@contextmanager
def _failures(name: str, kind: type[UntrackableError] = ReportFileError) -> Iterator[None]:
    """Turn a failure of Spark into one sentence about the file."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        text = str(getattr(error, "java_exception", error))
        lines = [line.strip() for line in text.splitlines() if line.strip() and "SQLSTATE" not in line[:12]]
        if "Traceback" in text:
            own = [line for line in lines if not line.startswith(("at ", "JVM", "File "))]
            raise kind(f"{name}: a task failed on the cluster: {own[-1][:300]}") from None
        file = re.search(r"\b(?:file|hdfs|s3a?|gs|abfss?):/[^\s,;]*[^\s,;.]", text)
        raise kind(f"{_shown(file[0]) if file else name} cannot be read: {lines[0][:300]}") from None


def _shown(file: str) -> str:
    """A file's address as people write it: a path if it is on this machine."""
    parts = urlsplit(file)
    return unquote(parts.path) if parts.scheme == "file" else file


def _collect(result: FileSums, frame: DataFrame, task: _Task) -> int | None:
    """Add up all reports. Returns their number, or None if one of them cannot be counted."""
    pieces = frame.mapInArrow(task.sums, _PIECES)
    added = pieces.repartition(ROUND, "name", "start").mapInArrow(added_pieces, _PIECES)
    count, rows, failed = 0, [], False
    for row in added.toLocalIterator():
        if row.name == PROBLEM:
            failed = True
        elif row.name == SEEN and row.round:
            result.put(row.round, result.mechanism.aggregator(row.round))
        elif row.name == SEEN:
            count = int(np.frombuffer(row.numbers, dtype=np.int64)[0])
        elif result.rounds and (result.together or row.round in result.rounds):
            _increase(result, row)
        else:
            rows.append(row)
    for row in rows:
        _increase(result, row)
    return None if failed else count


def _increase(result: FileSums, row: Any) -> None:
    sums = result.of_round(row.round)
    sums.increase(row.name, row.start, piece_numbers(row.places, row.numbers))


# --- sums in pieces: how they travel between the tasks of a cluster, and are added up on the way ----------

_PIECES = "round long, name string, start long, places binary, numbers binary"
"""The columns of pieces, as Spark writes them."""
SEEN, PROBLEM = "a round", "a problem"
"""Names of rows that are no sums: a round of which there are reports, and what is wrong with them."""
LARGEST = 1 << 17
"""The largest number of integers in a piece: 1 MiB."""
_NOTHING: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


def pieces_of(round: int, name: str, addend: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """The pieces of an addend, without those that are all 0."""
    for start in range(0, addend.size, LARGEST):
        piece = _piece(addend[start : start + LARGEST])
        if piece is not None:
            yield _piece_row(round, name, start, *piece)


def added_pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The pieces of several tasks, added up. Each piece is whole in one of these calls."""
    sums: dict[tuple[int, str, int], NDArray[np.int64]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            key = (row["round"], row["name"], row["start"])
            if row["name"] == PROBLEM:
                yield _piece_row(*key, b"", row["numbers"])
                continue
            more, held = piece_numbers(row["places"], row["numbers"]), sums.get(key, _NOTHING)
            longer, shorter = (more.copy(), held) if more.size > held.size else (held, more)
            longer[: shorter.size] += shorter
            sums[key] = longer
    for key, numbers in sums.items():
        yield _piece_row(*key, *(_piece(numbers) or (b"", b"")))


def piece_numbers(places: bytes, numbers: bytes) -> NDArray[np.int64]:
    """The integers of a piece; those after the last that is not 0 may be missing."""
    values = np.frombuffer(numbers, dtype="<i8")
    if not places:
        return values
    where = np.frombuffer(places, dtype="<u4")
    whole = np.zeros(int(where[-1]) + 1, dtype=np.int64)
    whole[where] = values
    return whole


def _piece(numbers: NDArray[np.int64]) -> tuple[bytes, bytes] | None:
    """Integers as bytes: all of them, or the places and values of those that are not 0; None if all are."""
    places = np.flatnonzero(numbers)
    if not places.size:
        return None
    if 12 * places.size < 8 * numbers.size:
        return places.astype("<u4").tobytes(), numbers[places].astype("<i8").tobytes()
    return b"", numbers.astype("<i8").tobytes()


def _piece_row(round: int, name: str, start: int, places: bytes, numbers: bytes) -> pa.RecordBatch:
    """A piece as a row: the round, the name of the addend, where the piece starts in it, and its integers.

    If few of them are not 0, only these are sent, with their places.
    """
    columns = {"round": [round], "name": [name], "start": [start], "places": [places], "numbers": [numbers]}
    return pa.RecordBatch.from_pydict(columns)


# --- an audit of recorded reports that one machine does not read in reasonable time -----------------------

_RANK = "untrackable_rank"


def audit_on_spark(
    session: SparkSession,
    paths: Sequence[str | PathLike[str]] | DataFrame,
    *,
    pseudonym: str | None = None,
    window: str | None = None,
    report: str | None = None,
    round: str | None = None,
    windows: tuple[str, str] | None = None,
    people: int = 10_000,
    seed: int = 0,
    **options: Any,
) -> FileAudit:
    """Measure how well the people in Parquet files or in a data frame can be followed; see `audit_file`.

    Malformed rows, those in other windows, and rounds are counted for the people in the sample. If a named column
    of windows has more than two values, the rows of these people decide which values are compared with which.
    """
    people = checks.integer("people", people, low=FEWEST_PEOPLE)
    files = [] if isinstance(paths, DataFrame) else [fspath(path) for path in paths]
    name = ", ".join(files) or "<DataFrame>"
    with _failures(name, AuditError):
        frame = paths if isinstance(paths, DataFrame) else session.read.parquet(*files)

        def two_values(column: str) -> bool:
            return has_two_values((row[0] for row in frame.select(column).distinct().toLocalIterator()), column)

        empty = open_recorded(frame.limit(0).toArrow())
        columns = find_columns(empty, pseudonym, window, report, round, windows, two_values)
        frame = frame.select(*dict.fromkeys(columns.present))
        who = functions.col(columns.pseudonym)
        distinct = frame.select(who).where(who.isNotNull()).distinct()
        kept = StructType([*distinct.schema.fields, StructField(_RANK, DecimalType(20))])
        ranked = distinct.mapInArrow(_Smallest(people, seed), kept).orderBy(_RANK).limit(people)
        chosen = ranked.select(columns.pseudonym)
        rows = frame.join(functions.broadcast(chosen), columns.pseudonym, "left_semi").toArrow()
        count, everybody = frame.count(), distinct.count()
    named: dict[str, Any] = {"pseudonym": columns.pseudonym, "report": columns.report, "round": columns.round}
    named["window"] = columns.window or NO_WINDOW
    audited = audit_file(rows, windows=windows, people=people, seed=seed, **named, **options)
    return dataclasses.replace(audited, path=name, rows=count, sampled=everybody > people, columns=columns)


@dataclass(frozen=True, slots=True)
class _Smallest:
    """The pseudonyms of one task with the smallest keyed digests. It is sent to the executors."""

    people: int
    seed: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ranked = ((rank(as_bytes(who), self.seed), who) for b in batches for who in b.column(0).to_pylist())
        smallest = heapq.nsmallest(self.people, ranked, key=lambda pair: pair[0])
        if smallest:
            numbers = pa.array([number for number, _ in smallest], pa.decimal128(20, 0))
            yield pa.RecordBatch.from_arrays([pa.array([who for _, who in smallest]), numbers], ["who", _RANK])
