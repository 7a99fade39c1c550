"""Reports of many clients of any kind, as bits and numbers; how similar they are; and the values behind them.

An observer can compute all of it without knowing the mechanism.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import xlogy
from scipy.stats import chi2

from untrackable.arrays import FloatArray
from untrackable.errors import AuditError
from untrackable.progress import Progress, no_progress


def digest(data: bytes, key: bytes = b"") -> int:
    """A digest of 64 bits. Different bytes have equal digests only by accident."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=key).digest(), "little")


# --- the reports of many clients in one form: as bits, and as numbers that are equal for equal reports ----

MOST_BITS = 1 << 30
"""The largest number of bits of all reports together. They are held in memory, one byte for each bit."""
KINDS = 64
"""A part of a report with at most this many possible values counts as the report's kind."""
FEW = 64
"""If there are at most this many different reports, each gets a column of its own beside the bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Streams:
    """The reports of clients with one value. `bits` is clients × reports × bits, `tokens` is clients × reports.

    Equal reports, and only these, have equal tokens, which are numbers from 0 to `distinct` - 1. `kinds`
    (clients × reports) has a number from 0 to `of_kinds` - 1 for a part that has few possible values, such as the
    cohort.
    """

    bits: NDArray[np.uint8]
    tokens: NDArray[np.int64]
    distinct: int
    kinds: NDArray[np.int64]
    of_kinds: int = 1

    def between(self, start: int, stop: int) -> "Streams":
        """Consecutive reports of every client, from `start` up to `stop`."""
        return self.take((slice(None), slice(start, stop)))

    def take(self, which: Any) -> "Streams":
        """The reports of some of the clients."""
        return Streams(self.bits[which], self.tokens[which], self.distinct, self.kinds[which], self.of_kinds)

    def means(self) -> NDArray[np.float64]:
        """For each client, how often each bit is 1. With few possible reports, also how often each is sent."""
        shares: NDArray[np.float64] = self.bits.mean(axis=1, dtype=np.float64)
        if self.distinct > FEW:
            return shares
        return np.concatenate([shares, self.frequencies()], axis=1)

    def frequencies(self) -> NDArray[np.float64]:
        """For each client, the share of each possible report."""
        clients, reports = self.tokens.shape
        index = np.arange(clients)[:, None] * self.distinct + self.tokens
        counts = np.bincount(index.reshape(-1), minlength=clients * self.distinct)
        return np.asarray(counts.reshape(clients, self.distinct) / reports)


class Reporting(Protocol):
    """A client that makes the report of a given round."""

    def report(self, round: int) -> Any:
        """Make the report of a round."""


ClientUnderAudit = Callable[[], Any] | Reporting
"""A client: a function that returns one report after another, or an object with `report(round)`."""
Factory = Callable[[Any], ClientUnderAudit]
"""A function that makes a client of a value."""


def collect(
    factory: Factory, values: Sequence[Any], clients: int, reports: int, progress: Progress = no_progress
) -> list[Streams]:
    """Make `clients` clients of every value and ask each for `reports` reports.

    Clients 2m and 2m+1 of a value are made one right after the other.
    """
    heard: list[list[Any]] = [[] for _ in values]
    shape: object = None
    for number in range(0, clients, 2):
        for which, value in enumerate(values):
            for _ in range(min(2, clients - number)):
                for report in _ask(factory, value, reports):
                    parts = _parts(report)
                    if shape is None:
                        shape, total = _shape(parts), len(values) * clients * reports
                        if not (bits := sum(_column([part]).shape[1] for part in parts)):
                            raise AuditError("the reports are empty, so there is nothing to audit")
                        if bits * total > MOST_BITS:
                            many = f"{total} reports of {bits} bits or more do not fit in memory"
                            raise ValueError(f"{many}; use fewer clients or reports")
                    elif shape != _shape(parts):
                        raise AuditError(
                            "all reports must have the same shape: parts of the same types and lengths"
                        )
                    heard[which].append(parts)
        progress("asking clients", (number + 2) / (clients + 1))
    return _encode(heard, clients, reports)


def _ask(factory: Factory, value: Any, reports: int) -> list[Any]:
    """The reports of one new client. An error names only the class of an exception; the rest may show the value."""
    try:
        client = factory(value)
    except Exception as error:
        raise AuditError(f"the factory raised {type(error).__name__} when making a client") from error
    ask = getattr(client, "report", None)
    if not callable(ask) and not callable(client):
        raise TypeError(
            "factory must return a function that returns one report after another, or an object with "
            f".report(round), not {type(client).__name__}"
        )
    sent = []
    for number in range(1, reports + 1):
        try:
            sent.append(ask(number) if callable(ask) else client())  # type: ignore[operator]
        except Exception as error:
            raise AuditError(f"a client raised {type(error).__name__} at report {number} of {reports}") from error
    return sent


Part = int | str | bytes | NDArray[np.signedinteger[Any]]


def _parts(report: Any) -> tuple[Part, ...]:
    """A report as a tuple of integers, strings, bytes and integer arrays."""
    if isinstance(report, tuple):
        return tuple(part for item in report for part in _parts(item))
    if isinstance(report, (bytes, bytearray, memoryview)):
        return (bytes(report),)
    if isinstance(report, str):
        return (str(report),)
    if isinstance(report, (int, np.integer, np.bool_)):
        return (int(report),)
    if isinstance(report, (list, np.ndarray)):
        return (_array(report),)
    raise TypeError(
        "a report must be an integer, a string, bytes, a list or array of integers, or a tuple of these, "
        f"not {type(report).__name__}"
    )


def _array(report: Any) -> NDArray[np.signedinteger[Any]]:
    """The numbers as an array that takes little memory."""
    try:
        given = np.asarray(report)
    except ValueError:
        raise TypeError("a report that is a list must be a flat list of integers") from None
    whole = given.dtype.kind in "biu" or not given.size
    if given.dtype.kind == "f":
        whole = bool(np.all(np.abs(given) < 2**53)) and bool(np.all(given == np.floor(given)))
    if not whole or (given.dtype == np.uint64 and given.size and int(given.max()) >= 1 << 63):
        raise TypeError("a report that is a list or array must hold whole numbers of at most 63 bits")
    flat: NDArray[np.int64] = given.reshape(-1).astype(np.int64)
    return flat.astype(np.int8) if not flat.size or np.abs(flat).max() < 128 else flat


def _shape(parts: tuple[Part, ...]) -> tuple[object, ...]:
    """The types and sizes of the parts. They must be the same in all reports."""
    return tuple(
        (type(part), part.size if isinstance(part, np.ndarray) else len(part) if isinstance(part, bytes) else None)
        for part in parts
    )


def _encode(heard: list[list[tuple[Part, ...]]], clients: int, reports: int) -> list[Streams]:
    everything = [parts for sent in heard for parts in sent]
    columns = [_column([parts[i] for parts in everything]) for i in range(len(everything[0]))]
    bits = np.concatenate(columns, axis=1)
    known: dict[Any, int] = {}
    tokens = np.array([known.setdefault(_key(parts), len(known)) for parts in everything], dtype=np.int64)
    kinds = _kinds(everything)
    shape, of_kinds = (len(heard), clients, reports), int(kinds.max()) + 1
    arrays = zip(bits.reshape(*shape, -1), tokens.reshape(shape), kinds.reshape(shape), strict=True)
    return [Streams(bits, tokens, len(known), kinds, of_kinds) for bits, tokens, kinds in arrays]


def _kinds(everything: list[tuple[Part, ...]]) -> NDArray[np.int64]:
    """The kind of each report, from the integer part with the fewest different values, if it has more than one."""
    best: NDArray[np.int64] = np.zeros(len(everything), dtype=np.int64)
    fewest = KINDS + 1
    for i, part in enumerate(everything[0] if len(everything[0]) > 1 else ()):
        if isinstance(part, int):
            levels: dict[Any, int] = {}
            numbers = [levels.setdefault(parts[i], len(levels)) for parts in everything]
            if 1 < len(levels) < fewest:
                fewest, best = len(levels), np.array(numbers, dtype=np.int64)
    return best


def _key(parts: tuple[Part, ...]) -> object:
    return tuple(part.tobytes() if isinstance(part, np.ndarray) else part for part in parts)


def _column(parts: list[Any]) -> NDArray[np.uint8]:
    """One part of all reports as rows of bits."""
    first = parts[0]
    if isinstance(first, np.ndarray):
        table = np.stack(parts).astype(np.int64)
        table -= min(0, int(table.min())) if table.size else 0
        width = max(1, int(table.max()).bit_length()) if table.size else 1
        split = (table[:, :, None] >> np.arange(width)) & 1
        return split.reshape(len(parts), -1).astype(np.uint8)
    if isinstance(first, bytes):
        raw = np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(len(parts), len(first))
        return np.unpackbits(raw, axis=1)
    if isinstance(first, str):
        if len(first) > 0 and all(len(text) == len(first) and not text.strip("01") for text in parts):
            raw = np.frombuffer("".join(parts).encode(), dtype=np.uint8).reshape(len(parts), len(first))
            return raw - np.uint8(ord("0"))
        hashed = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest() for text in parts)
        return np.unpackbits(np.frombuffer(b"".join(hashed), dtype=np.uint8).reshape(len(parts), 4), axis=1)
    least = min(0, min(parts))
    width = max(1, (max(parts) - least).bit_length())
    size = (width + 7) // 8
    raw = np.frombuffer(b"".join((part - least).to_bytes(size, "little") for part in parts), dtype=np.uint8)
    return np.unpackbits(raw.reshape(len(parts), size), axis=1, count=width, bitorder="little")


# --- how similar the reports of two windows are -----------------------------------------------------------

Index = NDArray[np.int64]
_STRONGEST = 0.999
"""Larger correlations are lowered to this one. Otherwise a single bit could decide alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The reports of each person in one window.

    `counts` has the number of reports of each person. `means` (people × bits) says how often each bit is 1.
    `tokens` (people × different reports) says how often each report was sent. Both windows have the same columns.
    """

    counts: NDArray[np.int64]
    means: FloatArray
    tokens: csr_array

    def take(self, people: Index) -> "Window":
        """The window of some of the people."""
        return Window(self.counts[people], self.means[people], self.tokens[people])


def halves(sample: Streams) -> tuple[Window, Window]:
    """Two windows: the first half of each client's reports, and the rest."""
    reports = sample.tokens.shape[1]
    middle = (reports + 1) // 2
    return _window(sample.between(0, middle)), _window(sample.between(middle, reports))


def _window(part: Streams) -> Window:
    clients, reports = part.tokens.shape
    rows = np.repeat(np.arange(clients), reports)
    shape = (clients, part.distinct)
    tokens = csr_array((np.ones(rows.size), (rows, part.tokens.reshape(-1))), shape=shape)
    tokens.sum_duplicates()
    return Window(np.full(clients, reports, dtype=np.int64), part.means(), tokens)


Similarity = Callable[[Window, Window], FloatArray]
"""A score for row i of the first window and row i of the second. A higher score means more alike."""


class _Repeats:
    """The share of reports that are exactly equal in both windows. If `rare`, rarer reports count for more."""

    def __init__(self, fit: Sequence[Window], *, rare: bool) -> None:
        seen = np.sum([window.tokens.sum(axis=0) for window in fit], axis=0, dtype=np.float64).reshape(-1)
        self._weights = np.log((np.sum(seen) + seen.size) / (seen + 1)) if rare else np.ones(seen.size)

    def __call__(self, first: Window, second: Window) -> FloatArray:
        """The weighted number of common reports, divided by the smaller number of reports."""
        common = first.tokens.minimum(second.tokens)
        return np.asarray(common @ self._weights / np.minimum(first.counts, second.counts))


def _agreement(first: Window, second: Window) -> FloatArray:
    """Minus the mean squared difference of how often each bit is 1; 0 if the means are equal."""
    return np.asarray(-np.square(first.means - second.means).mean(axis=1))


class _LearnedAgreement:
    """Naive Bayes, bit by bit: correlated normals for one person against independent ones for two people.

    People with reports in both windows give each bit's mean and spread in each window, and its correlation ρ
    between the windows. The score is Σ ln(density with ρ / density with 0).
    """

    def __init__(self, fit: Sequence[Window]) -> None:
        self._centres = [window.means.mean(axis=0) for window in fit]
        spreads = [window.means.std(axis=0) for window in fit]
        self._varying = np.flatnonzero((spreads[0] > 0) & (spreads[1] > 0))
        self._spreads = spreads
        left, right = self._scaled(fit[0], 0), self._scaled(fit[1], 1)
        people = max(1, left.shape[0])
        rho = np.clip((left * right).mean(axis=0), 0, _STRONGEST)
        self._rho = np.where(rho > 2 / np.sqrt(people), rho, 0.0)

    def __call__(self, first: Window, second: Window) -> FloatArray:
        """The log-likelihood ratios of the model."""
        left, right, rho = self._scaled(first, 0), self._scaled(second, 1), self._rho
        squares = rho**2 / (2 * (1 - rho**2))
        score = (left * right) @ (rho / (1 - rho**2)) - (left**2 + right**2) @ squares
        return np.asarray(score - np.log1p(-(rho**2)).sum() / 2)

    def _scaled(self, window: Window, which: int) -> FloatArray:
        kept = self._varying
        return np.asarray((window.means[:, kept] - self._centres[which][kept]) / self._spreads[which][kept])


def similarities(first: Window, second: Window) -> dict[str, Similarity]:
    """Every similarity by name. Those that need fitting are fitted to these people."""
    fit = (first, second)
    return {
        "exact repeats": _Repeats(fit, rare=False),
        "repeats of rare reports": _Repeats(fit, rare=True),
        "agreement of bits": _agreement,
        "learned agreement of bits": _LearnedAgreement(fit),
    }


# --- scores that say which value is behind a client's reports, learned from clients of known values -------

_BINS = 12
"""If a bit has more different shares of ones than this, they are put into bins of about equal weight."""
_CHANCE = 0.01
"""A bit is left out if chance makes such a difference between the values at least this often."""


Scorer = Callable[[Streams], FloatArray]
"""A model that gives log-likelihoods, clients × values."""


class _BitShares:
    """Naive Bayes on how often each bit is 1, with a table of probabilities for each bit.

    It needs no model of the noise. Even what never happens with a value has a cell in the table.
    """

    def __init__(self, fit: Sequence[Streams]) -> None:
        means = [sample.means() for sample in fit]
        together = np.concatenate(means)
        self._edges, self._tables = [], []
        for bit in range(together.shape[1]):
            edges = _edges(together[:, bit])
            cells = [np.bincount(np.searchsorted(edges, m[:, bit]), minlength=edges.size + 1) for m in means]
            counts = np.array(cells, dtype=np.float64)
            self._edges.append(edges)
            self._tables.append(_log_shares(counts) if _differ(counts) else np.zeros(counts.shape))

    def __call__(self, sample: Streams) -> FloatArray:
        """The sum over all bits."""
        means = sample.means()
        total = np.zeros((means.shape[0], self._tables[0].shape[0]))
        for bit, (edges, table) in enumerate(zip(self._edges, self._tables, strict=True)):
            if table.any():
                total += table[:, np.searchsorted(edges, means[:, bit])].T
        return total


class _IndependentBits:
    """A model of independent reports with independent bits, whose probabilities depend on the value.

    If `by_kind`, they also depend on the report's kind, such as its cohort.
    """

    def __init__(self, fit: Sequence[Streams], *, by_kind: bool) -> None:
        self._by_kind = by_kind
        counted = [self._counts(sample) for sample in fit]
        ones = np.array([one.sum(axis=1) for one, _ in counted])
        total = np.array([every.sum(axis=1) for _, every in counted])[:, :, None]
        self._laws = (ones + 0.5) / (total + 1)

    def __call__(self, sample: Streams) -> FloatArray:
        """Log-likelihood of all reports."""
        score = np.zeros((sample.tokens.shape[0], self._laws.shape[0]))
        for kind, (ones, every) in enumerate(zip(*self._counts(sample), strict=True)):
            laws = self._laws[:, kind]
            score += ones @ np.log(laws).T + (every[:, None] - ones) @ np.log1p(-laws).T
        return score

    def _counts(self, sample: Streams) -> tuple[FloatArray, FloatArray]:
        """For each kind and client, how often each bit is 1, and the number of reports."""
        if not self._by_kind:
            ones = sample.bits.sum(axis=1, dtype=np.float64)[None]
            return ones, np.full(ones.shape[:2], float(sample.tokens.shape[1]))
        masks = [sample.kinds == kind for kind in range(sample.of_kinds)]
        ones = np.array([(sample.bits * mask[:, :, None]).sum(axis=1, dtype=np.float64) for mask in masks])
        return ones, np.array([mask.sum(axis=1, dtype=np.float64) for mask in masks])


class _ReportFrequencies:
    """A model in which reports are independent. Each of the few possible reports has its own probability."""

    def __init__(self, fit: Sequence[Streams]) -> None:
        sent = np.array([sample.frequencies().sum(axis=0) * sample.tokens.shape[1] for sample in fit])
        self._logs = _log_shares(sent)

    def __call__(self, sample: Streams) -> FloatArray:
        """Log-likelihood of all reports."""
        return np.asarray(sample.frequencies() @ self._logs.T * sample.tokens.shape[1])


def _first_report(scorer: Scorer, sample: Streams) -> FloatArray:
    """Another score, applied to the first report alone."""
    return scorer(sample.between(0, 1))


def scorers(fit: Sequence[Streams]) -> dict[str, Scorer]:
    """Every score that applies, by name."""
    reports = fit[0].tokens.shape[1]
    by_name: dict[str, Scorer] = {
        "how often each bit is 1": _BitShares(fit),
        "bits as independent coins": _IndependentBits(fit, by_kind=False),
    }
    if fit[0].of_kinds > 1:
        by_name["bits of each kind of report"] = _IndependentBits(fit, by_kind=True)
    if fit[0].distinct <= FEW:
        by_name["how often each report is sent"] = _ReportFrequencies(fit)
    if reports > 1:
        alone = scorers([sample.between(0, 1) for sample in fit])
        by_name.update(
            {f"{name}, first report alone": partial(_first_report, scorer) for name, scorer in alone.items()}
        )
    return by_name


def _edges(shares: FloatArray) -> FloatArray:
    """The edges between bins: a bin for each share if there are few, else bins of equal weight and two extremes."""
    levels = np.unique(shares)
    if levels.size > _BINS:
        inner = np.quantile(shares, np.linspace(0, 1, _BINS - 1))
        levels = np.unique(np.concatenate([levels[:1], inner, levels[-1:]]))
        cuts = (levels[1:] + levels[:-1]) / 2
        ends = np.unique(shares)[[0, 1, -2, -1]]
        return np.unique(np.concatenate([[ends[:2].mean()], cuts, [ends[2:].mean()]]))
    return np.asarray((levels[1:] + levels[:-1]) / 2)


def _log_shares(counts: FloatArray) -> FloatArray:
    smooth = counts + 0.5
    return np.asarray(np.log(smooth / smooth.sum(axis=1, keepdims=True)))


def _differ(counts: FloatArray) -> bool:
    """Whether the tables of the values differ by more than chance, by the likelihood-ratio statistic."""
    pooled = counts.sum(axis=0) / counts.sum()
    expected = counts.sum(axis=1, keepdims=True) * pooled
    statistic = 2 * float((xlogy(counts, counts) - xlogy(counts, np.where(expected > 0, expected, 1))).sum())
    free = (np.count_nonzero(pooled) - 1) * (counts.shape[0] - 1)
    return free > 0 and statistic > float(chi2.isf(_CHANCE, free))
