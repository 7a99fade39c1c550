"""From files to sums: every report counted once, or an error that says which one cannot be."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from untrackable.answers.question import Question
from untrackable.encodings.encoding import Encoding
from untrackable.errors import ReportFileError
from untrackable.estimation.aggregators import Aggregator
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports.file_type import is_parquet
from untrackable.reports.reader import Piece, ReportFile, read_reports
from untrackable.reports.storage_layout import StorageLayout, Stored

if TYPE_CHECKING:
    from untrackable.reports.sums_file import SumsFile

Told = Callable[[str, float | None], None]

MOST_SUMS = 1 << 24
"""Entries of the sums of all rounds together, when there are several: 128 MiB, and as many more for estimates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A file that was read to its end; `sealed` if a checksum of all of it was there, and right."""

    path: Path
    reports: int
    sealed: bool


@dataclass(slots=True)
class Collected:
    """Sums by round, of reports that were all made in the same way."""

    mechanism: Mechanism
    encoding: Encoding | None
    question: Question | None = None
    sums: dict[int, Aggregator] = field(default_factory=dict)
    files: list[Read] = field(default_factory=list)

    @property
    def reports(self) -> int:
        """In all files, whether or not their round was asked for."""
        return sum(file.reports for file in self.files)


def collect(
    paths: Sequence[str | Path],
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    round: int | None = None,
    rounds: Sequence[int] | None = None,
    ask: Callable[[Mechanism, Encoding | None], Question] | None = None,
    progress: Told | None = None,
) -> Collected:
    """The sums of all reports in these files, of all rounds or of these; arguments as for `read_reports`.

    Files may also be of the sums of a closed round, as a collector exports them. With `ask`, which is told how
    reports were made, sums are such as answer its question, and no reports are kept.
    """
    if not paths:
        raise ValueError("paths must be at least one file")
    distinct(paths)
    files: list[ReportFile] = []
    totals: list[SumsFile] = []
    for path in paths:
        file = opened(path, mechanism=mechanism, encoding=encoding, round=round)
        files += [file] if isinstance(file, ReportFile) else []
        totals += [] if isinstance(file, ReportFile) else [file]
        made, encoding = file.mechanism, file.encoding or encoding
        mechanism = made
    _same_campaign(totals)
    found = Collected(made, encoding, None if ask is None else ask(made, encoding))
    own = type(made).takes is Mechanism.takes
    chosen = None if rounds is None else frozenset(rounds)
    feeds = {} if own else _feeds(files, made, chosen)
    for file, share in zip(files, _shares(files), strict=True):
        count = 0
        for piece in file.pieces():
            count += len(piece.reports)
            mine = [piece.round] if own and (chosen is None or piece.round in chosen) else []
            for number in mine or feeds.get(piece.round, []):
                _add(found, file, piece, number)
            if progress is not None:
                progress("reading", share[0] + share[1] * piece.done)
        found.files.append(Read(path=file.path, reports=count, sealed=file.sealed))
    for total in totals:
        if chosen is None or total.round in chosen:
            _add_sums(found, total)
        found.files.append(Read(path=total.path, reports=total.reports, sealed=total.sealed))
    given = [Path(path) for path in paths]
    found.files.sort(key=lambda file: given.index(file.path))
    return found


def opened(
    path: str | Path,
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    round: int | None = None,
) -> "ReportFile | SumsFile":
    """A file of reports, or of the sums of a closed round."""
    if is_parquet(Path(path)):
        from untrackable.reports.sums_file import has_sums, read_sums

        if has_sums(Path(path)):
            return read_sums(Path(path), mechanism=mechanism, encoding=encoding, round=round)
    return read_reports(path, mechanism=mechanism, encoding=encoding, round=round)


def _same_campaign(totals: list["SumsFile"]) -> None:
    for total in totals:
        if total.campaign != totals[0].campaign:
            raise ReportFileError(
                f"{total.path} has sums of another campaign than {totals[0].path}: they do not add up"
            )


def _add_sums(found: Collected, total: "SumsFile") -> None:
    sums = total.sums()
    asked = sums if found.question is None else found.question.of(sums)
    if total.round in found.sums:
        found.sums[total.round].merge(asked)
    else:
        found.sums[total.round] = asked
        _affordable(found)


def _feeds(files: list[ReportFile], mechanism: Mechanism, chosen: frozenset[int] | None) -> dict[int, list[int]]:
    """For each round, the rounds whose sums its reports belong to."""
    seen: set[int] = set()
    for file in files:
        for piece in file.pieces():
            if piece.round not in seen:
                _takes(file, piece, mechanism)
            seen.add(piece.round)
    feeds: dict[int, list[int]] = {}
    for number in sorted(seen if chosen is None else seen & chosen):
        for taken in mechanism.takes(number):
            feeds.setdefault(taken, []).append(number)
    return feeds


def _takes(file: ReportFile, piece: Piece, mechanism: Mechanism) -> None:
    try:
        mechanism.takes(piece.round)
    except ValueError as error:
        raise file.refused(int(piece.rows[0]), error) from None


def _shares(files: list[ReportFile]) -> Iterator[tuple[float, float]]:
    """Where each file begins and how long it is, all of them being 1."""
    sizes = np.array([file.path.stat().st_size for file in files], dtype=np.float64)
    sizes /= max(1.0, sizes.sum())
    return zip(np.cumsum(sizes) - sizes, sizes, strict=True)


def distinct(paths: Sequence[str | Path]) -> None:
    """Every file once, or its reports would count twice."""
    found: set[Path] = set()
    for path in map(Path, paths):
        if path.resolve() in found:
            raise ReportFileError(f"{path} is given twice: its reports would count twice")
        found.add(path.resolve())


def _add(found: Collected, file: ReportFile, piece: Piece, number: int) -> None:
    mechanism, layout = found.mechanism, StorageLayout(found.mechanism.report_bits)
    if number not in found.sums:
        try:
            made = mechanism.aggregator(number)
        except ValueError as error:
            raise file.refused(int(piece.rows[0]), error) from None
        found.sums[number] = made if found.question is None else found.question.of(made)
        _affordable(found)
    sums = found.sums[number]
    try:
        sums.add(layout.for_sums(piece.reports, in_bytes=sums.in_bytes))
    except ValueError as error:
        place = first_refused(mechanism, number, layout, piece.reports)
        raise file.refused(int(piece.rows[place]), error) from None


def _affordable(found: Collected) -> None:
    entries = sum(np.size(getattr(sums, name)) for sums in found.sums.values() for name in _arrays(sums))
    if len(found.sums) > 1 and entries > MOST_SUMS:
        raise ReportFileError(
            f"the sums of {len(found.sums)} rounds would have more than {MOST_SUMS} entries; ask for fewer rounds"
        )


def _arrays(sums: Any) -> tuple[str, ...]:
    return getattr(sums, "_sums", ())


def first_refused(mechanism: Mechanism, number: int, layout: StorageLayout, reports: Stored) -> int:
    """By halves: the first report that sums do not take."""
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
