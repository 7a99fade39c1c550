"""Bounds for whole families: above the truth wherever the truth can be enumerated."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import oracles
from tests.enumeration import streams_factor
from untrackable import Bitwise, Rappor
from untrackable.theory import Experiment, Factor, accuracy, theorems
from untrackable.theory.factor import response_factor
from untrackable.theory.kept_bit import Coin, Noise, partition_factor

EPS = (0.1, 0.7, 2.0)


@pytest.mark.parametrize(("eps_state", "eps_report"), list(itertools.product(EPS, EPS)))
@pytest.mark.parametrize("reports", range(1, 9))
def test_permanent_state_bound_and_bitwise_lower_bound(eps_state: float, eps_report: float, reports: int) -> None:
    exact = Bitwise(eps_state=eps_state, eps_report=eps_report).tracking(reports=reports).pure()
    assert exact <= theorems.permanent_state_upper(reports, eps_report) + 1e-9
    assert exact >= theorems.bitwise_lower(reports, eps_state, eps_report) - 1e-9


def test_worst_split_is_not_always_the_middle() -> None:
    rappor = Rappor(bloom_bits=14, hashes=1, f=0.323, p=0.584, q=0.867)
    pures = [rappor.tracking(reports=7, split=j).pure() for j in (1, 2, 3)]
    assert pures[1] == pytest.approx(8.24, abs=0.005)
    assert pures[2] == pytest.approx(7.19, abs=0.005)
    assert rappor.tracking(reports=7).pure() == max(pures)


def set_partitions(items: list[int], parts: int) -> list[list[list[int]]]:
    """Every way to give the items to `parts` users, empty users allowed."""
    found = []
    for owners in itertools.product(range(parts), repeat=len(items)):
        if any(owner > max(owners[:i], default=-1) + 1 for i, owner in enumerate(owners)):
            continue
        groups = [
            [item for item, owner in zip(items, owners, strict=True) if owner == user] for user in range(parts)
        ]
        found.append([group for group in groups if group])
    return found


def bitwise_partition(eps_state: float, eps_report: float, one: list[list[int]], two: list[list[int]]) -> Factor:
    lie = oracles.flip(eps_report)
    return partition_factor(Coin.of(1 - oracles.flip(eps_state)), Noise.of(1 - lie, lie), one, two)


@pytest.mark.parametrize(("eps_state", "eps_report"), [(0.5, 1.0), (2.0, 0.4)])
def test_partitions_against_enumeration(eps_state: float, eps_report: float) -> None:
    oracle = oracles.bitwise(eps_state, eps_report)
    rounds = [1, 2, 3, 4]
    for one, two in itertools.combinations(set_partitions(rounds, 3), 2):
        truth = Experiment(
            [
                streams_factor(
                    oracle.several_people([(1, part) for part in one]),
                    oracle.several_people([(1, part) for part in two]),
                )
            ]
        )
        found = Experiment([bitwise_partition(eps_state, eps_report, one, two)])
        assert found.pure() == pytest.approx(truth.pure(), rel=1e-9, abs=1e-12)
        assert found.delta(0.2).upper == pytest.approx(truth.delta(0.2).upper, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("users", [2, 3, 4])
@pytest.mark.parametrize("reports", [2, 3, 5, 6])
def test_many_users(users: int, reports: int) -> None:
    eps_state, eps_report = 1.0, 1.5
    rounds = list(range(1, reports + 1))
    everyone = [rounds]
    pures = [
        Experiment([bitwise_partition(eps_state, eps_report, everyone, parts)]).pure()
        for parts in set_partitions(rounds, users)
    ]
    sharp = theorems.many_people_permanent_upper(users, reports, eps_report)
    assert max(pures) <= sharp + 1e-9
    gamma = Bitwise(eps_state=eps_state, eps_report=eps_report).tracking(reports=reports).pure()
    assert max(pures) <= theorems.many_people_upper(users, gamma) + 1e-9
    assert sharp <= theorems.many_people_permanent_printed_upper(users, reports, eps_report)


def test_one_attribution_against_another() -> None:
    rounds = [1, 2, 3, 4]
    bound = theorems.partitions_permanent_upper(3, 2, 4, 1.5)
    gamma = Bitwise(eps_state=1.0, eps_report=1.5).tracking(reports=4).pure()
    for one, two in itertools.product(set_partitions(rounds, 3), set_partitions(rounds, 2)):
        exact = Experiment([bitwise_partition(1.0, 1.5, one, two)]).pure()
        assert exact <= bound + 1e-9
        assert exact <= theorems.partitions_upper(3, 2, gamma) + 1e-9


@given(st.integers(1, 200), st.integers(1, 400))
def test_the_sharper_many_user_bound_is_never_worse(users: int, reports: int) -> None:
    sharp = theorems.many_people_permanent_upper(users, reports, 1.0)
    printed = theorems.many_people_permanent_printed_upper(users, reports, 1.0)
    assert sharp <= printed
    if users == 2:
        assert sharp == printed


@pytest.mark.parametrize("reports", [2, 3, 4])
def test_undetectable_from_untrackable_and_private(reports: int) -> None:
    mechanism = Bitwise(eps_state=0.6, eps_report=0.9)
    for gamma, eps in itertools.product((0.0, 0.3, 1.0), (0.0, 0.2, 0.6)):
        delta = mechanism.tracking(reports=reports).delta(gamma).upper
        delta_privacy = mechanism.privacy().delta(eps).upper
        total, bound = theorems.undetectability_upper(gamma, delta, eps, delta_privacy)
        assert mechanism.detection(reports=reports).delta(total).upper <= bound + 1e-12


def test_undetectable_bound_is_the_printed_one() -> None:
    gamma, delta = theorems.undetectability_upper(0.5, 0.01, 0.2, 0.02)
    assert gamma == 0.7
    assert delta == pytest.approx(max(math.exp(0.2) * 0.01 + 0.02, 0.01 + math.exp(0.5) * 0.02))


# --- composition ------------------------------------------------------------------------------------------


@given(st.floats(0.01, 1.0), st.integers(1, 60), st.sampled_from((1e-3, 1e-6)))
def test_advanced_and_basic_composition_are_above_the_exact_one(eps: float, times: int, slack: float) -> None:
    exact = theorems.exact_composition(eps, 0.0, times, slack)
    assert exact.upper <= theorems.advanced_composition(eps, 0.0, times, slack).eps * (1 + 1e-9)
    assert exact.upper <= theorems.basic_composition(eps, 0.0, times).eps * (1 + 1e-9)
    assert exact.upper == pytest.approx(Experiment([(response_factor(eps), times)]).gamma(slack).upper)


def test_composition_with_deltas() -> None:
    assert theorems.basic_composition(0.5, 0.01, 4) == (2.0, 0.04)
    assert theorems.advanced_composition(0.1, 1e-8, 100, 1e-6) == pytest.approx(
        (math.sqrt(200 * math.log(1e6)) * 0.1 + 10 * math.expm1(0.1), 1e-6 + 1e-6)
    )
    one = theorems.exact_composition(0.5, 0.01, 1, 0.01)
    assert one.upper == pytest.approx(0.5)
    assert theorems.exact_composition(0.5, 0.01, 2, 0.0199001).upper == pytest.approx(1.0, abs=1e-5)
    assert theorems.exact_composition(0.5, 0.01, 2, 0.0198).upper == math.inf
    assert theorems.exact_composition(0.5, 0.01, 10, 0.15).upper < 10 * 0.5


def test_advanced_composition_explodes_on_rappor() -> None:
    """[NV]: worse than basic composition for RAPPOR's parameters, and ever more so with k."""
    ratios = []
    for reports in (2, 4, 8, 16):
        bit = theorems.permanent_state_upper(reports, math.log(2))
        advanced = theorems.advanced_composition(bit, 0.0, 128, 1e-6).eps
        ratios.append(advanced / theorems.basic_composition(bit, 0.0, 128).eps)
    assert ratios[0] > 1
    assert all(later > 1.5 * earlier for earlier, later in itertools.pairwise(ratios))


# --- accuracy ---------------------------------------------------------------------------------------------


def test_printed_radii_are_the_sharp_ones_too_large() -> None:
    sharp = accuracy.bitwise_radius(1.0, 0.5, 1000, 0.05)
    scale = (math.e + 1) * (math.exp(0.5) + 1) / ((math.e - 1) * (math.exp(0.5) - 1))
    assert sharp == pytest.approx(scale * math.sqrt(math.log(40) / 2000))
    assert accuracy.bitwise_radius_printed(1.0, 0.5, 1000, 0.05) == pytest.approx(2 * sharp)
    simple = accuracy.bitwise_radius_printed_simple(1.0, 0.5, 1000, 0.05)
    assert simple == pytest.approx(3 * 2.5 / 0.5 * math.sqrt(32 * math.log(40) / 1000))
    assert simple > 8 * 0.9 * sharp
    rnip = accuracy.inner_product_radius(8, 0.3, 10**6, 0.05)
    together = math.sqrt(math.log(2**9 / 0.05) / (2 * 10**6))
    assert rnip == pytest.approx(2 * 255 / 256 * (math.exp(0.3) + 1) / math.expm1(0.3) * together)
    assert accuracy.inner_product_radius_printed(8, 0.3, 10**6, 0.05) == pytest.approx(2 * rnip)
    simple = accuracy.inner_product_radius_printed_simple(8, 0.3, 10**6, 0.05)
    assert simple == pytest.approx(2.3 / 0.3 * math.sqrt(8 * math.log(2**9 / 0.05) / 10**6))
    assert simple > rnip
    assert accuracy.inner_product_radius(8, 0.3, 10**6, 0.05, simultaneous=False) < rnip


@given(st.floats(0.01, 8), st.floats(0.01, 8))
def test_simple_printed_radii_stay_above_the_sharp_ones(one: float, other: float) -> None:
    assert accuracy.bitwise_radius_printed_simple(one, other, 100, 0.1) >= accuracy.bitwise_radius(
        one, other, 100, 0.1
    )
    assert accuracy.inner_product_radius_printed_simple(5, one, 100, 0.1) >= accuracy.inner_product_radius(
        5, one, 100, 0.1
    )


def test_printed_selection_misses_its_own_accuracy() -> None:
    """√2 where the corollary has √8: the selected eps' does not reach the radius by the corollary."""
    arguments = {
        "bits": 16,
        "eps": 1.0,
        "delta": 1e-6,
        "radius": 0.05,
        "people": 10**11,
        "beta": 0.05,
        "reports": 10,
    }
    printed = accuracy.inner_product_selection(**arguments, printed=True)  # type: ignore[arg-type]
    root = math.sqrt(2 * math.log(2**17 / 0.05) / 10**11)
    assert printed.eps_report == pytest.approx(4 / 0.05 * root)
    assert printed.slots == math.floor(1 / (8 * printed.eps_report**2 * math.log(1e6)))
    assert printed.delta == 100 / printed.slots
    assert accuracy.inner_product_radius_printed_simple(16, printed.eps_report, 10**11, 0.05) > 0.05
    sharp = accuracy.inner_product_selection(**arguments, printed=False)  # type: ignore[arg-type]
    assert accuracy.inner_product_radius(16, sharp.eps_report, 10**11, 0.05) == pytest.approx(0.05)
    assert sharp.slots > 3.9 * printed.slots
    with pytest.raises(ValueError, match="cannot be reached"):
        accuracy.inner_product_selection(16, 1.0, 1e-6, 1e-6, 100, 0.05, 2, printed=False)
