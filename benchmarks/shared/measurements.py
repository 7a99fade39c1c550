"""The rows that benchmarks make, and the files that keep them.

A benchmark is a module beside this folder. It declares its `COMPARISONS`, and `measure(small)` makes their rows.
`benchmarks/measured` has the rows of the latest run of each, from which the documents are made.
"""

import datetime
import importlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent
MEASURED = FOLDER / "measured"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
_BUSY = 0.2


class Unavailable(Exception):
    """Something that a benchmark needs is not on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is measured, what it is compared with, in which unit, and which number was to be reached."""

    work: str
    peer: str = ""
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    def row(self, value: float, size: str = "") -> "Row":
        """The number that a run found for work of this size."""
        return Row(self, size, float(f"{value:.4g}"))


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number."""

    comparison: Comparison
    size: str
    value: float

    @property
    def reached(self) -> bool | None:
        """Whether the goal was reached, where there is one."""
        least, most = self.comparison.at_least, self.comparison.at_most
        if least is None and most is None:
            return None
        return (least is None or self.value >= least) and (most is None or self.value <= most)


@dataclass(frozen=True, slots=True)
class Measured:
    """The rows of one run, when it was, and what the machine was like."""

    month: str
    machine: str
    rows: tuple[Row, ...]

    @classmethod
    def stored(cls, name: str) -> "Measured":
        """The latest run of a benchmark."""
        found = json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
        rows = [Row(Comparison(**row["comparison"]), row["size"], row["value"]) for row in found["rows"]]
        return cls(found["month"], found["machine"], tuple(rows))

    def store(self, name: str) -> None:
        """Replace the latest run."""
        MEASURED.mkdir(exist_ok=True)
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        (MEASURED / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def declared(name: str) -> tuple[Comparison, ...]:
    """The comparisons that a benchmark makes."""
    found: tuple[Comparison, ...] = importlib.import_module(f"benchmarks.{name}").COMPARISONS
    return found


def measure(name: str, *, small: bool) -> Iterator[Row]:
    """Run a benchmark, or only try it at a small size."""
    found: Iterator[Row] = importlib.import_module(f"benchmarks.{name}").measure(small=small)
    return found


def month() -> str:
    """This month, as "November 2026"."""
    return f"{datetime.datetime.now(datetime.UTC):%B %Y}"


def machine(name: str) -> str:
    """What the machine is like: the number of cores, and whether something else uses them now."""
    own: Callable[[], str] | None = getattr(importlib.import_module(f"benchmarks.{name}"), "machine", None)
    if own is not None:
        return own()
    before = _processor_times()
    time.sleep(1)
    idle, every = (now - then for now, then in zip(_processor_times(), before, strict=True))
    cores = len(os.sched_getaffinity(0))
    return f"{cores} core{'s' * (cores > 1)}, {'busy with other work' if idle < (1 - _BUSY) * every else 'idle'}"


def _processor_times() -> tuple[int, int]:
    """Idle time and all time of the processors, in ticks."""
    ticks = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:]]
    return ticks[3] + ticks[4], sum(ticks)
