"""Writes google/rappor's files params.csv, counts.csv and map.csv."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from untrackable import Rappor
from untrackable.rappor_decode.files import CandidateMap, Counts


def write_params(path: Path, params: Rappor) -> None:
    row = [params.bloom_bits, params.hashes, params.cohorts, params.p, params.q, params.f]
    write(path, [["k", "h", "m", "p", "q", "f"], row])


def write_counts(path: Path, counts: Counts) -> None:
    write(path, np.column_stack((counts.reports, counts.bits)).tolist())


def write_map(path: Path, params: Rappor, candidates: CandidateMap) -> None:
    candidates.check(params)
    starts = np.arange(params.cohorts)[:, None] * params.bloom_bits + 1
    numbers = (candidates.positions + starts).reshape(len(candidates.names), -1).tolist()
    write(path, ([name, *row] for name, row in zip(candidates.names, numbers, strict=True)))


def write(path: Path, table: Iterable[Sequence[object]]) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).writerows(table)
