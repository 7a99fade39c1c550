"""Decoding RAPPOR beside sparse products with the same design.

The least that a decoder needs is one product of the design with the shares; a regression on d candidates also needs
their products with all others.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.shared.clocks import fastest, timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Rappor
from untrackable.rappor_decode.decode import decode
from untrackable.rappor_decode.files import CandidateMap, Counts
from untrackable.rappor_decode.regression import design

PEOPLE = 10_000_000
DECODED = "`decode`, 64 cohorts of 128 bits, without hashing the candidates"
ONCE = Comparison(work=DECODED, peer="one sparse product with a vector", unit="times as long")
PRODUCTS = Comparison(
    work=DECODED, peer="the sparse products of the chosen candidates with all", unit="times as long"
)
COMPARISONS = (ONCE, PRODUCTS)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Decode counts of ten million people, of whom all hold one of the first few candidates."""
    count, held = (100, 10) if small else (10_000, 300)
    params = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75, cohorts=64)
    names = [f"string {i}" for i in range(count)]
    hashing, candidates = timed(lambda: CandidateMap.of(params, names))
    counts = collected(params, candidates, held, np.random.default_rng(1))
    laid = design(params, counts, candidates)
    taken, found = timed(lambda: decode(params, counts, names))
    some, size = laid.matrix[:, : len(found.candidates)], f"{count:,} candidates"
    yield ONCE.row((taken - hashing) / fastest(lambda: laid.matrix.T @ laid.shares), size)
    yield PRODUCTS.row((taken - hashing) / fastest(lambda: (some.T @ laid.matrix).toarray()), size)


def collected(params: Rappor, candidates: CandidateMap, values: int, rng: np.random.Generator) -> Counts:
    """Counts of as many people, by the law that aggregated reports have; the first few candidates are held."""
    weights = 1 / np.arange(1, values + 1)
    people = rng.multinomial(PEOPLE, weights / weights.sum())
    of = np.array([rng.multinomial(count, np.full(params.cohorts, 1 / params.cohorts)) for count in people])
    filters = np.zeros((values, params.cohorts, params.bloom_bits), dtype=np.int64)
    np.put_along_axis(filters, candidates.positions[:values].astype(np.int64), 1, axis=2)
    held, reports = np.einsum("vc,vcb->cb", of, filters), of.sum(axis=0)
    one, zero = params.bit_rates
    return Counts(reports, rng.binomial(held, one) + rng.binomial(reports[:, None] - held, zero))
