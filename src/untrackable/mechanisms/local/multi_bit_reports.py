"""Reports with several vectors and an answer with a bit for each: their layout, and arrays of them.

A report is answer + 2^w·(v₀ + 2^d·v₁ + 2^2d·v₂ + …), where bit i of the answer is about vector v_i. It is an
integer of w·(d+1) bits; for w = 1 it is 2·v + bit. In arrays, reports that do not fit into a word are bytes along a
last axis, least significant first.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from untrackable.estimation.aggregators import Reports

Words = NDArray[np.uint64]

LARGEST_WIDTH = 8
"""The widest answer in bits. A server adds to 2^width - 1 entries for each report."""

_WORD = 64
_ONE = np.uint64(1)


def joined(vectors: Sequence[int], answer: int, bits: int) -> int:
    """The report with these vectors and this answer."""
    for i, vector in enumerate(vectors):
        answer |= vector << len(vectors) + bits * i
    return answer


def parted(report: int, bits: int, width: int) -> tuple[list[int], int]:
    """The vectors and the answer of a report."""
    mask = (1 << bits) - 1
    return [report >> width + bits * i & mask for i in range(width)], report & (1 << width) - 1


def independent(vectors: Sequence[int]) -> bool:
    """Whether no vector is a sum of others."""
    sums = {0}
    for vector in vectors:
        if vector in sums:
            return False
        sums |= {vector ^ earlier for earlier in sums}
    return True


def report_bytes(bits: int, width: int) -> int:
    """The number of bytes of a report that does not fit into a word; else 0."""
    total = width * (bits + 1)
    return -(-total // 8) if total > _WORD else 0


def simulate_vectors(bits: int, width: int, people: int, rng: np.random.Generator) -> Words:
    """Independent vectors, drawn uniformly: a row for each of `width` vectors, a column for each of `people`.

    `echelon` holds the rest of each vector after the leading bits of earlier ones are cleared. The rest is 0 if the
    vector is a sum of earlier ones; then it is drawn again.
    """
    vectors, echelon = (np.empty((width, people), dtype=np.uint64) for _ in range(2))
    for i in range(width):
        left: slice | NDArray[np.intp] = slice(None)
        count = people
        while count:
            drawn = rng.integers(1, 1 << bits, size=count, dtype=np.uint64)
            rest = drawn
            for earlier in echelon[:i]:
                rest = np.minimum(rest, rest ^ earlier[left])
            vectors[i, left], echelon[i, left] = drawn, rest
            again = np.flatnonzero(rest == 0)
            left = again if isinstance(left, slice) else left[again]
            count = again.size
    return vectors


def pack(vectors: Words, answers: Words, bits: int) -> Reports:
    """Reports in the shape of the answers. `vectors` has a row for each bit of an answer, at most 63 bits wide."""
    width, count = vectors.shape
    rows = np.zeros((count, -(-width * (bits + 1) // _WORD)), dtype=np.uint64)
    rows[:, 0] = answers.reshape(-1)
    for i, vector in enumerate(vectors):
        limb, shift = divmod(width + bits * i, _WORD)
        rows[:, limb] |= vector << np.uint64(shift)
        if shift + bits > _WORD:
            rows[:, limb + 1] |= vector >> np.uint64(_WORD - shift)
    size = report_bytes(bits, width)
    if not size:
        return rows.reshape(answers.shape)
    return rows.astype("<u8", copy=False).view(np.uint8)[:, :size].reshape(*answers.shape, size)


def array_of(reports: list[int], bits: int, width: int) -> Reports:
    """The integers that clients send, as an array."""
    if any(report < 0 or report >> width * (bits + 1) for report in reports):
        raise ValueError(rule(bits, width))
    size = report_bytes(bits, width)
    if not size:
        return np.array(reports, dtype=np.uint64)
    data = b"".join(report.to_bytes(size, "little") for report in reports)
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, size)


def rows_of(reports: Reports, bits: int, width: int) -> Words:
    """One row for each report of an array, with its words, the lowest first. Surplus bits are an error."""
    total, size = width * (bits + 1), report_bytes(bits, width)
    if not size:
        if reports.dtype.kind == "i" and reports.size and int(reports.min()) < 0:
            raise ValueError(rule(bits, width))
        rows: Words = np.ascontiguousarray(reports.reshape(-1, 1).astype(np.uint64, copy=False))
    else:
        if reports.dtype != np.uint8 or reports.shape[-1:] != (size,):
            raise ValueError(f"reports must be arrays of {size} bytes each, got {reports.dtype} {reports.shape}")
        flat = reports.reshape(-1, size)
        padded = np.zeros((flat.shape[0], 8 * -(-size // 8)), dtype=np.uint8)
        padded[:, :size] = flat
        rows = padded.view("<u8").astype(np.uint64, copy=False)
    if total % _WORD and np.any(rows[:, -1] >> np.uint64(total % _WORD)):
        raise ValueError(rule(bits, width))
    return rows


def columns_of(rows: Words, bits: int, width: int) -> tuple[Words, Words]:
    """A row for each word of each vector, and the answers, from rows of words."""
    answers = rows[:, 0] & np.uint64((1 << width) - 1)
    limbs = -(-bits // _WORD)
    columns = np.zeros((width * limbs, rows.shape[0]), dtype=np.uint64)
    for i in range(width):
        for j in range(limbs):
            limb, shift = divmod(width + bits * i + _WORD * j, _WORD)
            kept = min(_WORD, bits - _WORD * j)
            piece = rows[:, limb] >> np.uint64(shift)
            if shift + kept > _WORD:
                piece |= rows[:, limb + 1] << np.uint64(_WORD - shift)
            columns[i * limbs + j] = piece & np.uint64((1 << kept) - 1)
    return columns, answers


def answers_of(columns: Words, value: int, width: int) -> Words:
    """The true answers of a value, for columns of vectors."""
    limbs = columns.shape[0] // width
    answers = np.zeros(columns.shape[1], dtype=np.uint64)
    for i in range(width):
        common = np.zeros(columns.shape[1], dtype=np.uint64)
        for j in range(limbs):
            common ^= columns[i * limbs + j] & np.uint64(value >> _WORD * j & (1 << _WORD) - 1)
        answers |= (np.bitwise_count(common) & _ONE) << np.uint64(i)
    return answers


def all_independent(columns: Words, width: int) -> bool:
    """Whether the vectors of every column are independent. All sums of vectors are tried; none may be 0."""
    limbs = columns.shape[0] // width
    vectors = columns.reshape(width, limbs, -1)
    total = np.zeros(vectors.shape[1:], dtype=np.uint64)
    for number in range(1, 1 << width):
        total ^= vectors[(number & -number).bit_length() - 1]
        if not total.any(axis=0).all():
            return False
    return True


def rule(bits: int, width: int) -> str:
    """The rule that reports must follow, for error messages."""
    limit = f"a report must be below 2^{width * (bits + 1)}"
    return f"{limit}, and its {width} vectors of {bits} bits must be linearly independent"
