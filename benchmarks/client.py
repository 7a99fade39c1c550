"""The client's check of a campaign beside the engine's, and its start beside that of the engine."""

from collections.abc import Iterator
from functools import partial

from benchmarks.shared.clocks import command_seconds, timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Campaign, Deck, Fresh, Guarantee, IntegerRange, NoisyInnerProduct
from untrackable.accounting.check import client_problems, verify
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.turns import Turns

ENGINE = "the full engine"
CHECKED = Comparison(
    work="A campaign with turns, checked by a client",
    peer=f"{ENGINE}, if every round is answered",
    unit="times as fast",
)
STARTED = Comparison(work="Start of a client", peer="`import numpy`", unit="times as long")
STARTED_BESIDE_ENGINE = Comparison(work="Start of a client", peer=f"start of {ENGINE}", unit="times as long")
COMPARISONS = (CHECKED, STARTED, STARTED_BESIDE_ENGINE)
_STARTS = {
    "numpy": "import numpy",
    "client": "import untrackable.client.client",
    "engine": "import untrackable.accounting.check, scipy.special, scipy.optimize, scipy.sparse",
}


def measure(*, small: bool = False) -> Iterator[Row]:
    """The same question is asked once, and in every round; starts are the shortest of five."""
    for rounds in (2, 3) if small else (52, 365):
        once = _campaign(
            Fresh(NoisyInnerProduct(bits=6, eps=1.0)), Guarantee(eps=1.0), rounds, Turns(rounds=rounds)
        )
        deck = Deck.for_budget(bits=6, slots=rounds, eps=1.0, delta=1e-6)
        often = _campaign(deck, Guarantee(eps=1.0, delta=1e-6), rounds)
        client, found = timed(partial(client_problems, once))
        engine, verdict = timed(partial(verify, often))
        if found or not verdict.holds:
            raise AssertionError("both campaigns keep what they declare")
        yield CHECKED.row(engine / client, f"{rounds} rounds")
    seconds = {
        name: min(command_seconds("-c", script) for _ in range(1 if small else 5))
        for name, script in _STARTS.items()
    }
    yield STARTED.row(seconds["client"] / seconds["numpy"])
    yield STARTED_BESIDE_ENGINE.row(seconds["client"] / seconds["engine"])


def _campaign(mechanism: Mechanism, guarantee: Guarantee, rounds: int, turns: Turns | None = None) -> Campaign:
    return Campaign(
        question="How many?",
        encoding=IntegerRange(low=0, high=63),
        randomizer=mechanism,
        first_round=0,
        round_seconds=86_400,
        rounds=rounds,
        guarantee=guarantee,
        turns=turns,
    )
