"""The values that are estimated from sums: all values of an encoding, or candidates that people may hold."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from untrackable.answers.look_estimates import change_estimate, look_estimates, mean_estimate
from untrackable.answers.table_estimate import estimated_table, table_of
from untrackable.encodings.capacity import check_room
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.encodings.path import Path
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.estimate import Estimate
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.turns import Turns

CHANGES = "changes"
"""The name of the table with the shares of people who changed their answer from a look to the next."""
MOST_LISTED = 1 << 16
"""If sums need a list, all values of an encoding are listed up to this number."""


class CandidatesNeeded(ValueError):
    """These sums need a list of values to estimate, and there is none: too many values, or no encoding."""


class Question:
    """Which values to estimate, the same for the sums of every round.

    `candidates` are values that people may hold, before encoding. Without them, all values of the encoding are
    estimated; if the sums need a list, there may be at most `most_listed` of them. `unused_values` says whether
    values of the mechanism that the encoding does not use are estimated too. With `turns`, each person
    answered once: estimates of a round are of all who were active in it. If the encoding asks for tables, `table`
    names the one to estimate, by default the first. If it asks for paths, each look is estimated like a round of
    its own, unless a table is named: two neighbouring looks, or "changes" from each look to the next.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        encoding: Encoding | None,
        candidates: Sequence[Any] | None = None,
        *,
        most_listed: int = MOST_LISTED,
        unused_values: bool = False,
        turns: Turns | None = None,
        table: str | None = None,
    ) -> None:
        if encoding is not None:
            check_room(mechanism, encoding)
        self.mechanism = mechanism
        self._most_listed, self._unused_values = most_listed, unused_values
        self.turns = turns
        self._changes = isinstance(encoding, Path) and table == CHANGES
        self.table = None if self._changes else table_of(encoding, table)
        self.path = encoding if isinstance(encoding, Path) and self.table is None else None
        self.encoding = encoding if self.path is None or self._changes else self.path.of
        if (self.table or self.path) is not None and candidates is not None:
            raise ValueError("candidates cannot be given: this question asks for tables")
        self._hashed = encoding if isinstance(encoding, HashedStrings) else None
        self._candidates: list[Any] | None = None
        """The encoded candidates."""
        self.groups: tuple[tuple[str, ...], ...] = ()
        """Hashed candidates by the bucket that they share. Those of a group cannot be distinguished."""
        if candidates is not None and self._hashed is not None:
            self.groups = self._hashed.grouped(dict.fromkeys(candidates))
            self._candidates = [self._hashed.encode(group[0]) for group in self.groups]
        elif candidates is not None:
            encoded = candidates if encoding is None else map(encoding.encode, candidates)
            self._candidates = list(dict.fromkeys(encoded))

    @property
    def size(self) -> int:
        """How many values are asked about: cells of a table, candidates, or all of the encoding; else 0."""
        if self.table is not None:
            return len(self.table.cells)
        if self._candidates is not None:
            return len(self._candidates)
        return 0 if self.encoding is None else self.encoding.values

    @property
    def looks(self) -> int:
        """The number of looks of a round, each of which is estimated like a round of its own."""
        return 1 if self.path is None or self._changes else self.path.looks

    def looks_of(self, number: int) -> range:
        """The numbers of the looks of a round, through all rounds."""
        return range((number - 1) * self.looks + 1, number * self.looks + 1)

    def prepare(self, sums: Aggregator) -> Aggregator:
        """Sums that answer the question. They keep no reports, as the values to count are known."""
        if self._candidates is not None and not self.groups and not sums.takes_candidates:
            raise ValueError(
                "candidates go with hashed strings, and with mechanisms that cannot estimate all values; "
                "here all values are estimated"
            )
        if sums.needs_candidates and self._values(sums) is None:
            raise CandidatesNeeded(f"candidates must be given, as {sums.why_candidates}")
        return sums.for_candidates(self._values(sums))

    def estimate(self, sums: Aggregator, beta: float, *, pooled: bool = False) -> Estimate:
        """The estimate of encoded values, from sums of a round, or `pooled` ones, that `prepare` returned.

        Of paths, it is the mean of all looks.
        `named` then gives an answer whose intervals fail with probability at most `beta`.
        """
        if self.table is not None:
            return estimated_table(sums, self.table, beta).of_active(self.turns, pooled=pooled)
        if self.path is not None and self._changes:
            return change_estimate(self.mechanism, self.path, sums, beta).of_active(self.turns, pooled=pooled)
        if self.path is not None:
            found = mean_estimate(self.mechanism, self.path, sums, beta).of_active(self.turns, pooled=pooled)
            return found.first(self.path.of.values)
        listed = self._values(sums)
        estimate = sums.estimate(self.noise_beta(beta), listed)
        if self.encoding is not None:
            complete = estimate.complete or _is_everything(listed, self.encoding)
            estimate = dataclasses.replace(estimate, complete=complete, numbers=self.encoding.numbers)
        estimate = estimate.of_active(self.turns, pooled=pooled)
        if self.encoding is None or estimate.values is not None or self._unused_values:
            return estimate
        return estimate.first(self.encoding.values)

    def estimates(self, number: int, sums: Aggregator, beta: float) -> dict[int, Estimate]:
        """The estimate of a round under its number, or those of its looks, numbered through all rounds."""
        if self.path is None or self._changes:
            return {number: self.estimate(sums, beta)}
        found = look_estimates(self.mechanism, self.path, sums, beta)
        values = self.path.of.values
        shown = (each.of_active(self.turns).first(values) for each in found)
        return dict(zip(self.looks_of(number), shown, strict=True))

    def noise_beta(self, beta: float) -> float:
        """How often noise may exceed the radii if the answer may fail with probability `beta`.

        For hashed candidates, two more events can make the answer fail. So each of the three gets a third.
        """
        return beta / 3 if self.groups else beta

    def named(self, estimate: Estimate) -> Estimate:
        """The estimate of the candidates themselves, if they were hashed; other estimates stay as they are."""
        if self._hashed is None or not self.groups:
            return estimate
        names = [group[0] if len(group) == 1 else group for group in self.groups]
        found = self._hashed.candidates(estimate, names, of=None if estimate.values is None else self._candidates)
        return dataclasses.replace(found, numbers=self._hashed.numbers)

    def label(self, value: Any) -> str:
        """A name for a value of an estimate. Candidates that share a bucket have one name together."""
        if isinstance(value, tuple):
            return " or ".join(value)
        if self.encoding is None or isinstance(value, str):
            return str(value)
        return self.encoding.label(int(value))

    def _values(self, sums: Aggregator) -> list[Any] | None:
        """The encoded values to ask these sums about; None to estimate all values."""
        if self.table is not None or self.path is not None:
            return None
        if not sums.needs_candidates and (self._unused_values or not sums.takes_candidates):
            return None
        if self._candidates is not None:
            return self._candidates
        if self.encoding is None or self.encoding.values > self._most_listed:
            return None
        if self._hashed is not None and not sums.needs_candidates:
            return None
        return list(range(self.encoding.values))


def _is_everything(listed: list[Any] | None, encoding: Encoding) -> bool:
    """Whether these are all values of the encoding, in order."""
    return listed is not None and len(listed) == encoding.values and listed == list(range(encoding.values))
