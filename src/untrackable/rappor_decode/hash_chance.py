"""How easily a string that nobody holds seems to be there, because its bits fall where other strings set theirs.

The bits of a string are as good as random: hash i of cohort c is uniform over the bits, independently of all
other strings. So if nobody holds a candidate, its bits are independent of the counts and of the other candidates,
whatever people do hold, listed or not. Take g[cohort, bit] from a fit that the candidate had no part in. Its
score T, the sum of g over its cohorts and hashes, is then a sum of independent draws: one from row c of g for
each hash of cohort c. The p-value is the probability that such a sum is at least T. It is computed, not sampled,
and holds for unlisted strings of any share.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from untrackable.estimation.aggregators import FloatArray

_SHIFT = 0.05
"""All roundings together raise the sum by at most this part of its standard deviation."""
_MOST_POINTS = 1 << 21
_FFT_ERROR = 1e-11
"""An upper bound on what the transforms' rounding can have done to a tail."""


def hash_p_value(scores: FloatArray, positions: NDArray[np.int64]) -> float:
    """P(T of random bits ≥ T of these bits), an upper bound: roundings are all toward a larger value.

    `scores[c, b]` is what bit b of cohort c says, `positions[c, i]` the bit that hash i sets there.
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
    size = hashes * int(rounded.max(axis=1).sum()) + 1
    length = next_fast_len(size, real=True)
    transform = np.ones(length // 2 + 1, dtype=np.complex128)
    for row in rounded:
        transform *= rfft(np.bincount(row, minlength=length) / bits) ** hashes
    law = irfft(transform, length)
    return float(min(1.0, max(0.0, law[found:size].sum()) + _FFT_ERROR))
