"""The paper's general transformation [NV, RNIP]: a client stores reports and sends a random one in each round.

`Stored` does so with reports of any local mechanism. With one slot it is memoization, `Memoized`; with noisy inner
products it is Report Noisy Inner Product, `InnerProduct`.

The likelihood of its reports is exact. A client fills L slots once, independently; a slot holds the report r with
probability π(r). Every report that it sends comes from a slot drawn uniformly. Equal reports may or may not come
from the same slot: n equal reports use j slots in S(n, j) ways (Stirling numbers of the second kind), each slot
with probability π(r). J slots in all can be chosen in L·(L-1)…(L-J+1) of the L^k ways. So the likelihood of k
reports is linear in the coefficients of

    A(x) = Π over distinct reports r of Σ_j S(n_r, j)·π(r)^j·x^j.

The likelihood of two people's reports together is bilinear in their coefficients, if they share no report.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.estimation.aggregators import Aggregator, Reports
from untrackable.mechanisms.budget import checked_base
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import After, ObservedRounds, Pair, Values
from untrackable.mechanisms.local import LARGEST_SLOTS, LocalWrapper, ReportSettings, local_base
from untrackable.mechanisms.local_interface import Local, first_equal, per_round, repeat_certainty
from untrackable.randomizers.interface import pack_integers, unpack_reports
from untrackable.randomizers.randomness import Entropy, below
from untrackable.theory import symbols
from untrackable.theory.experiment import Experiment, Mixture
from untrackable.theory.factor import Factor

if TYPE_CHECKING:
    from scipy.sparse import csc_array

_PAIRS = 1 << 18
"""The number of pairs of rows that are compared at a time."""

Identities = NDArray[np.int64]
"""One number per report, people × reports. Equal reports have equal numbers."""


@dataclass(frozen=True, slots=True)
class Stored(LocalWrapper):
    """A client stores `slots` reports of a local mechanism and sends a random one of them in each round.

    It is private for ever, because nobody can learn more than the stored reports. People can be tracked once a slot
    is sent twice.
    """

    base: Local
    slots: int

    published = "[NV], the general transformation; RNIP is that of the noisy inner product"
    persists = "every stored report, word for word, whenever it is drawn again"

    def __post_init__(self) -> None:
        checks.settle(
            self, base=local_base(self.base), slots=checks.integer("slots", self.slots, low=1, high=LARGEST_SLOTS)
        )

    @property
    def follows_changes(self) -> bool:
        """True for several slots: with one value, a slot is sent twice at least as often as with several values."""
        return self.slots > 1

    def log_likelihood(self, reports: Reports, value: int, rounds: Sequence[int]) -> FloatArray:
        """The exact log probability. Equal reports may or may not come from the same slot."""
        (identities,), chances = self._identities(value, reports)
        return log_likelihood(identities, chances, self.slots)

    def link_scores(self, first: Reports, second: Reports, value: int) -> FloatArray:
        """The exact scores. A report on both sides comes from one slot, or it is a coincidence."""
        (left, right), chances = self._identities(value, first, second)
        return link_scores(left, right, chances, self.slots)

    def _identities(self, value: int, *sides: Reports) -> tuple[list[Identities], FloatArray]:
        """A number for each report, the same for equal reports, and the log probability of each number."""
        wide = sides[0].ndim == 3
        flat = np.concatenate([side.reshape(-1, side.shape[-1]) if wide else side.reshape(-1) for side in sides])
        distinct, numbers = np.unique(flat, axis=0, return_inverse=True)
        ends = np.cumsum([side.shape[0] * side.shape[1] for side in sides])[:-1]
        parts = np.split(numbers.reshape(-1), ends)
        shaped = [part.reshape(side.shape[:2]) for part, side in zip(parts, sides, strict=True)]
        return shaped, self.base.log_likelihood(distinct, value)

    def aggregator(self, round: int = 1) -> Aggregator:
        return self.base.aggregator(self._one_round(round))

    def _privacy(self, reports: int | None, values: Values) -> Pair:
        """Fixed value: all slots (exact), or the distinct slots among `reports` draws (upper).

        Any sequence of values: a client keeps one set of slots per value. A repeated slot shows that the value did
        not change, so it counts as revealing everything. Otherwise each report counts as a new slot (upper).
        """
        base = self.base.privacy_factor()
        if values == "fixed":
            if reports is None or self.slots == 1:
                return Experiment([(base, self.slots)], certainty=self.base.certainty)
            return symbols.stored_privacy(base, self.slots, reports)
        draws = self.slots + 1 if reports is None else reports
        repeat = symbols.repeat_probability(self.slots, draws)
        gives_away = Factor([repeat, 0.0, 1 - repeat], [0.0, repeat, 1 - repeat])
        return Experiment([gives_away, (base, draws)], certainty="upper")

    def _trackings(self, observed: ObservedRounds) -> list[Experiment | Mixture]:
        """A slot that is sent on both sides links the reports of one person.

        It is exact with one slot. Otherwise it is an upper bound, which long reports attain.
        """
        if self.slots == 1:
            # All reports are the same, so one on each side reveals as much as any number of them.
            both_sides = 0 < observed.tracking_by_sides() < observed.reports
            if not both_sides:
                return [Experiment()]
            return [Experiment([self.base.repeat_factor()], certainty=repeat_certainty(self.base))]
        return [symbols.stored_tracking(self.slots, observed.reports, j) for j in observed.tracking_splits(1)]

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """The probability of a slot on both sides. An observer of any number of reports sees all slots."""
        return 1.0 if reports is None else symbols.crossing_upper(self.slots, reports)

    def _detections(self, observed: ObservedRounds, after: After) -> list[Experiment | Mixture]:
        """A slot on both sides, or else the distinct slots after the change (upper).

        The same client keeps one set of slots for each value, so it looks like a fresh one.
        """
        base = self.base.privacy_factor()
        splits = observed.detection_by_sides() if self.slots == 1 else observed.detection_splits(2)
        return [symbols.stored_detection(base, self.slots, observed.reports, j) for j in splits]

    def new_state(self, value: int, source: Entropy) -> list[int]:
        checks.private_integer("value", value, below=self.base.values)
        return [self.base.draw(value, source) for _ in range(self.slots)]

    def make_report(self, state: list[int], round: int, source: Entropy) -> tuple[int, list[int]]:
        return state[below(self.slots, source)], state

    def pack_state(self, state: list[int]) -> bytes:
        return pack_integers(state, [self.report_bits] * self.slots)

    def unpack_state(self, payload: bytes) -> list[int]:
        return unpack_reports(payload, self.report_bits, self.slots, self.base.possible)

    def _simulate(self, values: NDArray[Any], rounds: tuple[int, ...], rng: np.random.Generator) -> Reports:
        """Only the slots that are drawn are simulated. A repeated slot repeats its first report."""
        shape = (values.shape[0], len(rounds))
        reports = self.base.simulate(per_round(values, len(rounds)), rng)
        if len(rounds) == 1:
            return reports
        slots = rng.integers(0, self.slots, size=shape)
        return reports[np.arange(shape[0])[:, None], first_equal(slots)]


class Memoized(Stored):
    """A client draws one noisy report and sends it in every round.

    All reports together are as private as one. But they are equal, so they identify the client. `Fresh` is the
    opposite extreme.
    """

    __slots__ = ()
    persists = "the whole report, word for word"

    def __init__(self, base: Local) -> None:
        Stored.__init__(self, base, 1)

    def __repr__(self) -> str:
        return f"Memoized({self.base!r})"


class InnerProduct(ReportSettings, Stored):
    """RNIP [NV]: a client stores `slots` noisy inner products of its value and sends a random one in each round.

    A noisy inner product is a random vector with its inner product with the value, which may be a lie. All stored
    reports together are private, so privacy lasts for ever. Two reports can be linked once a slot is sent twice.
    """

    __slots__ = ()
    base: NoisyInnerProduct

    def __init__(self, *, bits: int, slots: int, eps_report: float, width: int | None = None) -> None:
        Stored.__init__(self, checked_base(bits, eps_report, width), slots)


def log_likelihood(reports: Identities, log_chance: FloatArray, slots: int) -> FloatArray:
    """The log probability of each row. `log_chance` is ln π of every identity."""
    if slots == 1:
        return np.where((reports == reports[:, :1]).all(axis=1), log_chance[reports[:, 0]], -np.inf)
    weights = _log_weights(reports.shape[1], slots)
    rows = [_Row.of(row, log_chance) for row in reports]
    return np.array([logsumexp(row.ways + weights) + row.log_chance for row in rows])


def link_scores(first: Identities, second: Identities, log_chance: FloatArray, slots: int) -> FloatArray:
    """ln(one person/two people) for every pair of rows, exact.

    Most pairs share no report. Their scores are one product of matrices, Σ a_i·b_j·(L)_(i+j)/((L)_i·(L)_j), where
    a and b are the laws of the numbers of slots behind the two rows, and (L)_i = L·(L-1)…(L-i+1). Pairs that share
    reports are grouped by pattern: how many of their reports, of each probability, occur how often. Each pattern is
    computed once.
    """
    if slots == 1:
        steady = np.outer(*((side == side[:, :1]).all(axis=1) for side in (first, second)))
        same = steady & (first[:, :1] == second[:, 0][None, :])
        return np.where(same, -log_chance[first[:, :1]], -np.inf)
    left, right = ([_Row.of(row, log_chance) for row in reports] for reports in (first, second))
    sizes = first.shape[1], second.shape[1]
    alone, laws = [], []
    for side, size in ((left, sizes[0]), (right, sizes[1])):
        terms = np.array([row.ways for row in side]) + _log_weights(size, slots)
        alone.append(logsumexp(terms, axis=1))
        laws.append(np.exp(terms - alone[-1][:, None]))
    falling = _log_falling(sum(sizes), slots)
    taken = [np.arange(size + 1) for size in sizes]
    with np.errstate(divide="ignore", invalid="ignore"):
        both_taken = falling[np.add.outer(*taken)]
        free = both_taken - falling[taken[0]][:, None] - falling[taken[1]][None, :]
        free = np.where(np.isneginf(both_taken), -np.inf, free)
        scores: FloatArray = np.log(laws[0] @ np.exp(free) @ laws[1].T)
    chances, kind = np.unique(log_chance, return_inverse=True)
    together = _log_weights(sum(sizes), slots)
    given = [
        ends + np.array([row.log_chance for row in rows]) for ends, rows in zip(alone, (left, right), strict=True)
    ]
    some = max(1, _PAIRS // max(1, len(right)))
    for start in range(0, len(left), some):
        for (rows, columns), pattern in _shared(first[start : start + some], second, kind.reshape(-1)):
            groups = ((float(chances[kind]), count, number) for (kind, count), number in pattern.items())
            both = _Row(groups, sum(sizes))
            joint = logsumexp(both.ways + together) + both.log_chance
            scores[start + rows, columns] = joint - given[0][start + rows] - given[1][columns]
    return scores


def _shared(
    first: Identities, second: Identities, kind: Identities
) -> Iterator[tuple[tuple[Identities, Identities], dict[tuple[int, int], int]]]:
    """Pairs of rows with a report in common, by pattern.

    A pattern maps (kind, n) to the number of distinct reports of that kind that occur n times in the pair.
    """
    counts = [_counts(reports, kind.size) for reports in (first, second)]
    common = counts[0].astype(np.bool_).astype(np.int32) @ counts[1].astype(np.bool_).astype(np.int32).T
    rows, columns = common.nonzero()
    if rows.size == 0:
        return
    # A report that is on one side only counts by itself. Reports on both sides are subtracted there, and counted
    # with the sum of their two numbers.
    largest = [int(side.max()) for side in counts]
    features, totals = [], []
    for k in np.unique(kind[np.unique(np.concatenate((first.reshape(-1), second.reshape(-1))))]):
        mine = [side[:, np.flatnonzero(kind == k)] for side in counts]
        exactly = [[_equal(side, n) for n in range(1, most + 1)] for side, most in zip(mine, largest, strict=True)]
        on_both = {
            (a, b): _at(exactly[0][a - 1] @ exactly[1][b - 1].T, rows, columns)
            for a in range(1, largest[0] + 1)
            for b in range(1, largest[1] + 1)
        }
        for n in range(1, sum(largest) + 1):
            total = np.zeros(rows.size, dtype=np.int64)
            if n <= largest[0]:
                total += np.asarray(exactly[0][n - 1].sum(axis=1)).reshape(-1)[rows]
                total -= sum(on_both[n, b] for b in range(1, largest[1] + 1))
            if n <= largest[1]:
                total += np.asarray(exactly[1][n - 1].sum(axis=1)).reshape(-1)[columns]
                total -= sum(on_both[a, n] for a in range(1, largest[0] + 1))
            total += sum(pairs for (a, b), pairs in on_both.items() if a + b == n)
            if total.any():
                features.append((int(k), n))
                totals.append(total)
    table = np.array(totals)
    order = np.lexsort(table)
    new = (table[:, order[1:]] != table[:, order[:-1]]).any(axis=0)
    for part in np.split(order, np.flatnonzero(new) + 1):
        numbers = zip(features, table[:, part[0]], strict=True)
        yield (rows[part], columns[part]), {feature: int(number) for feature, number in numbers if number}


def _counts(reports: Identities, identities: int) -> "csc_array":
    """The number of times that each row has each report."""
    from scipy.sparse import csc_array

    people = np.repeat(np.arange(reports.shape[0]), reports.shape[1])
    ones = np.ones(people.size, dtype=np.int32)
    return csc_array((ones, (people, reports.reshape(-1))), shape=(reports.shape[0], identities))


def _equal(counts: "csc_array", number: int) -> "csc_array":
    """1 where a count equals this number, which is not 0."""
    same = counts.copy()
    same.data = (same.data == number).astype(np.int32)
    return same


def _at(table: Any, rows: Identities, columns: Identities) -> Identities:
    return np.asarray(table.toarray()[rows, columns], dtype=np.int64)


class _Row:
    """Logarithms of the coefficients of A(x) up to x^k, divided by Π π(r). `log_chance` is ln Π π(r)."""

    __slots__ = ("log_chance", "ways")

    def __init__(self, groups: Iterable[tuple[float, int, int]], reports: int) -> None:
        """Each group is a log probability, a count, and the number of distinct reports with both."""
        self.log_chance, self.ways = 0.0, np.full(reports + 1, -np.inf)
        self.ways[0] = 0.0
        for chance, count, number in groups:
            self.log_chance += number * chance
            if count == 1:
                self.ways = np.concatenate((np.full(number, -np.inf), self.ways))[: reports + 1]
                continue
            # These are the logarithms of the coefficients of x, x², ….
            group = _log_stirling(count)[1:] + np.arange(count) * chance
            for _ in range(number):
                self.ways = _times(self.ways, group)

    @staticmethod
    def of(reports: Identities, log_chance: FloatArray) -> "_Row":
        """The coefficients for one row of reports."""
        distinct, counts = np.unique(reports, return_counts=True)
        groups = ((float(log_chance[r]), int(count), 1) for r, count in zip(distinct, counts, strict=True))
        return _Row(groups, reports.size)


def _times(ways: FloatArray, group: FloatArray) -> FloatArray:
    """The coefficients of the product with Σ e^(group_j)·x^(j+1), cut off where `ways` ends."""
    product = np.full(ways.size, -np.inf)
    for j, log in enumerate(group[: ways.size - 1]):
        np.logaddexp(product[j + 1 :], ways[: ways.size - j - 1] + log, out=product[j + 1 :])
    return product


@lru_cache(maxsize=1024)
def _log_stirling(n: int) -> FloatArray:
    """Ln S(n, 0) … ln S(n, n)."""
    row = np.zeros(1)
    for size in range(1, n + 1):
        longer = np.full(size + 1, -np.inf)
        longer[1:] = row
        with np.errstate(divide="ignore"):
            np.logaddexp(longer[:-1], row + np.log(np.arange(size)), out=longer[:-1])
        row = longer
    return row


def _log_falling(draws: int, slots: int) -> FloatArray:
    """Ln (L!/(L-J)!/L^J) for J = 0 … k."""
    with np.errstate(divide="ignore"):
        steps = np.log(np.maximum(0.0, 1 - np.arange(draws) / slots))
    return np.concatenate(([0.0], np.cumsum(steps)))


def _log_weights(draws: int, slots: int) -> FloatArray:
    """Ln (L!/(L-J)!/L^k) for J = 0 … k."""
    return np.asarray(_log_falling(draws, slots) - (draws - np.arange(draws + 1)) * np.log(slots))
