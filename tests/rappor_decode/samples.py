"""Parameters and files of google/rappor for the tests of its files."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings

from untrackable import Rappor
from untrackable.rappor_decode.files import CandidateMap, Counts

SMALL = Rappor(bloom_bits=4, hashes=2, f=0.5, p=0.25, q=0.75, cohorts=2)
SIXTEEN = Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.5, q=0.75, cohorts=4)
FILES = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def put(folder: Path, text: str | bytes) -> Path:
    """A file with this content."""
    path = folder / "given.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def write_params(path: Path, params: Rappor) -> None:
    """Write params.csv."""
    row = [params.bloom_bits, params.hashes, params.cohorts, params.p, params.q, params.f]
    write(path, [list("khmpqf"), row])


def write_counts(path: Path, counts: Counts) -> None:
    """Write counts.csv."""
    write(path, np.column_stack((counts.reports, counts.bits)).tolist())


def write_map(path: Path, params: Rappor, candidates: CandidateMap) -> None:
    """Write map.csv."""
    candidates.check(params)
    starts = np.arange(params.cohorts)[:, None] * params.bloom_bits + 1
    numbers = (candidates.positions + starts).reshape(len(candidates.names), -1).tolist()
    write(path, ([name, *row] for name, row in zip(candidates.names, numbers, strict=True)))


def write(path: Path, table: Iterable[Sequence[object]]) -> None:
    """Write rows as google/rappor does, with quotation marks around everything that is not a number."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerows(table)
