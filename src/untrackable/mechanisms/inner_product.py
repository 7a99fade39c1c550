"""The noisy inner product [NV, RNIP]: random vectors, and their inner products with a d-bit value, with noise.

It is a frequency oracle like optimal local hashing: the vectors are a random linear hash of w bits, whose value
goes through randomised response. One Walsh-Hadamard transform estimates all values.

A report is answer + 2^w·(v₀ + 2^d·v₁ + 2^2d·v₂ + …), where bit i of the answer is about vector v_i. It is an
integer of w·(d+1) bits; for w = 1 it is 2·v + bit. In arrays, reports that do not fit into a word are bytes along a
last axis, least significant first.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from untrackable import checks, randomizers
from untrackable.arrays import FloatArray, Words
from untrackable.errors import SumsError
from untrackable.estimation.aggregators import (
    LARGEST_DENSE_BITS,
    CandidateAggregator,
    Columns,
    InnerProductAggregator,
    Reports,
    Scope,
    limbs_of,
    row_words,
    wide_rows,
)
from untrackable.kernels.counting import add_answers, support_counts
from untrackable.kernels.engine import compiled, read_only
from untrackable.mechanisms.local_interface import Truthfulness
from untrackable.mechanisms.randomness import random_words, simulate_noisy_symbols
from untrackable.randomizers.inner_product import LARGEST_BITS, LARGEST_WIDTH
from untrackable.randomizers.randomness import flip_eps
from untrackable.theory.accuracy import Accuracy, inner_product_scale, inner_product_variance
from untrackable.theory.crowd import CrowdClasses
from untrackable.theory.experiment import Certainty
from untrackable.theory.factor import Factor

LARGEST_SIMULATED_BITS = 63

_WORD = 64
_ONE = np.uint64(1)
_DRAWN_TOGETHER = 1 << 15
"""The number of reports that are drawn together, so that their words stay in the second-level cache.

It determines the order of the draws, so changing it changes the results of a seed."""
_NARROW = 32
"""The largest number of bits of a vector that leaves enough bits of the same word for the noise."""


class NoisyInnerProduct(randomizers.NoisyInnerProduct):
    """The noisy inner product, with its sums, its estimates and its theory.

    One bit is best for small eps, a wider answer for large eps. By default the width is the one with the smallest
    variance.
    """

    __slots__ = ()

    def __init__(self, *, bits: int, eps: float, width: int | None = None) -> None:
        if width is None:
            bits = checks.integer("bits", bits, low=1, high=LARGEST_BITS)
            width = best_width(bits, checks.epsilon("eps", eps))
        super().__init__(bits=bits, eps=eps, width=width)

    @property
    def words(self) -> int:
        """The number of words per simulated report, for randomness and working memory."""
        return 2 if self.width == 1 else 4 * self.width

    def simulate(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        if self.bits > LARGEST_SIMULATED_BITS:
            raise ValueError(f"bits must be at most {LARGEST_SIMULATED_BITS} in simulation, got {self.bits}")
        if self.width > 1:
            return self._simulate_wide(values, rng)
        return noisy_inner_products(values, self.bits, self.flip.threshold, rng)

    def _simulate_wide(self, values: NDArray[np.uint64], rng: np.random.Generator) -> Reports:
        vectors = simulate_vectors(self.bits, self.width, values.size, rng)
        truth = np.zeros(values.size, dtype=np.uint64)
        for i, vector in enumerate(vectors):
            truth |= (np.bitwise_count(vector & values.reshape(-1)) & np.uint64(1)) << np.uint64(i)
        answers = simulate_noisy_symbols(truth, 1 << self.width, self.flip, rng)
        return pack(vectors, answers.reshape(values.shape), self.bits)

    def differing(self) -> float:
        """ρ = (1-2^-w)/(1-2^-d), the share of lists of vectors for which two given values have different answers.

        The answers are the same if A maps the difference of the values, which is not zero, to zero. The i-th vector
        (from 0) is uniform among the 2^d-2^i that are not sums of the earlier ones. If those are orthogonal to the
        difference, then so are 2^(d-1)-2^i of these. The product over i < w of (2^(d-1)-2^i)/(2^d-2^i) is
        (2^(d-w)-1)/(2^d-1). For w = 1, ρ = 2^(d-1)/(2^d-1).
        """
        return self.share_of_lists(self.bits, self.width)

    @staticmethod
    def share_of_lists(bits: int, width: int) -> float:
        """ρ for any eps."""
        return (1 - 0.5**width) / (1 - 0.5**bits)

    @property
    def certainty(self) -> Certainty:
        """Exact: every two values have the same factor."""
        return "exact"

    @property
    def bit_share(self) -> float:
        """ρ for an answer of one bit; with one vector there is one question. Wider answers are of another kind."""
        return self.differing() if self.width == 1 else 0.0

    def privacy_factor(self) -> Factor:
        """The loss is ±eps if the two values have different answers and the report has one of them, else 0.

        It is the same for every two values.
        """
        truth, other = self.chances()
        eps, differ = flip_eps(self.flip, 1 << self.width), self.differing()
        one_of_theirs = 1.0 if self.width == 1 else truth + other
        rest = 0.0 if self.bits == 1 else 1 - differ * one_of_theirs
        return Factor(
            [differ * truth, differ * other, rest], [differ * other, differ * truth, rest], [eps, -eps, 0.0]
        )

    def differing_exact(self) -> Fraction:
        """The exact ρ."""
        return (1 - Fraction(1, 1 << self.width)) / (1 - Fraction(1, 1 << self.bits))

    def crowd_classes(self) -> CrowdClasses:
        """Reports with the answer of one of two values, and not of the other: like the third value's or not."""
        truth, lie = self.chances()
        if self.bits == 1:
            return CrowdClasses((truth, lie), (lie, truth), (truth, lie))
        apart, shared = map(float, self.third_answers())
        rows = [(share, third) for share, third in ((apart, lie), (shared, truth)) if share]
        return CrowdClasses(
            tuple(share * chance for share, _ in rows for chance in (truth, lie)),
            tuple(share * chance for share, _ in rows for chance in (lie, truth)),
            tuple(share * third for share, third in rows for _ in range(2)),
        )

    def third_answers(self) -> tuple[Fraction, Fraction]:
        """The shares of lists for which a third value's answer is not that of the first of two, and that it is.

        They are among the lists for which the two have different answers. Two differences of three values are
        independent vectors. The share of lists that map both to zero is the product over i < w of
        (2^(d-2)-2^i)/(2^d-2^i), which is (2^(d-w)-1)(2^(d-w-1)-1)/((2^d-1)(2^(d-1)-1)).
        """
        left, whole = Fraction(1 << self.bits, 1 << self.width), 1 << self.bits
        differ = self.differing_exact()
        both = (left - 1) * (left / 2 - 1) / ((whole - 1) * (whole // 2 - 1)) if left > 1 else Fraction(0)
        shared = 1 - differ - both
        return differ - shared, shared

    def largest_weight(self) -> float:
        """(1-c)/(p-c): a report counts for its sender's value with probability p, and for another with c."""
        truth, _ = self.chances()
        other = self.answer_for_another()
        return (1 - other) / (truth - other)

    def answer_for_another(self) -> float:
        """The probability that a report has the answer that is true of another given value."""
        truth, lie = self.chances()
        return (1 - self.differing()) * truth + self.differing() * lie

    def held_variance(self, share: float) -> float:
        """The variance, times n, of the estimate of a value that this share of people holds, given who holds it.

        A report counts for the value of its sender with the probability of a true answer, and for another value if
        it has the same true answer to the vectors, or by noise (exact).
        """
        share = checks.probability("share", share)
        truth, _ = self.chances()
        other = self.answer_for_another()
        held, unheld = truth * (1 - truth), other * (1 - other)
        return (share * held + (1 - share) * unheld) / (truth - other) ** 2

    def held_error(self, people: int, share: float) -> float:
        """The standard error of such an estimate from this many reports (exact)."""
        return math.sqrt(self.held_variance(share) / checks.integer("people", people, low=1))

    def repeat_factor(self) -> Factor:
        truth, other = self.chances()
        lie, chance, log_lists = self.flip.probability, 1 / self._lists(), math.log(self._lists())
        equal = [truth**2 * chance, lie * other * chance]
        losses = [log_lists - math.log(truth), log_lists - math.log(other), -math.inf]
        return Factor([truth, lie, 0.0], [*equal, 1 - sum(equal)], losses)

    def log_likelihood(self, reports: Reports, value: int) -> FloatArray:
        truth, other = self.chances()
        rows = rows_of(reports, self.bits, self.width)
        vectors, answers = columns_of(rows, self.bits, self.width)
        is_true = answers == answers_of(vectors, value, self.width)
        wide = report_bytes(self.bits, self.width) > 0
        shape = reports.shape[:-1] if wide else reports.shape
        return np.log(np.where(is_true, truth, other)).reshape(shape) - math.log(self._lists())

    def truthfulness(self) -> Truthfulness:
        """An answer is right unless it is flipped; pure noise gives each of the 2^w answers."""
        return Truthfulness("question", 1 - self.flip.probability, 0.5**self.width)

    def accuracy(self, people: int, beta: float) -> Accuracy:
        """The error from one report per person. A report counts for a value if it has its true answer."""
        eps, there = flip_eps(self.flip, 1 << self.width), self.chances()[0]
        span = (1 << self.width) * inner_product_scale(self.bits, eps, self.width)
        return Accuracy.of_shares(people, beta, there=there, elsewhere=self.answer_for_another(), span=span)

    def aggregator(self, scope: Scope) -> InnerProductAggregator | CandidateAggregator:
        """Sums by vector. If there are too many vectors, the reports themselves, to estimate candidates."""
        bits, width, flip = self.bits, self.width, self.flip.probability
        if bits > LARGEST_DENSE_BITS:
            if width > 1:
                return WideCandidateAggregator(scope, bits=bits, width=width, flip=flip)
            return CandidateAggregator(scope, bits=bits, flip=flip)
        if width > 1:
            return WideAggregator(scope, bits=bits, width=width, flip=flip)
        return InnerProductAggregator(scope, bits=bits, flip=flip)

    def chances(self) -> tuple[float, float]:
        """The probabilities of the true answer and of each other one."""
        return self.flip.opposite().probability, self.flip.probability / ((1 << self.width) - 1)

    def _lists(self) -> int:
        """The number of lists of independent vectors."""
        return math.prod(self.values - (1 << i) for i in range(self.width))


# --- the noise of simulated reports, with exact probabilities: integers over 2^64 -------------------------


def noisy_inner_products(values: Words, bits: int, threshold: int, rng: np.random.Generator) -> Words:
    """Draw a report 2·v + (⟨v, u⟩ ⊕ x) for every value u.

    The vector v is uniform among 1 … 2^bits-1, and the bit x is 1 with probability threshold/2^64. A vector of at
    most 32 bits takes the highest bits of a random word, and the noise takes the rest. The noise is compared with
    the highest bits of the threshold. If they are equal, which is rare, another word decides by the lowest bits. A
    vector that is zero is drawn again.
    """
    if not 1 <= bits <= 63:
        raise ValueError(f"bits must be between 1 and 63, got {bits}")
    if not 0 <= threshold < 1 << 64:
        raise ValueError("threshold must be between 0 and 2^64 - 1")
    flat = np.ascontiguousarray(values).reshape(-1)
    reports = np.empty(flat.size, dtype=np.uint64)
    for start in range(0, flat.size, _DRAWN_TOGETHER):
        chunk = slice(start, start + _DRAWN_TOGETHER)
        _draw_noisy(flat[chunk], reports[chunk], bits, threshold, rng)
    return reports.reshape(values.shape)


def _draw_noisy(values: Words, reports: Words, bits: int, threshold: int, rng: np.random.Generator) -> None:
    words = random_words(rng, values.size)
    noise = words if bits <= _NARROW else random_words(rng, values.size)
    kept = 64 - bits if bits <= _NARROW else 64
    mask, below, rest = (1 << kept) - 1, threshold >> (64 - kept), threshold & ((1 << (64 - kept)) - 1)
    kernels = compiled(0)  # Simulation alone rarely pays for loading the kernels, so they are used only if loaded.
    fill = _noisy_parities if kernels is None else kernels.noisy_parities
    given = (read_only(words), read_only(noise), read_only(values))
    strange = fill(*given, reports, np.uint64(bits), np.uint64(mask), np.uint64(below))
    shift = np.uint64(64 - bits)
    if strange & 2 and rest:
        ties = np.flatnonzero((noise & np.uint64(mask)) == np.uint64(below))
        reports[ties] ^= random_words(rng, ties.size) >> np.uint64(kept) < np.uint64(rest)
    while strange & 1:
        again = np.flatnonzero(reports < 2)  # Where the vector is zero, the report holds only the noise.
        vectors = random_words(rng, again.size) >> shift
        strange = int(not vectors.all())
        parity = np.bitwise_count(vectors & values[again]) & np.uint8(1)
        reports[again] ^= vectors << _ONE | parity


def _noisy_parities(
    words: Words, noise: Words, values: Words, reports: Words, bits: np.uint64, mask: np.uint64, below: np.uint64
) -> int:
    """The kernel `noisy_parities` with NumPy alone."""
    vectors, drawn = words >> (np.uint64(64) - bits), noise & mask
    parity = np.bitwise_count(vectors & values) & np.uint8(1)
    reports[:] = vectors << _ONE | (parity ^ (drawn < below))
    return int(not vectors.all()) + 2 * int((drawn == below).any())


# --- the width of an answer, and the layout of a report ---------------------------------------------------


def best_width(bits: int, eps: float) -> int:
    """The narrowest width with the smallest variance."""
    widths = range(1, min(bits, LARGEST_WIDTH) + 1)
    return min(widths, key=lambda width: inner_product_variance(bits, eps, width))


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


def rows_of(reports: Reports, bits: int, width: int) -> Words:
    """One row for each report of an array, with its words, the lowest first. Surplus bits are an error."""
    total, size = width * (bits + 1), report_bytes(bits, width)
    if not size:
        if reports.dtype.kind == "i" and reports.size and int(reports.min()) < 0:
            raise ValueError(rule(bits, width))
        rows: Words = np.ascontiguousarray(reports.reshape(-1, 1).astype(np.uint64, copy=False))
    else:
        rows = row_words(wide_rows(reports, size))
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


class WideAggregator(InnerProductAggregator):
    """sums[c·A] = Σ (-1)^(c·y) over the reports (A, y) and all non-zero c in F_2^w.

    Σ_c (-1)^(c·(y ⊕ A·u)) is 2^w if y is the true answer of value u, and 0 otherwise. So the transform at u is
    2^w·(number of reports with the true answer of u) - n.
    """

    def __init__(self, scope: Scope, *, bits: int, width: int, flip: float) -> None:
        super().__init__(scope, bits=bits, flip=flip, width=width)
        self._bytes, self._limits = report_bytes(bits, width), (0, (1 << width * (bits + 1)) - 1)

    def _outside(self) -> ValueError:
        return ValueError(rule(self._bits, self._width))

    def _checked(self, reports: Reports) -> Reports:
        return rows_of(reports, self._bits, self._width)

    def _possible(self, reports: Reports) -> None:
        vectors, _ = columns_of(reports.astype(np.uint64, copy=False), self._bits, self._width)
        if not all_independent(vectors, self._width):
            raise self._outside()

    def _add(self, reports: Reports) -> None:
        rows = reports.astype(np.uint64, copy=False)
        if not add_answers(self.sums, rows, self._width):
            raise self._outside()
        self.n += rows.shape[0]


class WideCandidateAggregator(CandidateAggregator):
    """The vectors and answers of all reports, in no order.

    Memory grows with the reports: ⌈bits/64⌉ words for each vector and one for the answer. An estimate takes `width`
    inner products for each report and candidate.
    """

    def __init__(self, scope: Scope, *, bits: int, width: int, flip: float) -> None:
        super().__init__(scope, bits=bits, flip=flip)
        self._width = width
        self._bytes, self._limits = report_bytes(bits, width), (0, (1 << width * (bits + 1)) - 1)
        self._kept = (Columns(width * limbs_of(bits) + 1),)

    def _agreeing(self, columns: tuple[Words, ...], words: Words) -> NDArray[np.int64]:
        (kept,) = columns
        return support_counts(kept[:-1], kept[-1], words)

    def _outside(self) -> ValueError:
        return ValueError(rule(self._bits, self._width))

    def _checked(self, reports: Reports) -> Reports:
        rows = rows_of(reports, self._bits, self._width)
        vectors, answers = columns_of(rows, self._bits, self._width)
        if not all_independent(vectors, self._width):
            raise self._outside()
        return np.vstack((vectors, answers))

    def _columns(self, reports: Reports) -> tuple[Words, ...]:
        return (reports.astype(np.uint64, copy=False),)

    def _packed(self) -> bytes:
        """All vectors and answers, sorted, so that their order of arrival is not stored."""
        kept = self._kept[0].filled
        return kept[:, np.lexsort(kept)].T.astype("<u8").tobytes()

    def _add_packed(self, payload: memoryview, n: int) -> None:
        size = self._kept[0].filled.shape[0]
        if len(payload) != 8 * size * n:
            raise SumsError(f"these sums should have {8 * size * n} bytes for {n} reports")
        kept = np.frombuffer(payload, dtype="<u8").astype(np.uint64).reshape(n, size).T
        top = kept[limbs_of(self._bits) - 1 : -1 : limbs_of(self._bits)]
        surplus = np.any(top >> np.uint64((self._bits - 1) % 64) > 1) or np.any(kept[-1] >> np.uint64(self._width))
        if surplus or not all_independent(kept[:-1], self._width):
            raise SumsError("these sums hold a report that their mechanism cannot have made")
        self._kept[0].append(kept)
