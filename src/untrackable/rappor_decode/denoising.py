"""How many people of each cohort have each bit of their Bloom filter set, from noisy counts."""

from dataclasses import dataclass

import numpy as np

from untrackable.errors import DecodeError
from untrackable.estimation.aggregators import FloatArray
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.rappor_decode.rappor_files import Counts


@dataclass(frozen=True, slots=True, eq=False)
class Denoised:
    """Unbiased counts by cohort and bit, and unbiased variances, given who is in which cohort.

    Neither is cut off: a count may be negative or larger than its cohort, and then so may its variance.
    """

    counts: FloatArray
    variances: FloatArray

    @property
    def standard_errors(self) -> FloatArray:
        """Square roots of the variances. A negative variance counts as zero."""
        return np.sqrt(np.maximum(0.0, self.variances))


def denoise(params: Rappor, counts: Counts) -> Denoised:
    """Remove the noise: (count - p01·N)/(p11 - p01), with p11 = q(1 - f/2) + p·f/2 and p01 = p(1 - f/2) + q·f/2.

    If t of N people have the bit set, the count has variance t·p11(1 - p11) + (N - t)·p01(1 - p01).
    """
    check(params, counts)
    one, zero = params.bit_rates
    gap = one - zero
    people = counts.reports[:, None].astype(np.float64)
    held = (counts.bits - zero * people) / gap
    variances = (held * one * (1 - one) + (people - held) * zero * (1 - zero)) / gap**2
    return Denoised(held, variances)


def check(params: Rappor, counts: Counts) -> None:
    """Refuse counts that do not fit the parameters, and parameters whose reports reveal nothing."""
    shape = params.cohorts, params.bloom_bits
    if counts.bits.shape != shape:
        raise DecodeError(
            f"the counts must have {shape[0]} cohorts and {shape[1]} bits, as the parameters do, "
            f"not {counts.bits.shape[0]} and {counts.bits.shape[1]}"
        )
    one, zero = params.bit_rates
    if one == zero:
        raise DecodeError(
            "f must be below 1: with f = 1, reports do not depend on the value, so there is nothing to decode"
        )
