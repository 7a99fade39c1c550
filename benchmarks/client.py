"""The client's check of a campaign beside the engine's, and its start beside that of the engine."""

import math
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
STARTED = Comparison(
    work="`from untrackable import Client`",
    peer="`import json, http.client, ssl`",
    unit="times as long",
    at_most=1.5,
)
READ = Comparison(
    work="`from untrackable import Campaign, Client, Policy`",
    peer="`import json, http.client, ssl`",
    unit="times as long",
)
STARTED_BESIDE_ENGINE = Comparison(
    work="`from untrackable import Client`", peer=f"start of {ENGINE}", unit="times as long"
)
COMPARISONS = (CHECKED, STARTED, READ, STARTED_BESIDE_ENGINE)
_STARTS = {
    "nothing": "pass",
    "library": "import json, http.client, ssl",
    "client": "from untrackable import Client",
    "campaign": "from untrackable import Campaign, Client, Policy",
    "engine": "import untrackable.mechanisms.interface, scipy.special, scipy.optimize, scipy.sparse",
}


def measure(*, small: bool = False) -> Iterator[Row]:
    """The same question is asked once, and in every round.

    Starts are the shortest of twenty, taken in turns, without the start of Python itself.
    """
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
    seconds = dict.fromkeys(_STARTS, math.inf)
    for _ in range(2 if small else 20):
        for name, script in _STARTS.items():
            seconds[name] = min(seconds[name], command_seconds("-c", script))
    took = {name: seconds[name] - seconds["nothing"] for name in _STARTS}
    yield STARTED.row(took["client"] / took["library"])
    yield READ.row(took["campaign"] / took["library"])
    yield STARTED_BESIDE_ENGINE.row(took["client"] / took["engine"])


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
