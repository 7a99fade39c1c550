"""Uniform subsets of a given size, by Floyd's algorithm: one draw for each element."""

import numpy as np
from numpy.typing import NDArray

from untrackable.mechanisms.entropy import Entropy, below


def draw_subset(size: int, among: int, entropy: Entropy) -> int:
    """A uniform subset of 0 … among-1 with `size` elements, as a mask."""
    mask = 0
    for last in range(among - size, among):
        drawn = below(last + 1, entropy)
        mask |= 1 << (last if mask >> drawn & 1 else drawn)
    return mask


def simulate_subsets(count: int, size: int, among: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """`count` independent subsets, as rows of bits, element 0 first."""
    masks = np.zeros((count, among), dtype=np.uint8)
    rows = np.arange(count)
    for last in range(among - size, among):
        drawn = rng.integers(0, last + 1, size=count)
        masks[rows, np.where(masks[rows, drawn], last, drawn)] = 1
    return masks
