"""Decoding RAPPOR: 10,000 candidates, 64 cohorts of 128 bits, against sparse products with the same design.

The least that a decoder needs is one product of the design with the shares; a regression on d candidates also needs
their products with all others.
"""

import time
from collections.abc import Callable

import numpy as np

from untrackable import Rappor
from untrackable.rappor_decode.candidate_map import CandidateMap
from untrackable.rappor_decode.decode import decode
from untrackable.rappor_decode.design import design
from untrackable.rappor_decode.rappor_files import Counts

CANDIDATES, HELD, PEOPLE = 10_000, 300, 10_000_000


def fastest(run: Callable[[], object], times: int = 3) -> float:
    """Seconds of the fastest of several runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def collected(params: Rappor, candidates: CandidateMap, rng: np.random.Generator) -> Counts:
    """Counts of as many people, by the law that aggregated reports have; the first few candidates are held."""
    weights = 1 / np.arange(1, HELD + 1)
    people = rng.multinomial(PEOPLE, weights / weights.sum())
    of = np.array([rng.multinomial(count, np.full(params.cohorts, 1 / params.cohorts)) for count in people])
    filters = np.zeros((HELD, params.cohorts, params.bloom_bits), dtype=np.int64)
    np.put_along_axis(filters, candidates.positions[:HELD].astype(np.int64), 1, axis=2)
    held, reports = np.einsum("vc,vcb->cb", of, filters), of.sum(axis=0)
    one, zero = params.bit_rates
    return Counts(reports, rng.binomial(held, one) + rng.binomial(reports[:, None] - held, zero))


def main() -> None:
    """Print ratios."""
    params = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75, cohorts=64)
    names = [f"string {i}" for i in range(CANDIDATES)]
    hashing = fastest(lambda: CandidateMap.of(params, names), 1)
    candidates = CandidateMap.of(params, names)
    counts = collected(params, candidates, np.random.default_rng(1))
    laid = design(params, counts, candidates)
    found = decode(params, counts, names)
    taken = fastest(lambda: decode(params, counts, names), 1) - hashing
    once = fastest(lambda: laid.matrix.T @ laid.shares)
    some = laid.matrix[:, : len(found.candidates)]
    products = fastest(lambda: (some.T @ laid.matrix).toarray())
    print(
        f"{CANDIDATES:,} candidates, {params.cohorts} cohorts of {params.bloom_bits} bits, {len(found.candidates)} "
        f"chosen, {len(found.found)} found: {taken:.1f} s and {hashing:.1f} s of hashing"
    )
    print(f"  {taken / once:.0f}× one sparse product with a vector ({1e3 * once:.1f} ms)")
    print(f"  {taken / products:.0f}× the sparse products of those chosen with all ({1e3 * products:.0f} ms)")


if __name__ == "__main__":
    main()
