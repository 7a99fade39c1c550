"""How easily a string that nobody holds seems to be held, because other strings set its bits.

The bits of a string are as good as random: hash i of cohort c is uniform over the bits, independently of all
other strings. So if nobody holds a candidate, its bits are independent of the counts and of the other candidates,
whatever people hold instead. Take a score g[cohort, bit] for each bit from a fit without the candidate. The
candidate's score T is the sum of g over its cohorts and hashes. It is then a sum of independent draws, one from
row c of g for each hash of cohort c. The p-value is the probability that such a sum is at least T. It is computed,
not sampled, and holds however many people hold unlisted strings.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from untrackable.estimation.aggregators import FloatArray

_SHIFT = 0.05
"""All roundings together raise the sum by at most this part of its standard deviation."""
_MOST_POINTS = 1 << 21
"""The largest number of points of the grid on which sums are rounded, which limits memory."""
_FFT_ERROR = 1e-11
"""An upper bound on the error that rounding in the transforms makes in a tail."""


def hash_p_value(scores: FloatArray, positions: NDArray[np.int64]) -> float:
    """P(T of random bits ≥ T of these bits). It is an upper bound, since all rounding makes it larger.

    `scores[c, b]` is the score of bit b in cohort c. `positions[c, i]` is the bit that hash i sets there.
    """
    cohorts, bits = scores.shape
    hashes = positions.shape[1]
    lowest = scores.min(axis=1, keepdims=True)
    above = scores - lowest
    spread = float(np.sqrt(hashes * above.var(axis=1).sum()))
    reach = hashes * float(above.max(axis=1).sum())
    if spread == 0:
        return 1.0
    step = max(_SHIFT * spread / (cohorts * hashes), reach / _MOST_POINTS)
    found = int(np.floor(np.take_along_axis(above, positions, axis=1).sum() / step * (1 - 1e-12)))
    rounded = np.ceil(above / step).astype(np.int64)
    law = _law_of_sum([_law_of_sum([np.bincount(row) / bits] * hashes) for row in rounded])
    return float(min(1.0, max(0.0, law[found:].sum()) + _FFT_ERROR))


def _law_of_sum(laws: Sequence[FloatArray]) -> FloatArray:
    """The law of a sum of independent whole numbers from 0 on. Short laws are joined first: short transforms."""
    while len(laws) > 1:
        ordered = sorted(laws, key=len)
        pairs = zip(ordered[::2], ordered[1::2], strict=False)
        laws = [_joined(one, other) for one, other in pairs] + ordered[len(ordered) // 2 * 2 :]
    return laws[0]


def _joined(one: FloatArray, other: FloatArray) -> FloatArray:
    """The law of the sum of two independent whole numbers."""
    size = one.size + other.size - 1
    length = next_fast_len(size, real=True)
    transform = rfft(one, length)
    transform *= transform if other is one else rfft(other, length)
    law: FloatArray = irfft(transform, length)[:size]
    return law
