"""A uniform sample of the people in a stream of rows, and what is kept about each person, in bounded memory."""

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from untrackable.auditing.evidence.recorded_format import lowest_bits
from untrackable.auditing.evidence.report_digests import digest
from untrackable.auditing.evidence.report_streams import FEW
from untrackable.auditing.evidence.similarities import Window

MOST_HASHES = 64
"""This many different reports of a person are kept for each window: those with the smallest digests.

The choice depends on the report alone, so the same reports are kept in both windows.
"""

MOST_RAW = 256
"""If raw reports are kept, this many are kept of a person for each window."""


class PersonWindow:
    """The reports of a person in one window: number, how often each bit was 1, some digests, and rounds as bits."""

    __slots__ = ("count", "hashes", "ones", "raw", "rounds")

    def __init__(self) -> None:
        self.count = 0
        self.ones: NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
        self.hashes: dict[int, int] = {}
        self.raw: list[int] = []
        self.rounds = 0

    def add(self, report: int, width: int, keep: bool) -> None:
        """Add a report."""
        self.count += 1
        wanted = width or max(1, report.bit_length())
        if self.ones.size < wanted:
            self.ones = np.concatenate([self.ones, np.zeros(wanted - self.ones.size, dtype=np.uint32)])
        self.ones[:wanted] += lowest_bits(report, wanted)
        if keep and len(self.raw) < MOST_RAW:
            self.raw.append(report)
        key = digest(report.to_bytes(report.bit_length() // 8 + 1, "little"))
        self.hashes[key] = self.hashes.get(key, 0) + 1
        if len(self.hashes) > MOST_HASHES:
            del self.hashes[max(self.hashes)]


BothWindows = tuple[PersonWindow, PersonWindow]
"""The reports of one person in the two windows."""


def rank(pseudonym: bytes, seed: int) -> int:
    """The keyed digest of a pseudonym. The smallest ones are in the sample."""
    return digest(pseudonym, seed.to_bytes(16, "little"))


class PeopleSample:
    """A uniform sample of at most `most` pseudonyms: those with the smallest keyed digests.

    A pseudonym that was dropped never comes back, so all reports of the pseudonyms in the sample are counted.
    """

    def __init__(self, most: int, *, width: int, seed: int, keep_raw: bool) -> None:
        self._most, self._width, self._keep = most, width, keep_raw
        self._seed = seed
        self._known: dict[bytes, BothWindows] = {}
        self._largest: list[tuple[int, bytes]] = []
        self.dropped = False

    def add(self, pseudonym: bytes, window: int | None, report: int, round: int | None = None) -> None:
        """Add a report. Without a window, each two reports of a person are dealt to the two windows by a coin.

        So both windows have the same number of reports, and neither what lasts for a short time nor what comes back
        after a fixed number of rounds always falls into one window.
        """
        person = self._known.get(pseudonym) or self._admit(pseudonym)
        if person is None:
            return
        if window is None:
            first, second = person[0].count, person[1].count
            window = self._coin(pseudonym, first) if first == second else int(first > second)
        person[window].add(report, self._width, self._keep)
        if round is not None:
            person[window].rounds |= 1 << round

    def _coin(self, pseudonym: bytes, turn: int) -> int:
        return rank(turn.to_bytes(8, "little") + pseudonym, self._seed) & 1

    def _admit(self, pseudonym: bytes) -> BothWindows | None:
        place = rank(pseudonym, self._seed)
        if len(self._known) >= self._most:
            self.dropped = True
            if place >= -self._largest[0][0]:
                return None
            _, last = heapq.heapreplace(self._largest, (-place, pseudonym))
            del self._known[last]
        else:
            heapq.heappush(self._largest, (-place, pseudonym))
        person = PersonWindow(), PersonWindow()
        self._known[pseudonym] = person
        return person

    def __len__(self) -> int:
        return len(self._known)

    def in_both_windows(self) -> list[BothWindows]:
        """The people who have reports in both windows."""
        return [person for person in self._known.values() if person[0].count and person[1].count]


def windows(people: list[BothWindows]) -> tuple[Window, Window]:
    """The two windows of these people as arrays."""
    width = max(window.ones.size for person in people for window in person)
    known: dict[int, int] = {}
    for person in people:
        for window in person:
            for key in window.hashes:
                known.setdefault(key, len(known))
    return _window([first for first, _ in people], width, known), _window(
        [second for _, second in people], width, known
    )


def _window(people: list[PersonWindow], width: int, known: dict[int, int]) -> Window:
    counts = np.array([person.count for person in people], dtype=np.int64)
    means = np.zeros((len(people), width))
    for row, person in enumerate(people):
        means[row, : person.ones.size] = person.ones / person.count
    rows = np.repeat(np.arange(len(people)), [len(person.hashes) for person in people])
    columns = [known[key] for person in people for key in person.hashes]
    sent = [float(times) for person in people for times in person.hashes.values()]
    tokens = csr_array((sent, (rows, columns)), shape=(len(people), max(1, len(known))))
    if len(known) <= FEW:
        means = np.concatenate([means, tokens.toarray() / counts[:, None]], axis=1)
    return Window(counts, means, tokens)


def arrays(people: list[BothWindows], report_bits: int, *, as_bytes: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """The raw reports of people who have enough in both windows, in the layout of simulated reports.

    For each window, everyone has the same number of reports. It is chosen so that three quarters of the people have
    at least this many.
    """
    taken = [int(np.quantile([len(person[i].raw) for person in people], 0.25)) for i in (0, 1)]
    kept = [person for person in people if all(len(person[i].raw) >= taken[i] for i in (0, 1))]
    first, second = (
        _packed([person[i].raw[: taken[i]] for person in kept], report_bits, as_bytes=as_bytes) for i in (0, 1)
    )
    return first, second


def _packed(rows: list[list[int]], report_bits: int, *, as_bytes: bool) -> NDArray[Any]:
    if not as_bytes:
        return np.array(rows, dtype=np.uint64)
    size = (report_bits + 7) // 8
    flat = b"".join(report.to_bytes(size, "little") for row in rows for report in row)
    return np.frombuffer(flat, dtype=np.uint8).reshape(len(rows), len(rows[0]), size)
