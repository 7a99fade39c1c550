"""Reports of many clients of any kind, in one form: as bits, and as numbers that are equal for equal reports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from untrackable.auditing.evidence.report_digests import digest_bits
from untrackable.errors import AuditError
from untrackable.progress import Progress

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

    def take(self, clients: NDArray[np.int64]) -> "Streams":
        """The reports of some of the clients."""
        return self._cut(clients)

    def between(self, start: int, stop: int) -> "Streams":
        """Consecutive reports of every client, from `start` up to `stop`."""
        return self._cut((slice(None), slice(start, stop)))

    def _cut(self, which: Any) -> "Streams":
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


def from_bits(samples: Sequence[NDArray[np.uint8]]) -> list[Streams]:
    """Streams of reports that are bits already. Each sample is clients × reports × bits, for one value."""
    packed = [np.packbits(bits, axis=2) for bits in samples]
    rows = np.concatenate([rows.reshape(-1, rows.shape[2]) for rows in packed])
    known, numbers = np.unique(rows, axis=0, return_inverse=True)
    cuts = np.cumsum([rows.shape[0] * rows.shape[1] for rows in packed])[:-1]
    return [
        Streams(bits, tokens.reshape(bits.shape[:2]), known.shape[0], np.zeros(bits.shape[:2], dtype=np.int64))
        for bits, tokens in zip(samples, np.split(numbers.reshape(-1), cuts), strict=True)
    ]


class Reporting(Protocol):
    """A client that makes the report of a given round."""

    def report(self, round: int) -> Any:
        """Make the report of a round."""


ClientUnderAudit = Callable[[], Any] | Reporting
"""A client: a function that returns one report after another, or an object with `report(round)`."""
Factory = Callable[[Any], ClientUnderAudit]
"""A function that makes a client of a value."""


def collect(
    factory: Factory, values: Sequence[Any], clients: int, reports: int, progress: Progress | None = None
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
                        shape = _shape(parts)
                        _fits(parts, len(values) * clients * reports)
                    elif shape != _shape(parts):
                        raise AuditError(
                            "all reports must have the same shape: parts of the same types and lengths"
                        )
                    heard[which].append(parts)
        if progress is not None:
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


def _fits(parts: tuple[Part, ...], total: int) -> None:
    bits = 0
    for part in parts:
        match part:
            case int():
                bits += max(1, part.bit_length())
            case bytes():
                bits += 8 * len(part)
            case str():
                bits += 32
            case _:
                bits += part.size
    if not bits:
        raise AuditError("the reports are empty, so there is nothing to audit")
    if bits * total > MOST_BITS:
        raise ValueError(
            f"{total} reports of {bits} bits or more do not fit in memory; use fewer clients or reports"
        )


def _encode(heard: list[list[tuple[Part, ...]]], clients: int, reports: int) -> list[Streams]:
    everything = [parts for sent in heard for parts in sent]
    columns = [_column([parts[i] for parts in everything]) for i in range(len(everything[0]))]
    bits = np.concatenate(columns, axis=1)
    known: dict[Any, int] = {}
    tokens = np.array([known.setdefault(_key(parts), len(known)) for parts in everything], dtype=np.int64)
    kinds = _kinds(everything)
    shape = (len(heard), clients, reports)
    of_kinds = int(kinds.max()) + 1
    return [
        Streams(*each, of_kinds)
        for each in zip(
            bits.reshape(*shape, -1),
            tokens.reshape(shape),
            [len(known)] * len(heard),
            kinds.reshape(shape),
            strict=True,
        )
    ]


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
        return np.stack([digest_bits(text.encode("utf-8", "surrogatepass")) for text in parts])
    least = min(0, min(parts))
    width = max(1, (max(parts) - least).bit_length())
    size = (width + 7) // 8
    raw = np.frombuffer(b"".join((part - least).to_bytes(size, "little") for part in parts), dtype=np.uint8)
    return np.unpackbits(raw.reshape(len(parts), size), axis=1, count=width, bitorder="little")
