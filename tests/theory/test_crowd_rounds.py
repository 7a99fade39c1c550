"""Many rounds of a crowd: one lattice for all, blocks of rounds, and rounds that are nearly alike."""

import numpy as np
import pytest

from untrackable.theory.crowd import CrowdClasses, CrowdParts, Rounds, crowd_lower, crowd_upper
from untrackable.theory.search import gaussian_delta

PARTS = CrowdParts(8.0, 0.5, 8.0)
CLASSES = CrowdClasses((0.4, 0.05), (0.05, 0.4), (0.05, 0.05))


@pytest.mark.parametrize("rounds", [1, 50, 1_024, 1_025, 300_000])
def test_many_rounds_look_like_gaussians(rounds: int) -> None:
    """To first order in one over the number of people, and composed over any number of rounds."""
    people = 2_000_000 * min(500, max(1, rounds // 100))
    pairs = (
        (PARTS.shift(people), crowd_upper({(PARTS, people): rounds})),
        (CLASSES.shift(people), crowd_lower({(CLASSES, people): rounds})),
    )
    for each, found in pairs:
        deviation = each * rounds**0.5
        for gamma in (0.0, deviation, 4 * deviation):
            expected = gaussian_delta(deviation, gamma)
            assert found._delta(gamma, "forward")[0] == pytest.approx(expected, rel=0.04)


def test_rounds_that_are_nearly_alike_count_as_the_loudest() -> None:
    """One by one they would take long; together they are a bound, and a close one."""
    ratios = np.exp(np.linspace(1.0, 0.5, 33))
    each: Rounds = {(CrowdParts(r, 0.8 * (r - 1) / (r + 1), r), 10_000): 1 for r in ratios.tolist()}
    variance = sum(parts.shift(10_000) ** 2 for parts, _ in each)
    found = crowd_upper(each)
    assert len(found.factors) < len(each)
    expected = gaussian_delta(variance**0.5, 0.1)
    assert expected < found.delta(0.1).upper < 1.3 * expected


def test_rounds_of_different_crowds_share_a_lattice() -> None:
    """So they are composed in every digit: the ends of delta agree, however small it is."""
    rounds: Rounds = {(PARTS, 20_000): 3, (PARTS, 70_000): 40, (PARTS, 1_000_000): 100}
    ends = crowd_upper(rounds)._delta(0.9, "forward")
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)
    assert 0 < ends[1] < 1e-12
