"""What a population needs if a round is a day, computed from what one report was measured to cost."""

from benchmarks.shared.measurements import Comparison, Measured
from untrackable.oblivious.sealing import SEALED_ANSWER_LENGTH, SEALED_LENGTH

NAME = "needs"
DIRECT = Comparison(work="A collector stores one report", unit="µs of processor time")
SEALED = Comparison(work="A collector opens, stores and answers one sealed report", unit="µs of processor time")
STORED = Comparison(work="One report in the store, until its round is closed", unit="bytes")
EXPORTED = Comparison(work="One report in a file", unit="bytes")
SUMMED = Comparison(work="One report is added up", unit="µs of processor time")
BUSY = 0.5
"""Machines are sized so that they are busy for this share of the time."""
PEAK = 1.2
"""Clients send at random moments of a day, so the busiest minute has hardly more than the mean."""
HEADERS = 500
"""Bytes of HTTP, TLS and TCP of a request and its answer on an open connection, roughly."""
DAY = 86_400
TITLES = (
    "people", "rounds", "reports a second", "cores", "cores, sealed", "store, GiB", "wire, GiB a day",
    "adding up, core hours",
)  # fmt: skip


def needs(measured: Measured) -> list[tuple[str, ...]]:
    """A row for each population."""
    cost = {row.comparison: row.value for row in measured.rows}
    rows = []
    for people, exponent in ((10**8, 8), (10**9, 9)):
        for rounds in (1, 20):
            daily = people / rounds
            second = PEAK * daily / DAY
            found = (
                *(second * cost[each] / 1e6 / BUSY for each in (DIRECT, SEALED)),
                daily * cost[STORED] / 2**30,
                daily * (SEALED_LENGTH + SEALED_ANSWER_LENGTH + HEADERS) / 2**30,
                daily * cost[SUMMED] / 3.6e9,
            )
            rows.append((f"10^{exponent}", str(rounds), f"{second:,.0f}", *(_shown(each) for each in found)))
    return rows


def _shown(value: float) -> str:
    """One digit behind the point for small numbers, and none for large ones."""
    if value < 0.1:
        return "< 0.1"
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"
