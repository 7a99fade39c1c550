"""What the paper's own parameter selection gives, and the number of users that it needs."""

import math

import pytest
from scipy.stats import norm

from untrackable import plan
from untrackable.theory.accuracy import inner_product_selection


def test_users_for_two_years_of_sixteen_bits() -> None:
    """730 rounds, 16 bits, eps = 1, delta = 1e-6, advantage ≤ 0.01, the same accuracy on both sides."""
    found = plan(bits=16, rounds=730, eps=1.0, delta=1e-6, advantage=0.01, error=0.01, recognition=1.0)
    assert found.recommended is not None
    assert found.recommended.name == "deck"
    paper = found.published
    assert paper is not None
    assert paper.ratio_same_radius_upper == pytest.approx(9.06e5, rel=2e-3)
    assert paper.ratio_upper == pytest.approx(4.37e6, rel=2e-3)
    assert paper.ratio_upper / paper.ratio_same_radius_upper == pytest.approx(4.83, rel=1e-3)


def test_the_selection_is_the_printed_one() -> None:
    found = plan(people=10**9, bits=4, rounds=20, eps=1.0, error=0.05)
    paper = found.published
    assert paper is not None
    printed = inner_product_selection(4, 1.0, 1e-6, 0.05, 10**9, 0.05, 20, printed=True)
    assert (paper.eps_report, paper.slots, paper.delta_upper) == printed
    # its number of people suffices, and one less does not
    for people, enough in ((paper.people_upper, True), (paper.people_upper - 1, False)):
        selected = inner_product_selection(4, 1.0, 1e-6, 0.05, people, 0.05, 20, printed=True)
        assert (selected.delta <= 0.01) == enough
    # the same radius: eps' for k²/L slots, by its own accounting
    slots = math.ceil(20**2 / 0.01)
    eps_report = 1.0 / math.sqrt(8 * slots * math.log(1e6))
    people = paper.people_same_radius_upper
    radius = 15 / 8 / math.tanh(eps_report / 2) * norm.isf(0.05 / 32) / math.sqrt(4 * people)
    assert radius == pytest.approx(0.05, rel=0.002)


def test_it_has_no_answer_where_nothing_may_be_followed() -> None:
    assert plan(people=10**9, bits=4, rounds=20, eps=1.0, advantage=0.0).published is None
    assert plan(people=10**9, bits=4, rounds="forever", eps=1.0, one_network=True).published is None
