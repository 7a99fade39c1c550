"""A check of SQLite's write-ahead log for damage.

SQLite itself treats the first damaged frame as the end of the log and silently drops everything after it. Layout
and checksum: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

from functools import lru_cache
from pathlib import Path
from typing import IO, Final

import numpy as np
from numpy.typing import NDArray

_HEADER: Final = np.dtype(
    [("magic", ">u4"), ("version", ">u4"), ("page", ">u4"), ("sequence", ">u4"), ("salt", ">u8"), ("sum", ">u4", 2)]
)
_MAGIC: Final = 0x377F0682
"""The first word of a log. It is one larger if checksums are computed from big-endian words."""
_PAGES: Final = tuple(1 << i for i in range(9, 17))
"""The possible sizes of a page, in bytes."""
_USED_PAGES: Final = (1024, 4096)
"""The sizes of pages in files of the collector: of old files, and of new ones."""
_FRAMES: Final = 1024
"""The number of frames that are read at a time."""


def first_damaged_frame(path: Path) -> int | None:
    """The first damaged frame that has committed transactions after it, or None.

    Those transactions were acknowledged, and SQLite would silently drop them. A broken last transaction is not
    damage: a power cut before the sync leaves one, and no other transaction begins before that sync. Remains of
    unsynced transactions behind the end of the log are not damage either. Each of them has one commit, and none
    continues the checksum of another.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER.itemsize)
            if len(head) < _HEADER.itemsize:
                return None
            page = int(np.frombuffer(head, dtype=_HEADER)[0]["page"])
            for size in (page,) if page in _PAGES else _USED_PAGES:
                file.seek(len(head))
                broken, commits = _read(file, head, size)
                if commits > 1:
                    return broken
    except FileNotFoundError:
        return None
    return None


def _read(file: IO[bytes], head: bytes, page: int) -> tuple[int | None, int]:
    """The first frame whose checksum is wrong, and the largest number of consecutive commits from there on."""
    header = np.frombuffer(head, dtype=_HEADER)[0]
    words = ">u4" if header["magic"] & 1 else "<u4"
    last = header["sum"].astype(np.uint32)
    start = np.frombuffer(head[:24], dtype=words).reshape(1, -1)
    sound = int(header["page"]) == page and int(header["magic"]) & ~1 == _MAGIC
    sound = sound and bool((_checksums(start, np.zeros((1, 2), dtype=np.uint32)) == last).all())
    frame = np.dtype(
        [
            ("start", "u1", 8),
            ("salt", ">u8"),
            ("sum", ">u4", 2),
            ("page", "u1", page),
        ]
    )
    salt = header["salt"]
    broken, most, run, seen = None if sound else 0, 0, 0, 0
    while len(block := file.read(_FRAMES * frame.itemsize)) >= frame.itemsize:
        frames = np.frombuffer(block, dtype=frame, count=len(block) // frame.itemsize)
        if not sound and not seen:
            salt = frames["salt"][0]
        same = frames["salt"] == salt
        sums = frames["sum"].astype(np.uint32)
        fits = same
        if sound:  # With a damaged header, the byte order of the checksums is not known.
            data = np.concatenate((frames["start"], frames["page"]), axis=1).view(words)
            fits = (_checksums(data, np.concatenate((last[None], sums[:-1]))) == sums).all(axis=1) & same
        if broken is None and not fits.all():
            broken = seen + int(np.argmin(fits))
        if broken is not None:
            here = slice(max(0, broken - seen), None)
            runs = _runs(same[here] & frames["start"][here, 4:].any(axis=1), fits[here], run)
            most, run = max(most, int(runs.max())), int(runs[-1])
        last, seen = sums[-1], seen + len(frames)
    return broken, most


def _runs(commits: NDArray[np.bool_], fits: NDArray[np.bool_], before: int) -> NDArray[np.int64]:
    """The number of commits up to each frame since the last frame that does not continue the one before."""
    total = np.cumsum(commits)
    return total - np.maximum.accumulate(np.where(fits, -before, total - commits))


def _checksums(words: NDArray[np.uint32], before: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The checksum of each row, starting from (s, t) = before.

    Each pair of words x, y does s += x + t and then t += y + s, modulo 2³².
    """
    first, second, power = _weights(words.shape[1] // 2)
    x, y = words[:, ::2].astype(np.uint32), words[:, 1::2].astype(np.uint32)
    ours: NDArray[np.uint32] = x @ first + y @ second + before @ power
    return ours


@lru_cache(maxsize=4)
def _weights(pairs: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """The weights of each x, of each y and of the previous checksum in the result.

    One pair of words turns (s, t) into M(s, t) + (x, x + y), which is linear.
    """
    step = np.array([[1, 1], [1, 2]], dtype=np.uint32)
    first, second = np.empty((2, pairs, 2), dtype=np.uint32)
    power = np.eye(2, dtype=np.uint32)
    for i in reversed(range(pairs)):
        first[i], second[i] = power.sum(axis=1, dtype=np.uint32), power[:, 1]
        power = step @ power
    return first, second, power.T
