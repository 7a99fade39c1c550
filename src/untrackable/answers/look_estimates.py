"""Estimates from reports about paths: of each look, of changes, and of the mean of all looks."""

from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from untrackable.encodings.asked_tables import View
from untrackable.encodings.path import Path
from untrackable.estimation.aggregators import Aggregator, Estimate
from untrackable.estimation.intervals import FloatArray
from untrackable.estimation.spread import Spread, Spreads
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.path_chances import chances_of


@runtime_checkable
class _TableSums(Protocol):
    """Sums of reports about views, which estimate the table of bits that a view shows."""

    def table(self, view: View, beta: float = 0.05) -> Estimate:
        """The frequency of each number that these bits can be."""


class LookSpreads(Spreads):
    """The spread of weighted sums of the mean shares of all looks, given those of whole paths."""

    def __init__(self, whole: Spreads, path: Path) -> None:
        self._whole, self._path = whole, path

    def of(self, weights: FloatArray) -> Spread:
        """The spread for these weights. Each path has the mean of the weights of its answers."""
        bits, looks = self._path.of.bits, self._path.looks
        padded = np.zeros(1 << bits)
        padded[: weights.size] = weights
        paths = np.arange(1 << bits * looks)
        return self._whole.of(sum(padded[paths >> i * bits & ((1 << bits) - 1)] for i in range(looks)) / looks)

    def of_each(self) -> Spread:
        """That of a single answer. It is the same for every answer."""
        return replace(self.of(np.ones(1)), independent=True)


def look_estimates(mechanism: Mechanism, path: Path, sums: Aggregator, beta: float) -> list[Estimate]:
    """The shares of each look, as if it were asked alone."""
    chances = chances_of(mechanism, path.looks)
    found = [_tables(sums).table(_bits(path, look), beta) for look in range(path.looks)]
    if chances is not None:  # Reports for an answer are counted, so the law of the count is inverted.
        span = np.full(1 << path.of.bits, 1 / chances.kept)
        found = [replace(each, span=span, chance=chances.elsewhere) for each in found]
    return [replace(each, numbers=path.of.numbers) for each in found]


def mean_estimate(mechanism: Mechanism, path: Path, sums: Aggregator, beta: float) -> Estimate:
    """The mean shares of all looks. All answers of a person count as one."""
    tables = _tables(sums)
    looks = [tables.table(_bits(path, look), beta) for look in range(path.looks)]
    spreads = LookSpreads(tables.table(path.asked.views[0], beta).spread, path)
    shares, each = np.mean([look.frequencies for look in looks], axis=0), spreads.of_each()
    variance = np.full(shares.shape, float(each.variance))
    if (chances := chances_of(mechanism, path.looks)) is not None:
        held = np.clip(shares, 0, 1)
        variance = held * chances.noise_of_mean(1.0) + (1 - held) * chances.noise_of_mean(0.0)
    return Estimate(
        shares,
        sums.n,
        beta,
        np.sqrt(variance / sums.n),
        span=np.full(shares.shape, float(each.span)),
        statistics=int(path.of.bits == 1),
        spread=spreads,
        numbers=path.of.numbers,
    )


def change_estimate(mechanism: Mechanism, path: Path, sums: Aggregator, beta: float) -> Estimate:
    """The share of people who changed their answer from each look to the next, told by the same people."""
    chances = chances_of(mechanism, path.looks)
    if chances is None:
        raise ValueError(
            "changes are told by reports whose answers are as wide as the path; show the pairs of looks"
        )
    size = 1 << path.of.bits
    pairs = [_tables(sums).table(_bits(path, look) + _bits(path, look + 1), beta) for look in range(path.looks - 1)]
    shares = np.array([1 - pair.frequencies.reshape(size, size).trace() for pair in pairs])
    # A drawn path differs between two looks with the probability that two uniform answers do.
    elsewhere = (1 - chances.kept) * (1 - chances.rest)
    there, held = elsewhere + chances.kept, np.clip(shares, 0, 1)
    noise = held * there * (1 - there) + (1 - held) * elsewhere * (1 - elsewhere)
    return Estimate(
        shares,
        sums.n,
        beta,
        np.sqrt(noise / sums.n) / chances.kept,
        span=np.full(shares.shape, 1 / chances.kept),
        chance=elsewhere,
        values=[f"look {look} to {look + 1}" for look in range(1, path.looks)],
        complete=False,
    )


def _bits(path: Path, look: int) -> View:
    bits = path.of.bits
    return tuple(range(look * bits, (look + 1) * bits))


def _tables(sums: Aggregator) -> _TableSums:
    if not isinstance(sums, _TableSums):
        raise ValueError("these reports are not about paths")  # noqa: TRY004
    return sums
