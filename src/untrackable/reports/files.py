"""What files of reports have in every format: tables of named columns, the layout of a report, header and footer.

A file is either complete or absent (`whole_file`). Errors name the file and the row.
"""

import operator
import os
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from untrackable import strict_json
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.encoding import from_json as encoding_from_json
from untrackable.errors import EncodingError, MechanismError, ReportFileError, UntrackableError
from untrackable.estimation.aggregators import row_words, wide_reports
from untrackable.extras import extra
from untrackable.mechanisms.interface import Mechanism, round_number
from untrackable.mechanisms.interface import from_json as mechanism_from_json
from untrackable.theory.turns import Turns
from untrackable.whole_files import sync_folder

WORD = 64
BATCH = 1 << 20
"""The number of rows of arrays that are read at a time."""
CELL_BATCH = 1 << 9
"""The number of rows of cells that are read at a time."""
ROUND, REPORT = "round", "report"
SUMS = "sums"
"""The name of the column with the sums of a closed round, in a file of sums."""
HEADER_KEY, FOOTER_KEY = "untrackable", "untrackable.seal"
"""Names of the entries in a file that hold its header and its footer.

Despite its name, the seal is not cryptographic: its checksum reveals damage, not tampering.
"""


# --- a file as a table: batches of named columns, and numbered rows ---------------------------------------


class ArrowStream(Protocol):
    """An object of any library that gives its rows as Arrow data, by Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule with a stream of record batches."""


Source = str | PathLike[str] | ArrowStream
"""Where reports are: a file, or anything that gives Arrow data."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to be read, and the class of the errors that are raised about it."""

    path: Path
    error: type[UntrackableError]

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return self.path.stat().st_size

    @property
    def sealed(self) -> bool:
        """Whether a file that says how its reports were made has a checksum of all of it as well."""
        return True

    def unreadable(self, error: OSError) -> UntrackableError:
        """The error for a file that the operating system does not open."""
        return self.error(f"cannot read {self.path}: {error.strerror or error}")

    def refused(self, why: object) -> UntrackableError:
        """The error for a problem with the file as a whole."""
        return self.error(f"{self.path}: {why}")

    def malformed(self, unit: str, number: int, why: object) -> UntrackableError:
        """The error for a problem with one row or line."""
        return self.error(f"{self.path}, {unit} {number}: {why}")

    def damaged(self, where: str, why: object = "") -> UntrackableError:
        """The error for a file that is damaged from a certain position on."""
        reason = " ".join(str(why).split())
        return self.error(f"{self.path} is damaged or truncated {where}{': ' if reason else ''}{reason[:200]}")

    def damaged_somewhere(self, why: object) -> UntrackableError:
        """The error for a file that is damaged at its beginning."""
        return self.damaged(f"within its {self.size} bytes", why)


class ArrayBatch(NamedTuple):
    """Consecutive rows as arrays, one for each column; `done` is the share of the file that has been read."""

    columns: dict[str, NDArray[Any]]
    done: float


class CellBatch(NamedTuple):
    """Consecutive rows as Python objects, with their numbers; `done` is the share of the file that has been read.

    `problems` says what is wrong with malformed rows, by their index in the batch; such a row has no cells.
    """

    numbers: Sequence[int]
    rows: Sequence[Sequence[Any]]
    problems: Mapping[int, str]
    done: float


_USUAL = {
    "bloom", "client_id", "cohort", "count", "created_at", "date", "datetime", "day", "device", "device_id",
    "frequency", "id", "irr", "nonce", "place", "prr", "pseudonym", "rappor", "received_at", "report", "reports",
    "round", "session_id", "time", "timestamp", "user", "user_id", "userid", "uuid", "value", "window",
}  # fmt: skip
"""Words that name columns, and hardly ever are data."""
_NAME = re.compile(r"[^\W\d][\w .:/()%-]{0,39}")


def are_names(cells: Sequence[str]) -> bool:
    """Whether a first line certainly names columns.

    One cell must be a usual name, and all must look like names: no number, no long text, no cell that is empty.
    """
    stripped = [cell.strip() for cell in cells]
    return any(cell.lower() in _USUAL for cell in stripped) and all(map(_NAME.fullmatch, stripped))


def column_words(columns: Sequence[str], *, shown: bool) -> str:
    """The columns of a file in words, or their number if its first line may be data."""
    if not shown:
        return f"its first line has {len(columns)} column{'s' * (len(columns) != 1)}, which may not be names"
    return f"its columns are {', '.join(columns) or 'none'}"


def arrow() -> Any:
    """PyArrow with CSV and Parquet. It is loaded with the first table: rows of cells alone do not need it."""
    with extra("files"):
        import pyarrow
        import pyarrow.csv
        import pyarrow.parquet
    return pyarrow


# --- the layout of a report: an unsigned integer of up to 64 bits, or bytes, least significant first ------

StoredReports = NDArray[Any]
"""Reports in a file's layout: integers, or rows of bytes."""


class OutOfRangeError(ValueError):
    """One of several reports or rounds is out of range: the first such one is at `index`. It is never shown."""

    def __init__(self, index: int, what: str) -> None:
        super().__init__(what)
        self.index = index


@dataclass(frozen=True, slots=True)
class StorageLayout:
    """Reports of up to 64 bits are integers of 1, 2, 4 or 8 bytes. Wider ones are ⌈bits/8⌉ bytes."""

    bits: int

    @property
    def in_bytes(self) -> bool:
        """Whether a report is a row of bytes."""
        return self.bits > WORD

    @property
    def size(self) -> int:
        """The number of bytes of a report."""
        needed = -(-self.bits // 8)
        return needed if self.in_bytes else 1 << (needed - 1).bit_length()

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the array's entries."""
        return np.dtype(np.uint8) if self.in_bytes else np.dtype(f"<u{self.size}")

    @property
    def empty(self) -> StoredReports:
        """An array without reports."""
        return np.empty((0, self.size) if self.in_bytes else 0, dtype=self.dtype)

    def stored(self, reports: NDArray[Any] | Iterable[int]) -> StoredReports:
        """Reports as simulation yields them for one round, or as clients send them, in this layout."""
        if not isinstance(reports, np.ndarray):
            reports = self._integers([operator.index(report) for report in reports])
        if reports.dtype.kind not in "iu" or reports.ndim not in (1, 2):
            raise TypeError(f"reports must be integers or rows of bytes, not {reports.dtype} of {reports.shape}")
        if reports.ndim == 2:
            if reports.dtype != np.uint8 or reports.shape[1] != -(-self.bits // 8):
                raise ValueError(f"reports of {self.bits} bits must be rows of {-(-self.bits // 8)} bytes")
            self._no_surplus(reports)
            return reports if self.in_bytes else row_words(reports)[:, 0].astype(self.dtype)
        if self.in_bytes:
            raise ValueError(f"reports of {self.bits} bits must be rows of {self.size} bytes, not one integer each")
        return self.checked(reports)

    def checked(self, reports: NDArray[Any]) -> StoredReports:
        """Reports that were read, in this layout; the first that does not fit is an `OutOfRangeError`."""
        if self.in_bytes:
            self._no_surplus(reports)
            return reports
        if reports.size and (int(reports.max()) >> self.bits or int(reports.min()) < 0):
            wrong = reports < 0
            if self.bits < WORD:
                wrong |= reports > (1 << self.bits) - 1
            raise OutOfRangeError(int(np.argmax(wrong)), f"a report must have {self.bits} bits and no more")
        return reports.astype(self.dtype, copy=False)

    def for_sums(self, reports: StoredReports, *, in_bytes: bool) -> NDArray[Any]:
        """Reports as sums take them."""
        if in_bytes == self.in_bytes:
            return reports
        if in_bytes:
            return np.ascontiguousarray(reports).view(np.uint8).reshape(-1, self.size)[:, : -(-self.bits // 8)]
        return row_words(reports)[:, 0]

    def ordered(self, reports: StoredReports) -> StoredReports:
        """Sorted, so that nothing shows in which order they came."""
        if not self.in_bytes:
            return np.sort(reports)
        rows = np.ascontiguousarray(reports).view(f"S{self.size}")
        return np.sort(rows, axis=0).view(np.uint8).reshape(reports.shape)

    def _integers(self, reports: list[int]) -> NDArray[Any]:
        if any(not 0 <= report < 1 << self.bits for report in reports):
            raise ValueError(f"a report must have {self.bits} bits and no more")
        if not self.in_bytes:
            return np.array(reports, dtype=np.uint64)
        return wide_reports(reports, self.size)

    def _no_surplus(self, rows: NDArray[Any]) -> None:
        if self.bits % 8 and rows.size:
            wrong = rows[:, -1] >> (self.bits % 8) != 0
            if wrong.any():
                raise OutOfRangeError(int(np.argmax(wrong)), f"a report must have {self.bits} bits and no more")


def runs(rounds: NDArray[Any]) -> list[tuple[int, int, int]]:
    """Runs of equal rounds: the round, where its run starts and where it ends."""
    if not rounds.size:
        return []
    if rounds[0] == rounds[-1] and rounds.min() == rounds.max():
        return [(int(rounds[0]), 0, rounds.size)]
    starts = [0, *(np.flatnonzero(rounds[1:] != rounds[:-1]) + 1).tolist()]
    return list(zip(rounds[starts].tolist(), starts, [*starts[1:], rounds.size], strict=True))


# --- tables and writers -----------------------------------------------------------------------------------


class Table(Protocol):
    """A file that gives its columns as arrays, and raises an error at the first row that does not fit."""

    file: SourceFile
    unit: str
    """The unit of row numbers: rows or lines."""
    first: int
    """The number of the first row of data."""
    columns: list[str]
    names_may_be_shown: bool
    """False if the first line may be data rather than names."""
    header: str | None
    footer: str | None
    """The header and the footer of a file of reports. The footer may be known only after the last batch."""

    def arrays(self, layouts: Mapping[str, StorageLayout]) -> Iterator[ArrayBatch]:
        """These columns from the beginning, each with entries of its layout."""


class CellTable(Table, Protocol):
    """A table that also gives single cells, and goes on after malformed rows."""

    def cells(self, columns: Sequence[str]) -> Iterator[CellBatch]:
        """The cells of these columns from the beginning, without checks of their content."""


# --- the header, which says how reports were made, and the footer, with count and checksum ----------------

VERSION = 1
LARGEST_HEADER = 1 << 23
"""The most characters of a header. Of all encodings, a list of names takes the most."""
_TURNS = "turns"
_TOO_LARGE = f"the description of its mechanism and encoding has more than {LARGEST_HEADER:,} characters"
_FOOTER = re.compile(r"reports=(\d{20}) crc32=([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Header:
    """How the reports of a file were made: the mechanism, and the encoding if there is one.

    With `turns`, each person answered once, in one of its rounds, if at all. Without, everybody answered every
    round, or the file does not say.
    """

    mechanism: Mechanism
    encoding: Encoding | None = None
    turns: Turns | None = None

    def text(self) -> str:
        """The header as JSON on one line."""
        described = None if self.encoding is None else self.encoding.to_json()
        content = {"version": VERSION, "mechanism": self.mechanism.to_json(), "encoding": described}
        if self.turns is not None:
            content[_TURNS] = {"rounds": self.turns.rounds, "share": str(self.turns.share)}
        text = strict_json.write(content, compact=True, ascii=True)
        if len(text) > LARGEST_HEADER:
            raise ReportFileError(_TOO_LARGE)
        return text

    @staticmethod
    def read(text: str) -> "Header":
        """The header of this JSON. `ReportFileError` if `text` would not have written it."""
        if len(text) > LARGEST_HEADER:
            raise ReportFileError(_TOO_LARGE)
        try:
            content = strict_json.parse(text)
        except ValueError:
            raise ReportFileError("the description of its mechanism is not JSON") from None
        if not isinstance(content, dict) or {*content} - {_TURNS} != {"version", "mechanism", "encoding"}:
            raise ReportFileError("the description must have version, mechanism and encoding")
        if type(content["version"]) is not int or content["version"] != VERSION:
            raise ReportFileError(f"the version of its description must be {VERSION}")
        try:
            mechanism = mechanism_from_json(content["mechanism"])
            encoding = None if content["encoding"] is None else encoding_from_json(content["encoding"])
        except (MechanismError, EncodingError) as error:
            raise ReportFileError(f"the description of its mechanism is wrong: {error}") from None
        return Header(mechanism, encoding, _turns(content))


def _turns(content: dict[str, Any]) -> Turns | None:
    """The turns that a header says, if it says any."""
    if _TURNS not in content:
        return None
    given = content[_TURNS]
    if not isinstance(given, dict) or set(given) != {"rounds", "share"}:
        raise ReportFileError("the description of its mechanism is wrong: turns must have rounds and share")
    try:
        turns = Turns(**given)
    except (TypeError, ValueError) as error:
        raise ReportFileError(f"the description of its mechanism is wrong: {error}") from None
    if str(turns.share) != given["share"]:
        raise ReportFileError("the description of its mechanism is wrong: share must be like 1/6")
    return turns


class Footer:
    """Counts reports and keeps a checksum of header, rounds and reports. The size of pieces does not matter."""

    def __init__(self, header: str) -> None:
        self.count = 0
        self._reports = zlib.crc32(header.encode())
        self._rounds = 0
        self._run = (0, 0)

    def add(self, rounds: NDArray[np.int64], reports: StoredReports) -> None:
        """Add the next reports, with the round of each."""
        self.count += len(reports)
        self._reports = zlib.crc32(np.ascontiguousarray(reports).data, self._reports)
        for round, start, end in runs(rounds):
            if round != self._run[0]:
                self._rounds = self._after_run()
                self._run = (round, 0)
            self._run = (round, self._run[1] + end - start)

    def text(self) -> str:
        """The footer for everything that was added so far. It always has the same length."""
        both = zlib.crc32(self._after_run().to_bytes(4, "big"), self._reports)
        return f"reports={self.count:020d} crc32={both:08x}"

    def _after_run(self) -> int:
        """The checksum of the rounds, if the present run of equal rounds ended now."""
        run = np.array(self._run, dtype="<i8").tobytes() if self._run[1] else b""
        return zlib.crc32(run, self._rounds)

    def confirm(self, said: str | None) -> None:
        """Check the footer of the file."""
        if (count := sealed_count(said)) != self.count:
            raise ReportFileError(f"it holds {self.count} reports where it says {count}")
        if said != self.text():
            raise ReportFileError("its checksum does not match: something in it was changed or damaged")


def metadata_text(metadata: Mapping[bytes, bytes], key: str) -> str | None:
    """An entry of the metadata."""
    entry = metadata.get(key.encode())
    return None if entry is None else entry.decode()


def sealed_count(footer: str | None) -> int:
    """The number of reports that the footer of a file says."""
    match = _FOOTER.fullmatch(footer or "")
    if not match:
        raise ReportFileError("its checksum is missing or damaged, so the file is not complete")
    return int(match[1])


def agreed(name: str, said: Any, given: Any) -> Any:
    """The parameter in the file or the one given. The two must not contradict each other."""
    if said is not None and given is not None and said != given:
        told, other = repr(said), repr(given)
        if isinstance(said, Turns):
            told, other = (f"of {each.rounds} rounds and share {each.share}" for each in (said, given))
            other = f"those {other}"
        raise ReportFileError(
            f"its reports were made with the {name} {told}, not with {other}, as given or as other files say"
        )
    return given if said is None else said


def declared(
    path: Path, header: str | None, mechanism: Mechanism | None, encoding: Encoding | None
) -> tuple[Mechanism, Encoding | None, Turns | None]:
    """How the reports of a file were made: by its header, and by what is given."""
    try:
        known = None if header is None else Header.read(header)
        made = agreed("mechanism", known and known.mechanism, mechanism)
        meant = agreed("encoding", known and known.encoding, encoding)
    except ReportFileError as error:
        raise ReportFileError(f"{path}: {error}") from None
    if made is None:
        raise ReportFileError(f"{path} does not say which mechanism made its reports; give the mechanism")
    return made, meant, None if known is None else known.turns


# --- writing ----------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """Consecutive rows to be written, in order of round and report."""

    rounds: NDArray[np.int64]
    reports: StoredReports


@contextmanager
def whole_file(path: Path, *, mode: int = 0o666) -> Iterator[IO[bytes]]:
    """A file that takes its name only once it is complete and on disk; if anything fails, nothing is left of it.

    `mode` are its permissions, less the umask. It is written as `.NAME.….part` in the same folder, which is all
    that a power cut can leave behind.
    """
    path = path.resolve()
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with open(part, "x+b", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    sync_folder(path.parent)


BLOCK_BYTES = 1 << 25
"""The number of bytes of reports that are sorted and written together."""

_ENDINGS: dict[str, tuple[str, str, dict[str, bool]]] = {
    ".parquet": ("arrow", "write_parquet", {}),
    ".arrow": ("arrow", "write", {}),
    ".feather": ("arrow", "write", {}),
    ".ipc": ("arrow", "write", {}),
    ".arrows": ("arrow", "write", {"stream": True}),
    ".csv": ("csv", "write", {}),
    ".csv.gz": ("csv", "write", {"compressed": True}),
    ".npz": ("numpy", "write", {}),
}
"""The function that writes each format, by its module and name, with its options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file that was written: the number of its reports, their rounds, and its size in bytes."""

    path: Path
    reports: int
    rounds: tuple[int, ...]
    bytes: int


def check_ending(path: Path) -> str:
    """The ending of the name, which chooses the format; an error if nothing can be written there."""
    ending = next((ending for ending in _ENDINGS if path.name.endswith(ending)), None)
    if ending is None:
        raise ReportFileError(f"{path} must end in one of {', '.join(_ENDINGS)}")
    if not path.parent.is_dir():
        raise ReportFileError(f"cannot write {path}: there is no folder {path.parent}")
    if path.exists() and not path.is_file():
        raise ReportFileError(f"cannot write {path}: it is not a file")
    return ending


def write_reports(
    path: str | Path,
    pieces: Iterable[tuple[int, NDArray[Any] | Iterable[int]]],
    *,
    mechanism: Mechanism,
    encoding: Encoding | None = None,
    turns: Turns | None = None,
    mode: int = 0o666,
) -> Written:
    """Write pieces, each a round and reports of it, as they come; the ending of the name chooses the format.

    Reports of a round are an array as simulation yields it (`batch.reports[:, i]`), or the integers of clients.
    The file takes its name when it is complete; on any failure there is none, and an earlier one stays as it was.
    Within a block of 32 MiB of reports they are sorted by round and report. With `turns`, each person
    answered once. `mode` says who may read the file.
    """
    path = Path(path)
    module, name, options = _ENDINGS[check_ending(path)]
    write = getattr(import_module(f"untrackable.reports.{module}"), name)
    blocks = _Blocks(StorageLayout(mechanism.report_bits), pieces)
    try:
        with whole_file(path, mode=mode) as file:
            write(file, Header(mechanism, encoding, turns), iter(blocks), **options)
    except OSError as error:
        raise ReportFileError(f"cannot write {path}: {error.strerror or error}") from None
    return Written(
        path=path, reports=blocks.reports, rounds=tuple(sorted(blocks.rounds)), bytes=path.stat().st_size
    )


class _Blocks:
    """Pieces gathered into blocks. Each is sorted, so that positions in it do not reveal who sent what."""

    def __init__(self, layout: StorageLayout, pieces: Iterable[tuple[int, NDArray[Any] | Iterable[int]]]) -> None:
        self._layout, self._pieces = layout, pieces
        self._most = max(1, BLOCK_BYTES // max(8, layout.size))
        self.reports, self.rounds = 0, set[int]()

    def __iter__(self) -> Iterator[Block]:
        held: dict[int, list[StoredReports]] = {}
        count = 0
        for number, given in self._pieces:
            reports = self._layout.stored(given)
            self.rounds.add(number := round_number(number))
            self.reports += len(reports)
            while count + len(reports) >= self._most:
                room = self._most - count
                held.setdefault(number, []).append(reports[:room])
                yield self._block(held)
                held, count, reports = {}, 0, reports[room:]
            if len(reports):
                held.setdefault(number, []).append(reports)
                count += len(reports)
        if count:
            yield self._block(held)

    def _block(self, held: dict[int, list[StoredReports]]) -> Block:
        numbers = sorted(held)
        parts = [self._layout.ordered(np.concatenate(held[number])) for number in numbers]
        rounds = np.repeat(np.array(numbers, dtype=np.int64), [len(part) for part in parts])
        return Block(rounds, np.concatenate(parts))
