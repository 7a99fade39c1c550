"""Known strings among hashed ones: unbiased, and error bars that count collisions.

The closed forms are compared with all ways in which strings can be hashed, and then with many salts.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from untrackable import Deck, HashedStrings
from untrackable.arrays import FloatArray
from untrackable.encodings.known_strings import _collision_radii, collision_corrected, collision_variance
from untrackable.estimation.estimate import Estimate


def salted(number: int, bits: int) -> HashedStrings:
    return HashedStrings(bits=bits, salt=number.to_bytes(16, "big"), longest=20)


def noiseless(frequencies: FloatArray, beta: float = 0.01) -> Estimate:
    nothing = np.zeros(frequencies.size)
    return Estimate(frequencies, 1000, beta, nothing, span=nothing)


def held(encoding: HashedStrings, shares: dict[str, float]) -> FloatArray:
    """The buckets' frequencies."""
    frequencies = np.zeros(encoding.values)
    np.add.at(frequencies, [encoding.encode(string) for string in shares], list(shares.values()))
    return frequencies


@pytest.mark.parametrize("values", [4, 5])
@pytest.mark.parametrize("candidates", [(0.3,), (0.3, 0.1), (0.2, 0.0, 0.3)])
@pytest.mark.parametrize("others", [(), (0.5,), (0.1, 0.2, 0.05), (0.1, 0.1, 0.1, 0.1)])
def test_over_all_hashes_of_the_others(
    values: int, candidates: tuple[float, ...], others: tuple[float, ...]
) -> None:
    """The mean is the truth and the variance that of the closed form, wherever the candidates fall."""
    shares = np.array([*candidates, *others])
    shares[0] += 1 - shares.sum()
    k = len(candidates)
    errors = []
    for places in itertools.product(range(values), repeat=len(others)):
        buckets = np.zeros(values)
        np.add.at(buckets, [*range(k), *places], shares)
        errors.append(collision_corrected(buckets[:k], values) - shares[:k])
    np.testing.assert_allclose(np.mean(errors, axis=0), 0, atol=1e-14)
    squares = float(np.array(others) @ np.array(others))
    np.testing.assert_allclose(
        np.mean(np.square(errors), axis=0), squares * collision_variance(values, k), atol=1e-14
    )
    for beta in (0.05, 0.2, 0.3):
        one, every = _collision_radii(values, k, beta)
        allowed = 2 * beta if k == 1 else beta
        assert np.all(np.mean(np.abs(errors) > one + 1e-12, axis=0) <= allowed)
        assert np.mean(np.max(np.abs(errors), axis=1) > every + 1e-12) <= 2 * beta


def test_one_candidate_has_the_usual_correction() -> None:
    shared = np.array([0.37])
    np.testing.assert_allclose(collision_corrected(shared, 16), (shared - 1 / 16) / (1 - 1 / 16), rtol=1e-14)
    assert collision_variance(16, 1) == pytest.approx(1 / 15)


def test_known_candidates_do_not_disturb_each_other() -> None:
    """With all strings listed nothing is uncertain, while correcting each alone takes away too much."""
    encoding = salted(1, 8)
    shares = {"one": 0.5, "two": 0.3, "three": 0.2}
    frequencies = held(encoding, shares)
    found = encoding.candidates(noiseless(frequencies), list(shares))
    np.testing.assert_allclose(found.frequencies, [0.5, 0.3, 0.2], atol=1e-15)
    np.testing.assert_allclose(found.standard_error, 0, atol=1e-9)
    alone = [encoding.candidates(noiseless(frequencies), [string]).frequencies[0] for string in shares]
    np.testing.assert_allclose(alone, [0.5 - 0.5 / 255, 0.3 - 0.7 / 255, 0.2 - 0.8 / 255], atol=1e-15)


def test_markovs_bound_is_nearly_attained() -> None:
    """Four strings of equal share, m = 256, β = 1/64: one of them is in the bucket with probability close to β."""
    values, beta = 256, 1 / 64
    one, _ = _collision_radii(values, 2, beta)
    assert one == pytest.approx(1 / 4)
    reached = 1 - (1 - 1 / values) ** 4
    assert 0.99 * beta < reached <= beta


def test_over_salts_the_estimate_is_unbiased_and_as_spread_as_stated() -> None:
    """Hoeffding's inequality for the means of errors and of their squares, at a rate of 1e-10 each.

    It also rejects frequencies that are not corrected, and error bars without collisions.
    """
    others = {"x": 0.4, "y": 0.15, "z": 0.05}
    shares = {"mine": 0.3, "yours": 0.1, **others}
    errors, raw, squares = [], [], []
    for number in range(6_000):
        encoding = salted(number, 3)
        if encoding.encode("mine") == encoding.encode("yours"):
            continue
        frequencies = held(encoding, shares)
        found = encoding.candidates(noiseless(frequencies), ["mine", "yours"])
        errors.append(found.frequencies[0] - 0.3)
        raw.append(frequencies[encoding.encode("mine")] - 0.3)
        squares.append(found.standard_error[0] ** 2)
    span = 0.6 * (1 + 1 / 6)
    radius = span * math.sqrt(math.log(2e10) / (2 * len(errors)))
    assert abs(np.mean(errors)) <= radius < abs(np.mean(raw)), "0.6/8 on average if not corrected"
    expected = sum(share**2 for share in others.values()) * collision_variance(8, 2)
    assert abs(np.mean(np.square(errors)) - expected) <= 0.36 * radius / span < expected
    # The variance is estimated without bias from one salt; only 1 is too much for a sum of squares.
    assert abs(np.mean(squares) - expected) <= radius / span * collision_variance(8, 2)


def collected(encoding: HashedStrings, shares: dict[str, float], seed: int, people: int = 20_000) -> Estimate:
    """Of the reports of a whole population."""
    deck = Deck(bits=encoding.bits, slots=2, eps_report=3.0)
    counts = np.round(np.array(list(shares.values())) * people).astype(int)
    assert counts.sum() == people
    values = np.repeat(encoding.encode_many(list(shares)), counts)
    sums = deck.aggregator()
    for batch in deck.simulate(values, rounds=1, seed=seed):
        sums.add(batch.reports)
    return sums.estimate(beta=0.05 / 3)


def test_the_whole_way_from_strings_to_frequencies() -> None:
    """Twenty strings that nobody listed, of 4 % each, in 256 buckets: noise and collisions are of one size.

    The mean over salts of the squared error in units of the standard error is about 1 (1.06 of 1,000 salts, of
    standard deviation 1.1 each), so 0.35 to 1.75 for 150 salts is seven standard deviations; without collisions the
    error bars give 3.3. Radii fail for at most 5 % of salts: more than 29 of 150 have a probability below 1e-9.
    """
    others = {f"unlisted {number}": 0.04 for number in range(20)}
    listed = {"first": 0.1, "second": 0.05, "third": 0.03, "fourth": 0.02}
    nobody = ["nobody", "holds", "these", "four"]
    truth = np.array([*listed.values(), 0, 0, 0, 0])
    scores, blind, missed, missed_together, salts = [], [], 0, 0, 0
    for number in itertools.count():
        encoding = salted(number, 8)
        candidates = [*listed, *nobody]
        if len(encoding.grouped(candidates)) < len(candidates):
            continue
        estimate = collected(encoding, {**listed, **others}, seed=number)
        found = encoding.candidates(estimate, candidates)
        assert found.beta == pytest.approx(0.05)
        assert found.n == estimate.n
        errors = found.frequencies - truth
        places = [encoding.encode(string) for string in candidates]
        scores.append((errors / found.standard_error) ** 2)
        blind.append((errors / estimate.standard_error[places]) ** 2)
        missed += bool(abs(errors[0]) > found.radius[0])
        missed_together += bool(np.any(np.abs(errors) > found.simultaneous_radius))
        salts += 1
        if salts == 150:
            break
    assert 0.35 < np.mean(scores) < 1.75 < np.mean(blind)
    assert binom.sf(29, 150, 0.05) < 1e-9
    assert missed <= 29
    assert missed_together <= 29


def test_candidates_that_share_a_bucket_are_named_or_estimated_together() -> None:
    encoding = salted(0, 4)
    first = "apple"
    second = next(s for s in map(str, range(999)) if encoding.encode(s) == encoding.encode(first))
    third = next(s for s in map(str, range(999)) if encoding.encode(s) != encoding.encode(first))
    estimate = noiseless(held(encoding, {first: 0.5, second: 0.3, third: 0.2}))
    with pytest.raises(ValueError, match=f"'apple', '{second}' share one: estimate them as a group"):
        encoding.candidates(estimate, [first, third, second])
    with pytest.raises(ValueError, match="'apple', 'apple' share one"):
        encoding.candidates(estimate, [first, first])
    groups = encoding.grouped([first, third, second])
    assert groups == ((first, second), (third,))
    found = encoding.candidates(estimate, groups)
    np.testing.assert_allclose(found.frequencies, [0.8, 0.2], atol=1e-15)
    with pytest.raises(ValueError, match=f"but 'apple', '{third}' do not"):
        encoding.candidates(estimate, [(first, third)])
    with pytest.raises(ValueError, match="of a group must share a bucket, but"):
        encoding.candidates(estimate, [()])


def test_an_estimate_of_a_few_values_is_enough() -> None:
    """Of wide hashes nobody estimates all values; collisions count as if the others held one string."""
    strings = ["a", "b", "c"]
    for bits in (16, 64, 256):
        encoding = HashedStrings(bits=bits, salt=bytes(16), longest=9)
        of = [encoding.encode(string) for string in strings]
        shared, error = np.array([0.5, 0.2, 0.1]), np.full(3, 0.01)
        estimate = Estimate(shared, 1000, 0.01, error, span=np.ones(3))
        noise, both = (math.sqrt(math.log(2 * m / 0.01) / 2000) for m in (1, 2))
        found = encoding.candidates(estimate, ["c", "a"], of=of)
        np.testing.assert_allclose(found.frequencies, [0.1, 0.5], atol=1e-5)
        collisions = (0.4 + 0.01 * math.sqrt(2)) ** 2 / 2**bits
        np.testing.assert_allclose(found.standard_error, np.sqrt(0.01**2 + collisions), rtol=1e-4)
        np.testing.assert_allclose(found.radius, noise + 1 / (0.01 * 2**bits), rtol=1e-4)
        np.testing.assert_allclose(found.simultaneous_radius, both + 2 / (0.02 * 2**bits), rtol=1e-4)
        with pytest.raises(ValueError, match="lacks that of 'd'"):
            encoding.candidates(estimate, ["d"], of=of)
        for wrong in (of[:2], [*of, 5], [of[0]] * 3):
            with pytest.raises(ValueError, match="`of` must list the 3 different values"):
                encoding.candidates(estimate, ["a"], of=wrong)
        with pytest.raises(ValueError, match="estimate must cover all"):
            encoding.candidates(estimate, ["a"])


def test_one_bit_and_full_lists() -> None:
    encoding = salted(0, 1)
    low = next(s for s in map(str, range(99)) if encoding.encode(s) == 0)
    high = next(s for s in map(str, range(99)) if encoding.encode(s) == 1)
    found = encoding.candidates(noiseless(np.array([0.75, 0.25])), [low])
    np.testing.assert_allclose(found.frequencies, [0.5])  # the other bucket shows that others hold a half
    assert found.radius[0] == 1.0  # two buckets tell nothing for certain
    with pytest.raises(ValueError, match="must leave at least one bucket free"):
        encoding.candidates(noiseless(np.array([0.75, 0.25])), [low, high])


def test_arguments_are_checked() -> None:
    encoding = salted(0, 3)
    estimate = noiseless(np.full(8, 1 / 8))
    nobody: list[str] = []
    for wrong in ("abc", nobody):
        with pytest.raises(ValueError, match="at least one"):
            encoding.candidates(estimate, wrong)
    with pytest.raises(TypeError, match="string must be a string"):
        encoding.candidates(estimate, [[5]])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="beta of the estimate must be below 1/3"):
        encoding.candidates(noiseless(np.full(8, 1 / 8), beta=0.4), ["a"])


def test_candidates_that_stand_out_are_those_that_are_held() -> None:
    """P-values by the inverted radius, collisions included; strings nobody holds do not stand out."""
    encoding = HashedStrings(bits=16, salt=bytes(16), longest=9)
    strings = [f"held{i}" for i in range(3)] + [f"not{i}" for i in range(17)]
    deck = Deck(bits=16, slots=1, eps_report=3.0)
    values = encoding.encode_many(np.array(strings[:3]))[np.arange(30_000) % 3]
    sums = deck.aggregator()
    for batch in deck.simulate(values, rounds=1, seed=4):
        sums.add(batch.reports)
    found = encoding.candidates(sums.estimate(beta=0.01), strings)
    assert found.values == strings
    p = found.p_values()
    assert np.all(p[:3] < 1e-3)
    assert np.all(p[3:] > 1e-3)  # an upper bound on the tail: below with probability 17·1e-3 at most, and far less
    assert np.all(found.shift(30) > 0)
