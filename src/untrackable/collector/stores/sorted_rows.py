"""Rows of reports that are sorted by nonce: cut from bytes, merged, and split."""

import bisect
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from untrackable.collector.stores.records import Rows
from untrackable.protocol.wire import NONCE


def rows_from_bytes(data: bytes, row_size: int) -> Rows:
    """The rows that are stored one after the other in a byte string."""
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, row_size)


def merge_rows(stored: Rows, added: Rows) -> Rows:
    """The rows of both, sorted by nonce. Both must be sorted. A nonce that both have keeps its stored row."""
    ours, theirs = _leading(stored), _leading(added)
    places = np.searchsorted(ours, theirs)
    if ours.size and (ours[np.minimum(places, ours.size - 1)] == theirs).any():
        return sort_rows(np.concatenate((stored, added)))
    return np.insert(stored, places, added, axis=0)


def sort_rows(rows: Rows) -> Rows:
    """The rows sorted by nonce. Of several rows with the same nonce, the first one stays."""
    nonces = np.ascontiguousarray(rows[:, :NONCE]).view(">u8")
    order = np.lexsort((nonces[:, 1], nonces[:, 0]))  # It is stable.
    nonces = nonces[order]
    first = np.concatenate(([True], (nonces[1:] != nonces[:-1]).any(axis=1)))
    return rows[order[first]]


def rows_before(rows: Rows, nonce: bytes) -> int:
    """The number of rows before a nonce. The rows must be sorted."""
    return bisect.bisect_left(range(rows.shape[0]), nonce, key=lambda i: rows[i, :NONCE].tobytes())


def split_rows(rows: Rows, largest: int) -> Sequence[Rows]:
    """The rows in parts of similar length. None has more than `largest` rows."""
    parts = -(-rows.shape[0] // largest)
    return np.array_split(rows, parts if parts == 1 else parts + 1)


def _leading(rows: Rows) -> NDArray[np.uint64]:
    """The first half of each nonce as a number."""
    return np.ascontiguousarray(rows[:, : NONCE // 2]).view(">u8").reshape(-1).astype(np.uint64)
