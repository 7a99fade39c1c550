"""The embedded default: one population, asked for twenty rounds with Deck and with RAPPOR."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from untrackable.auditing.linking import Matched, match
from untrackable.mechanisms.estimates import Estimate
from untrackable.mechanisms.inner_product import Deck
from untrackable.mechanisms.rappor import Rappor

PEOPLE = 100_000
ROUNDS = 20
LINKED = 1_000
BETA = 0.05
HOMEPAGES = (
    "news", "mail", "search", "video", "social", "maps", "weather", "shop",
    "wiki", "games", "bank", "travel", "sport", "music", "school", "blank",
)  # fmt: skip
DELTA = 1e-6

Progress = Callable[[str, float], None]
"""Told what is going on and how much of it is done, from 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the collector learned, and what an observer could do with the reports."""

    deck: Deck
    rappor: Rappor
    truth: NDArray[np.float64]
    deck_round: Estimate
    deck_pooled: Estimate
    rappor_round: Estimate
    deck_matched: Matched
    rappor_matched: Matched


def run(seed: int = 1, progress: Progress = lambda what, done: None) -> Outcome:
    """Collect, estimate, and try to follow people from home to work."""
    rappor = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)
    bits = (len(HOMEPAGES) - 1).bit_length()
    everlasting = rappor.privacy().pure()
    deck = Deck.for_budget(bits=bits, slots=ROUNDS, eps=everlasting, delta=DELTA, width=1)
    values = _population(seed)
    truth = np.bincount(values, minlength=len(HOMEPAGES)) / PEOPLE

    per_round = [deck.aggregator(r) for r in range(1, ROUNDS + 1)]
    for batch in deck.simulate(values, rounds=ROUNDS, seed=seed):
        for column, aggregator in enumerate(per_round):
            aggregator.add(batch.reports[:, column])
        progress("Deck: 20 rounds", min(1.0, (batch.start + len(batch.reports)) / PEOPLE))
    deck_round = per_round[-1].estimate(BETA)
    pooled = deck.aggregator()
    for aggregator in per_round:
        pooled.merge(aggregator)

    names = np.array(HOMEPAGES)[values]
    last = rappor.aggregator(ROUNDS)
    for batch in rappor.simulate(names, rounds=ROUNDS, seed=seed):
        last.add(batch.reports[:, -1])
        progress("RAPPOR: 20 rounds", min(1.0, (batch.start + len(batch.reports)) / PEOPLE))

    return Outcome(
        deck,
        rappor,
        truth,
        deck_round,
        pooled.estimate(BETA),
        last.estimate(HOMEPAGES, BETA),
        _follow_deck(deck, seed, progress),
        _follow_rappor(rappor, seed, progress),
    )


def _population(seed: int) -> NDArray[np.int64]:
    """Everyone has a homepage; a few are popular."""
    weights = 1 / np.arange(1, len(HOMEPAGES) + 1)
    return np.random.default_rng([seed, 1, PEOPLE]).choice(len(HOMEPAGES), size=PEOPLE, p=weights / weights.sum())


def _follow_rappor(rappor: Rappor, seed: int, progress: Progress) -> Matched:
    progress("following people through RAPPOR", 0.0)
    same = np.full(LINKED, HOMEPAGES[0])
    reports = np.concatenate([batch.reports for batch in rappor.simulate(same, rounds=ROUNDS, seed=seed + 1)])
    half = ROUNDS // 2
    found = match(rappor.link_scores(reports[:, :half], reports[:, half:], HOMEPAGES[0]))
    progress("following people through RAPPOR", 1.0)
    return found


def _follow_deck(deck: Deck, seed: int, progress: Progress) -> Matched:
    progress("following people through Deck", 0.0)
    same = np.zeros(LINKED, dtype=np.int64)
    reports = np.concatenate([batch.reports for batch in deck.simulate(same, rounds=ROUNDS, seed=seed + 1)])
    half = ROUNDS // 2
    found = match(deck.link_scores(reports[:, :half], reports[:, half:], 0))
    progress("following people through Deck", 1.0)
    return found
