"""Wide inner products: a list of candidates, against the dense sums and the definition."""

import math
from typing import Any

import numpy as np
import pytest

from untrackable import Deck, Fresh, InnerProduct, NoisyInnerProduct, framing
from untrackable.errors import MergeError, SumsError
from untrackable.estimation.aggregators import CandidateAggregator, InnerProductAggregator, Scope

SCOPE = Scope(None, 0, pools=True)
WIDTHS = [27, 62, 63, 64, 65, 127, 128, 129, 191, 255, 256]
each_width = pytest.mark.parametrize("bits", WIDTHS)


def candidates_of(bits: int, eps: float = 1.0) -> CandidateAggregator:
    return CandidateAggregator(
        SCOPE, bits=bits, flip=NoisyInnerProduct(bits=bits, eps=eps, width=1).flip.probability
    )


def wide(rng: np.random.Generator) -> int:
    return int.from_bytes(rng.bytes(40))


def some_reports(bits: int, count: int, seed: int = 1) -> list[int]:
    rng = np.random.default_rng(seed)
    edges = [2, 3, (2 << bits) - 1, (2 << bits) - 2, 1 << bits]
    return edges + [2 + wide(rng) % ((2 << bits) - 2) for _ in range(count)]


@pytest.mark.parametrize("bits", [1, 3, 8])
def test_candidates_are_the_dense_estimate(bits: int) -> None:
    local = NoisyInnerProduct(bits=bits, eps=0.8, width=1)
    dense = InnerProductAggregator(SCOPE, bits=bits, flip=local.flip.probability)
    listed = candidates_of(bits, 0.8)
    reports = local.simulate(np.arange(4000, dtype=np.uint64) % np.uint64(2), np.random.default_rng(1))
    whole = dense.add(reports).estimate(0.01)
    part = listed.add(reports).estimate(0.01, candidates=range(1 << bits))
    for name in ("frequencies", "radius", "simultaneous_radius", "standard_error", "span"):
        assert np.allclose(getattr(whole, name), getattr(part, name), rtol=1e-12), name
    assert np.allclose(whole.p_values(), part.p_values())
    assert part.values == list(range(1 << bits))
    assert not part.complete


@each_width
def test_estimates_are_the_formula(bits: int) -> None:
    reports = some_reports(bits, 200)
    asked = [0, 1, (1 << bits) - 1, 1 << bits - 1, wide(np.random.default_rng(2)) % (1 << bits)]
    result = candidates_of(bits, 0.7).add(reports).estimate(candidates=asked)
    scale = (1 - 0.5**bits) * (math.exp(0.7) + 1) / (math.exp(0.7) - 1)
    for u, frequency in zip(asked, result.frequencies, strict=True):
        mean = sum((-1) ** (((r >> 1) & u).bit_count() + (r & 1)) for r in reports) / len(reports)
        assert math.isclose(frequency, scale * mean + 0.5**bits, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("bits", [27, 64, 256])
def test_clients_are_counted(bits: int) -> None:
    """The path of real clients; random, fails with probability 4·2e-9."""
    mechanism = Deck(bits=bits, slots=1, eps_report=3.0, width=1)
    held = [5, (1 << bits) - 1]
    sums = mechanism.aggregator()
    assert isinstance(sums, CandidateAggregator)
    sums.add(mechanism.client(held[i % 4 == 0]).report(1) for i in range(8000))
    result = sums.estimate(candidates=[*held, 6, 0])
    assert np.all(np.abs(result.frequencies - [0.75, 0.25, 0, 0]) <= 6 * result.standard_error)
    assert 12 * result.standard_error.max() < 0.2
    assert [row.value for row in result.top(2) if row.stands_out] == held


def test_simulated_populations_are_counted() -> None:
    mechanism = InnerProduct(bits=40, slots=3, eps_report=2.0, width=1)
    sums: Any = mechanism.aggregator()
    for batch in mechanism.simulate(np.full(30_000, 1 << 39), rounds=1, seed=1):
        sums.add(batch.reports)
    result = sums.estimate(candidates=[1 << 39, 7])
    assert np.all(np.abs(result.frequencies - [1, 0]) <= 6 * result.standard_error)


@each_width
def test_arrays_lists_merges_and_bytes_in_any_order(bits: int) -> None:
    reports = some_reports(bits, 60)
    whole = candidates_of(bits).add(reports)
    size = (bits + 8) // 8
    array: Any = (
        np.array(reports, dtype=np.uint64)
        if bits < 64
        else np.frombuffer(b"".join(r.to_bytes(size, "little") for r in reports), dtype=np.uint8).reshape(-1, size)
    )
    backwards = candidates_of(bits)
    for i in reversed(range(len(reports))):
        backwards.add(array[i : i + 1])
    left, right = candidates_of(bits).add(reports[:7]), candidates_of(bits).add(reports[7:])
    saved = left.to_bytes()
    merged = right.merge(left)
    assert whole.to_bytes() == backwards.to_bytes() == merged.to_bytes()
    assert candidates_of(bits).add_saved(saved).add(reports[7:]).to_bytes() == whole.to_bytes()
    assert left.n + 58 == merged.n == len(reports)


@each_width
def test_impossible_reports_are_refused_with_nothing_added(bits: int) -> None:
    sums = candidates_of(bits).add([5])
    before = sums.to_bytes()
    for bad in ([0], [5, 1], [2 << bits], [-1], [1 << 300]):
        with pytest.raises(ValueError, match="a report must be between"):
            sums.add(bad)
    size = (bits + 8) // 8
    if bits >= 64:
        for rows in ([0], [1], [2 << bits] if (bits + 1) % 8 else [0]):
            data = b"".join(r.to_bytes(size, "little") for r in rows)
            with pytest.raises(ValueError, match="a report must be between"):
                sums.add(np.frombuffer(data, dtype=np.uint8).reshape(-1, size))
        for shape in (np.zeros((2, size + 1), dtype=np.uint8), np.full(3, 5, dtype=np.uint64)):
            with pytest.raises(ValueError, match="reports must be arrays of"):
                sums.add(shape)
    else:
        for number in (0, 1, 2 << bits if bits < 63 else 0):
            with pytest.raises(ValueError, match="a report must be between"):
                sums.add(np.array([5, number], dtype=np.uint64))
    assert sums.to_bytes() == before


def test_what_can_be_asked() -> None:
    sums = candidates_of(64)
    with pytest.raises(ValueError, match="there are no reports"):
        sums.estimate(candidates=[1])
    sums.add([7])
    with pytest.raises(ValueError, match=r"candidates must be given, as there are 2\^64 values"):
        sums.estimate()
    for bad in ((), "ab"):
        with pytest.raises(ValueError, match="at least one"):
            sums.estimate(candidates=bad)
    with pytest.raises(ValueError, match="candidate must be between"):
        sums.estimate(candidates=[1 << 64])
    with pytest.raises(TypeError, match="candidate must be an integer"):
        sums.estimate(candidates=[1.5])


def test_foreign_sums_are_refused() -> None:
    narrow, wide = Deck(bits=30, slots=2, eps_report=1.0, width=1), Deck(bits=64, slots=2, eps_report=1.0, width=1)
    with pytest.raises(MergeError):
        narrow.aggregator().merge(wide.aggregator())
    with pytest.raises(SumsError, match="another mechanism"):
        narrow.restore_sums(wide.aggregator().to_bytes())
    with pytest.raises(ValueError, match="of 2 rounds, which do not pool"):
        InnerProduct(bits=30, slots=2, eps_report=1.0, width=1).aggregator().add(
            np.full((3, 2), 9, dtype=np.uint64)
        )


@pytest.mark.parametrize(("first", "vector"), [(2, 1), (0, 0), (0, 1 << 30)])
def test_impossible_sums_are_refused(first: int, vector: int) -> None:
    deck = Deck(bits=30, slots=2, eps_report=1.0, width=1)
    payload = np.array([0, 1, first, vector], dtype="<u8").tobytes()
    with pytest.raises(SumsError, match="cannot have made"):
        deck.restore_sums(framing.frame_sums(deck, payload))
    with pytest.raises(SumsError, match="should have 16 bytes"):
        deck.restore_sums(framing.frame_sums(deck, payload + bytes(8)))


def test_tables_of_wide_values() -> None:
    result = candidates_of(128).add([9]).estimate(candidates=[1 << 127, 3])
    assert result.to_arrow()["value"].to_pylist() == [str(1 << 127), "3"]
    assert f'"value": ["{1 << 127}", "3"]' in result.to_json()


def test_wide_rounds_pool_where_they_may() -> None:
    fresh = Fresh(NoisyInnerProduct(bits=64, eps=1.0, width=1))
    reports = np.zeros((5, 3, 9), dtype=np.uint8)
    reports[..., 0] = 7
    assert fresh.aggregator().add(reports).n == 15
