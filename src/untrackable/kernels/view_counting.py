"""Signed counts of reports about views: one table in which every view has entries of its own."""

import numpy as np
from numpy.typing import NDArray

from untrackable.kernels import threads
from untrackable.kernels.compilation import compiled, read_only
from untrackable.kernels.counting import add_signs

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]

_CHUNK = 1 << 20
"""The number of reports that are counted at a time, so that they take little memory."""
_ALONE = 1 << 17
"""Up to this number of reports, one thread is faster than several."""
_FEW = 1 << 18
"""Up to this number of possible reports, equal ones are counted first, if each comes several times."""
_SEVERAL = 4
_ONE = np.uint64(1)


def add_view_signs(sums: Integers, reports: Words, shift: int, starts: Integers, sizes: Integers) -> bool:
    """Add (-1)^b to entry v of its view for every report 2·v + b, with the view above `shift` bits.

    The entries of a view begin at its start. Returns False and adds nothing if some report is not possible: its
    view does not exist, or v is 0 or too large. There are 2^bits sums.
    """
    flat = read_only(reports).reshape(-1)
    if starts.size << shift <= min(_FEW, flat.size // _SEVERAL):
        return _add_equal(sums, flat, shift, starts, sizes)
    counted = 0
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        signs = _signs(chunk, shift, starts, sizes)
        if signs is None or not add_signs(sums, signs):
            for before in range(0, counted, _CHUNK):
                again = _signs(flat[before : before + _CHUNK], shift, starts, sizes)
                if again is not None:
                    add_signs(sums, again ^ _ONE)
            return False
        counted += chunk.size
    return True


def _add_equal(sums: Integers, reports: Words, shift: int, starts: Integers, sizes: Integers) -> bool:
    """The same, counting equal reports first."""
    possible = starts.size << shift
    if int(reports.max()) >= possible:
        return False
    counts = np.bincount(reports.view(np.int64), minlength=possible)
    sent = np.flatnonzero(counts)
    signs = _signs_by_numpy(sent.astype(np.uint64), shift, starts, sizes)
    if signs is None:
        return False
    signed = np.where(signs & _ONE, -counts[sent], counts[sent])
    np.add.at(sums, (signs >> _ONE).astype(np.int64), signed)
    return True


def possible_view_reports(reports: Words, shift: int, starts: Integers, sizes: Integers) -> bool:
    """Whether `add_view_signs` would add these reports."""
    flat = read_only(reports).reshape(-1)
    chunks = (flat[start : start + _CHUNK] for start in range(0, flat.size, _CHUNK))
    return all(_signs(chunk, shift, starts, sizes) is not None for chunk in chunks)


def _signs(reports: Words, shift: int, starts: Integers, sizes: Integers) -> Words | None:
    """2·(start of the view + v) + b for every report; None if one of them is not possible."""
    kernels = compiled(reports.size)
    if kernels is None:
        return _signs_by_numpy(reports, shift, starts, sizes)
    signs = np.empty(reports.size, dtype=np.uint64)
    given = (np.uint64(shift), read_only(starts), read_only(sizes))
    failed: list[int] = []

    def write(start: int, stop: int) -> None:
        if not kernels.view_signs(reports[start:stop], *given, signs[start:stop]):
            failed.append(start)

    threads.split_work(write, reports.size, threads=threads.allowed() if reports.size > _ALONE else 1)
    return None if failed else signs


def _signs_by_numpy(reports: Words, shift: int, starts: Integers, sizes: Integers) -> Words | None:
    views, rest = reports >> np.uint64(shift), reports & np.uint64((1 << shift) - 1)
    if reports.size and int(views.max()) >= starts.size:
        return None
    places, vectors = views.astype(np.int64), (rest >> _ONE).astype(np.int64)
    if np.any(vectors == 0) or np.any(vectors >= sizes[places]):
        return None
    return (starts[places].astype(np.uint64) << _ONE) + rest
