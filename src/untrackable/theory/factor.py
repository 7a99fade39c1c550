"""One small observation and its law in each of the two worlds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from untrackable import checks

FloatArray = NDArray[np.float64]

_SUM_TOLERANCE = 1e-9
"""Probabilities may differ from a sum of 1 by this much."""
_DIGITS = 2.0**48
"""Losses count as equal if they agree in this many steps of their leading digits."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Factor:
    """Two probability vectors over the same outcomes, and the loss ln(p/q) of each outcome.

    A caller may give the loss if it is known more precisely than the ratio of two rounded masses. It must be +inf
    where world Q cannot produce the outcome and -inf where P cannot. `error` bounds the relative error of the
    masses if that is more than a few roundings.
    """

    p: FloatArray
    q: FloatArray
    loss: FloatArray
    error: float

    def __init__(self, p: ArrayLike, q: ArrayLike, loss: ArrayLike | None = None, *, error: float = 0.0) -> None:
        p = _probabilities("p", p)
        q = _probabilities("q", q)
        if p.shape != q.shape:
            raise ValueError(f"p and q must have the same length, got {p.size} and {q.size}")
        if loss is None:
            keep = (p > 0) | (q > 0)
            p, q = p[keep], q[keep]
            loss = log_ratio(p, q)
        else:
            loss = np.asarray(loss, dtype=np.float64)
            if loss.shape != p.shape:
                raise ValueError(f"loss must have the length of p, {p.size}, got {loss.size}")
        for name, array in (("p", p), ("q", q), ("loss", loss)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "error", error)

    def reversed(self) -> "Factor":
        """This observation with the two worlds exchanged."""
        return Factor(self.q, self.p, -self.loss, error=self.error)

    def merged(self) -> "Factor":
        """This factor with outcomes of equal loss pooled, which leaves the sufficient statistic.

        Losses are equal if they agree in the first 48 binary digits. Losses of different sign are never pooled.
        """
        digits, exponent = np.frexp(self.loss)
        digits = np.where(np.isfinite(self.loss), np.rint(digits * _DIGITS) / _DIGITS, self.loss)
        with np.errstate(invalid="ignore"):
            coarse = np.where(np.isfinite(self.loss), np.ldexp(digits, exponent), self.loss)
        _, first, group = np.unique(coarse, return_index=True, return_inverse=True)
        return Factor(np.bincount(group, self.p), np.bincount(group, self.q), self.loss[first], error=self.error)

    @property
    def finite(self) -> NDArray[np.bool_]:
        """Which outcomes both worlds can produce."""
        return np.isfinite(self.loss)

    @property
    def key(self) -> bytes:
        """Bytes that are equal for equal factors."""
        return self.p.tobytes() + self.q.tobytes() + self.loss.tobytes()

    def __repr__(self) -> str:
        return f"Factor({self.p.size} outcomes, loss {self.loss.min():.6g} … {self.loss.max():.6g})"


def log_ratio(p: FloatArray, q: FloatArray) -> FloatArray:
    """ln(p/q), accurate even if p and q nearly agree; ±inf where one of them is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relative = (p - q) / q
        near = np.abs(relative) < 0.5
        return np.where(near, np.log1p(np.where(near, relative, 0.0)), np.log(p) - np.log(q))


def response_factor(eps: float) -> Factor:
    """Randomised response, with losses +eps and -eps. It dominates every eps-private pair of worlds."""
    eps = checks.non_negative("eps", eps)
    if eps == np.inf:
        return Factor([1.0, 0.0], [0.0, 1.0])
    truth, lie = 1 / (1 + np.exp(-eps)), np.exp(-eps) / (1 + np.exp(-eps))
    return Factor([truth, lie], [lie, truth], [eps, -eps])


def persistent_factor(possibilities: float) -> Factor:
    """Something visible that never changes and has m equally likely possibilities: a cohort, seed or bucket set.

    One person certainly shows the same on both sides; two people do with probability 1/m. The factor is exact if
    everything else that is seen is independent of it.
    """
    possibilities = checks.positive("possibilities", possibilities)
    if possibilities < 1:
        raise ValueError(f"possibilities must be at least 1, got {possibilities}")
    if possibilities == 1:
        return Factor([1.0], [1.0])
    return Factor([1.0, 0.0], [1 / possibilities, 1 - 1 / possibilities], [np.log(possibilities), -np.inf])


def _probabilities(name: str, given: ArrayLike | Sequence[float]) -> FloatArray:
    array = np.array(given, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty vector, got shape {array.shape}")
    if not np.all(array >= 0):
        raise ValueError(f"{name} must be non-negative, got a minimum of {array.min()}")
    total = float(array.sum())
    if abs(total - 1) > _SUM_TOLERANCE:
        raise ValueError(f"{name} must sum to 1, got {total}")
    return array / total
