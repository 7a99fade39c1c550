"""From sums to answers: frequencies of each round and of all together, with the names of the values."""

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from untrackable import checks
from untrackable.encodings.base import Encoding
from untrackable.encodings.hashed import HashedStrings
from untrackable.errors import ReportFileError
from untrackable.files.collecting import Collected, Read, Told, collect
from untrackable.files.populations import fits
from untrackable.mechanisms.base import Mechanism
from untrackable.mechanisms.estimates import Aggregator
from untrackable.mechanisms.frequencies import Estimate
from untrackable.mechanisms.rounds import Rounds

_NOTHING_GAINED = "a client's reports are not independent from round to round, so pooling them gains nothing"
MOST_LISTED = 1 << 16
"""Values of an encoding that are all asked for, where a mechanism needs a list."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """Estimates by round, and pooled over all of them where that can be done.

    `pooling` says why it cannot, or that nothing is gained by it.
    """

    mechanism: Mechanism
    encoding: Encoding | None
    files: tuple[Read, ...]
    rounds: Mapping[int, Estimate]
    pooled: Estimate | None
    pooling: str = ""

    @property
    def best(self) -> Estimate:
        """All rounds together, or the last one if they cannot be pooled."""
        return self.rounds[max(self.rounds)] if self.pooled is None else self.pooled

    @property
    def reports(self) -> int:
        """How many were read."""
        return sum(file.reports for file in self.files)

    def label(self, value: Any) -> str:
        """A value's name for people."""
        if isinstance(value, tuple):
            return " or ".join(value)
        if self.encoding is None or isinstance(value, str):
            return str(value)
        return self.encoding.label(int(value))

    def labelled(self, estimate: Estimate) -> Estimate:
        """The same with names for values, to be exported."""
        values = range(estimate.frequencies.size) if estimate.values is None else estimate.values
        return dataclasses.replace(estimate, values=[self.label(value) for value in values])


def estimate_files(
    paths: Sequence[str | Path] | str | Path,
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    round: int | None = None,
    rounds: Sequence[int] | None = None,
    candidates: Sequence[Any] | None = None,
    beta: float = 0.05,
    progress: Told | None = None,
) -> Answer:
    """Frequencies from files of reports: all of them are read to the end, or there is no answer.

    `candidates` are what people may hold, as the encoding takes it: needed for hashed strings, and where there are
    too many values to estimate. Intervals hold except with probability `beta`.
    """
    found = collect(
        [paths] if isinstance(paths, (str, Path)) else paths,
        mechanism=mechanism,
        encoding=encoding,
        round=round,
        rounds=rounds,
        progress=progress,
    )
    return answer(found, candidates=candidates, beta=beta)


def answer(found: Collected, *, candidates: Sequence[Any] | None = None, beta: float = 0.05) -> Answer:
    """The estimates from sums."""
    beta = checks.open_probability("beta", beta)
    counted = {number: sums for number, sums in sorted(found.sums.items()) if sums.n}
    if not counted:
        which = (
            "no reports" if not found.reports else "no reports of a round that was asked for and tells frequencies"
        )
        raise ReportFileError(f"{', '.join(str(file.path) for file in found.files)}: there are {which}")
    asked = _Asked(found, next(iter(counted.values())), candidates, beta)
    alone = {number: asked.estimate(sums) for number, sums in counted.items()}
    pooled, why = _pooled(found.mechanism, counted, alone, asked)
    return Answer(
        mechanism=found.mechanism,
        encoding=found.encoding,
        files=tuple(found.files),
        rounds={number: asked.named(estimate) for number, estimate in alone.items()},
        pooled=None if pooled is None else asked.named(pooled),
        pooling=why,
    )


def _pooled(
    mechanism: Mechanism, sums: Mapping[int, Aggregator], alone: Mapping[int, Estimate], asked: "_Asked"
) -> tuple[Estimate | None, str]:
    """Sums that may be merged are merged, which is best; others are weighed by their variance."""
    if len(sums) == 1:
        return next(iter(alone.values())), ""
    numbers = list(sums)
    if len({one.source for one in sums.values()}) == 1 and sums[numbers[0]].source.pools:
        together = mechanism.aggregator(numbers[0])
        for one in sums.values():
            together.merge(one)
        return asked.estimate(together), ""
    try:
        rounds = Rounds(mechanism, alone)
    except ValueError as error:
        return None, str(error)
    said = "" if rounds.independent(numbers) else _NOTHING_GAINED
    return rounds.pooled(beta=asked.beta), said


class _Asked:
    """What is asked of the sums of every round: all values, those that an encoding has, or candidates."""

    def __init__(self, found: Collected, sums: Aggregator, candidates: Sequence[Any] | None, beta: float) -> None:
        encoding = found.encoding
        if encoding is not None:
            fits(found.mechanism, encoding)
        self._encoding = encoding
        self._listed = "candidates" in inspect.signature(sums.estimate).parameters  # type: ignore[attr-defined]
        self._groups: tuple[tuple[str, ...], ...] = ()
        self._numbers: list[Any] | None = None
        self.beta = beta
        if candidates is not None and isinstance(encoding, HashedStrings):
            self._groups = encoding.grouped(dict.fromkeys(candidates))
            self._numbers = [encoding.encode(group[0]) for group in self._groups]
            self.beta = beta / 3  # as three events may fail
        elif candidates is not None:
            if not self._listed:
                raise ValueError(
                    "candidates go with hashed strings, and with mechanisms that cannot estimate all values; "
                    "here all values are estimated"
                )
            self._numbers = list(
                dict.fromkeys(candidates if encoding is None else map(encoding.encode, candidates))
            )
        elif self._listed and encoding is not None and self._enumerable(encoding):
            self._numbers = list(range(encoding.values))
        if self._listed and self._numbers is None and "candidates" in _required(sums):
            raise ValueError("candidates must be given, as this mechanism's reports tell nothing without a list")

    @staticmethod
    def _enumerable(encoding: Encoding) -> bool:
        return encoding.values <= MOST_LISTED and not isinstance(encoding, HashedStrings)

    def estimate(self, sums: Any) -> Estimate:
        """Of the integers that reports are about."""
        if self._listed and self._numbers is not None:
            found: Estimate = sums.estimate(candidates=self._numbers, beta=self.beta)
            return found
        found = sums.estimate(beta=self.beta)
        return found if self._encoding is None else _first(found, self._encoding.values)

    def named(self, estimate: Estimate) -> Estimate:
        """Of the candidates, where strings were hashed into those integers."""
        if not self._groups or not isinstance(self._encoding, HashedStrings):
            return estimate
        names = [group[0] if len(group) == 1 else group for group in self._groups]
        return self._encoding.candidates(estimate, names, of=self._numbers if self._listed else None)


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
