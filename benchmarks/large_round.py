"""How a store takes reports as a round grows, and how long others wait while that round is closed.

The slowest rate on the way to the full size is compared with the rate at a million reports in the same run, by the
clock and by processor time, which depends less on what else the machine does. As in the collector, a group is
acknowledged once it is added, and the work that it leaves for later is done before the next one. While the large
round is closed, another thread adds single reports to another round.
"""

import secrets
import tempfile
import threading
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.measurements import Comparison, Row
from untrackable import Categories, Deck
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import close_round
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round, Rows, Store
from untrackable.protocol.campaign import Campaign, Guarantee

MILLION = 10**6
STORED = "A report is stored in a large round of SQLite, at its slowest"
SLOWER = Comparison(work=STORED, peer="in a round of a million", unit="times as long")
COSTLIER = Comparison(work=STORED, peer="in a round of a million", unit="times the processor time")
WAIT = Comparison(
    work="The longest wait of another round's report while that round is closed", unit="s", at_most=0.5
)
CLOSED = Comparison(work="Such a round is closed", unit="s")
COMPARISONS = (SLOWER, COSTLIER, WAIT, CLOSED)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Fill one round, and close it."""
    reports, each, first = (5000, 500, 2500) if small else (20 * MILLION, 20_000, MILLION)
    with tempfile.TemporaryDirectory() as folder:
        store, asked = open_store(f"sqlite:///{folder}/reports.db"), campaign()
        create_campaign(store, asked.to_bytes())
        store.add({Round(asked.id, 2): group(1)})
        begun = fill(store, Round(asked.id, 1), first, each)
        ended = fill(store, Round(asked.id, 1), reports - first, each)
        size = f"{reports:,} reports"
        for made, slowest, at_first in zip((SLOWER, COSTLIER), ended.max(axis=0), begun[-1], strict=True):
            yield made.row(slowest / at_first, size)
        taken, longest = close(store, asked)
        yield WAIT.row(longest, size)
        yield CLOSED.row(taken, size)
        store.close()


def group(size: int, answer: int = 2) -> Rows:
    """Random reports, with answers of so many bytes, sorted by nonce as the collector sorts them."""
    width = 16 + answer
    rows = np.frombuffer(secrets.token_bytes(width * size), dtype=np.uint8).reshape(-1, width).copy()
    rows[:, 16] |= 2
    rows[:, 17] &= 7
    nonces = np.ascontiguousarray(rows[:, :16]).view(">u8")
    return rows[np.lexsort((nonces[:, 1], nonces[:, 0]))]


def campaign() -> Campaign:
    """A campaign with reports of eleven bits."""
    return Campaign(
        question="Which of 1,024?",
        encoding=Categories(names=[f"page {i}" for i in range(1024)]),
        randomizer=Deck.for_budget(bits=10, slots=30, eps=2.0, delta=1e-6, width=1),
        first_round=int(time.time()) - 60,
        round_seconds=86400,
        rounds=30,
        guarantee=Guarantee(eps=2.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
    )


def fill(store: Store, round: Round, reports: int, size: int) -> NDArray[np.float64]:
    """Add groups, and say how many seconds they took, by the clock and of processor time: means of a few each."""
    taken = []
    for _ in range(reports // size):
        rows = group(size)
        begun, busy = time.perf_counter(), time.process_time()
        store.rearrange()
        store.add({round: rows})
        taken.append((time.perf_counter() - begun, time.process_time() - busy))
    together = min(25, len(taken))
    found: NDArray[np.float64] = np.array(taken[len(taken) % together :]).reshape(-1, together, 2).mean(axis=1)
    return found


def close(store: Store, asked: Campaign) -> tuple[float, float]:
    """Close round 1 while another thread adds single reports to round 2: seconds, and the longest wait."""
    done = threading.Event()
    waits: list[float] = []

    def others() -> None:
        while not done.is_set():
            begun = time.perf_counter()
            store.rearrange()
            store.add({Round(asked.id, 2): group(1)})
            waits.append(time.perf_counter() - begun)
            time.sleep(0.002)

    thread = threading.Thread(target=others)
    thread.start()
    begun = time.perf_counter()
    close_round(store, asked, 1)
    taken = time.perf_counter() - begun
    done.set()
    thread.join()
    return taken, max(waits)
