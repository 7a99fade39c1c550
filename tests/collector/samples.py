"""Campaigns and reports for the tests."""

import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np

from untrackable import Categories, Deck
from untrackable.encodings import Encoding
from untrackable.mechanisms.interface import Mechanism
from untrackable.protocol import wire as wires
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.turns import Turns

BEGIN = 1_800_000_000
"""When round 1 of a campaign begins."""
HOUR = 3600
DECK = Deck.for_budget(bits=4, slots=30, eps=8.0, delta=1e-6, width=1)
NAMES = [f"page {i}" for i in range(12)]


def campaign(
    mechanism: Mechanism = DECK,
    *,
    encoding: Encoding | None = None,
    begin: int = BEGIN,
    seconds: int = HOUR,
    rounds: int | None = 30,
    question: str = "Which page is yours?",
    guarantee: Guarantee | None = None,
    turns: Turns | None = None,
) -> Campaign:
    return Campaign(
        question=question,
        encoding=Categories(names=NAMES) if encoding is None else encoding,
        randomizer=mechanism,
        first_round=begin,
        round_seconds=seconds,
        rounds=rounds,
        guarantee=guarantee or Guarantee(eps=8.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
        turns=turns,
    )


def answers(mechanism: Mechanism, values: Iterable[Any], *, round: int = 1, seed: int = 1) -> list[int]:
    """Reports of people who hold these values, at one round."""
    result: list[int] = []
    for batch in mechanism.simulate(np.array(list(values)), rounds=[round], seed=seed):
        column = batch.reports[:, 0]
        if column.ndim == 2:
            result += [int.from_bytes(row.tobytes(), "little") for row in column]
        else:
            result += column.tolist()
    return result


def sealed(asked: Campaign, reports: Iterable[int], *, round: int = 1) -> list[bytes]:
    """Each report as a client sends it."""
    wire = wires.of(asked.mechanism)
    return [wire.encode(round=round, nonce=secrets.token_bytes(16), report=report) for report in reports]


def bodies(asked: Campaign, people: int, *, round: int = 1, seed: int = 1) -> list[bytes]:
    """Reports of so many people."""
    values = np.random.default_rng(seed).integers(0, asked.encoding.values, people)
    return sealed(asked, answers(asked.mechanism, values, round=round, seed=seed), round=round)
