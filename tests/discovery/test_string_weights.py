"""The weights of strings and prefixes, by enumeration."""

import itertools

import pytest

from untrackable.discovery.prefix_search import StringWeights


@pytest.mark.parametrize(
    "weights_of", [StringWeights(2, 0, 3), StringWeights(3, 1, 3), StringWeights(2, 4, 4), StringWeights(2, 2, 5)]
)
def test_weights_sum_to_one_and_prefixes_weigh_what_begins_with_them(weights_of: StringWeights) -> None:
    strings = [
        "".join(letters)
        for length in range(weights_of.shortest, weights_of.longest + 1)
        for letters in itertools.product("abc"[: weights_of.symbols], repeat=length)
    ]
    weights = {string: weights_of.string(len(string)) for string in strings}
    assert sum(weights.values()) == pytest.approx(1, rel=1e-12)
    for size in range(weights_of.longest + 1):
        for prefix in {string[:size] for string in strings if len(string) >= size}:
            total = sum(weight for string, weight in weights.items() if string.startswith(prefix))
            assert weights_of.prefix(size) == pytest.approx(total, rel=1e-12)
        table = weights_of.prefix_weights(size)
        assert table[-1] == weights_of.prefix(size)
        assert table[:-1] == pytest.approx(
            [weights_of.string(n) if n >= weights_of.shortest else 0 for n in range(size)]
        )
