import itertools
import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrackable.theory import theorems
from untrackable.theory.theorems import Channel, response_channel

eps = st.floats(1e-6, 30)


def printed(one: float, other: float) -> float:
    """The theorem's formula as it stands."""
    return math.log((math.exp(one + other) + 1) / (math.exp(one) + math.exp(other)))


@given(st.floats(0.01, 15), st.floats(0.01, 15))
def test_tight_is_the_printed_formula(one: float, other: float) -> None:
    assert theorems.tight_chaining(one, other) == pytest.approx(printed(one, other), rel=1e-9, abs=1e-12)


@given(eps, eps)
def test_order_of_the_bounds(one: float, other: float) -> None:
    tight = theorems.tight_chaining(one, other)
    assert 0 < tight <= theorems.basic_chaining(one, other) * (1 + 1e-12)
    assert tight <= theorems.product_chaining(one, other) * (1 + 1e-12)


def test_extremes_do_not_overflow() -> None:
    assert theorems.tight_chaining(1000.0, 2000.0) == pytest.approx(1000.0)
    assert theorems.tight_chaining(math.inf, 1.5) == pytest.approx(1.5)
    assert theorems.tight_chaining(math.inf, math.inf) == math.inf
    assert theorems.tight_chaining(1e-12, 1e-12) == pytest.approx(0.5e-24)


@given(st.floats(0.05, 6), st.floats(0.05, 6))
def test_randomised_response_attains_the_tight_bound(one: float, other: float) -> None:
    chained = Channel(response_channel(one).law @ response_channel(other).law)
    assert chained.eps(0) == pytest.approx(theorems.tight_chaining(one, other), rel=1e-9)


@st.composite
def channels(draw: st.DrawFn, inputs: int, outputs: int) -> Channel:
    rows = draw(
        st.lists(st.lists(st.integers(1, 20), min_size=outputs, max_size=outputs), min_size=inputs, max_size=inputs)
    )
    law = np.array(rows, dtype=float)
    return Channel(law / law.sum(axis=1, keepdims=True))


@given(channels(3, 4), channels(4, 3), channels(3, 2))
def test_no_channel_exceeds_the_bounds(first: Channel, second: Channel, third: Channel) -> None:
    chained = Channel(first.law @ second.law)
    assert chained.eps(0) <= theorems.tight_chaining(first.eps(0), second.eps(0)) + 1e-12
    whole = Channel(chained.law @ third.law)
    bound = reduce(theorems.tight_chaining, [first.eps(0), second.eps(0), third.eps(0)])
    assert whole.eps(0) <= bound + 1e-12


def brute_hierarchy(levels: list[list[tuple[Channel, list[int]]]], people: list[int]) -> list[float]:
    """The joint law of the final outputs for every database, by enumerating every intermediate output."""

    def law(database: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        worlds = {database: 1.0}
        for level in levels:
            following: dict[tuple[int, ...], float] = {}
            for entries, chance in worlds.items():
                rows = [channel.law[tuple(entries[i] for i in reads)] for channel, reads in level]
                for outputs in itertools.product(*(range(row.size) for row in rows)):
                    weight = chance * math.prod(float(row[o]) for row, o in zip(rows, outputs, strict=True))
                    following[outputs] = following.get(outputs, 0.0) + weight
            worlds = following
        return worlds

    laws = {database: law(database) for database in itertools.product(*(range(size) for size in people))}
    found = [0.0] * len(people)
    for one, other in itertools.permutations(laws, 2):
        changed = [i for i in range(len(people)) if one[i] != other[i]]
        if len(changed) == 1:
            worst = max(math.log(p / laws[other][o]) for o, p in laws[one].items() if p > 0)
            found[changed[0]] = max(found[changed[0]], worst)
    return found


def test_people_families_cities() -> None:
    rng = np.random.default_rng(5)

    def channel(*shape: int) -> Channel:
        law = rng.dirichlet(np.ones(shape[-1]) * 2, size=shape[:-1])
        return Channel(law)

    levels = [
        [(channel(2, 3), [0]), (channel(3, 2), [1]), (channel(2, 2), [2]), (channel(2, 2), [3])],
        [(channel(3, 2, 2), [0, 2]), (channel(2, 2), [1]), (channel(2, 3), [3])],
        [(channel(2, 3, 2), [1, 2]), (channel(2, 2), [0])],
    ]
    found = theorems.hierarchy(levels)
    brute = brute_hierarchy(levels, [2, 3, 2, 2])
    assert [person.exact for person in found] == pytest.approx(brute, rel=1e-9)
    for person in found:
        assert person.exact <= person.tight_upper <= person.basic_upper
    assert found[0].tight_upper == pytest.approx(
        reduce(theorems.tight_chaining, [levels[0][0][0].eps(0), levels[1][0][0].eps(0), levels[2][1][0].eps(0)])
    )


def test_the_hierarchy_must_be_a_partition() -> None:
    one = response_channel(1.0)
    with pytest.raises(ValueError, match="level 2 must read each of the 2 entries before it exactly once"):
        theorems.hierarchy([[(one, [0]), (one, [1])], [(one, [0])]])
    with pytest.raises(ValueError, match="level 1 must read each"):
        theorems.hierarchy([[(one, [0]), (one, [0])]])
    with pytest.raises(ValueError, match="levels must not be empty"):
        theorems.hierarchy([])
    three = Channel(np.full((3, 2), 0.5))
    with pytest.raises(ValueError, match="expects 3 inputs where 2 can occur"):
        theorems.hierarchy([[(one, [0])], [(three, [0])]])


def test_channels_are_checked() -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        Channel([[0.5, 0.6], [0.5, 0.5]])
    with pytest.raises(ValueError, match="position must be between 0 and 0, got 1"):
        response_channel(1.0).eps(1)
    assert Channel([[1.0, 0.0], [0.5, 0.5]]).eps(0) == math.inf
