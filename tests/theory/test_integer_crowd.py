"""A crowd with the standard library alone: never below the definition, and close to the pair and to the engine."""

import itertools
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from tests.theory.test_crowd_counts import CASES, GAMMAS, Law, delta, multisets, pair, parts_of
from untrackable import Deck
from untrackable.theory.crowd_counts import CrowdParts
from untrackable.theory.integer_crowd import crowd_law
from untrackable.theory.integer_losses import LossLaw


def law_of(parts: CrowdParts, people: int, share: Fraction) -> LossLaw:
    return crowd_law(parts.ratio, parts.distance, parts.other_ratio, people, share)


@pytest.mark.parametrize(("laws", "people", "share"), CASES)
def test_it_is_never_below_enumeration(laws: list[Law], people: int, share: Fraction) -> None:
    law = law_of(parts_of(laws, 0, 1), people, share)
    for others in itertools.combinations_with_replacement(range(len(laws)), people - 1):
        rest = [laws[v] for v in others]
        one, two = multisets([laws[0], *rest], share), multisets([laws[1], *rest], share)
        for gamma in GAMMAS:
            assert max(delta(one, two, gamma), delta(two, one, gamma)) <= law.delta(gamma)


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 4), Fraction(9, 10)])
@pytest.mark.parametrize(("laws", "people"), [(laws, people) for laws, people, _ in CASES[::2]])
def test_it_is_never_below_the_pair(laws: list[Law], people: int, share: Fraction) -> None:
    """And equal to it, but for its step, where nobody is absent."""
    parts = parts_of(laws, 0, 1)
    one, two = pair(parts, people, share)
    law = law_of(parts, people, share)
    for gamma in GAMMAS:
        exact = math.fsum(max(0.0, p - math.exp(gamma) * q) for p, q in zip(one, two, strict=True))
        assert exact <= law.delta(gamma)
        if share == 1:
            assert law.delta(gamma) <= 1.01 * exact + 5e-4


def test_rounds_multiply() -> None:
    parts = parts_of(CASES[0][0], 0, 1)
    one, two = pair(parts, 4, Fraction(1, 2))
    both = [(p * r, q * s) for p, q in zip(one, two, strict=True) for r, s in zip(one, two, strict=True)]
    found = law_of(parts, 4, Fraction(1, 2)) ** 2
    for gamma in GAMMAS:
        assert math.fsum(max(0.0, p - math.exp(gamma) * q) for p, q in both) <= found.delta(gamma)


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 3)])
def test_many_people_are_bounded_closely(share: Fraction) -> None:
    """Against samples of the pair itself: above them, except for noise, and not by much."""
    parts, people = CrowdParts(16.0, 15 / 31 * 0.9, 16.0), 20_000
    first, third, absent = parts.chances(share)
    chances = [first, first, third, absent, 1 - 2 * first - third - absent]
    a, b, c, e, _ = np.random.default_rng(7).multinomial(people, chances, size=500_000).T
    near, far = parts.other_ratio, parts.other_ratio / parts.ratio
    one, two = near * a + far * b + near * c + e, far * a + near * b + near * c + e
    law = law_of(parts, people, share)
    for gamma in parts.shift(people, share) * np.array([0.0, 0.5, 1.0, 2.0]):
        lost = np.maximum(0.0, one - math.exp(gamma) * two) / people
        noise = lost.std() / math.sqrt(lost.size)
        assert lost.mean() - 6 * noise <= law.delta(gamma) <= lost.mean() * 1.03 + 6 * noise


@pytest.mark.parametrize(
    ("people", "rounds", "eps_report", "width", "share"),
    [(10_000, 52, 2.2, 3, "1"), (1_000, 10, 2.0, 2, "1"), (10_000, 52, 3.0, 4, "1/20"), (10**6, 300, 4.25, 6, "1")],
)
def test_all_rounds_are_close_to_the_engine(
    people: int, rounds: int, eps_report: float, width: int, share: str
) -> None:
    """The engine's own bound may be a little above the pair, so this one may be a little below it."""
    deck = Deck(bits=10, slots=rounds, eps_report=eps_report, width=width)
    law = deck.integer_crowd(people=people, participation=Fraction(share))
    assert law is not None
    eps = deck.crowd(people=people, participation=share).gamma(1e-6).upper
    assert law.delta(1.03 * eps) <= 1e-6 <= law.delta(0.97 * eps)


@pytest.mark.parametrize(
    ("people", "share"), [(2, "1"), (2, "1/1000000"), (10**9, "1/1000000"), (10**9, "1"), (10**7, "1/3")]
)
@pytest.mark.parametrize("eps_report", [1e-3, 1.0, 19.0])
def test_extremes(people: int, share: str, eps_report: float) -> None:
    """More people hide better, and a crowd never reveals more than the report itself."""
    deck = Deck(bits=20, slots=1, eps_report=eps_report, width=8)
    law = deck.integer_crowd(people=people, participation=Fraction(share))
    assert law is not None
    alone = deck.privacy(participation=share).delta(0.0).upper
    assert 0 < law.delta(0.0) <= alone * (1 + 1e-6)
    assert law.pure <= 1.3 * eps_report
    if share == "1":
        assert law.delta(float(law.pure)) <= 1e-15


def test_it_needs_the_standard_library_alone() -> None:
    script = (
        "import sys\n"
        "sys.path[:] = [entry for entry in sys.path if 'site-packages' not in entry]\n"
        "from fractions import Fraction\n"
        "from untrackable.theory import integer_crowd\n"
        "print(integer_crowd.crowd_law(8.0, 0.4, 8.0, 1000, Fraction(1, 2)).delta(0.5) < 1e-3)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)  # noqa: S603
    assert run.stdout == "True\n", run.stderr
