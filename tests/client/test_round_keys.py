"""The turn and the moment of a key, against their exact laws. Keys are fixed, so results are always the same."""

from fractions import Fraction

import numpy as np
import pytest

from tests.mechanisms.exact_laws import agrees, histogram
from tests.recorded_entropy import Recorded
from tests.vectors.make import stream
from untrackable.client.state import SIZE, Ratchet
from untrackable.randomizers.randomness import below
from untrackable.theory.turns import Turns

PEOPLE = 30_000
LARGE = Fraction("7654321098765432109/98765432109876543211")


def keys(label: str) -> list[Ratchet]:
    """The keys of many people."""
    material = stream(label, SIZE * PEOPLE)
    return [Ratchet(material[i : i + SIZE], 1) for i in range(0, len(material), SIZE)]


@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(7, 90)], ids=str)
def test_whether_there_is_a_turn_is_independent_of_its_round_and_of_its_moment(share: Fraction) -> None:
    """Outcomes: no turn, or the first or the second round; each in either half of the round."""
    turns, q = Turns(rounds=2, share=share), float(share)
    found = [2 * (key.turn(turns) or 0) + (key.moment() < 0.5) for key in keys(f"turns/{share}")]
    law = np.array([1 - q, 1 - q, q / 2, q / 2, q / 2, q / 2]) / 2
    tilt = np.array([1, 1, 1.5, 0.5, 0.5, 1.5])
    agrees(histogram(found, law), law, law * tilt)


def test_a_share_of_one_always_has_a_turn() -> None:
    assert all(Ratchet(stream(f"one/{n}", SIZE), 1).turn(Turns(rounds=1)) == 1 for n in range(300))


def test_turn_and_moment_depend_on_the_key_alone() -> None:
    """A changed answer neither moves the turn nor its moment, so neither reveals the change."""
    turns = Turns(rounds=1000, share=Fraction(1, 2))
    for number in range(50):
        key = stream(f"fresh/{number}", SIZE)
        for fresh in (bytes(32), bytes(range(32))):
            assert Ratchet(key, 1, fresh).turn(turns) == Ratchet(key, 7).turn(turns)
            assert Ratchet(key, 1, fresh).moment() == Ratchet(key, 7).moment()
            assert Ratchet(key, 1, fresh).entropy("noise")(32) != Ratchet(key, 1).entropy("noise")(32)


@pytest.mark.parametrize(
    ("limit", "size"), [(3, 8), (20, 8), (2**64, 8), (2**64 + 1, 16), (LARGE.denominator, 16), (10**40 + 7, 24)]
)
def test_integers_below_a_limit_are_exact(limit: int, size: int) -> None:
    """Just the numbers below the last multiple of the limit are used, and so each remainder equally often."""
    usable = 2 ** (8 * size) // limit * limit
    assert below(limit, Recorded((usable - 1).to_bytes(size, "big"))) == limit - 1
    if usable < 2 ** (8 * size):
        redrawn = Recorded(usable.to_bytes(size, "big") + (limit + 1).to_bytes(size, "big"))
        assert below(limit, redrawn) == 1
        assert redrawn.used == 2 * size
