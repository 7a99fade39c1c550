"""A uniform sample of the people in a stream of rows, and what must be remembered of each, in bounded memory."""

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from untrackable.auditing.evidence.recorded_format import places
from untrackable.auditing.evidence.report_digests import digest
from untrackable.auditing.evidence.report_streams import FEW
from untrackable.auditing.evidence.similarities import Window

MOST_HASHES = 64
"""Different reports remembered of a person in a window: those of the smallest digests, the same in both windows."""

MOST_RAW = 256
"""Reports kept as they are of a person in a window, where they are kept at all."""


class Half:
    """A person in a window: the number of reports, how often each bit was 1, and some digests."""

    __slots__ = ("count", "hashes", "ones", "raw")

    def __init__(self) -> None:
        self.count = 0
        self.ones: NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
        self.hashes: dict[int, int] = {}
        self.raw: list[int] = []

    def add(self, report: int, width: int, keep: bool) -> None:
        """One more report."""
        self.count += 1
        wanted = width or max(1, report.bit_length())
        if self.ones.size < wanted:
            self.ones = np.concatenate([self.ones, np.zeros(wanted - self.ones.size, dtype=np.uint32)])
        self.ones[:wanted] += places(report, wanted)
        if keep and len(self.raw) < MOST_RAW:
            self.raw.append(report)
        key = digest(report.to_bytes(report.bit_length() // 8 + 1, "little"))
        self.hashes[key] = self.hashes.get(key, 0) + 1
        if len(self.hashes) > MOST_HASHES:
            del self.hashes[max(self.hashes)]


class People:
    """At most `most` pseudonyms: those whose keyed digests are smallest, which is a uniform sample.

    Who is dropped never comes back, so all reports of those who stay have been counted.
    """

    def __init__(self, most: int, *, width: int, seed: int, keep_raw: bool) -> None:
        self._most, self._width, self._keep = most, width, keep_raw
        self._key = seed.to_bytes(16, "little")
        self._known: dict[bytes, tuple[Half, Half]] = {}
        self._largest: list[tuple[int, bytes]] = []
        self.dropped = False

    def add(self, pseudonym: bytes, window: int | None, report: int) -> None:
        """One report; without a window, reports go to the two windows in turn."""
        halves = self._known.get(pseudonym) or self._admit(pseudonym)
        if halves is None:
            return
        if window is None:
            window = (halves[0].count + halves[1].count) % 2
        halves[window].add(report, self._width, self._keep)

    def _admit(self, pseudonym: bytes) -> tuple[Half, Half] | None:
        rank = digest(pseudonym, self._key)
        if len(self._known) >= self._most:
            self.dropped = True
            if rank >= -self._largest[0][0]:
                return None
            _, last = heapq.heapreplace(self._largest, (-rank, pseudonym))
            del self._known[last]
        else:
            heapq.heappush(self._largest, (-rank, pseudonym))
        halves = Half(), Half()
        self._known[pseudonym] = halves
        return halves

    def __len__(self) -> int:
        return len(self._known)

    def both(self) -> list[tuple[Half, Half]]:
        """Those seen in both windows."""
        return [halves for halves in self._known.values() if halves[0].count and halves[1].count]


def windows(people: list[tuple[Half, Half]]) -> tuple[Window, Window]:
    """The two windows of these people as arrays."""
    width = max(half.ones.size for halves in people for half in halves)
    known: dict[int, int] = {}
    for halves in people:
        for half in halves:
            for key in half.hashes:
                known.setdefault(key, len(known))
    return _window([first for first, _ in people], width, known), _window(
        [other for _, other in people], width, known
    )


def _window(halves: list[Half], width: int, known: dict[int, int]) -> Window:
    counts = np.array([half.count for half in halves], dtype=np.int64)
    means = np.zeros((len(halves), width))
    for row, half in enumerate(halves):
        means[row, : half.ones.size] = half.ones / half.count
    rows = np.repeat(np.arange(len(halves)), [len(half.hashes) for half in halves])
    columns = [known[key] for half in halves for key in half.hashes]
    sent = [float(times) for half in halves for times in half.hashes.values()]
    tokens = csr_array((sent, (rows, columns)), shape=(len(halves), max(1, len(known))))
    if len(known) <= FEW:
        means = np.concatenate([means, tokens.toarray() / counts[:, None]], axis=1)
    return Window(counts, means, tokens)


def arrays(
    people: list[tuple[Half, Half]], report_bits: int, *, as_bytes: bool
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The raw reports of people who have enough in both windows, as many of each, as simulation lays them out.

    As many are taken as three quarters of the people have in a window.
    """
    taken = [int(np.quantile([len(halves[i].raw) for halves in people], 0.25)) for i in (0, 1)]
    kept = [halves for halves in people if all(len(halves[i].raw) >= taken[i] for i in (0, 1))]
    first, second = (
        _packed([halves[i].raw[: taken[i]] for halves in kept], report_bits, as_bytes=as_bytes) for i in (0, 1)
    )
    return first, second


def _packed(rows: list[list[int]], report_bits: int, *, as_bytes: bool) -> NDArray[Any]:
    if not as_bytes:
        return np.array(rows, dtype=np.uint64)
    size = (report_bits + 7) // 8
    flat = b"".join(report.to_bytes(size, "little") for row in rows for report in row)
    return np.frombuffer(flat, dtype=np.uint8).reshape(len(rows), len(rows[0]), size)
