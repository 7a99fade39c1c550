"""Writes files of reports, in blocks of bounded size, sorted so that their order reveals nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable.encodings.encoding import Encoding
from untrackable.errors import ReportFileError
from untrackable.mechanisms.interface import Mechanism, round_number
from untrackable.reports.files import Block, FormatWriter, Header, StorageLayout, StoredReports, whole_file
from untrackable.theory.turns import Turns

BLOCK_BYTES = 1 << 25
"""The number of bytes of reports that are sorted and written together."""

_ENDINGS = {
    ".parquet": "arrow.write_parquet",
    ".arrow": "arrow.write_file",
    ".feather": "arrow.write_file",
    ".ipc": "arrow.write_file",
    ".arrows": "arrow.write_stream",
    ".csv": "csv.write",
    ".csv.gz": "csv.write_compressed",
    ".npz": "numpy.write",
}


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
    module, name = _ENDINGS[check_ending(path)].split(".")
    write: FormatWriter = getattr(import_module(f"untrackable.reports.{module}"), name)
    blocks = _Blocks(StorageLayout(mechanism.report_bits), pieces)
    try:
        with whole_file(path, mode=mode) as file:
            write(file, Header(mechanism, encoding, turns), iter(blocks))
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
