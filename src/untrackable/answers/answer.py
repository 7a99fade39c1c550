"""The answer to a question: estimates of each round, all rounds pooled if possible, and names of the values.

A `Question` says what is estimated from sums: all values of an encoding, candidates that people may hold, a table,
or the looks of a path. Several rounds become one estimate by adding up their sums, or by weighting their estimates
by their variance. From estimates follow mean and quantiles of numbers, and what ready questions about days of use
tell (`untrackable.encodings.days_of_use`): how many people are active, and how many come back.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from untrackable import checks, strict_json
from untrackable.arrays import FloatArray
from untrackable.encodings.days_of_use import (
    ACTIVE_DAYS,
    LAST_DAYS,
    RETENTION,
    RETURN_DAYS,
    retention_masks,
)
from untrackable.encodings.encoding import AskedTable, Encoding, View, check_room
from untrackable.encodings.record import Path
from untrackable.encodings.strings import HashedStrings
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.estimate import Estimate, Functional, Quantile
from untrackable.estimation.intervals import LinearSpreads, Spread, is_told, stacked
from untrackable.estimation.rounds import ActivePeople, Rounds, active_people, independent_rounds
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local import chances_of
from untrackable.notebook_view import NotebookTable
from untrackable.theory.turns import Turns

if TYPE_CHECKING:
    import pyarrow as pa

CHANGES = "changes"
"""The name of the table with the shares of people who changed their answer from a look to the next."""
MOST_LISTED = 1 << 16
"""If sums need a list, all values of an encoding are listed up to this number."""
MEDIAN_AND_95 = (0.5, 0.95)
MOST_NUMBERS = 1 << 16
"""With more values than this, mean and quantiles would take much memory, and are not computed."""
AT_LEAST = (1, 7, 14, 28)
"""Numbers of active days that are asked for unless others are given."""
_NOTHING_GAINED = "a client's reports are not independent from round to round, so pooling them gains nothing"


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
            mean = mean_estimate(self.mechanism, self.path, sums, beta).of_active(self.turns, pooled=pooled)
            return mean.first(self.path.of.values)
        listed = self._values(sums)
        estimate = sums.estimate(self.noise_beta(beta), listed)
        if self.encoding is not None:
            everything = (
                listed is not None and len(listed) == self.encoding.values and listed == [*range(len(listed))]
            )
            complete = estimate.complete or everything
            estimate = dataclasses.replace(estimate, complete=complete, numbers=self.encoding.numbers)
        estimate = estimate.of_active(self.turns, pooled=pooled)
        if self.encoding is None or estimate.values is not None or self._unused_values:
            return estimate
        return estimate.first(self.encoding.values)

    def estimates(self, number: int, sums: Aggregator, beta: float) -> dict[int, Estimate]:
        """The estimate of a round under its number, or those of its looks, numbered through all rounds."""
        if self.path is None or self._changes:
            return {number: self.estimate(sums, beta)}
        looks = look_estimates(self.mechanism, self.path, sums, beta)
        values = self.path.of.values
        shown = (each.of_active(self.turns).first(values) for each in looks)
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
        by_name = self._hashed.candidates(estimate, names, of=None if estimate.values is None else self._candidates)
        return dataclasses.replace(by_name, numbers=self._hashed.numbers)

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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Answer(NotebookTable):
    """Estimates by round, and pooled over all rounds if that is possible. Each look of a path is like a round.

    `pooling` says why it is not possible, or that it gains nothing.
    """

    question: Question
    rounds: Mapping[int, Estimate]
    pooled: Estimate | None
    pooling: str = ""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that made the reports."""
        return self.question.mechanism

    @property
    def encoding(self) -> Encoding | None:
        """The encoding of the values, if it is known."""
        return self.question.encoding

    @property
    def best(self) -> Estimate:
        """The pooled estimate, or that of the last round if rounds cannot be pooled."""
        return self.rounds[max(self.rounds)] if self.pooled is None else self.pooled

    @property
    def only_counts(self) -> bool:
        """Whether nothing was asked, so that there are people to count and no shares to estimate."""
        return self.encoding is not None and self.encoding.values == 1

    def people(self, *, beta: float = 0.05) -> ActivePeople:
        """How many people were active in a round, on average over the rounds of the best estimate.

        Rounds in between that have no report count, too.
        """
        if self.pooled is None:
            return active_people([self.best.n], self.question.turns, beta)
        looks = self.question.looks  # All looks of a round have the same reports.
        missing = (max(self.rounds) - min(self.rounds) + 1 - len(self.rounds)) // looks
        reports = [each.n for each in self.rounds.values()][::looks]
        return active_people(reports, self.question.turns, beta, missing=missing)

    @property
    def independent(self) -> bool:
        """Whether a client's reports of these rounds are independent given its values. Looks share theirs."""
        return self.question.path is None and independent_rounds(self.mechanism, self.rounds)

    def label(self, value: Any) -> str:
        """A value's name for people."""
        return self.question.label(value)

    def labelled(self, estimate: Estimate) -> Estimate:
        """An estimate with the names of its values, for export."""
        values = range(estimate.frequencies.size) if estimate.values is None else estimate.values
        return dataclasses.replace(estimate, values=[self.label(value) for value in values])

    def to_arrow(self) -> "pa.Table":
        """The best estimate with the names of its values: a row for each, with both intervals."""
        return self.labelled(self.best).to_arrow()


def answer(question: Question, sums: Mapping[int, Aggregator], *, beta: float = 0.05) -> Answer:
    """Estimate each round and all rounds together, from the sums of each round that has reports.

    Intervals fail with probability at most `beta`. The sums are as `question.prepare` returns them.
    """
    beta = checks.open_probability("beta", beta)
    alone: dict[int, Estimate] = {}
    for number in sorted(sums):
        alone |= question.estimates(number, sums[number], beta)
    pooled = pooled_estimate(question, sums, beta, alone=alone if question.path is None else None)
    return Answer(
        question=question,
        rounds={number: question.named(estimate) for number, estimate in alone.items()},
        pooled=None if pooled.estimate is None else question.named(pooled.estimate),
        pooling=pooled.note,
    )


class Pooled(NamedTuple):
    """The estimate of all rounds together, of encoded values.

    There is none if rounds cannot be pooled; `note` says why, or that pooling gains nothing.
    """

    estimate: Estimate | None
    note: str = ""


def add_up(mechanism: Mechanism, rounds: Iterable[int]) -> bool:
    """Whether the sums of these rounds may be added up, as if all reports were of one round.

    The first and the last round tell, as the rounds between them belong to the same group if these two do.
    """
    numbers = sorted(rounds)
    first, last = (mechanism.aggregator(number).scope for number in (numbers[0], numbers[-1]))
    return len(numbers) == 1 or (first == last and first.pools)


def merged_sums(sums: Mapping[int, Aggregator], empty: Aggregator) -> Aggregator:
    """The sums of all rounds, added to empty ones a round at a time. So a mapping may read them from a store."""
    for number in sums:
        empty.merge(sums[number])
    return empty


def pooled_estimate(
    question: Question,
    sums: Mapping[int, Aggregator],
    beta: float,
    *,
    alone: Mapping[int, Estimate] | None = None,
) -> Pooled:
    """Pool the sums of all rounds, as `question.prepare` returns them; `alone` are their estimates, if known."""
    mechanism = question.mechanism
    if add_up(mechanism, sums):
        if alone is not None and len(alone) == 1:
            return Pooled(next(iter(alone.values())))
        empty = question.prepare(mechanism.aggregator(min(sums)))
        return Pooled(question.estimate(merged_sums(sums, empty), beta, pooled=len(sums) > 1))
    if alone is None:
        alone = {number: question.estimate(sums[number], beta) for number in sums}
    try:
        rounds = Rounds(mechanism, alone)
    except ValueError as error:
        return Pooled(None, str(error))
    pooled = rounds.pooled(beta=question.noise_beta(beta))
    return Pooled(pooled, "" if rounds.independent(rounds.numbers) else _NOTHING_GAINED)


@runtime_checkable
class _TableSums(Protocol):
    """Sums of reports about views, which estimate the table of bits that a view shows."""

    def table(self, view: View, beta: float = 0.05) -> Estimate:
        """The frequency of each number that these bits can be."""


def spreads_of_cells(cells: list[Spread]) -> LinearSpreads:
    """The spread of each cell by itself. That of a sum over several cells is not known."""

    def of(weights: FloatArray) -> Spread:
        places = np.flatnonzero(weights).tolist()
        if len(places) != 1:
            raise ValueError("how far a sum over several cells of a table may be off is not known")
        return cells[places[0]].scaled(float(weights[places[0]]))

    return LinearSpreads(of, lambda: stacked(cells))


def table_of(encoding: Encoding | None, name: str | None) -> AskedTable | None:
    """The table that is asked for, or None if it is whole values, or all looks of a path."""
    asked = None if encoding is None else encoding.asked
    if asked is not None:
        if name is None and isinstance(encoding, Path):
            return None
        return asked.named(name)
    if name is not None:
        raise ValueError("this question has one table only; give no name of a table")
    return None


def estimated_table(sums: Aggregator, table: AskedTable, beta: float) -> Estimate:
    """The share of each cell, under its label. Intervals hold for each cell, or for all cells at once."""
    if not isinstance(sums, _TableSums):
        raise ValueError("these reports are about whole values, not about the tables that are asked for")  # noqa: TRY004
    tables = {bits: sums.table(bits, beta) for bits in dict.fromkeys(cell.bits for cell in table.cells)}
    spreads = {bits: each.spread.of_each() for bits, each in tables.items()}
    cells = [one.at(cell.entry) for cell in table.cells if (one := spreads[cell.bits]) is not None]
    return Estimate(
        np.array([tables[cell.bits].frequencies[cell.entry] for cell in table.cells]),
        sums.n,
        beta,
        np.array([tables[cell.bits].standard_error[cell.entry] for cell in table.cells]),
        span=np.array([tables[cell.bits].span[cell.entry] for cell in table.cells]),
        values=[cell.label for cell in table.cells],
        complete=False,
        spread=spreads_of_cells(cells),
    )


def look_estimates(mechanism: Mechanism, path: Path, sums: Aggregator, beta: float) -> list[Estimate]:
    """The shares of each look, as if it were asked alone."""
    chances = chances_of(mechanism, path.looks)
    looks = [_tables(sums).table(_bits(path, look), beta) for look in range(path.looks)]
    if chances is not None:  # Reports for an answer are counted, so the law of the count is inverted.
        span = np.full(1 << path.of.bits, 1 / chances.kept)
        looks = [replace(each, span=span, chance=chances.elsewhere) for each in looks]
    return [replace(each, numbers=path.of.numbers) for each in looks]


def mean_estimate(mechanism: Mechanism, path: Path, sums: Aggregator, beta: float) -> Estimate:
    """The mean shares of all looks. All answers of a person count as one."""
    tables = _tables(sums)
    looks = [tables.table(_bits(path, look), beta) for look in range(path.looks)]
    whole, bits = tables.table(path.asked.views[0], beta).spread, path.of.bits

    def of(weights: FloatArray) -> Spread:
        """Each path has the mean of the weights of its answers."""
        padded = np.zeros(1 << bits)
        padded[: weights.size] = weights
        paths = np.arange(1 << bits * path.looks)
        answers = (padded[paths >> i * bits & ((1 << bits) - 1)] for i in range(path.looks))
        return whole.of(sum(answers) / path.looks)

    # The spread of a single answer is the same for every answer.
    each = replace(of(np.ones(1)), independent=True)
    shares = np.mean([look.frequencies for look in looks], axis=0)
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
        spread=LinearSpreads(of, lambda: each),
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NumberSummary:
    """The mean, or why there is none, and quantiles, or why there are none, all in this unit.

    Each interval holds alone, except with probability `beta` (upper). `clamped` says on which sides numbers out of
    range count as the nearest within.
    """

    unit: str
    beta: float
    clamped: tuple[str, ...]
    mean: Functional | None
    quantiles: tuple[Quantile, ...]
    refusals: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """All of it for JSON. Infinite numbers are strings, and a value that is not told is null."""
        content: dict[str, Any] = strict_json.finite(
            {
                "unit": self.unit,
                "intervals": "upper, for each number alone",
                "beta": self.beta,
                "clamped": list(self.clamped),
                "mean": None if self.mean is None else _told(self.mean),
                "quantiles": [_told(quantile) for quantile in self.quantiles],
                "refusals": list(self.refusals),
            }
        )
        return content


def _told(number: Functional | Quantile) -> dict[str, Any]:
    """The fields, without the value if the reports do not tell it."""
    shown = number.tells and not math.isnan(number.value)
    return dataclasses.asdict(number) | ({} if shown else {"value": None})


def number_summary(
    encoding: Encoding | None, estimate: Estimate, quantiles: Sequence[float] = MEDIAN_AND_95
) -> NumberSummary | None:
    """Mean and quantiles of an estimate, if its encoding is of numbers; what cannot be told has its reason."""
    if encoding is None or not encoding.ordered:
        return None
    mean: Functional | None = None
    told: list[Quantile] = []
    refusals = []
    if encoding.values > MOST_NUMBERS:
        refusals.append(f"mean and quantiles are given for at most {MOST_NUMBERS:,} values: ask in buckets")
    else:
        try:
            mean = estimate.mean()
        except ValueError as error:
            refusals.append(str(error))
        try:
            told = [estimate.quantile(q) for q in quantiles]
        except ValueError as error:
            refusals.append(str(error))
    return NumberSummary(
        unit=getattr(encoding, "unit", ""),
        beta=estimate.beta,
        clamped=tuple(side for side in ("below", "above") if getattr(encoding, side) == "clamp"),
        mean=mean,
        quantiles=tuple(told),
        refusals=tuple(dict.fromkeys(refusals)),
    )


@dataclass(frozen=True, slots=True)
class DaysShare:
    """A share of people, for a number of days, in an interval that fails with probability at most `beta` (upper).

    All intervals of an answer hold at once. The value is within [0, 1]. Reports do not `tell` it if the interval
    is too wide, as for all shares. `known` is the share of people of whom it is known (estimated), those that it is
    of.
    """

    days: int
    value: float
    lower: float
    upper: float
    known: float
    beta: float
    tells: bool


def asks_about_days(answer: Answer) -> str | None:
    """Which ready question was asked: `active-days`, `retention`, or neither."""
    return {ACTIVE_DAYS: "active-days", RETENTION: "retention"}.get(answer.encoding)  # type: ignore[arg-type]


def active_shares(answer: Answer, at_least: tuple[int, ...] = AT_LEAST, *, beta: float = 0.05) -> list[DaysShare]:
    """The shares of people who were active on at least this many of the last 28 days."""
    if answer.encoding != ACTIVE_DAYS:
        raise ValueError("these reports are not about the number of active days")
    beta, estimate = checks.open_probability("beta", beta), answer.best
    narrow, shares = replace(estimate, beta=beta / len(at_least)), []
    for days in at_least:
        checks.integer("at_least", days, low=1, high=LAST_DAYS)
        share = narrow.functional(np.arange(LAST_DAYS + 1) >= days)
        ends = share.lower, share.upper
        shares.append(DaysShare(days, _within(share.value), *ends, known=1.0, beta=beta, tells=share.tells))
    return shares


def returned_shares(answer: Answer, *, beta: float = 0.05) -> list[DaysShare]:
    """D1, D7 and D28: of the people whose day k after the first use is over, the share who used it on that day.

    With B the share of all people who came back on day k, and N that of those who did not, it is B/(B + N). B and N
    each have an interval, and all of them hold at once.
    """
    if answer.encoding != RETENTION:
        raise ValueError("these reports are not about coming back")
    beta, estimate = checks.open_probability("beta", beta), answer.best
    narrow = replace(estimate, beta=beta / (2 * len(RETURN_DAYS)))
    shares = []
    for day in RETURN_DAYS:
        back, known = (np.array(mask, dtype=np.float64) for mask in retention_masks(day))
        came, stayed_away = narrow.functional(back), narrow.functional(known - back)
        lower = _ratio(came.lower, stayed_away.upper) if came.lower > 0 else 0.0
        upper = _ratio(came.upper, stayed_away.lower) if stayed_away.lower > 0 else 1.0
        value, whole = _ratio(came.value, stayed_away.value), _within(came.value + stayed_away.value)
        tells = came.tells and stayed_away.tells and is_told(upper - lower, 1.0)
        shares.append(DaysShare(day, value, lower, upper, known=whole, beta=beta, tells=tells))
    return shares


def _within(share: float) -> float:
    """A share that is possible."""
    return min(1.0, max(0.0, share))


def _ratio(came: float, stayed_away: float) -> float:
    """The share of those who came back, with both parts taken as 0 if noise makes them negative."""
    came, stayed_away = max(0.0, came), max(0.0, stayed_away)
    return came / (came + stayed_away) if came + stayed_away > 0 else 0.5
