"""What the collector counts: totals over all of its processes, and nothing about any sender.

Every process counts in a row of its own in a small file that all of them map; a process that takes the place of
another goes on with its row, so that totals never fall. The file has no name, and is gone with the last of them.
"""

import fcntl
import mmap
import os
import tempfile
from multiprocessing.reduction import DupFd
from typing import Any, Final

import numpy as np

from untrackable.collector.http.problems import Problem

_ROWS: Final = 64
_COUNTERS: Final = {
    "reports_received": "Reports that were acknowledged, those that came twice included.",
    "bodies_received": "Requests with reports that were acknowledged.",
    "groups_committed": "Transactions in which reports were stored.",
    "commit_microseconds": "Time spent in these transactions.",
    "store_failures": "Transactions that failed.",
    "rounds_closed": "Rounds that were closed.",
    "closings_failed": "Times that a round could not be closed.",
}
_GAUGES: Final = {"waiting_bytes": "Bytes of reports that are not yet stored."}
_PROBLEMS: Final = {f"problem {problem.slug}": problem for problem in Problem}
_NAMES: Final = [*_COUNTERS, *_GAUGES, *_PROBLEMS]
_PLACES: Final = {name: place for place, name in enumerate(_NAMES)}
_SIZE: Final = 8 * _ROWS * len(_NAMES)


class Shared:
    """The file in which several processes count; handed to those that are started."""

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

    def __init__(self, shared: Shared | None = None) -> None:
        self._file = None if shared is None else os.dup(shared.file)
        if self._file is None:
            memory, row = mmap.mmap(-1, _SIZE), 0
        else:
            memory, row = mmap.mmap(self._file, _SIZE), self._claim(self._file)
        self._all = np.frombuffer(memory, dtype=np.int64).reshape(_ROWS, len(_NAMES))
        self._own = self._all[row]
        self._own[[_PLACES[name] for name in _GAUGES]] = 0

    @staticmethod
    def _claim(file: int) -> int:
        """The first row that no living process has."""
        for row in range(_ROWS):
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, row)
            except OSError:
                continue
            return row
        raise RuntimeError(f"there are more than {_ROWS} processes")

    def add(self, name: str, count: int = 1) -> None:
        """Count."""
        self._own[_PLACES[name]] += count

    def show(self, name: str, value: int) -> None:
        """Set a gauge."""
        self._own[_PLACES[name]] = value

    def refused(self, problem: Problem) -> None:
        """Count a refusal."""
        self._own[_PLACES[f"problem {problem.slug}"]] += 1

    def total(self, name: str) -> int:
        """Over all processes."""
        return int(self._all[:, _PLACES[name]].sum())

    def text(self) -> str:
        """Prometheus' text format."""
        lines = []
        for kind, names, suffix in (("counter", _COUNTERS, "_total"), ("gauge", _GAUGES, "")):
            for name, words in names.items():
                full = f"untrackable_{name}{suffix}"
                lines += [f"# HELP {full} {words}", f"# TYPE {full} {kind}", f"{full} {self.total(name)}"]
        full = "untrackable_problems_total"
        lines += [f"# HELP {full} Requests that were refused, by type of problem.", f"# TYPE {full} counter"]
        lines += [f'{full}{{type="{problem.slug}"}} {self.total(name)}' for name, problem in _PROBLEMS.items()]
        return "\n".join(lines) + "\n"

    def close(self) -> None:
        """Give the row back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
