"""From sums to answers: frequencies of each round and of all together, with the names of the values."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from untrackable import checks
from untrackable.answers.question import Question
from untrackable.encodings.encoding import Encoding
from untrackable.errors import ReportFileError
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.estimate import Estimate
from untrackable.estimation.rounds import Rounds
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports.summing import Collected, Read, Told, collect

_NOTHING_GAINED = "a client's reports are not independent from round to round, so pooling them gains nothing"


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
    beta = checks.open_probability("beta", beta)
    found = collect(
        [paths] if isinstance(paths, (str, Path)) else paths,
        mechanism=mechanism,
        encoding=encoding,
        round=round,
        rounds=rounds,
        ask=lambda made, meant: Question(made, meant, candidates),
        progress=progress,
    )
    return answer(found, beta=beta)


def answer(found: Collected, *, beta: float = 0.05) -> Answer:
    """The estimates from sums."""
    beta = checks.open_probability("beta", beta)
    counted = {number: sums for number, sums in sorted(found.sums.items()) if sums.n}
    if not counted:
        which = (
            "no reports" if not found.reports else "no reports of a round that was asked for and tells frequencies"
        )
        raise ReportFileError(f"{', '.join(str(file.path) for file in found.files)}: there are {which}")
    asked = found.question or Question(found.mechanism, found.encoding)
    alone = {number: asked.estimate(sums, beta) for number, sums in counted.items()}
    pooled, why = _pooled(found.mechanism, counted, alone, asked, beta)
    return Answer(
        mechanism=found.mechanism,
        encoding=found.encoding,
        files=tuple(found.files),
        rounds={number: asked.named(estimate) for number, estimate in alone.items()},
        pooled=None if pooled is None else asked.named(pooled),
        pooling=why,
    )


def _pooled(
    mechanism: Mechanism,
    sums: Mapping[int, Aggregator],
    alone: Mapping[int, Estimate],
    asked: Question,
    beta: float,
) -> tuple[Estimate | None, str]:
    """Sums that may be merged are merged, which is best; others are weighed by their variance."""
    if len(sums) == 1:
        return next(iter(alone.values())), ""
    numbers = list(sums)
    if len({one.source for one in sums.values()}) == 1 and sums[numbers[0]].source.pools:
        together = asked.of(mechanism.aggregator(numbers[0]))
        for one in sums.values():
            together.merge(one)
        return asked.estimate(together, beta), ""
    try:
        rounds = Rounds(mechanism, alone)
    except ValueError as error:
        return None, str(error)
    said = "" if rounds.independent(numbers) else _NOTHING_GAINED
    return rounds.pooled(beta=asked.noise(beta)), said
