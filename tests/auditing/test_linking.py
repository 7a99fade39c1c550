import numpy as np
import pytest

from untrackable import Deck, Rappor
from untrackable.auditing.linking import match
from untrackable.theory.coordinate import Coin, Noise, tracking_factor


def test_ties_count_as_chance() -> None:
    assert match(np.zeros((1000, 1000))).sampled == pytest.approx(0.001)
    assert match(np.eye(50)).sampled == 1.0
    assert match(np.eye(4)[::-1].copy()).sampled == 0.0
    half = np.array([[1.0, 1.0], [0.0, 0.5]])
    assert match(half).sampled == pytest.approx(0.75)


def test_interval_is_clopper_pearson() -> None:
    scores = np.eye(10)
    scores[8:] = scores[8:, ::-1]
    found = match(scores)
    assert found.sampled == 0.8
    # published values for 8 of 10 at 95 %
    assert found.lower == pytest.approx(0.4439, abs=1e-4)
    assert found.upper == pytest.approx(0.9748, abs=1e-4)


def test_scores_must_be_square() -> None:
    with pytest.raises(ValueError, match="square"):
        match(np.zeros((2, 3)))


def test_rappor_scores_are_the_likelihood_ratios() -> None:
    """Each pair's score, place by place, from the factor that is itself tested against enumeration."""
    rappor = Rappor(bloom_bits=12, hashes=2, f=0.5, p=0.4, q=0.8)
    value = "here"
    (batch,) = rappor.simulate(np.array([value] * 6), rounds=5, seed=4)
    scores = rappor.link_scores(batch.reports[:, :2], batch.reports[:, 2:], value)
    bits = np.unpackbits(batch.reports.astype(np.uint8), axis=-1, count=12, bitorder="little")
    noise = Noise.of(0.8, 0.4)
    tables = {
        one: tracking_factor(Coin.of(0.75 if one else 0.25), noise, 5, 2).loss.reshape(3, 4)
        for one in (True, False)
    }
    for a in range(6):
        for b in range(6):
            total = 0.0
            for place in range(12):
                x, y = bits[a, :2, place].sum(), bits[b, 2:, place].sum()
                total += tables[bool(rappor.bloom(value) >> place & 1)][x, y]
            assert scores[a, b] == pytest.approx(total)


def test_observer_follows_rappor_and_not_deck() -> None:
    rappor = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)
    reports = np.concatenate([b.reports for b in rappor.simulate(np.array(["x"] * 300), rounds=20, seed=9)])
    assert match(rappor.link_scores(reports[:, :10], reports[:, 10:], "x")).sampled > 0.85
    deck = Deck(bits=4, slots=20, eps_report=0.5)
    cards = np.concatenate([b.reports for b in deck.simulate(np.zeros(300, dtype=int), rounds=20, seed=9)])
    assert match(deck.link_scores(cards[:, :10], cards[:, 10:], 0)).sampled == pytest.approx(1 / 300)
