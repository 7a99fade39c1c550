"""Sums in pieces: how they travel between the tasks of a cluster, and are added up on the way.

A piece is a row: the round, the name of the addend, where the piece starts in it, and its integers. If few of them
are not 0, only these are sent, with their places.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from untrackable.extras import extra

with extra("files"):
    import pyarrow as pa

PIECES = "round long, name string, start long, places binary, numbers binary"
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
            yield piece_row(round, name, start, *piece)


def added_pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The pieces of several tasks, added up. Each piece is whole in one of these calls."""
    found: dict[tuple[int, str, int], NDArray[np.int64]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            key = (row["round"], row["name"], row["start"])
            if row["name"] == PROBLEM:
                yield piece_row(*key, b"", row["numbers"])
                continue
            more, held = piece_numbers(row["places"], row["numbers"]), found.get(key, _NOTHING)
            longer, shorter = (more.copy(), held) if more.size > held.size else (held, more)
            longer[: shorter.size] += shorter
            found[key] = longer
    for key, numbers in found.items():
        yield piece_row(*key, *(_piece(numbers) or (b"", b"")))


def piece_numbers(places: bytes, numbers: bytes) -> NDArray[np.int64]:
    """The integers of a piece; those after the last that is not 0 may be missing."""
    values = np.frombuffer(numbers, dtype="<i8")
    if not places:
        return values
    where = np.frombuffer(places, dtype="<u4")
    found = np.zeros(int(where[-1]) + 1, dtype=np.int64)
    found[where] = values
    return found


def _piece(numbers: NDArray[np.int64]) -> tuple[bytes, bytes] | None:
    """Integers as bytes: all of them, or the places and values of those that are not 0; None if all are."""
    places = np.flatnonzero(numbers)
    if not places.size:
        return None
    if 12 * places.size < 8 * numbers.size:
        return places.astype("<u4").tobytes(), numbers[places].astype("<i8").tobytes()
    return b"", numbers.astype("<i8").tobytes()


def piece_row(round: int, name: str, start: int, places: bytes, numbers: bytes) -> pa.RecordBatch:
    """One row."""
    columns = {"round": [round], "name": [name], "start": [start], "places": [places], "numbers": [numbers]}
    return pa.RecordBatch.from_pydict(columns)
