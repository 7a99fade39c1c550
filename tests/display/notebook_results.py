"""A small result of each kind, for the tests of what notebooks show. Those are in one group, and so made once."""

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from tests.rappor_decode.collected import collected, zipf
from untrackable import (
    Bit,
    Categories,
    Deck,
    Fresh,
    IntegerRange,
    Memoized,
    NoisyInnerProduct,
    Rappor,
    audit,
    audit_client,
    audit_file,
    compare,
    plan,
    plan_together,
)
from untrackable.answers.answer import Question, answer
from untrackable.answers.trend import quantile_trend, share_trends
from untrackable.auditing.audit import audit_turns
from untrackable.discovery.discovery import Discovered, FoundString
from untrackable.rappor_decode.decode import decode
from untrackable.theory.experiment import Experiment
from untrackable.theory.turns import Turns

DECK = Deck(bits=2, slots=9, eps_report=2.0)
NAMES = Categories(names=["<b>one</b>", "two & three", "$four$ and a name that is far too long for a bar"])
MEMOIZED = Memoized(NoisyInnerProduct(bits=2, eps=2.0))
_COINS = np.random.default_rng(1)
RAPPOR = Rappor(bloom_bits=16, hashes=2, cohorts=8, p=0.25, q=0.75, f=0.25)

TABLES = (
    "audit",
    "attacked",
    "one turn",
    "comparison",
    "plan",
    "no plan",
    "together",
    "file",
    "client",
    "decoded",
    "share trend",
    "median",
    "distribution",
    "experiment",
    "upper",
    "infinite",
    "nothing",
)
OTHERS = ("estimate", "answer", "numbers", "discovered")


@cache
def result(name: str) -> Any:
    """The result of this name."""
    return _MADE[name]()


def _answered() -> Any:
    sums = DECK.aggregator()
    for batch in DECK.simulate(np.arange(3000) % 3, rounds=[1], seed=1):
        sums.add(batch.reports)
    question = Question(DECK, NAMES)
    return answer(question, {1: question.prepare(sums)})


def _numbers() -> Any:
    """Numbers of which all rise in round 4 of 6."""
    values = np.where(np.arange(6) < 3, np.arange(2000)[:, None] % 2, np.arange(2000)[:, None] % 2 + 2)
    sums = {number: DECK.aggregator(number) for number in range(1, 7)}
    for batch in DECK.simulate(values, rounds=6, seed=1):
        for number in sums:
            sums[number].add(batch.reports[:, number - 1])
    return answer(Question(DECK, IntegerRange(low=0, high=3)), sums)


def _file() -> Any:
    """Six reports of each person, from home and work in turn, of which people miss every third."""
    (batch,) = MEMOIZED.simulate(np.arange(120) % 4, rounds=6, seed=1)
    rows = [
        {
            "user": person,
            "place": "home" if (person + number) % 2 else "work",
            "round": number,
            "report": str(report),
        }
        for person, sent in enumerate(batch.reports)
        for number, report in enumerate(sent)
        if (person + number) % 3
    ]
    return audit_file(pa.Table.from_pylist(rows))


def _flipping(value: int) -> Any:
    """A client that keeps its value, or in one of four cases the other one, for all its reports."""
    kept = value ^ (_COINS.random() < 0.25)
    return lambda: kept


def _decoded() -> Any:
    names = [f"string {i}" for i in range(12)]
    return decode(RAPPOR, collected(RAPPOR, zipf(names, 4000, np.random.default_rng(1)), 1), names)


def _discovered() -> Any:
    numbers = [0.1] * (len(FoundString._fields) - 1)
    strings = tuple(FoundString(f"<i>{i}</i>", *numbers) for i in range(25))
    return Discovered(strings, (FoundString("lead", *numbers),), 1000, 0.05, 1, 10, 0.01, 9)


_MADE: dict[str, Any] = {
    "audit": lambda: audit(DECK, reports=4, attack=False),
    "attacked": lambda: audit(MEMOIZED, reports=4, crowd=50, rounds=5),
    "one turn": lambda: audit_turns(Fresh(NoisyInnerProduct(bits=2, eps=2.0)), Turns(rounds=9)),
    "comparison": lambda: compare(values=2, eps=1, reports=2, people=1000, crowd=20),
    "plan": lambda: plan(people=10**6, encoding=Bit(), rounds=12, eps=1.0, pooled=4),
    "crowd plan": lambda: plan(people=10**5, values=2, rounds=12, eps=4.0, relay=True),
    "strings plan": lambda: plan(people=10**8, strings=8, rounds=4, eps=2.0),
    "together": lambda: plan_together(
        {"smoking": {"values": 2}, "<i>size</i>": {"values": 4}}, people=10**6, rounds=2, eps=1.0
    ),
    "no plan": lambda: plan(people=100, values=2, rounds=9, eps=0.1, error=0.001),
    "file": _file,
    "client": lambda: audit_client(_flipping, [0, 1], reports=3, clients=64, claimed_eps=9.0),
    "decoded": _decoded,
    "discovered": _discovered,
    "estimate": lambda: result("answer").best,
    "answer": _answered,
    "numbers": _numbers,
    "share trend": lambda: share_trends(result("numbers"), [2])[0],
    "median": lambda: quantile_trend(result("numbers"), 0.5),
    "distribution": lambda: result("numbers").best.distribution(),
    "experiment": DECK.privacy,
    "upper": lambda: DECK.crowd(people=100),
    "infinite": lambda: RAPPOR.tracking(reports=4),
    "nothing": Experiment,
}
