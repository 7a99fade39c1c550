"""Sums as bytes: whatever the order, the same; foreign or damaged, an error."""

from typing import Any

import numpy as np
import pytest

from tests.estimation.test_aggregators import MECHANISMS, population, reports_of
from untrackable import Deck, Fresh
from untrackable.errors import SumsError
from untrackable.mechanisms import (
    Assigned,
    CountMeanSketch,
    DBitFlip,
    HadamardSketch,
    Lgrr,
    Loloha,
    OneChange,
    Rarely,
    Unary,
    Votes,
)
from untrackable.mechanisms.interface import Mechanism

each = pytest.mark.parametrize("name", MECHANISMS)
OTHERS: list[Mechanism] = [
    Unary(values=9, keep=0.9, add=0.2, q=0.8, p=0.3),
    Lgrr(values=9, keep=0.9, tell=0.8),
    Loloha(values=9, symbols=2, keep=0.9, tell=0.95),
    DBitFlip(buckets=9, sampled=2, eps=2.0),
    Fresh(CountMeanSketch(hashes=5, width=16, eps=2.0, values=9)),
    Fresh(HadamardSketch(hashes=5, width=16, eps=2.0, values=9)),
    Assigned(bits=4, eps=1.0, people=200),
    Rarely(eps=1.0, chance=0.4),
    OneChange(rounds=4, changes=1, eps=1.0),
    Votes(eps_vote=0.8, eps_estimate=1.3, votes=2, estimates=1, updates=(1, 3)),
]


def everything(aggregator: Any) -> list[Any]:
    return [aggregator.n, *(np.asarray(getattr(aggregator, name)).tolist() for name in aggregator._sums)]


@each
def test_any_order_gives_the_same_bytes(name: str) -> None:
    mechanism, _, _ = MECHANISMS[name]
    reports = reports_of(name, population(name, 60)[0], seed=1)
    whole = mechanism.aggregator().add(reports)
    left, right = mechanism.aggregator().add(reports[:20]), mechanism.aggregator().add(reports[20:])
    saved = left.to_bytes(), right.to_bytes()
    assert right.merge(left).to_bytes() == whole.to_bytes()
    back = mechanism.restore_sums(saved[1]).add_saved(saved[0])
    assert back.to_bytes() == whole.to_bytes()
    assert everything(back) == everything(whole)


@pytest.mark.parametrize("mechanism", OTHERS, ids=lambda m: repr(m)[:30])
def test_all_mechanisms_save_all_they_know(mechanism: Mechanism) -> None:
    changing = isinstance(mechanism, OneChange)
    values = np.zeros(50, dtype=int)
    last = 4 if changing else 1
    (batch,) = mechanism.simulate(values, rounds=last, seed=1)
    sums = mechanism.aggregator(last).add(batch.reports[:, -1])
    assert sums.n == 50
    back = mechanism.restore_sums(sums.to_bytes(), last)
    assert everything(back) == everything(sums)
    arrays = {n for n, held in vars(sums).items() if isinstance(held, np.ndarray) and not n.startswith("_")}
    assert arrays <= set(sums._sums)


def test_foreign_and_damaged_bytes_are_refused() -> None:
    deck = Deck(bits=3, slots=2, eps_report=1.0, when_empty="replay", width=1)
    saved = deck.aggregator().add([5, 6]).to_bytes()
    for place in range(len(saved)):
        damaged = saved[:place] + bytes([saved[place] ^ 4]) + saved[place + 1 :]
        with pytest.raises(SumsError):
            deck.restore_sums(damaged)
    for length in range(len(saved)):
        with pytest.raises(SumsError):
            deck.restore_sums(saved[:length])
    with pytest.raises(SumsError, match="not sums"):
        deck.restore_sums(deck.client(1).to_bytes())
    with pytest.raises(SumsError, match="another mechanism"):
        Deck(bits=3, slots=2, eps_report=1.1, when_empty="replay", width=1).restore_sums(saved)
    with pytest.raises(SumsError, match="of round or deck 0, not of 1"):
        deck.restore_sums(saved, 3)
    assert deck.restore_sums(saved, 2).n == 2
    with pytest.raises(TypeError, match="data must be bytes"):
        deck.restore_sums("sums")  # type: ignore[arg-type]


def test_sums_of_another_length_are_refused() -> None:
    from untrackable import framing

    deck = Deck(bits=3, slots=2, eps_report=1.0, width=1)
    for size in (0, 8, 16, 16 + 56, 16 + 72):
        with pytest.raises(SumsError):
            deck.restore_sums(framing.frame_sums(deck, bytes(size)))
    assert deck.restore_sums(framing.frame_sums(deck, bytes(16 + 64))).n == 0
