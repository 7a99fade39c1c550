"""Reports of every shape, and what sums they make, for tests that hold for all formats."""

from pathlib import Path
from typing import Any

import numpy as np

from untrackable import (
    Bitwise,
    Deck,
    Fading,
    Fresh,
    InnerProduct,
    Memoized,
    NoisyInnerProduct,
    RandomizedResponse,
    Rappor,
)
from untrackable.encodings.encoding import Encoding
from untrackable.mechanisms import (
    Assigned,
    CountMeanSketch,
    DBitFlip,
    FixedVector,
    HadamardSketch,
    Lgrr,
    Loloha,
    OneChange,
    Rarely,
    Unary,
    Votes,
)
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports.files import Written, write_reports
from untrackable.reports.sums import sum_files

FORMATS = [".parquet", ".arrow", ".arrows", ".csv", ".csv.gz", ".npz"]

DECK = Deck(bits=4, slots=9, eps_report=1.0, width=1)
MECHANISMS: dict[str, Mechanism] = {
    "deck": DECK,
    "rnip": InnerProduct(bits=13, slots=9, eps_report=1.0, width=1),
    "fading": Fading(bits=12, eps=1.0, delta=1e-3),
    "bits": Fresh(RandomizedResponse(eps=1.0)),
    "63 bits": Fresh(NoisyInnerProduct(bits=63, eps=1.0, width=1)),
    "wide answers": Deck(bits=12, slots=9, eps_report=4.0),
    "wider answers": Fresh(NoisyInnerProduct(bits=20, eps=4.0)),
    "64 bits": Fresh(NoisyInnerProduct(bits=64, eps=1.0, width=1)),
    "256 bits": Memoized(NoisyInnerProduct(bits=256, eps=1.0, width=1)),
    "count-mean": Fresh(CountMeanSketch(hashes=5, width=70, eps=2.0, values=9)),
    "hadamard": Fresh(HadamardSketch(hashes=5, width=16, eps=2.0, values=9)),
    "bitwise": Bitwise(eps_state=1.0, eps_report=1.0),
    "rappor": Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.5, q=0.75, cohorts=3),
    "wide rappor": Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75),
    "unary": Unary(values=9, keep=0.9, add=0.2, q=0.8, p=0.3),
    "wide unary": Unary(values=90, keep=0.9, add=0.2, q=0.8, p=0.3),
    "lgrr": Lgrr(values=9, keep=0.9, tell=0.8),
    "loloha": Loloha(values=9, symbols=2, keep=0.9, tell=0.95),
    "dbitflip": DBitFlip(buckets=9, sampled=2, eps=2.0),
    "fixed-vector": FixedVector(bits=3, eps=1.0),
    "assigned": Assigned(bits=4, eps=1.0, people=200),
    "rarely": Rarely(eps=1.0, chance=0.4),
    "one-change": OneChange(rounds=8, changes=1, eps=1.0),
    "votes": Votes(eps_vote=0.8, eps_estimate=1.3, votes=2, estimates=2, updates=(1, 3)),
}


def pieces(mechanism: Mechanism, people: int, rounds: int, seed: int = 1) -> list[tuple[int, Any]]:
    """Reports of everyone at each round, as arrays; of values too wide to simulate, as clients send them."""
    if mechanism in (MECHANISMS["64 bits"], MECHANISMS["256 bits"]):
        clients = [mechanism.client(i % 2) for i in range(people)]
        return [(t, [client.report(t) for client in clients]) for t in range(1, rounds + 1)]
    result: list[tuple[int, Any]] = []
    for batch in mechanism.simulate(np.arange(people) % 2, rounds=rounds, seed=seed):
        result += [(number, batch.reports[:, i]) for i, number in enumerate(batch.rounds)]
    return result


def sums_of(mechanism: Mechanism, given: list[tuple[int, Any]]) -> dict[int, bytes]:
    """The sums of pieces, without any file."""
    numbers = {number for number, _ in given}
    result = {}
    for number in numbers:
        if mechanism.takes(number):
            sums = mechanism.aggregator(number)
            for taken in mechanism.takes(number):
                for other, reports in given:
                    if other == taken:
                        sums.add(reports)
            result[number] = sums.to_bytes()
    return result


def sums_in(path: Path, **options: Any) -> dict[int, bytes]:
    """The sums of a file."""
    return {number: sums.to_bytes() for number, sums in sum_files([path], **options).sums.items() if sums.n}


def written(
    path: Path, mechanism: Mechanism, people: int = 20, rounds: int = 2, encoding: Encoding | None = None
) -> Written:
    """A small file."""
    return write_reports(path, pieces(mechanism, people, rounds), mechanism=mechanism, encoding=encoding)
