"""The coin of each round, against its exact law. Keys are fixed, so these tests always have the same result."""

from fractions import Fraction

import numpy as np
import pytest

from tests.mechanisms.exact_laws import agrees, histogram, tilted
from tests.vectors.make import stream
from untrackable.client.round_keys import SIZE, Ratchet
from untrackable.mechanisms.entropy import Recorded, below

ROUNDS = 60_000
LARGE = Fraction("7654321098765432109/98765432109876543211")


def tossed(participation: Fraction) -> list[bool]:
    """The coins of many rounds in a row, from one key."""
    ratchet, found = Ratchet(stream(f"coins/{participation}", SIZE), 1), []
    for _ in range(ROUNDS):
        found.append(ratchet.answers(participation))
        ratchet = ratchet.at(ratchet.round + 1)
    return found


@pytest.mark.parametrize(
    ("participation", "tilt"), [(Fraction(1, 20), 0.02), (Fraction(3, 7), 0.04), (LARGE, 0.02)], ids=str
)
def test_coins_follow_their_law(participation: Fraction, tilt: float) -> None:
    law = np.array([1 - float(participation), float(participation)])
    agrees(histogram([int(coin) for coin in tossed(participation)], law), law, tilted(law, tilt))


def test_coins_of_two_rounds_in_a_row_are_independent() -> None:
    half = Fraction(1, 2)
    coins = tossed(half)
    pairs = [2 * first + second for first, second in zip(coins[0::2], coins[1::2], strict=True)]
    law = np.full(4, 0.25)
    agrees(histogram(pairs, law), law, np.array([0.28, 0.22, 0.22, 0.28]))


def test_the_coin_is_independent_of_the_moment() -> None:
    """Whether a round is answered says nothing about when: the halves of the round are as frequent as ever."""
    ratchet, found = Ratchet(stream("coin and moment", SIZE), 1), []
    for _ in range(ROUNDS // 2):
        found.append(2 * ratchet.answers(Fraction(1, 4)) + (ratchet.moment() < 0.5))
        ratchet = ratchet.at(ratchet.round + 1)
    law = np.array([0.375, 0.375, 0.125, 0.125])
    agrees(histogram(found, law), law, np.array([0.405, 0.345, 0.095, 0.155]))


def test_some_coins_never_fall_the_other_way() -> None:
    ratchet = Ratchet(bytes(SIZE), 1)
    assert all(ratchet.at(n).answers(Fraction(1)) for n in range(1, 300))
    assert not any(ratchet.at(n).answers(Fraction(0)) for n in range(1, 300))


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
