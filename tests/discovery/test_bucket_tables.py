"""The law of what a string that nobody holds finds in the tables, and the weights of strings, by enumeration."""

import itertools

import numpy as np
import pytest

from untrackable.discovery.bucket_tables import Laws, Tables
from untrackable.discovery.string_weights import Space


def test_tails_are_those_of_all_choices_of_buckets() -> None:
    rng = np.random.default_rng(1)
    steps = rng.integers(-3, 4, (3, 6))
    counts = np.stack([np.bincount(row + 3, minlength=7) for row in steps])
    laws = Laws(counts, -3)
    for first, last in ((0, 1), (0, 2), (0, 3), (1, 3), (2, 3)):
        sums = np.array([sum(choice) for choice in itertools.product(*steps[first:last])])
        asked = np.arange(-12, 13)
        exact = [(sums >= s).mean() for s in asked]
        assert laws.tail(first, last, asked) == pytest.approx(exact, abs=1e-12)
        for probability in (0.0, 0.01, 0.2, 0.7, 1.0):
            found = laws.threshold(first, last, probability)
            assert (sums >= found).mean() <= probability + 1e-12
            assert (
                found == sums.min()
                or (sums >= found - 1).mean() > probability - 1e-12
                or found <= -3 * (last - first)
            )


def test_small_tails_keep_their_digits() -> None:
    counts = np.array([[(1 << 20) - 1, 1]] * 3)
    assert Laws(counts, 0).tail(0, 3, np.array([3]))[0] == pytest.approx(2.0**-60, rel=1e-12)


def test_steps_are_entries_in_one_scale_and_never_above_the_cap() -> None:
    rng = np.random.default_rng(2)
    entries = rng.normal(size=(3, 1 << 14))
    plain = Tables(entries, 1e-9)
    assert np.corrcoef(plain.steps.reshape(-1), entries.reshape(-1))[0, 1] > 0.999
    entries[:, :3] = 40.0
    heavy = Tables(entries, 1e-9)
    assert heavy.steps.max() < 0.3 * 40 * 24
    assert np.all(heavy.steps[:, :3] == heavy.steps.max())
    assert np.all(Tables(np.zeros((2, 4)), 1e-3).steps == 0)


@pytest.mark.parametrize("space", [Space(2, 0, 3), Space(3, 1, 3), Space(2, 4, 4), Space(2, 2, 5)])
def test_weights_sum_to_one_and_prefixes_weigh_what_begins_with_them(space: Space) -> None:
    strings = [
        "".join(letters)
        for length in range(space.shortest, space.longest + 1)
        for letters in itertools.product("abc"[: space.symbols], repeat=length)
    ]
    weights = {string: space.string(len(string)) for string in strings}
    assert sum(weights.values()) == pytest.approx(1, rel=1e-12)
    for size in range(space.longest + 1):
        for prefix in {string[:size] for string in strings if len(string) >= size}:
            total = sum(weight for string, weight in weights.items() if string.startswith(prefix))
            assert space.prefix(size) == pytest.approx(total, rel=1e-12)
        table = space.weights(size)
        assert table[-1] == space.prefix(size)
        assert table[:-1] == pytest.approx([space.string(n) if n >= space.shortest else 0 for n in range(size)])
