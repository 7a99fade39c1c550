"""Decoding simulated people: what is found, how often wrongly, and what cannot be told."""

import functools
import json
import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom, chi2

from tests.rappor_decode.collected import collected, zipf
from untrackable import Rappor
from untrackable.cli.terminal import print_json
from untrackable.display import strings
from untrackable.display.view import view_of
from untrackable.errors import DecodeError
from untrackable.rappor_decode.decode import accepted, decode
from untrackable.rappor_decode.decode_result import Decoded
from untrackable.rappor_decode.files import CandidateMap, Counts

ALARM = 1e-10
"""Probability, at most, that a right decoder fails one of the counting tests."""

PARAMS = Rappor(bloom_bits=64, hashes=2, f=0.25, p=0.25, q=0.75, cohorts=8)


@pytest.mark.slow
@pytest.mark.parametrize("cohorts", [8, 64])
def test_a_zipf_population_is_recovered(cohorts: int) -> None:
    """100,000 people hold 100 of 1,000 candidates.

    Found, for sure, is who stands out by twelve standard errors: Bonferroni asks for 3.9 (of Student's t with 15
    degrees of freedom, 5.2), and the chance of falling short by another six is below 1e-9.
    """
    params = Rappor(bloom_bits=64, hashes=2, f=0.25, p=0.25, q=0.75, cohorts=cohorts)
    wrong, recalled, runs = 0, [], 4
    for seed in range(runs):
        names = [f"{seed}/{i}" for i in range(1000)]
        held = zipf(names[:100], 100_000, np.random.default_rng(seed))
        decoded = decode(params, collected(params, held, seed), names)
        found = {one.name: one for one in decoded.found}
        truth = dict(zip(*np.unique(held, return_counts=True), strict=True))
        wrong += any(name not in truth for name in found)
        error = max(one.standard_error for one in decoded.candidates)
        sure = {name for name, count in truth.items() if count > 12 * error * 100_000}
        assert len(sure) >= 2
        assert sure <= set(found)
        recalled.append(len(set(found) & set(truth)))
        for name, one in found.items():
            assert abs(one.proportion - truth.get(name, 0) / 1e5) < 6.5 * one.standard_error
        assert abs(decoded.allocated - sum(truth.get(name, 0) for name in found) / 1e5) < (
            6.5 * decoded.allocated_error
        )
    assert min(recalled) >= 8
    assert wrong <= binom.isf(ALARM, runs, 0.05)


class Run(NamedTuple):
    """One of many repeated collections with strings of its own."""

    false: bool
    false_uncorrected: bool
    null: float
    off: float


RUNS = 200


@functools.cache
def repeated() -> list[Run]:
    params = Rappor(bloom_bits=32, hashes=2, f=0.25, p=0.25, q=0.75, cohorts=8)
    made = []
    for seed in range(RUNS):
        names = [f"{seed}:{i}" for i in range(40)]
        held = zipf(names[:10], 4000, np.random.default_rng(seed))
        decoded = decode(params, collected(params, held, seed), names)
        first = next(one for one in decoded.candidates if one.name == names[0])
        nobody = [decoded.p_values[name] for name in names[10:]]
        made.append(
            Run(
                any(one.name in names[10:] for one in decoded.found),
                bool(accepted(np.array(nobody), 0.05 * len(nobody), "bonferroni").any()),
                nobody[-1],
                abs(first.proportion - float(np.mean(held == names[0]))) / first.standard_error,
            )
        )
    return made


@pytest.mark.slow
@pytest.mark.xdist_group("rappor-decode")
def test_false_strings_are_as_rare_as_stated() -> None:
    """At most alpha = 0.05 of the runs find one; without the correction nearly all would, and that is noticed."""
    bound = binom.isf(ALARM, RUNS, 0.05)
    assert sum(run.false for run in repeated()) <= bound
    assert sum(run.false_uncorrected for run in repeated()) > bound


@pytest.mark.slow
@pytest.mark.xdist_group("rappor-decode")
@pytest.mark.parametrize("level", [0.05, 0.2, 0.5])
def test_p_values_of_strings_that_nobody_holds(level: float) -> None:
    """Uniform or larger: one candidate of each run; p-values that are too small (here their cubes) are noticed."""
    bound = binom.isf(ALARM, RUNS, level)
    assert sum(run.null <= level for run in repeated()) <= bound
    assert sum(run.null**3 <= level for run in repeated()) > bound or level == 0.5


@pytest.mark.slow
@pytest.mark.xdist_group("rappor-decode")
def test_intervals_cover() -> None:
    """The most frequent string's interval; one of half its length is noticed to be too short."""
    bound = binom.isf(ALARM, RUNS, 0.05)
    assert sum(run.off > 1.96 for run in repeated()) <= bound
    assert sum(run.off > 0.98 for run in repeated()) > bound


@pytest.mark.slow
@pytest.mark.xdist_group("rappor-decode")
def test_intervals_are_no_wider_than_the_errors() -> None:
    """Errors over standard errors are normal, so their mean square is chi-squared; 1.4 times wider is noticed."""
    least = chi2.ppf(1e-5, RUNS) / RUNS
    seen = float(np.mean([run.off**2 for run in repeated()]))
    assert seen >= least
    assert seen / 1.4**2 < least


@pytest.mark.slow
def test_common_strings_that_are_not_listed_do_not_make_others_appear() -> None:
    """Everyone holds a string that is not listed, some of them very common."""
    wrong, runs = 0, 12
    for seed in range(runs):
        held = zipf([f"{seed} unlisted {i}" for i in range(50)], 20_000, np.random.default_rng(seed))
        decoded = decode(PARAMS, collected(PARAMS, held, seed), [f"{seed} listed {i}" for i in range(200)])
        wrong += bool(decoded.found)
        assert any("times as much as noise" in note for note in strings.notes(decoded))
        assert decoded.missing > 0.1
    assert wrong <= binom.isf(1e-4, runs, 0.05)


class Nobody(NamedTuple):
    """A collection in which nobody holds a listed string, and some unlisted ones are common."""

    bits: int
    cohorts: int
    unlisted: int
    listed: int
    share: float = 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        Nobody(bits=32, cohorts=8, unlisted=5, listed=1000),
        Nobody(bits=16, cohorts=8, unlisted=3, listed=1000),
        Nobody(bits=32, cohorts=1, unlisted=1, listed=1000),
        Nobody(bits=32, cohorts=4, unlisted=2, listed=200),
        Nobody(bits=64, cohorts=2, unlisted=3, listed=300),
        Nobody(bits=32, cohorts=8, unlisted=2, listed=300, share=0.3),
        Nobody(bits=16, cohorts=16, unlisted=1, listed=300, share=0.1),
    ],
)
def test_the_stated_rate_holds_for_unlisted_strings_of_any_share(setting: Nobody) -> None:
    """At most 5 % of runs find a listed string, whatever cohorts, bits and shares are.

    Before each candidate was compared with chance, 15 to 67 % of the runs of the first five settings found one.
    """
    params = Rappor(bloom_bits=setting.bits, hashes=2, f=0.25, p=0.35, q=0.65, cohorts=setting.cohorts)
    wrong, runs, people = 0, 24, 50_000
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        common = zipf([f"{seed} unlisted {i}" for i in range(setting.unlisted)], people, rng)
        rare = np.array([f"{seed} rare {i}" for i in range(1000)])[rng.integers(1000, size=people)]
        held = np.where(rng.random(people) < setting.share, common, rare)
        decoded = decode(params, collected(params, held, seed), [f"{seed} {i}" for i in range(setting.listed)])
        wrong += bool(decoded.found)
    assert wrong <= binom.isf(1e-4, runs, 0.05)


@pytest.mark.slow
def test_what_is_not_found_is_not_given_to_what_is() -> None:
    """Everyone holds a listed string: the most common one's interval covers, though many others are not found."""
    params = Rappor(bloom_bits=32, hashes=2, f=0.25, p=0.35, q=0.65, cohorts=8)
    off, runs = [], 60
    for seed in range(runs):
        names = [f"{seed}/{i}" for i in range(200)]
        held = zipf(names[:60], 20_000, np.random.default_rng(seed))
        decoded = decode(params, collected(params, held, seed), names, unlisted=False)
        first = next(one for one in decoded.candidates if one.name == names[0])
        off.append((first.proportion - float(np.mean(held == names[0]))) / first.standard_error)
    bound = binom.isf(1e-6, runs, 0.05)
    assert sum(abs(one) > 1.96 for one in off) <= bound
    assert sum(abs(one) > 0.5 for one in off) > bound  # shorter intervals are noticed
    assert sum(abs(one + 1.5) > 1.96 for one in off) > bound  # and so is a bias


def small(seed: int = 1, params: Rappor = PARAMS) -> Counts:
    return collected(params, zipf(["a", "b", "c"], 20_000, np.random.default_rng(seed)), seed)


def test_a_map_and_strings_give_the_same() -> None:
    names = ["a", "b", "c", *(f"x{i}" for i in range(20))]
    one, other = decode(PARAMS, small(), names), decode(PARAMS, small(), CandidateMap.of(PARAMS, names))
    assert one == other
    assert [each.name for each in one.found] == ["a", "b", "c"]
    assert one.allocated == pytest.approx(1, abs=6 * one.allocated_error)


def test_a_map_that_differs_from_the_hashing_is_used_and_said() -> None:
    positions = CandidateMap.of(PARAMS, ["a", "b", "c", "d"]).positions
    decoded = decode(PARAMS, small(), CandidateMap(("A", "b", "c", "d"), positions))
    assert [each.name for each in decoded.found] == ["A", "b", "c"]
    assert any(
        "differs from the hashing of the published clients for 1 of 4" in note for note in strings.notes(decoded)
    )


def test_the_false_discovery_rate_finds_no_less() -> None:
    names = [f"v{i}" for i in range(100)]
    counts = collected(PARAMS, zipf(names[:40], 30_000, np.random.default_rng(3)), 3)
    strict, loose = decode(PARAMS, counts, names), decode(PARAMS, counts, names, correction="fdr")
    assert {one.name for one in strict.found} <= {one.name for one in loose.found}
    assert len(loose.found) > len(strict.found)
    assert "Benjamini" in strings.verdict(loose)[0]


def test_without_permanent_noise() -> None:
    params = Rappor(bloom_bits=64, hashes=2, f=0, p=0.25, q=0.75, cohorts=8)
    decoded = decode(params, small(params=params), ["a", "b", "c", "d"])
    assert decoded.everlasting_eps_exact == math.inf
    assert "Everlasting eps is infinite: f = 0" in " ".join(strings.verdict(decoded))
    assert [one.name for one in decoded.found] == ["a", "b", "c"]
    assert "(exact)" in strings.verdict(decode(PARAMS, small(), ["a"]))[-1]


def test_without_any_noise() -> None:
    params = Rappor(bloom_bits=64, hashes=2, f=0, p=0, q=1, cohorts=4)
    held = zipf(["a", "b", "c"], 1000, np.random.default_rng(1))
    decoded = decode(params, collected(params, held, 1), ["a", "b", "c", "d", "e"], unlisted=False)
    assert {one.name for one in decoded.found} == {"a", "b", "c"}
    for one in decoded.found:
        assert abs(one.count - np.count_nonzero(held == one.name)) < 4 * one.count_error
        assert one.count_error < 16  # √250: what chance alone would be


def test_identical_candidates_are_decoded_as_one() -> None:
    positions = CandidateMap.of(PARAMS, ["a", "b", "c", "d"]).positions[[0, 0, 1, 2, 3, 3]]
    decoded = decode(PARAMS, small(), CandidateMap(("a", "twin", "b", "c", "d", "e"), positions))
    assert decoded.found[0].name == "a"
    assert decoded.found[0].alike == ("twin",)
    assert view_of(decoded).tables[0].rows[0][0] == "a = twin"
    assert decoded.tested == 4
    assert decoded.p_values["twin"] == decoded.p_values["a"]
    assert any("4 candidates set the same bits as another" in note for note in strings.notes(decoded))


def test_candidates_that_differ_only_in_cohorts_without_reports() -> None:
    counts = small()
    reports, bits = counts.reports.copy(), counts.bits.copy()
    reports[3], bits[3] = 0, 0
    positions = CandidateMap.of(PARAMS, ["a", "b", "c"]).positions[[0, 1, 2, 2]].copy()
    positions[3, 3] = (positions[3, 3] + 1) % 64
    decoded = decode(PARAMS, Counts(reports, bits), CandidateMap(("a", "b", "c", "c'"), positions))
    assert decoded.found[-1].alike == ("c'",)
    assert any("1 of 8 cohorts have no reports" in note for note in strings.notes(decoded))


def test_mixtures_of_others_are_said_to_be_untestable() -> None:
    """Four candidates on one cohort's bits, of which each is a mixture of the other three: 01 + 23 = 02 + 13."""
    params = Rappor(bloom_bits=16, hashes=2, f=0.25, p=0.25, q=0.75)
    positions = np.array([[[0, 1]], [[2, 3]], [[0, 2]], [[1, 3]]], dtype=np.int32)
    rng = np.random.default_rng(1)
    one, zero = params.bit_rates
    held = np.zeros(16, dtype=np.int64)
    held[:4] = 10_000
    counts = Counts(np.array([20_000]), (rng.binomial(held, one) + rng.binomial(20_000 - held, zero))[None, :])
    decoded = decode(params, counts, CandidateMap(("01", "23", "02", "13"), positions))
    assert decoded.found == ()
    assert any("look like mixtures of others" in note for note in strings.notes(decoded))


def test_all_candidates_collide_everywhere() -> None:
    params = Rappor(bloom_bits=1, hashes=2, f=0.25, p=0.25, q=0.75, cohorts=3)
    decoded = decode(params, collected(params, ["x"] * 3000, 1), ["a", "b", "c"])
    assert decoded.tested == 1
    assert decoded.found[0].alike == ("b", "c")
    assert decoded.found[0].proportion == pytest.approx(1, abs=6 * decoded.found[0].standard_error)
    assert any("cover all bits evenly" in note for note in strings.notes(decoded))


def test_basic_rappor_where_each_bit_is_a_value() -> None:
    params = Rappor(bloom_bits=8, hashes=1, f=0.25, p=0.25, q=0.75)
    rng = np.random.default_rng(1)
    one, zero = params.bit_rates
    held = np.array([5000, 3000, 2000, 0, 0, 0, 0, 0])
    counts = Counts(np.array([10_000]), (rng.binomial(held, one) + rng.binomial(10_000 - held, zero))[None, :])
    names = tuple("ABCDEFGH")
    decoded = decode(params, counts, CandidateMap(names, np.arange(8, dtype=np.int32).reshape(8, 1, 1)))
    assert [each.name for each in decoded.found] == ["A", "B", "C"]
    assert not decoded.unlisted
    for each, truth in zip(decoded.found, held, strict=False):
        assert abs(each.count - truth) < 6 * each.count_error


def test_more_candidates_than_can_be_chosen() -> None:
    """Six bits: at most four candidates, whatever there is."""
    params = Rappor(bloom_bits=6, hashes=2, f=0, p=0.1, q=0.9)
    names = [f"n{i}" for i in range(60)]
    decoded = decode(params, collected(params, names * 200, 1), names)
    assert len(decoded.found) <= 4
    assert decoded.tested <= 21


def test_repeated_candidates_and_nothing_to_find() -> None:
    empty = Counts(np.array([1, 0, 0, 0, 0, 0, 0, 0]), np.zeros((8, 64), dtype=np.int64))
    decoded = decode(PARAMS, empty, ["a", "a", "b"])
    assert decoded.found == ()
    assert decoded.reports == 1
    assert any("listed again, and count once: 1" in note for note in strings.notes(decoded))
    assert "0 of 2 candidates" in strings.verdict(decoded)[0]


def test_what_cannot_be_decoded() -> None:
    nothing = Counts(np.zeros(8, dtype=np.int64), np.zeros((8, 64), dtype=np.int64))
    with pytest.raises(DecodeError, match="no reports"):
        decode(PARAMS, nothing, ["a"])
    with pytest.raises(DecodeError, match="at least one candidate"):
        decode(PARAMS, small(), [])
    with pytest.raises(ValueError, match="alpha must be strictly between 0 and 1"):
        decode(PARAMS, small(), ["a"], alpha=0)
    with pytest.raises(ValueError, match="correction must be one of bonferroni, fdr"):
        decode(PARAMS, small(), ["a"], correction="none")  # type: ignore[arg-type]


def test_the_result_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[str, float | None]] = []
    decoded: Decoded = decode(
        PARAMS, small(), ["a", "b", "c", "d"], progress=lambda what, done: told.append((what, done))
    )
    print_json(decoded.as_dict())
    data = json.loads(capsys.readouterr().out)
    assert data["params"] == {"k": 64, "h": 2, "m": 8, "p": 0.25, "q": 0.75, "f": 0.25}
    assert data["reports"] == 20_000
    assert data["candidates_sampled"][0]["name"] == "a"
    assert data["allocated_sampled"] + data["unallocated_sampled"] == pytest.approx(1)
    (table,) = view_of(decoded).tables
    assert len(table.headings) == len(table.rows[0])
    assert {what for what, _ in told} == {
        "hashing the candidates",
        "choosing candidates",
        "least squares",
        "comparing with chance",
    }
    assert all(done is not None and 0 <= done <= 1 for _, done in told)
