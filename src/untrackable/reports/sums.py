"""From files of reports to sums, in which each report counts once, and from sums to answers.

An error says which report cannot be counted. Answers are the frequencies of values, or the strings that many people
hold.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from untrackable import checks
from untrackable.answers.answer import Answer, Question, answer
from untrackable.discovery.discovery import BEAM, Discovered, discover, search_share
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.strings import DiscoveredStrings
from untrackable.errors import EncodingError, ReportFileError, SumsError
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.estimate import share_heard
from untrackable.kernels.engine import Engine, running_on
from untrackable.mechanisms.interface import Mechanism, round_number
from untrackable.progress import Progress, no_progress
from untrackable.reports.files import (
    FOOTER_KEY,
    HEADER_KEY,
    REPORT,
    ROUND,
    SUMS,
    Header,
    Source,
    SourceFile,
    StorageLayout,
    StoredReports,
    agreed,
    arrow,
    declared,
    metadata_text,
    whole_file,
)
from untrackable.reports.reader import Piece, ReportFile, read_reports, type_of
from untrackable.theory.turns import Turns

Ask = Callable[[Mechanism, Encoding | None, Turns | None], Question]
"""A function that makes the question from what files say: mechanism, encoding and turns."""
Feeds = Callable[[int], Sequence[int]]
"""A function that says to the sums of which rounds the reports of a round belong."""
MOST_SUMS = 1 << 24
"""The most integers that the sums of several rounds may hold: 128 MiB, and as much again for estimates."""
_FIRST_LOOK = 0.4
"""The share of the time for a first look at the rounds of the reports, if these have to be known."""


# --- sums -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A file that was read to its end; `checked` if it has a checksum of all of it, which was right."""

    path: Path
    reports: int
    checked: bool


@dataclass(slots=True)
class FileSums:
    """Sums by round of reports that the same mechanism made, and the files that they were in.

    If rounds are added `together`, the reports of all `rounds` are in the sums of the first.
    """

    mechanism: Mechanism
    encoding: Encoding | None
    question: Question | None = None
    together: bool = False
    turns: Turns | None = None
    sums: dict[int, Aggregator] = field(default_factory=dict)
    files: list[ReadFile] = field(default_factory=list)
    rounds: set[int] = field(default_factory=set)

    @property
    def reports(self) -> int:
        """The number of reports in the files, whether or not their round was selected."""
        return sum(file.reports for file in self.files)

    def of_round(self, number: int) -> Aggregator:
        """The sums that take the reports of a round for which there are some, maybe empty ones."""
        return next(iter(self.sums.values())) if self.together else self.sums[number]

    def put(self, number: int, sums: Aggregator) -> None:
        """Add the sums of a round, which may be empty."""
        ready = sums if self.question is None else self.question.prepare(sums)
        self.rounds.add(number)
        if not self.sums or (number not in self.sums and not self.together):
            self.sums[number] = ready
            count, entries = len(self.sums), sum(sums.entries for sums in self.sums.values())
            if count > 1 and entries > MOST_SUMS:
                raise ReportFileError(
                    f"the sums of {count} rounds would have more than {MOST_SUMS} entries; ask for fewer rounds"
                )
            return
        if ready.scope != self.of_round(number).scope:
            raise ValueError("rounds of this mechanism do not pool: choose one of them")
        self.of_round(number).merge(ready)


SumFiles = Callable[..., FileSums]
"""A function that adds up reports. It takes what `sum_files` takes."""


def sum_files(
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
    """The sums of all reports in these files, of all rounds or of the given ones, by round or `together`.

    Other arguments are those of `read_reports`. Files may also hold the sums of a closed round, as a collector
    exports them. Anything that gives Arrow data may take the place of a file. `ask` makes the question from what
    the files say about all of them; then only sums that answer it are made, and no reports are kept.
    """
    if not paths:
        raise ValueError("paths must be at least one file")
    _check_distinct(paths)
    files: list[ReportFile] = []
    totals: list[SumsFile] = []
    turns: Turns | None = None
    for path in paths:
        file = open_file(path, mechanism, encoding, assume_round)
        try:
            turns = agreed("turns", file.turns, turns)
        except ReportFileError as error:
            raise ReportFileError(f"{file.path}: {error}") from None
        if isinstance(file, ReportFile):
            files.append(file)
        else:
            totals.append(file)
            if file.campaign != totals[0].campaign:
                raise ReportFileError(
                    f"{file.path} has sums of another campaign than {totals[0].path}: they do not add up"
                )
        made, encoding = file.mechanism, file.encoding or encoding
        mechanism = made
    result = FileSums(made, encoding, None if ask is None else ask(made, encoding, turns), together, turns)
    chosen = None if rounds is None else frozenset(rounds)
    progress("reading", 0.0)
    own, shares = own_rounds(made), list(_shares(files))
    first = 0.0 if own else _FIRST_LOOK

    def showing(start: float, length: float) -> Callable[[float], None]:
        return lambda done: progress("reading", start + length * done)

    looking = [showing(first * start, first * length) for start, length in shares]
    feeds = feeds_of(made, frozenset() if own else _rounds_seen(files, made, looking), chosen)
    for file, (start, length) in zip(files, shares, strict=True):
        show = showing(first + (1 - first) * start, (1 - first) * length)
        count = add_file(result, file, feeds, show)
        result.files.append(ReadFile(path=file.path, reports=count, checked=file.has_footer))
    for total in totals:
        if chosen is None or total.round in chosen:
            result.put(total.round, total.sums())
        result.files.append(ReadFile(path=total.path, reports=total.reports, checked=total.has_footer))
    given = [Path(path) for path in paths if isinstance(path, (str, PathLike))]
    result.files.sort(key=lambda file: given.index(file.path) if file.path in given else len(given))
    return result


def open_file(
    path: Source,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    assume_round: int | None = None,
) -> "ReportFile | SumsFile":
    """A file of reports, or of the sums of a closed round."""
    if isinstance(path, (str, PathLike)) and has_sums(Path(path)):
        return read_sums(Path(path), mechanism, encoding, assume_round)
    return read_reports(path, mechanism=mechanism, encoding=encoding, assume_round=assume_round)


def own_rounds(mechanism: Mechanism) -> bool:
    """Whether the reports of a round belong to its own sums alone, so that no other rounds need be known."""
    return type(mechanism).takes is Mechanism.takes


def feeds_of(mechanism: Mechanism, seen: frozenset[int], chosen: frozenset[int] | None) -> Feeds:
    """The rounds whose sums the reports of a round belong to, if reports of the rounds `seen` are there."""
    if own_rounds(mechanism):
        return lambda round: [round] if chosen is None or round in chosen else []
    feeds: dict[int, list[int]] = {}
    for number in sorted(seen if chosen is None else seen & chosen):
        for taken in mechanism.takes(number):
            feeds.setdefault(taken, []).append(number)
    return lambda round: feeds.get(round, [])


def add_file(result: FileSums, file: ReportFile, feeds: Feeds, show: Callable[[float], None]) -> int:
    """Add all reports of a file to the sums. Returns the number of its reports."""
    count = 0
    for piece in file.pieces():
        count += len(piece.reports)
        for number in feeds(piece.round):
            _add(result, file, piece, number)
        show(piece.done)
    return count


def _rounds_seen(
    files: list[ReportFile], mechanism: Mechanism, looking: Sequence[Callable[[float], None]]
) -> frozenset[int]:
    seen: set[int] = set()
    for file, show in zip(files, looking, strict=True):
        for piece in file.pieces():
            try:
                mechanism.takes(piece.round)
            except ValueError as error:
                raise file.refused(int(piece.rows[0]), error) from None
            seen.add(piece.round)
            show(piece.done)
    return frozenset(seen)


def _shares(files: list[ReportFile]) -> Iterator[tuple[float, float]]:
    """The start and the length of each file, if all files together have length 1."""
    sizes = np.array([file.size for file in files], dtype=np.float64)
    sizes /= max(1.0, sizes.sum())
    return zip(np.cumsum(sizes) - sizes, sizes, strict=True)


def _check_distinct(paths: Sequence[Source]) -> None:
    """Refuse a file that is given twice, as its reports would count twice."""
    seen: set[Path | int] = set()
    for source in paths:
        place = Path(source).resolve() if isinstance(source, (str, PathLike)) else id(source)
        if place in seen:
            name = source if isinstance(source, (str, PathLike)) else f"<{type(source).__name__}>"
            raise ReportFileError(f"{name} is given twice: its reports would count twice")
        seen.add(place)


def _add(result: FileSums, file: ReportFile, piece: Piece, number: int) -> None:
    mechanism, layout = result.mechanism, StorageLayout(result.mechanism.report_bits)
    if number not in result.rounds:
        try:
            empty = mechanism.aggregator(number)
        except ValueError as error:
            raise file.refused(int(piece.rows[0]), error) from None
        result.put(number, empty)
    sums = result.of_round(number)
    try:
        sums.add(layout.for_sums(piece.reports, in_bytes=sums.in_bytes))
    except ValueError as error:
        place = _first_refused(mechanism, number, layout, piece.reports)
        raise file.refused(int(piece.rows[place]), error) from None


def _first_refused(mechanism: Mechanism, number: int, layout: StorageLayout, reports: StoredReports) -> int:
    """The first report that sums refuse, found by halving."""
    low, high = 0, len(reports)
    while high - low > 1:
        middle = (low + high) // 2
        sums = mechanism.aggregator(number)
        try:
            sums.add(layout.for_sums(reports[low:middle], in_bytes=sums.in_bytes))
            low = middle
        except ValueError:
            high = middle
    return low


# --- answers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FileAnswer(Answer):
    """The answer, and the files that the reports were in."""

    files: tuple[ReadFile, ...]

    @property
    def reports(self) -> int:
        """The number of reports that were read, whether or not their round was selected."""
        return sum(file.reports for file in self.files)


def estimate_files(
    paths: Sequence[Source] | Source,
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    assume_round: int | None = None,
    rounds: Sequence[int] | None = None,
    candidates: Sequence[Any] | None = None,
    table: str | None = None,
    beta: float = 0.05,
    turns: Turns | None = None,
    engine: Engine = "local",
    progress: Progress = no_progress,
    add_up: SumFiles = sum_files,
) -> FileAnswer:
    """Estimate frequencies from files of reports, of all rounds or of `rounds`. Each file is read to its end.

    Anything that gives Arrow data, such as a DuckDB query or a Polars data frame, may take the place of a file.
    `mechanism`, `encoding` and `assume_round` are for files that do not say them. `candidates` are what people may
    hold, as the encoding takes it: they are needed for hashed strings, and if there are too many values to
    estimate. Intervals fail with probability at most `beta`. With `turns`, by default what the files say, each
    person answered once: estimates of a round are of all who were active in it. The engine `cuda` compares reports
    with candidates, and transforms large tables, on a GPU. `add_up` adds up the reports: on this machine, or on a
    cluster (`untrackable.engines.spark`). The answer is the same. Of a question that asks for several tables,
    `table` names the one to estimate, by default the first.
    """
    beta = checks.open_probability("beta", beta)
    with running_on(engine):
        added = add_up(
            list(paths) if isinstance(paths, (list, tuple)) else [cast(Source, paths)],
            mechanism=mechanism,
            encoding=encoding,
            assume_round=assume_round,
            rounds=rounds,
            ask=lambda made, meant, said: Question(
                made, meant, candidates, turns=agreed("turns", said, turns), table=table
            ),
            progress=progress,
        )
        counted = {number: sums for number, sums in added.sums.items() if sums.n}
        if added.question is None or not counted:
            selected = "" if not added.reports else " in these rounds from which frequencies can be estimated"
            raise ReportFileError(
                f"{', '.join(str(file.path) for file in added.files)}: there are no reports{selected}"
            )
        progress("estimating", None)
        given = answer(added.question, counted, beta=beta)
    return FileAnswer(
        question=given.question,
        rounds=given.rounds,
        pooled=given.pooled,
        pooling=given.pooling,
        files=tuple(added.files),
    )


def discover_files(
    paths: Sequence[Source],
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    assume_round: int | None = None,
    rounds: Sequence[int] | None = None,
    alpha: float = 0.05,
    leads: int = 10,
    beam: int = BEAM,
    engine: Engine = "local",
    progress: Progress = no_progress,
    add_up: SumFiles = sum_files,
) -> Discovered:
    """Find the frequent strings of all reports in these files, of all rounds or of `rounds`.

    The other arguments are those of `estimate_files` and `discover`. If the reports of a client's rounds do not
    pool, as with stored reports, one round must be selected. The engine `cuda` searches on a GPU and finds
    the same.
    """
    with running_on(engine):
        added = add_up(
            paths,
            mechanism=mechanism,
            encoding=encoding,
            assume_round=assume_round,
            rounds=rounds,
            together=True,
            progress=progress,
        )
    if not isinstance(added.encoding, DiscoveredStrings):
        raise EncodingError(
            "these reports are not of strings to be discovered; `untrackable estimate` reads those of known values"
        )
    if not added.sums:
        raise ValueError("there are no reports of these rounds")
    strings = added.encoding

    def searching(passes: int, level: int, done: float) -> None:
        progress("searching", search_share(strings, beam, passes, level, done))

    (sums,) = added.sums.values()
    with running_on(engine):
        return discover(
            strings,
            sums,
            alpha=alpha,
            leads=leads,
            beam=beam,
            heard=share_heard(added.turns, len(added.rounds)),
            progress=searching,
        )


# --- the sums of a closed round in a Parquet file ----------------------------------------------------------

_ROW = {"campaign": "string", ROUND: "int64", "reports": "int64", SUMS: "large_binary"}
"""The columns of the one row, in the names of Arrow's types."""


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
            raise SourceFile(self.path, ReportFileError).damaged("or was changed", "its checksum does not match")
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
    pa = arrow()
    row = {"campaign": campaign, ROUND: round, "reports": reports, SUMS: sums}
    said = {HEADER_KEY: header.text(), FOOTER_KEY: _footer(header.text(), row)}
    table = pa.table({name: [row[name]] for name in _ROW}, schema=pa.schema(list(_ROW.items()), metadata=said))
    try:
        with whole_file(path, mode=mode) as file:
            pa.parquet.write_table(table, file, write_page_checksum=True, compression="none")
    except OSError as error:
        raise ReportFileError(f"cannot write {path}: {error.strerror or error}") from None


def has_sums(path: Path) -> bool:
    """Whether a file has sums. False if it cannot be read: `read_reports` then says why."""
    with suppress(OSError):
        if type_of(path) == "parquet":
            from untrackable.reports.arrow import FAILURES

            with suppress(*FAILURES):
                names = arrow().parquet.read_schema(path).names
                return SUMS in names and REPORT not in names
    return False


def read_sums(
    path: Path, mechanism: Mechanism | None, encoding: Encoding | None, assume_round: int | None
) -> SumsFile:
    """A file of sums. What is given must not contradict it; give the mechanism if the file does not name it."""
    row, metadata = _read(path, [name for name in _ROW if name != SUMS])
    header = metadata_text(metadata, HEADER_KEY)
    made, meant, turns = declared(path, header, mechanism, encoding)
    try:
        number = round_number(row[ROUND])
    except ValueError as error:
        raise ReportFileError(f"{path}: {error}") from None
    if assume_round is not None and assume_round != number:
        raise ReportFileError(f"{path} is of round {number}, not of the one given, {assume_round}")
    return SumsFile(
        path=path,
        mechanism=made,
        encoding=meant,
        turns=turns,
        campaign=row["campaign"],
        round=number,
        reports=row["reports"],
        has_footer=header is not None,
    )


def _read(path: Path, names: list[str]) -> tuple[dict[str, Any], dict[bytes, bytes]]:
    """The one row, and the metadata."""
    from untrackable.reports.arrow import FAILURES

    pa = arrow()
    try:
        with pa.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            one_row = file.metadata.num_rows == 1  # More rows may not fit into memory.
            table, metadata = file.read(columns=names if one_row else []), file.metadata.metadata or {}
        if set(table.column_names) != set(names):
            raise ReportFileError(f"{path} must have one row of {', '.join(_ROW)} to be the sums of a round")
        (row,) = table.select(names).cast(pa.schema([(name, _ROW[name]) for name in names])).to_pylist()
    except FAILURES as error:
        raise SourceFile(path, ReportFileError).damaged_somewhere(error) from None
    del table
    pa.default_memory_pool().release_unused()  # It holds three times the sums, which may be half a gigabyte.
    if missing := [name for name in names if row[name] is None]:
        raise ReportFileError(f"{path} lacks {', '.join(missing)}")
    return row, metadata


def _footer(header: str, row: dict[str, Any]) -> str:
    """A checksum of header and row."""
    text = "\n".join((header, *(str(row[name]) for name in _ROW if name != SUMS)))
    return f"crc32={zlib.crc32(row[SUMS], zlib.crc32(text.encode())):08x}"
