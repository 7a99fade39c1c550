"""The kernels that numba compiles. `engine.compiled` imports this module where the work is worth it.

All types are declared, so everything is compiled on import, or read from the cache on disk, and never again. Inner
loops run over slices or with strides that the compiler knows. Otherwise it would not use vector instructions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from untrackable.arrays import Integers, Words

Counters = NDArray[np.int32]
BucketedReports = NDArray[np.uint32]

TILE = 4096
"""The number of neighbouring entries that are transformed together in the first-level cache."""
WIDTH = 64
"""The row length of a tile that is gathered from distant rows. Neighbours in memory are read together."""

_BLOCK = 2048
"""The number of reports that stay in the first-level cache while they are read again."""

_ONE = np.uint64(1)

_integers = types.Array(types.int64, 1, "C")
_counters = types.Array(types.int32, 1, "C")
_bucketed = types.Array(types.uint32, 1, "C")
_words = types.Array(types.uint64, 1, "C")
_given_integers = types.Array(types.int64, 1, "C", readonly=True)
_given_words = types.Array(types.uint64, 1, "C", readonly=True)
_given_rows = types.Array(types.uint64, 2, "C", readonly=True)
_given_entries = types.Array(types.int16, 1, "C", readonly=True)


def kernel(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function now, or read it from the cache. Without a writable cache folder, compile every time."""

    def compile_function(function: Callable[..., Any]) -> Any:
        try:
            return njit(signature, nogil=True, boundscheck=False, error_model="numpy", cache=True)(function)
        except RuntimeError:
            return njit(signature, nogil=True, boundscheck=False, error_model="numpy")(function)

    return compile_function


def _sixteens(stride: int) -> Callable[[Integers], None]:
    """Make a function that does four levels of the transform at once, with distances `stride` to 8·stride."""

    @njit(nogil=True, boundscheck=False, error_model="numpy")
    def levels(x: Integers) -> None:
        for start in range(0, x.size, 16 * stride):
            y = x[start : start + 16 * stride]
            for i in range(stride):
                a, b, c, d = y[i], y[i + stride], y[i + 2 * stride], y[i + 3 * stride]
                e, f, g, h = y[i + 4 * stride], y[i + 5 * stride], y[i + 6 * stride], y[i + 7 * stride]
                a, b, c, d, e, f, g, h = a + b, a - b, c + d, c - d, e + f, e - f, g + h, g - h
                a, b, c, d, e, f, g, h = a + c, b + d, a - c, b - d, e + g, f + h, e - g, f - h
                a, b, c, d, e, f, g, h = a + e, b + f, c + g, d + h, a - e, b - f, c - g, d - h
                k, j, m, n = y[i + 8 * stride], y[i + 9 * stride], y[i + 10 * stride], y[i + 11 * stride]
                o, p, q, r = y[i + 12 * stride], y[i + 13 * stride], y[i + 14 * stride], y[i + 15 * stride]
                k, j, m, n, o, p, q, r = k + j, k - j, m + n, m - n, o + p, o - p, q + r, q - r
                k, j, m, n, o, p, q, r = k + m, j + n, k - m, j - n, o + q, p + r, o - q, p - r
                k, j, m, n, o, p, q, r = k + o, j + p, m + q, n + r, k - o, j - p, m - q, n - r
                y[i], y[i + 8 * stride] = a + k, a - k
                y[i + stride], y[i + 9 * stride] = b + j, b - j
                y[i + 2 * stride], y[i + 10 * stride] = c + m, c - m
                y[i + 3 * stride], y[i + 11 * stride] = d + n, d - n
                y[i + 4 * stride], y[i + 12 * stride] = e + o, e - o
                y[i + 5 * stride], y[i + 13 * stride] = f + p, f - p
                y[i + 6 * stride], y[i + 14 * stride] = g + q, g - q
                y[i + 7 * stride], y[i + 15 * stride] = h + r, h - r

    return levels


_sixteens_of_4, _sixteens_of_width = _sixteens(4), _sixteens(WIDTH)


@njit(nogil=True, boundscheck=False, error_model="numpy")
def _fours(x: Integers) -> None:
    """Do the two lowest levels of the transform."""
    for k in range(x.size // 4):
        i = 4 * k
        a, b, c, d = x[i], x[i + 1], x[i + 2], x[i + 3]
        a, b, c, d = a + b, a - b, c + d, c - d
        x[i], x[i + 1], x[i + 2], x[i + 3] = a + c, b + d, a - c, b - d


@njit(nogil=True, boundscheck=False, error_model="numpy")
def _pairs(x: Integers, half: int) -> None:
    """Do one level of the transform, which combines entries at distance `half`."""
    for start in range(0, x.size, 2 * half):
        left, right = x[start : start + half], x[start + half : start + 2 * half]
        for i in range(half):
            a, b = left[i], right[i]
            left[i], right[i] = a + b, a - b


@njit(nogil=True, boundscheck=False, error_model="numpy")
def _copy(target: Integers, source: Integers) -> None:
    for i in range(target.size):
        target[i] = source[i]


@kernel(types.void(_integers, types.int64, types.int64))
def transform_tiles(x: Integers, start: int, stop: int) -> None:
    """Do the twelve lowest levels of the transform in the tiles start … stop-1."""
    for i in range(start, stop):
        tile = x[i * TILE : (i + 1) * TILE]
        _fours(tile)
        _sixteens_of_4(tile)
        _sixteens_of_width(tile)
        _pairs(tile, TILE // 4)
        _pairs(tile, TILE // 2)


@kernel(types.void(_integers, types.int64, types.int64, types.int64, types.int64))
def transform_columns(x: Integers, stride: int, levels: int, start: int, stop: int) -> None:
    """Do `levels` levels (at most six) from distance `stride` up, in the columns start … stop-1.

    A column is WIDTH entries wide. It is copied into a small tile, transformed there and copied back.
    """
    rows = 1 << levels
    tile = np.empty(rows * WIDTH, np.int64)
    across = stride // WIDTH
    for column in range(start, stop):
        corner = (column // across) * rows * stride + (column % across) * WIDTH
        for row in range(rows):
            place = corner + row * stride
            _copy(tile[row * WIDTH : (row + 1) * WIDTH], x[place : place + WIDTH])
        half = WIDTH
        if levels >= 4:
            _sixteens_of_width(tile)
            half *= 16
        while half < tile.size:
            _pairs(tile, half)
            half *= 2
        for row in range(rows):
            place = corner + row * stride
            _copy(x[place : place + WIDTH], tile[row * WIDTH : (row + 1) * WIDTH])


@kernel(types.boolean(_integers, _given_words))
def add_signs(sums: Integers, reports: Words) -> bool:
    """Add (-1)^b to sums[v] for every report 2·v + b. False, with nothing added, if a report is impossible."""
    low, width = np.uint64(2), np.uint64(2 * sums.size - 2)
    for start in range(0, reports.size, _BLOCK):
        block = reports[start : start + _BLOCK]
        strange = False
        for i in range(block.size):
            strange |= block[i] - low >= width
        if strange:
            for i in range(start):
                sums[reports[i] >> _ONE] -= 1 - 2 * np.int64(reports[i] & _ONE)
            return False
        for i in range(block.size):
            sums[block[i] >> _ONE] += 1 - 2 * np.int64(block[i] & _ONE)
    return True


@kernel(types.boolean(_given_words, types.uint64, _given_integers, _given_integers, _words))
def view_signs(reports: Words, shift: int, starts: Integers, sizes: Integers, signs: Words) -> bool:
    """Write 2·(start of the view + v) + b for every report 2·v + b of a view, which is above `shift` bits.

    False if a view does not exist, or if v is 0 or too large for it.
    """
    views, mask = np.uint64(starts.size), (_ONE << shift) - _ONE
    strange = False
    for i in range(reports.size):
        view, rest = reports[i] >> shift, reports[i] & mask
        if view >= views:
            return False
        vector = np.int64(rest >> _ONE)
        strange |= vector == 0 or vector >= sizes[view]
        signs[i] = (np.uint64(starts[view]) << _ONE) + rest
    return not strange


@kernel(types.boolean(_given_words, types.uint64, types.uint64, _integers))
def bucket_sizes(reports: Words, end: int, shift: int, sizes: Integers) -> bool:
    """Add the number of reports in each of 2^k buckets to sizes. False if a report is not in 2 … end-1."""
    low, width, mask = np.uint64(2), np.uint64(end - np.uint64(2)), np.uint64(sizes.size - 1)
    strange = False
    for i in range(reports.size):
        strange |= reports[i] - low >= width
        sizes[(reports[i] >> shift) & mask] += 1
    return not strange


@kernel(types.void(_given_words, types.uint64, _integers, _bucketed))
def deal_into_buckets(reports: Words, shift: int, places: Integers, dealt: BucketedReports) -> None:
    """Write every report at the next place of its bucket."""
    for i in range(reports.size):
        bucket = reports[i] >> shift
        place = places[bucket]
        dealt[place] = np.uint32(reports[i])
        places[bucket] = place + 1


@kernel(types.void(_integers, _bucketed, _integers, _counters, types.int64, types.int64))
def add_buckets(
    sums: Integers, dealt: BucketedReports, ends: Integers, counters: Counters, start: int, stop: int
) -> None:
    """Add the signs of the buckets start … stop-1 to sums, each bucket first within the small counters.

    Bucket i is dealt[ends[i] : ends[i + 1]].
    """
    size, one = counters.size, np.uint32(1)
    mask = np.uint32(2 * size - 1)
    for bucket in range(start, stop):
        mine = dealt[ends[bucket] : ends[bucket + 1]]
        counters[:] = 0
        for i in range(mine.size):
            report = mine[i] & mask
            counters[report >> one] += np.int32(1 - 2 * np.int32(report & one))
        part = sums[bucket * size : (bucket + 1) * size]
        for i in range(size):
            part[i] += counters[i]


@intrinsic
def _count_ones(typing_context: Any, word: Any) -> Any:
    """The number of set bits in a word, by the processor's own instruction."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


_ones: Any = _count_ones


@kernel(types.boolean(_given_rows, types.int64, types.int64, _words))
def expand_answers(rows: Words, bits: int, width: int, signs: Words) -> bool:
    """Expand every report into its 2^width - 1 sums 2·v + b. False if the vectors of a report are dependent."""
    mask = (_ONE << np.uint64(bits)) - _ONE
    sums = np.zeros(1 << width, np.uint64)
    fine = True
    place = 0
    for i in range(rows.shape[0]):
        answer = rows[i, 0]
        for j in range(width):
            start = width + bits * j
            word, shift = start >> 6, np.uint64(start & 63)
            vector = rows[i, word] >> shift
            if (start & 63) + bits > 64:
                vector |= rows[i, word + 1] << (np.uint64(64) - shift)
            own = (vector & mask) << _ONE | (answer >> np.uint64(j) & _ONE)
            half = 1 << j
            for c in range(half):
                sums[half + c] = sums[c] ^ own
        for c in range(1, 1 << width):
            fine &= sums[c] > _ONE
            signs[place] = sums[c]
            place += 1
    return fine


@kernel(types.void(_given_rows, _given_words, _given_rows, _integers, types.int64, types.int64))
def add_supports(
    vectors: Words, answers: Words, candidates: Words, counts: Integers, start: int, stop: int
) -> None:
    """Add to counts[u] the number of answers that u would give, for the candidates u = start … stop-1."""
    limbs = candidates.shape[0]
    width = vectors.shape[0] // limbs
    buffer = np.empty(_BLOCK, np.uint64)
    for begin in range(0, vectors.shape[1], _BLOCK):
        end = min(begin + _BLOCK, vectors.shape[1])
        some, given = buffer[: end - begin], answers[begin:end]
        for u in range(start, stop):
            some[:] = np.uint64(0)
            for j in range(width):
                place = np.uint64(j)
                v0, u0 = vectors[j * limbs, begin:end], candidates[0, u]
                if limbs == 1:
                    for i in range(some.size):
                        some[i] |= (_ones(v0[i] & u0) & _ONE) << place
                elif limbs == 2:
                    v1, u1 = vectors[j * limbs + 1, begin:end], candidates[1, u]
                    for i in range(some.size):
                        some[i] |= (_ones((v0[i] & u0) ^ (v1[i] & u1)) & _ONE) << place
                else:
                    v1, v2 = vectors[j * limbs + 1, begin:end], vectors[j * limbs + 2, begin:end]
                    v3 = vectors[j * limbs + limbs - 1, begin:end]
                    u1, u2 = candidates[1, u], candidates[2, u]
                    u3 = candidates[3, u] if limbs == 4 else np.uint64(0)
                    for i in range(some.size):
                        common = (v0[i] & u0) ^ (v1[i] & u1) ^ (v2[i] & u2) ^ (v3[i] & u3)
                        some[i] |= (_ones(common) & _ONE) << place
            equal = 0
            for i in range(some.size):
                equal += some[i] == given[i]
            counts[u] += equal


@kernel(types.void(_given_rows, _given_rows, _integers, types.int64, types.int64))
def add_parities(vectors: Words, candidates: Words, sums: Integers, start: int, stop: int) -> None:
    """Add Σ_v (-1)^⟨v,u⟩ to sums[u] for the candidates u = start … stop-1, of up to four words (one per row)."""
    limbs = vectors.shape[0]
    for begin in range(0, vectors.shape[1], _BLOCK):
        end = min(begin + _BLOCK, vectors.shape[1])
        v0, v1 = vectors[0, begin:end], vectors[min(1, limbs - 1), begin:end]
        v2, v3 = vectors[min(2, limbs - 1), begin:end], vectors[min(3, limbs - 1), begin:end]
        for u in range(start, stop):
            u0 = candidates[0, u]
            odd = np.uint64(0)
            if limbs == 1:
                for i in range(v0.size):
                    odd += _ones(v0[i] & u0) & _ONE
            elif limbs == 2:
                u1 = candidates[1, u]
                for i in range(v0.size):
                    odd += _ones((v0[i] & u0) ^ (v1[i] & u1)) & _ONE
            else:
                u1, u2 = candidates[1, u], candidates[2, u]
                u3 = candidates[3, u] if limbs == 4 else np.uint64(0)
                for i in range(v0.size):
                    odd += _ones((v0[i] & u0) ^ (v1[i] & u1) ^ (v2[i] & u2) ^ (v3[i] & u3)) & _ONE
            sums[u] += v0.size - 2 * np.int64(odd)


@kernel(types.int64(_given_words, _given_words, _given_words, _words, types.uint64, types.uint64, types.uint64))
def noisy_parities(
    words: Words, noise: Words, values: Words, reports: Words, bits: int, mask: int, below: int
) -> int:
    """Write reports: a vector from the highest bits of a word, and its parity with the value, flipped by noise.

    The parity is flipped if the masked noise is less than `below`. Bit 0 of the result is set if a vector is zero,
    and bit 1 if some noise equals `below`.
    """
    shift = np.uint64(64 - bits)
    zero, tie = False, False
    for i in range(words.size):
        vector, drawn = words[i] >> shift, noise[i] & mask
        zero |= vector == 0
        tie |= drawn == below
        flip = np.uint64(drawn < below)
        reports[i] = (vector << _ONE) | ((_ones(vector & values[i]) & _ONE) ^ flip)
    return 1 * zero + 2 * tie


_events = types.int64(_given_words, _given_words, types.uint64, types.uint64, _words, _words)


@kernel(_events)
def event_heads(words: Words, which: Words, ones: int, others: int, undecided: Words, happened: Words) -> int:
    """Compare four words per 64 events with the thresholds' highest bits; returns the number still undecided."""
    left = np.uint64(0)
    for i in range(which.size):
        done, still = happened[i], undecided[i]
        for j in range(4):
            bit = np.uint64(3 - j)
            own, rest = np.uint64(0) - ((ones >> bit) & _ONE), np.uint64(0) - ((others >> bit) & _ONE)
            threshold = (which[i] & own) | (~which[i] & rest)
            drawn = words[4 * i + j]
            done |= still & ~drawn & threshold
            still &= ~(drawn ^ threshold)
        happened[i], undecided[i] = done, still
        left += _ones(still)
    return np.int64(left)  # type: ignore[return-value]


@kernel(_events)
def event_pieces(words: Words, which: Words, ones: int, others: int, undecided: Words, happened: Words) -> int:
    """Compare 16 bits per undecided event with the thresholds' next bits; returns the number still undecided."""
    used, left = 0, 0
    for i in range(which.size):
        waiting, done, still = undecided[i], happened[i], np.uint64(0)
        while waiting:
            lane = waiting & (np.uint64(0) - waiting)
            waiting ^= lane
            drawn = (words[used >> 2] >> np.uint64(16 * (used & 3))) & np.uint64(0xFFFF)
            threshold = ones if which[i] & lane else others
            done |= lane * np.uint64(drawn < threshold)
            same = drawn == threshold
            still |= lane * np.uint64(same)
            left += same
            used += 1
        happened[i], undecided[i] = done, still
    return left


@njit(types.uint64(types.uint64), nogil=True, inline="always")
def _mixed(word: np.uint64) -> np.uint64:
    """The output function of SplitMix64, as in `randomizers.randomness`."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel(
    types.int64(
        _given_words,
        _given_words,
        _given_entries,
        _given_integers,
        types.uint64,
        types.uint64,
        _integers,
        types.int64,
        types.int64,
    )
)
def striking_children(
    states: Words,
    more: Words,
    table: NDArray[np.int16],
    limits: Integers,
    key: np.uint64,
    shift: np.uint64,
    places: Integers,
    start: int,
    stop: int,
) -> int:
    """Find the children of the states start … stop-1 whose table entry reaches the limit, and return their number.

    Their positions, row·(children per state) + child, are written into `places` in order.
    """
    count, striking = more.size, 0
    kept = places[start * count : stop * count]
    for row in range(start, stop):
        state, limit = states[row], limits[row]
        for i in range(count):
            bucket = _mixed(_mixed(state + more[i]) ^ key) >> shift
            kept[striking] = row * count + i
            striking += table[bucket] >= limit
    return striking
