"""The nearest frequencies against every support tried."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from untrackable.theory.accuracy import nearest_frequencies

Point = NDArray[np.float64]
points = st.lists(st.floats(-2, 2), min_size=1, max_size=6).map(lambda x: np.array(x, dtype=np.float64))


def nearest_by_trying(point: Point, complete: bool) -> Point:
    """On each face of the set, the nearest point of its plane; the nearest of those that lie in the set."""
    found = [np.zeros_like(point)] if not complete else []
    for size in range(1, point.size + 1):
        for support in itertools.combinations(range(point.size), size):
            inside = np.zeros_like(point)
            some = point[list(support)]
            inside[list(support)] = some - (some.sum() - 1) / size
            found.append(inside)
            if not complete:
                free = np.zeros_like(point)
                free[list(support)] = some
                found.append(free)
    allowed = [x for x in found if x.min() >= -1e-12 and x.sum() <= 1 + 1e-9]
    return min(allowed, key=lambda x: float(((x - point) ** 2).sum()))


@given(points, st.booleans())
def test_it_is_the_nearest_point(point: Point, complete: bool) -> None:
    found = nearest_frequencies(point, complete=complete)
    assert found.min() >= 0
    assert found.sum() <= 1 + 1e-12
    assert not complete or abs(found.sum() - 1) < 1e-12
    best = nearest_by_trying(point, complete)
    assert np.allclose(found, best, atol=1e-9)


@given(points, st.integers(0, 5))
def test_nothing_moves_away_from_the_truth(point: Point, place: int) -> None:
    truth = np.eye(point.size)[place % point.size]
    found = nearest_frequencies(point)
    assert np.linalg.norm(found - truth) <= np.linalg.norm(point - truth) + 1e-12


def test_frequencies_stay_as_they_are() -> None:
    assert np.allclose(nearest_frequencies(np.array([0.25, 0.75, 0.0])), [0.25, 0.75, 0.0], atol=1e-15)
    assert nearest_frequencies(np.array([0.25, -0.5]), complete=False).tolist() == [0.25, 0.0]
    assert nearest_frequencies(np.array([-3.0])).tolist() == [1.0]
    assert nearest_frequencies(np.array([1e15, 1e15])).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("bad", [[], [[1.0]], [np.nan], [np.inf, 0.0]])
def test_what_is_no_vector(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="vector of finite numbers"):
        nearest_frequencies(np.array(bad))
