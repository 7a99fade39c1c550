"""The collector's counters: totals over all of its processes, and nothing about any sender.

Every process counts in its own row of a small file that all of them map. A process that replaces another continues
its row, so totals never fall. The file has no name and disappears with the last process. `prometheus_client` takes
four times as long to count in several processes, and leaves a file of each process behind.
"""

import fcntl
import mmap
import os
import tempfile
from collections.abc import Iterable
from multiprocessing.reduction import DupFd
from typing import Any, Final

import numpy as np

from untrackable import __version__
from untrackable.collector.problems import Problem
from untrackable.serving.problems import ProblemType

_ROWS: Final = 64
"""The largest number of processes that count together."""
_COUNTERS: Final = {
    "reports_received": "Acknowledged reports, including those that came twice.",
    "bodies_received": "Acknowledged requests with reports.",
    "groups_committed": "Transactions that stored reports.",
    "commit_microseconds": "Time spent in transactions that stored reports.",
    "store_failures": "Transactions that failed.",
    "rounds_closed": "Closed rounds.",
    "small_rounds_closed": "Closed rounds with fewer reports than the crowd that their campaign promises.",
    "closings_failed": "Failed attempts to close a round.",
}
_GAUGES: Final = {
    "waiting_bytes": "Bytes of reports that are not yet stored.",
    "connections": "Open connections.",
}
"""What each process has. Their sum is shown."""
_SHARED_GAUGES: Final = {
    "rounds_overdue": "Rounds that are over, with their grace, and not closed.",
    "clock_doubted": "1 while the clock is doubted after a jump, so that no round is closed; otherwise 0.",
    "store_bytes": "Size of the store, with its log.",
}
"""What all processes see of the same store and the same machine. The largest is shown."""
_PROBLEMS: Final = {f"problem {problem.slug}": problem for problem in Problem}
_NAMES: Final = [*_COUNTERS, *_GAUGES, *_SHARED_GAUGES, *_PROBLEMS]
_PLACES: Final = {name: place for place, name in enumerate(_NAMES)}
_SIZE: Final = 8 * _ROWS * len(_NAMES)


def described(name: str, kind: str, words: str, samples: Iterable[str]) -> list[str]:
    """The lines of a metric in Prometheus' text format, and in OpenMetrics'."""
    full = f"untrackable_{name}"
    return [f"# HELP {full} {words}", f"# TYPE {full} {kind}", *(full + sample for sample in samples)]


class SharedCounters:
    """The file in which several processes count. The parent passes it to the processes that it starts."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile(prefix="untrackable-") as file:
            file.truncate(_SIZE)
            self.file = os.dup(file.fileno())

    def __getstate__(self) -> Any:
        return DupFd(self.file)

    def __setstate__(self, passed: Any) -> None:
        self.file = passed.detach()


class Metrics:
    """Counts in memory, or in a file that several processes share."""

    def __init__(self, shared: SharedCounters | None = None) -> None:
        self._file = None if shared is None else os.dup(shared.file)
        if self._file is None:
            memory, row = mmap.mmap(-1, _SIZE), 0
        else:
            memory, row = mmap.mmap(self._file, _SIZE), self._claim(self._file)
        self._all = np.frombuffer(memory, dtype=np.int64).reshape(_ROWS, len(_NAMES))
        self._own = self._all[row]
        self._own[[_PLACES[name] for name in (*_GAUGES, *_SHARED_GAUGES)]] = 0

    @staticmethod
    def _claim(file: int) -> int:
        """Claim the first row that no living process has."""
        for row in range(_ROWS):
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, row)
            except OSError:
                continue
            return row
        raise RuntimeError(f"the collector must have at most {_ROWS} processes: lower --workers")

    def add(self, name: str, count: int = 1) -> None:
        """Add to a counter."""
        self._own[_PLACES[name]] += count

    def set_gauge(self, name: str, value: int) -> None:
        """Set a gauge to a value."""
        self._own[_PLACES[name]] = value

    def count_problem(self, problem: ProblemType) -> None:
        """Count a request that was refused with this problem."""
        self._own[_PLACES[f"problem {problem.slug}"]] += 1

    def total(self, name: str) -> int:
        """The total of a counter or gauge over all processes, or the largest if all of them see the same."""
        column = self._all[:, _PLACES[name]]
        return int(column.max() if name in _SHARED_GAUGES else column.sum())

    def text(self) -> str:
        """All totals in Prometheus' text format."""
        lines = described("build_info", "gauge", "The version that runs.", [f'{{version="{__version__}"}} 1'])
        gauges = {**_GAUGES, **_SHARED_GAUGES}
        for kind, names, suffix in (("counter", _COUNTERS, "_total"), ("gauge", gauges, "")):
            for name, words in names.items():
                lines += described(f"{name}{suffix}", kind, words, [f" {self.total(name)}"])
        problems = [f'{{type="{problem.slug}"}} {self.total(name)}' for name, problem in _PROBLEMS.items()]
        lines += described("problems_total", "counter", "Refused requests, by type of problem.", problems)
        return "\n".join(lines) + "\n"

    def close(self) -> None:
        """Release this process's row."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
