"""The randomness of clients for whole populations, and for theory; `randomizers.randomness` has the rules."""

import math

import numpy as np
from numpy.typing import NDArray

from untrackable.randomizers.randomness import FIRST, SECOND, WHOLE, Chance
from untrackable.theory.kept_bit import Coin, Noise


def mixed_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`mixed` for every word of an array."""
    words = (words ^ words >> np.uint64(30)) * np.uint64(FIRST)
    words = (words ^ words >> np.uint64(27)) * np.uint64(SECOND)
    return words ^ words >> np.uint64(31)


def random_words(rng: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Independent uniform words for a simulation."""
    return rng.integers(0, WHOLE - 1, size=count, dtype=np.uint64, endpoint=True)


def coin(chance: Chance) -> Coin:
    """The event as a coin. Its complement and its bias are computed from the integers, so no digits cancel."""
    rest = WHOLE - chance.threshold
    return Coin(chance.probability, rest / WHOLE, (chance.threshold - rest) / WHOLE)


def noise(one: Chance, zero: Chance) -> Noise:
    """The law of a reported bit given a kept 1 and a kept 0."""
    return Noise(
        coin(one),
        coin(zero),
        _log_ratio(one.threshold, zero.threshold),
        _log_ratio(WHOLE - one.threshold, WHOLE - zero.threshold),
    )


def _log_ratio(one: int, other: int) -> float:
    if one == 0 or other == 0:
        return 0.0 if one == other else math.inf if other == 0 else -math.inf
    excess = (one - other) / other
    return math.log1p(excess) if abs(excess) < 0.5 else math.log(one / other)


def simulate_noisy_symbols(
    given: NDArray[np.uint64], symbols: int, lie: Chance, rng: np.random.Generator
) -> NDArray[np.uint64]:
    """`noisy_symbol` for every position of an array."""
    lies = lie.simulate(rng, given.shape)
    steps = rng.integers(1, symbols, size=given.shape, dtype=np.uint64)
    return (given + np.where(lies, steps, np.uint64(0))) % np.uint64(symbols)


def simulate_subsets(count: int, size: int, among: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """`count` independent subsets, as rows of bits, element 0 first."""
    masks = np.zeros((count, among), dtype=np.uint8)
    rows = np.arange(count)
    for last in range(among - size, among):
        drawn = rng.integers(0, last + 1, size=count)
        masks[rows, np.where(masks[rows, drawn], last, drawn)] = 1
    return masks
