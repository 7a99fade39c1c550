"""The children that find enough: compiled, with NumPy, and one by one with the encoding's own hash."""

import numpy as np
import pytest

from untrackable.discovery import prefix_search
from untrackable.kernels import compiled, engine
from untrackable.randomizers.randomness import mixed

KEY, BITS = 0x0123456789ABCDEF, 9


@pytest.fixture(params=["compiled", "NumPy"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = compiled if request.param == "compiled" else None
    monkeypatch.setattr(prefix_search, "compiled", lambda work: kernels)


@pytest.mark.parametrize("count", [0, 1, 3, 16])
@pytest.mark.parametrize("rows", [0, 1, 100])
@pytest.mark.usefixtures("by")
def test_those_that_reach_the_limit_of_their_row(count: int, rows: int) -> None:
    rng = np.random.default_rng([count, rows])
    states, more = (rng.integers(0, (1 << 64) - 1, size=n, dtype=np.uint64) for n in (rows, count))
    table = rng.integers(-50, 50, 1 << BITS).astype(np.int16)
    limits = rng.integers(-60, 60, rows)
    found = prefix_search.striking_children(states, more, table, limits, KEY, BITS)
    hashes = [
        mixed((state + step) % (1 << 64)) if count else state
        for state in states.tolist()
        for step in (more.tolist() if count else [0])
    ]
    entries = [table[mixed(word ^ KEY) >> 64 - BITS] for word in hashes]
    expected = [i for i, entry in enumerate(entries) if entry >= limits[i // max(1, count)]]
    assert found.tolist() == expected
    assert prefix_search.child_states(states, more, found).tolist() == [hashes[i] for i in expected]
    assert table[prefix_search.buckets(prefix_search.child_states(states, more, found), KEY, BITS)].tolist() == [
        entries[i] for i in expected
    ]


def test_threads_find_the_same_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    states, more = (rng.integers(0, (1 << 64) - 1, size=n, dtype=np.uint64) for n in (50_001, 5))
    table, limits = rng.integers(-50, 50, 1 << BITS).astype(np.int16), rng.integers(30, 60, states.size)
    found = []
    for allowed in (1, 3):
        with engine.at_most(allowed):
            found.append(prefix_search.striking_children(states, more, table, limits, KEY, BITS))
    monkeypatch.setattr(prefix_search, "compiled", lambda work: None)
    found.append(prefix_search.striking_children(states, more, table, limits, KEY, BITS))
    assert found[0].size > 10_000
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
