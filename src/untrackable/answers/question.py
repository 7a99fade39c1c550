"""What is asked of sums: all values, those that an encoding has, or candidates."""

import dataclasses
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from untrackable.encodings.encoding import Encoding
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.candidate_sums import CandidateAggregator
from untrackable.estimation.estimate import Estimate
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports.population import check_room

MOST_LISTED = 1 << 16
"""Values of an encoding that are all asked for, where a mechanism needs a list."""


class Question:
    """The same for the sums of every round; `candidates` are what people may hold, as the encoding takes it."""

    def __init__(
        self, mechanism: Mechanism, encoding: Encoding | None, candidates: Sequence[Any] | None = None
    ) -> None:
        if encoding is not None:
            check_room(mechanism, encoding)
        self._encoding = encoding
        self._chosen = candidates is not None
        self._groups: tuple[tuple[str, ...], ...] = ()
        self._numbers: list[Any] | None = None
        if candidates is not None and isinstance(encoding, HashedStrings):
            self._groups = encoding.grouped(dict.fromkeys(candidates))
            self._numbers = [encoding.encode(group[0]) for group in self._groups]
        elif candidates is not None:
            encoded = candidates if encoding is None else map(encoding.encode, candidates)
            self._numbers = list(dict.fromkeys(encoded))
        elif encoding is not None and encoding.values <= MOST_LISTED and not isinstance(encoding, HashedStrings):
            self._numbers = list(range(encoding.values))

    def of(self, sums: Aggregator) -> Aggregator:
        """Sums that answer it, instead of these: no reports are kept where what to count is known."""
        listed = _listed(sums)
        if self._chosen and not self._groups and not listed:
            raise ValueError(
                "candidates go with hashed strings, and with mechanisms that cannot estimate all values; "
                "here all values are estimated"
            )
        if listed and self._numbers is None and "candidates" in _required(sums):
            raise ValueError("candidates must be given, as this mechanism's reports tell nothing without a list")
        return sums.asked(self._numbers) if isinstance(sums, CandidateAggregator) else sums

    def noise(self, beta: float) -> float:
        """What noise may fail with for the answer to fail with `beta`: hashing has two more events that may."""
        return beta / 3 if self._groups else beta

    def estimate(self, sums: Any, beta: float) -> Estimate:
        """Of the integers that reports are about."""
        beta = self.noise(beta)
        if _listed(sums) and self._numbers is not None:
            found: Estimate = sums.estimate(candidates=self._numbers, beta=beta)
            return found
        found = sums.estimate(beta=beta)
        return found if self._encoding is None else _first(found, self._encoding.values)

    def named(self, estimate: Estimate) -> Estimate:
        """Of the candidates, where strings were hashed into those integers."""
        if not self._groups or not isinstance(self._encoding, HashedStrings):
            return estimate
        names = [group[0] if len(group) == 1 else group for group in self._groups]
        return self._encoding.candidates(estimate, names, of=None if estimate.values is None else self._numbers)


def _listed(sums: Any) -> bool:
    """Whether an estimate is of a list of candidates."""
    return "candidates" in inspect.signature(sums.estimate).parameters


def _required(sums: Any) -> list[str]:
    parameters = inspect.signature(sums.estimate).parameters.values()
    return [parameter.name for parameter in parameters if parameter.default is parameter.empty]


def _first(estimate: Estimate, count: int) -> Estimate:
    """Of the first values only, the others being held by nobody."""
    if count >= estimate.frequencies.size:
        return estimate
    names = ("frequencies", "radius", "simultaneous_radius", "standard_error", "span", "chance", "deviation")
    parts = {name: getattr(estimate, name) for name in names}
    cut: dict[str, Any] = {name: part[:count] for name, part in parts.items() if isinstance(part, np.ndarray)}
    return dataclasses.replace(estimate, **cut)
