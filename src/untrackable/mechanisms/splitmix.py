"""The output function of SplitMix64. Clients and simulations make public hash functions of it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed(word: int) -> int:
    """The output function of SplitMix64 (Steele, Lea, Flood 2014), a bijection of 64-bit words."""
    word = (word ^ word >> 30) * _FIRST & WORD
    word = (word ^ word >> 27) * _SECOND & WORD
    return word ^ word >> 31


def mixed_words(words: "NDArray[np.uint64]") -> "NDArray[np.uint64]":
    """`mixed` for every word of an array."""
    # NumPy is imported here so that a client can do without it.
    import numpy as np

    words = (words ^ words >> np.uint64(30)) * np.uint64(_FIRST)
    words = (words ^ words >> np.uint64(27)) * np.uint64(_SECOND)
    return words ^ words >> np.uint64(31)
