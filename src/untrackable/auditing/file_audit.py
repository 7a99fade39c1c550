"""How well can the people in a file of reports with pseudonyms be followed from one window to another?

The people are a uniform sample of those in the file, so memory stays bounded.
"""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from untrackable import checks
from untrackable.auditing.black_box import (
    FEWEST_PEOPLE,
    TRACKING_LIMIT,
    Advantage,
    advantage_lower,
    disjoint_pairs,
)
from untrackable.auditing.recordings import (
    FORMATS,
    MOST_ROUNDS,
    MOST_WINDOWS,
    ROUNDS,
    WINDOWS,
    FormatName,
    RecordedAttendance,
    RecordedColumns,
    RecordedFormat,
    SeenRounds,
    TwoWindows,
    UnreadableReport,
    as_bytes,
    find_columns,
    follow_by_attendance,
    has_two_values,
    missing,
    open_recorded,
    round_label,
)
from untrackable.auditing.streams import FEW, Window, digest
from untrackable.errors import AuditError
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept_bits import bits_of
from untrackable.notebook_view import NotebookTable
from untrackable.progress import Progress, no_progress
from untrackable.reports.files import CellBatch, CellTable, Source

_SHOWN = 5
"""This many malformed rows are described one by one."""
_SAMPLE = 1000
"""The format is guessed from this many reports."""
_BLOCK = 64
"""A mechanism scores this many people against this many at a time, although only the diagonal is used."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FileAudit(NotebookTable):
    """The result of `audit_file`. If people are independent, `tracking.lower` holds with confidence `level`.

    Of `rows` data rows, `malformed` were left out, and `elsewhere` were in other windows. `examples` has the first
    few malformed rows: their line or row number, and what is wrong. `people` is the number of people with reports
    in both windows, and `reports` the number of their reports: these were used. `windows` has the two windows in
    words; if it is None, each person's reports were dealt into two halves. `rounds` counts the rounds that were
    seen, up to one more than MOST_ROUNDS, if the file has any. `sampled` says whether the `pseudonyms` that were
    looked at are a uniform sample of those in the file. `tracking` is by what the reports say, `attendance` by the
    rounds in which people were seen; if it is None, `attendance_missing` says why.
    """

    path: str
    unit: str
    rows: int
    malformed: int
    examples: tuple[tuple[int, str], ...]
    elsewhere: int
    pseudonyms: int
    sampled: bool
    people: int
    reports: int
    columns: RecordedColumns
    windows: tuple[str, str] | None
    rounds: int | None
    format: str
    level: float
    mechanism: str | None
    claimed_advantage: float | None
    tracking: Advantage
    attendance: RecordedAttendance | None
    attendance_missing: str

    @property
    def limit(self) -> float:
        """A check fails if an advantage is certainly larger: than what was claimed, or else than TRACKING_LIMIT."""
        return TRACKING_LIMIT if self.claimed_advantage is None else self.claimed_advantage

    @property
    def failures(self) -> tuple[str, ...]:
        """The attacks that certainly follow people better than `limit`: by reports, by attendance, or none."""
        return tuple(name for name, attack in self.attacks.items() if attack.lower > self.limit)

    @property
    def false_alarm_upper(self) -> float:
        """If people are followed no better than `limit`, a check fails at most with this probability."""
        return min(1.0, len(self.attacks) * (1 - self.level))

    @property
    def attacks(self) -> dict[str, Advantage]:
        """The advantage by what the reports say, and by attendance alone if that was looked at."""
        by_rounds = {} if self.attendance is None else {"attendance": self.attendance.tracking}
        return {"reports": self.tracking, **by_rounds}

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "file": self.path,
            "rows": self.rows,
            "malformed_rows": self.malformed,
            "malformed_examples": [{self.unit: number, "reason": reason} for number, reason in self.examples],
            "rows_in_other_windows": self.elsewhere,
            "pseudonyms": self.pseudonyms,
            "pseudonyms_are_a_sample": self.sampled,
            "people": self.people,
            "reports": self.reports,
            "rounds": self.rounds,
            "columns": asdict(self.columns),
            "windows": self.windows,
            "format": self.format,
            "level": self.level,
            "mechanism": self.mechanism,
            "claimed_advantage": self.claimed_advantage,
            "check": {
                "passed": not self.failures,
                "failures": list(self.failures),
                "tracking_limit": self.limit,
                "false_alarm_upper": self.false_alarm_upper,
            },
            "advantage_lower": self.tracking.lower,
            "advantage_sampled": self.tracking.sampled,
            "tracking": self.tracking.as_dict(),
            "attendance": None if self.attendance is None else self.attendance.as_dict(),
            "attendance_missing": self.attendance_missing or None,
        }


def audit_file(
    path: Source,
    *,
    pseudonym: str | None = None,
    window: str | None = None,
    report: str | None = None,
    round: str | None = None,
    windows: tuple[str, str] | None = None,
    format: FormatName = "auto",
    level: float = 0.99,
    people: int = 10_000,
    seed: int = 0,
    mechanism: Mechanism | None = None,
    value: Any = None,
    claimed_advantage: float | None = None,
    progress: Progress = no_progress,
) -> FileAudit:
    """Measure how well the people in a CSV, Parquet or Arrow file can be followed, by an attack on held-out people.

    Anything that gives Arrow data may take the place of a file, such as a DuckDB query or a Polars data frame.
    `window` names the column that says where or when reports were seen. If it has more than two values, the first
    ones are compared with the last ones, or the two of `windows`. Without `window`, a column with a usual name is
    taken if it has exactly two values. If there is none, or `window` is "none", each person's reports are dealt
    into two halves at random.

    With a `mechanism` and the `value` that everyone is assumed to hold, the attack uses the mechanism's likelihood
    ratio, and says "one person" if it is above 1. If the file says in which round (or when) a report was seen,
    people are also followed by attendance alone. `failures` of the result says whether people are certainly
    followed better than `claimed_advantage`. Memory grows with `people`, the largest number of people to look at,
    and not with the rows. `seed` decides which people are sampled, how reports are dealt, and who is held out.
    """
    checks.choice("format", format, FORMATS)
    level = checks.open_probability("level", level)
    people = checks.integer("people", people, low=FEWEST_PEOPLE)
    seed = checks.integer("seed", seed, low=0, high=(1 << 64) - 1)
    if not isinstance(mechanism, Mechanism | None):
        raise TypeError(f"mechanism must be a Mechanism, not {type(mechanism).__name__}")
    if claimed_advantage is not None:
        claimed_advantage = checks.probability("claimed_advantage", claimed_advantage)
    table = open_recorded(path)

    def two_values(column: str) -> bool:
        return has_two_values((row[0] for batch in table.cells([column]) for row in batch.rows if row), column)

    columns = find_columns(table, pseudonym, window, report, round, windows, two_values)
    reading = _Reading(table, columns, format, mechanism, progress)
    two = None if columns.window is None else reading.two_windows(columns.window, windows)
    sampled = reading.collect(two, people, seed)
    both = sampled.in_both_windows()
    if len(both) < FEWEST_PEOPLE:
        raise AuditError(
            f"at least {FEWEST_PEOPLE} pseudonyms must have reports in both windows, but only {len(both)} do"
            + reading.complaint()
        )
    progress("looking for a way to follow people", None)
    tracking = _tracked(both, level, seed, mechanism, value)
    attendance, missing = _attended(both, columns, len(reading.rounds), level, seed)
    return FileAudit(
        path=str(table.file.path),
        unit=table.unit,
        rows=reading.rows,
        malformed=reading.malformed,
        examples=tuple(reading.examples),
        elsewhere=reading.elsewhere,
        pseudonyms=len(sampled),
        sampled=sampled.dropped,
        people=len(both),
        reports=sum(window.count for person in both for window in person),
        columns=columns,
        windows=None if two is None else two.names,
        rounds=None if columns.round is None else len(reading.rounds),
        format=reading.format.name,
        level=level,
        mechanism=None if mechanism is None else repr(mechanism),
        claimed_advantage=claimed_advantage,
        tracking=tracking,
        attendance=attendance,
        attendance_missing=missing,
    )


class _Reading:
    """Reads one file, and counts rows and malformed rows on the way."""

    def __init__(
        self,
        table: CellTable,
        columns: RecordedColumns,
        format: FormatName,
        mechanism: Mechanism | None,
        progress: Progress,
    ) -> None:
        self._table, self._columns, self._asked = table, columns, format
        self._bits = None if mechanism is None else mechanism.report_bits
        self._progress = progress
        self.format = RecordedFormat("text", 0)
        self.rows = self.malformed = self.elsewhere = 0
        self.examples: list[tuple[int, str]] = []
        self.rounds: dict[str, int] = {}
        """The rounds that were seen, numbered; one more than `MOST_ROUNDS` if there are too many."""

    def two_windows(self, column: str, asked: tuple[str, str] | None) -> TwoWindows:
        """The two windows that were asked for, or all values of the column in two parts."""
        counts: Counter[str] = Counter()
        for batch in self._batches("counting windows", [column]):
            counts.update(round_label(cells[0], column) for cells in batch.rows if cells and not missing(cells[0]))
            if len(counts) > MOST_WINDOWS:
                raise AuditError(f"the window column must have at most {MOST_WINDOWS:,} different windows")
        return TwoWindows.of(counts, asked)

    def collect(self, windows: TwoWindows | None, people: int, seed: int) -> "PeopleSample":
        """Read everything."""
        batches = self._batches("reading reports", self._columns.present)
        begun: list[CellBatch] = []
        sample: list[Any] = []
        for batch in batches:
            begun.append(batch)
            sample += [cells[-1] for cells in batch.rows if cells and not missing(cells[-1])]
            if len(sample) >= _SAMPLE:
                break
        self.format = RecordedFormat.of(sample[:_SAMPLE], self._asked)
        if self._bits is not None and self.format.name == "text":
            raise AuditError(
                "the reports are text, but reports of a mechanism are integers, hexadecimal digits or bits"
            )
        people_sample = PeopleSample(people, width=self.format.width, seed=seed, keep_raw=self._bits is not None)
        which = {}
        if windows is not None:
            which = {**dict.fromkeys(windows.first, 0), **dict.fromkeys(windows.second, 1)}
        for batch in itertools.chain(begun, batches):
            self._add(batch, which, people_sample)
        if self.malformed == self.rows:
            raise AuditError(f"no row can be used{self.complaint()}")
        return people_sample

    def complaint(self) -> str:
        """The number of malformed rows, and the first of them, for the end of an error message."""
        if not self.malformed:
            return ""
        number, reason = self.examples[0]
        return (
            f"; {self.malformed:,} of {self.rows:,} rows are malformed ({self._table.unit} {number}: {reason}; …)"
        )

    def _add(self, batch: CellBatch, which: dict[str, int], sample: "PeopleSample") -> None:
        self.rows += len(batch.rows)
        for index, (number, cells) in enumerate(zip(batch.numbers, batch.rows, strict=True)):
            problem = batch.problems.get(index) or self._add_row(cells, which, sample)
            if problem:
                self.malformed += 1
                if len(self.examples) < _SHOWN:
                    self.examples.append((number, problem))

    def _add_row(self, cells: Sequence[Any], which: dict[str, int], sample: "PeopleSample") -> str:
        """Add the report of a row. The result says what is wrong with the row, and is empty if nothing is."""
        who, sent = cells[0], cells[-1]
        if missing(who):
            return "the pseudonym is missing"
        if missing(sent):
            return "the report is missing"
        window = None
        if which:
            if missing(cells[1]):
                return "the window is missing"
            window = which.get(round_label(cells[1], str(self._columns.window)))
            if self._columns.round is not None and missing(cells[2]):
                return "the round is missing"
        try:
            report = self.format.read(sent)
        except UnreadableReport as error:
            return str(error)
        if self._bits is not None and report.bit_length() > self._bits:
            return f"the report has more bits than the mechanism's {self._bits}"
        if which and window is None:
            self.elsewhere += 1
        else:
            sample.add(as_bytes(who), window, report, self._round(cells))
        return ""

    def _round(self, cells: Sequence[Any]) -> int | None:
        """The number of a row's round, if there are rounds and not too many."""
        if self._columns.round is None or len(self.rounds) > MOST_ROUNDS or missing(cells[-2]):
            return None
        return self.rounds.setdefault(round_label(cells[-2], self._columns.round), len(self.rounds))

    def _batches(self, what: str, columns: list[str]) -> Iterator[CellBatch]:
        for batch in self._table.cells(columns):
            self._progress(what, batch.done)
            yield batch


def _attended(
    both: "list[BothWindows]", columns: RecordedColumns, rounds: int, level: float, seed: int
) -> tuple[RecordedAttendance | None, str]:
    """What attendance alone says; or None, and the reason."""
    if columns.window is None:
        return None, f"no column that says where reports were seen was used (such as {' or '.join(WINDOWS[1:])})"
    if columns.round is None and columns.window in ROUNDS:
        return None, f"the windows are rounds themselves ({columns.window}), so no round was seen in both"
    if columns.round is None:
        return None, f"the file has no column of rounds or times ({', '.join(ROUNDS)})"
    if rounds > MOST_ROUNDS:
        return None, f"the file has more than {MOST_ROUNDS:,} different rounds"
    first, second = (SeenRounds.of([person[i].rounds for person in both], rounds) for i in (0, 1))
    if not (first.seen.any(axis=0) & second.seen.any(axis=0)).any():
        return None, "no round was seen in both windows"
    return follow_by_attendance(first, second, level=level, seed=seed), ""


def _tracked(
    both: "list[BothWindows]", level: float, seed: int, mechanism: Mechanism | None, value: Any
) -> Advantage:
    if mechanism is None:
        return advantage_lower(*windows(both), level=level, seed=seed)
    widest = max((report.bit_length() for person in both for window in person for report in window.raw), default=0)
    if widest + 16 < mechanism.report_bits:
        raise AuditError(
            f"reports of this mechanism have {mechanism.report_bits} bits, but those in the file have at most "
            f"{widest}: they come from another mechanism or from other parameters"
        )
    wide = next(mechanism.simulate([value], rounds=1, seed=0)).reports.ndim == 3
    first, second = arrays(both, mechanism.report_bits, as_bytes=wide)
    order = np.random.default_rng(seed).permutation(first.shape[0])
    same, left, right = disjoint_pairs(order)
    hits, alarms = (
        np.concatenate(
            [
                np.diag(mechanism.link_scores(first[a[i : i + _BLOCK]], second[b[i : i + _BLOCK]], value)) > 0
                for i in range(0, a.size, _BLOCK)
            ]
        )
        for a, b in ((same, same), (left, right))
    )
    return Advantage.of("the mechanism's likelihood ratio", hits, alarms, level)


# --- a uniform sample of the people in a stream of rows, and what is kept about each ----------------------

MOST_HASHES = 64
"""This many different reports of a person are kept for each window: those with the smallest digests.

The choice depends on the report alone, so the same reports are kept in both windows.
"""
MOST_RAW = 256
"""If raw reports are kept, this many are kept of a person for each window."""


class PersonWindow:
    """The reports of a person in one window: number, how often each bit was 1, some digests, and rounds as bits."""

    __slots__ = ("count", "hashes", "ones", "raw", "rounds")

    def __init__(self) -> None:
        self.count = 0
        self.ones: NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
        self.hashes: dict[int, int] = {}
        self.raw: list[int] = []
        self.rounds = 0

    def add(self, report: int, width: int, keep: bool) -> None:
        """Add a report."""
        self.count += 1
        wanted = width or max(1, report.bit_length())
        if self.ones.size < wanted:
            self.ones = np.concatenate([self.ones, np.zeros(wanted - self.ones.size, dtype=np.uint32)])
        self.ones[:wanted] += bits_of(report & (1 << wanted) - 1, wanted)
        if keep and len(self.raw) < MOST_RAW:
            self.raw.append(report)
        key = digest(report.to_bytes(report.bit_length() // 8 + 1, "little"))
        self.hashes[key] = self.hashes.get(key, 0) + 1
        if len(self.hashes) > MOST_HASHES:
            del self.hashes[max(self.hashes)]


BothWindows = tuple[PersonWindow, PersonWindow]
"""The reports of one person in the two windows."""


def rank(pseudonym: bytes, seed: int) -> int:
    """The keyed digest of a pseudonym. The smallest ones are in the sample."""
    return digest(pseudonym, seed.to_bytes(16, "little"))


class PeopleSample:
    """A uniform sample of at most `most` pseudonyms: those with the smallest keyed digests.

    A pseudonym that was dropped never comes back, so all reports of the pseudonyms in the sample are counted.
    """

    def __init__(self, most: int, *, width: int, seed: int, keep_raw: bool) -> None:
        self._most, self._width, self._keep = most, width, keep_raw
        self._seed = seed
        self._known: dict[bytes, BothWindows] = {}
        self._largest: list[tuple[int, bytes]] = []
        self.dropped = False

    def add(self, pseudonym: bytes, window: int | None, report: int, round: int | None = None) -> None:
        """Add a report. Without a window, each two reports of a person are dealt to the two windows by a coin.

        So both windows have the same number of reports, and neither what lasts for a short time nor what comes back
        after a fixed number of rounds always falls into one window.
        """
        person = self._known.get(pseudonym) or self._admit(pseudonym)
        if person is None:
            return
        if window is None:
            first, second = person[0].count, person[1].count
            coin = rank(first.to_bytes(8, "little") + pseudonym, self._seed) & 1
            window = coin if first == second else int(first > second)
        person[window].add(report, self._width, self._keep)
        if round is not None:
            person[window].rounds |= 1 << round

    def _admit(self, pseudonym: bytes) -> BothWindows | None:
        place = rank(pseudonym, self._seed)
        if len(self._known) >= self._most:
            self.dropped = True
            if place >= -self._largest[0][0]:
                return None
            _, last = heapq.heapreplace(self._largest, (-place, pseudonym))
            del self._known[last]
        else:
            heapq.heappush(self._largest, (-place, pseudonym))
        person = PersonWindow(), PersonWindow()
        self._known[pseudonym] = person
        return person

    def __len__(self) -> int:
        return len(self._known)

    def in_both_windows(self) -> list[BothWindows]:
        """The people who have reports in both windows."""
        return [person for person in self._known.values() if person[0].count and person[1].count]


def windows(people: list[BothWindows]) -> tuple[Window, Window]:
    """The two windows of these people as arrays."""
    width = max(window.ones.size for person in people for window in person)
    known: dict[int, int] = {}
    for person in people:
        for window in person:
            for key in window.hashes:
                known.setdefault(key, len(known))
    first, second = (_window([person[i] for person in people], width, known) for i in (0, 1))
    return first, second


def _window(people: list[PersonWindow], width: int, known: dict[int, int]) -> Window:
    counts = np.array([person.count for person in people], dtype=np.int64)
    means = np.zeros((len(people), width))
    for row, person in enumerate(people):
        means[row, : person.ones.size] = person.ones / person.count
    rows = np.repeat(np.arange(len(people)), [len(person.hashes) for person in people])
    columns = [known[key] for person in people for key in person.hashes]
    sent = [float(times) for person in people for times in person.hashes.values()]
    tokens = csr_array((sent, (rows, columns)), shape=(len(people), max(1, len(known))))
    if len(known) <= FEW:
        means = np.concatenate([means, tokens.toarray() / counts[:, None]], axis=1)
    return Window(counts, means, tokens)


def arrays(people: list[BothWindows], report_bits: int, *, as_bytes: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """The raw reports of people who have enough in both windows, in the layout of simulated reports.

    For each window, everyone has the same number of reports. It is chosen so that three quarters of the people have
    at least this many.
    """
    taken = [int(np.quantile([len(person[i].raw) for person in people], 0.25)) for i in (0, 1)]
    kept = [person for person in people if all(len(person[i].raw) >= taken[i] for i in (0, 1))]
    first, second = (
        _packed([person[i].raw[: taken[i]] for person in kept], report_bits, as_bytes=as_bytes) for i in (0, 1)
    )
    return first, second


def _packed(rows: list[list[int]], report_bits: int, *, as_bytes: bool) -> NDArray[Any]:
    if not as_bytes:
        return np.array(rows, dtype=np.uint64)
    size = (report_bits + 7) // 8
    flat = b"".join(report.to_bytes(size, "little") for row in rows for report in row)
    return np.frombuffer(flat, dtype=np.uint8).reshape(len(rows), len(rows[0]), size)
