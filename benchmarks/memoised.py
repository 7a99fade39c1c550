"""Ten rounds of memoised collection: 1,024 values, and a tenth of the people change theirs each round.

Deck, and our own L-OSUE with every bit of every client drawn, beside multi-freq-ldpy's L-OSUE: time and memory,
each in a process of its own, memory being its peak over what it held when all was imported, compiled and tried on a
few. The other's client keeps nothing from round to round: it draws the permanent bits anew in every call. Ours does
the same here, so that both draw as much.

Errors are compared at equal privacy of all that a person ever sends. Deck is private for any sequence of values.
L-OSUE is so for a value that never changes; ten values one after another are composed exactly, which is in its
favour, and for sequences that change at the same rounds, since it does not hide whether a value has changed.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from benchmarks.shared.clocks import apart, memory, processor_timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable import Deck
from untrackable.arrays import FloatArray
from untrackable.kernels import engine
from untrackable.mechanisms import Unary
from untrackable.theory import Experiment

BITS, ROUNDS = 10, 10
VALUES = 1 << BITS
EPS, DELTA = 1.0, 1e-6
SHARE = 0.5
"""Privacy of one L-OSUE report, as a part of that of what is kept."""

PEER = "L-OSUE of multi-freq-ldpy"
TEN = "Ten rounds of 1,024 values, a tenth changing each round"
DECK = Comparison(work=f"{TEN}: Deck", peer=PEER, unit="times as fast (processor time)", at_least=300)
DECK_MEMORY = Comparison(work="Memory of that", peer=PEER, unit="times as small", at_least=5)
OWN = Comparison(work=f"{TEN}: our L-OSUE", peer=PEER, unit="times as fast (processor time)", at_least=10)
OWN_MEMORY = Comparison(work="Memory of that", peer=PEER, unit="times as small")
ERROR = "Error of Deck in one round, any sequence of values"
CHANGING = Comparison(work=ERROR, peer="L-OSUE, ten values one after another", unit="times as large (exact)")
FIXED = Comparison(work=ERROR, peer="L-OSUE, a value that never changes", unit="times as large (exact)")
POOLED = Comparison(
    work="Error of Deck, ten rounds pooled, nobody changes", peer="L-OSUE, however many rounds",
    unit="times as large (upper)",
)  # fmt: skip
COMPARISONS = (DECK, DECK_MEMORY, OWN, OWN_MEMORY, CHANGING, FIXED, POOLED)


def measure(*, small: bool = False) -> Iterator[Row]:
    """Each in a process of its own, ours twice; then errors, which are exact."""
    people = 64 if small else 100_000
    size = f"{people:,} people"
    peer = apart(collected, "peer", people, small=small)
    for name, time, space in (("deck", DECK, DECK_MEMORY), ("unary", OWN, OWN_MEMORY)):
        runs = [apart(collected, name, people, small=small) for _ in range(1 if small else 2)]
        yield time.row(peer[0] / min(seconds for seconds, _ in runs), size)
        yield space.row(peer[1] / max(peak for _, peak in runs), size)
    ours = deck().accuracy(1).standard_error
    yield CHANGING.row(ours / equally_private().accuracy(1).standard_error)
    yield FIXED.row(ours / unary().accuracy(1).standard_error)
    kept = unary()  # whose noise does not average out, and is all that is left if that of the reports does
    floor = Unary(values=VALUES, keep=kept.keep, add=kept.add, q=1.0, p=0.0).accuracy(1).standard_error
    yield POOLED.row(ours / math.sqrt(ROUNDS) / floor)


def population(people: int) -> NDArray[np.int64]:
    """A column for each round."""
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, VALUES + 1)
    held = np.empty((people, ROUNDS), dtype=np.int64)
    held[:, 0] = rng.choice(VALUES, size=people, p=weights / weights.sum())
    for t in range(1, ROUNDS):
        changed = rng.random(people) < 0.1
        held[:, t] = np.where(changed, rng.choice(VALUES, size=people, p=weights / weights.sum()), held[:, t - 1])
    return held


def deck() -> Deck:
    """Ten cards, together (1, 1e-6)-private for any sequence of values."""
    return Deck.for_budget(bits=BITS, slots=ROUNDS, eps=EPS, delta=DELTA)


def unary(eps: float = EPS) -> Unary:
    """L-OSUE."""
    return Unary.for_budget("L-OSUE", values=VALUES, eps=eps, eps_report=SHARE * eps)


def with_deck(held: NDArray[np.int64]) -> list[FloatArray]:
    """All rounds of everyone, as they are dealt."""
    mechanism = deck()
    sums = [mechanism.aggregator(t) for t in range(1, ROUNDS + 1)]
    for batch in mechanism.simulate(held, rounds=ROUNDS, seed=1):
        for t, each in enumerate(sums):
            each.add(batch.reports[:, t])
    return [each.estimate().frequencies for each in sums]


def one_round(mechanism: Deck | Unary, values: NDArray[np.int64], seed: int) -> FloatArray:
    """With a new state for everyone."""
    sums = mechanism.aggregator(1)
    for batch in mechanism.simulate(values, rounds=1, seed=seed):
        sums.add(batch.reports)
    return sums.estimate().frequencies


def with_unary(held: NDArray[np.int64]) -> list[FloatArray]:
    """Our own L-OSUE."""
    mechanism = unary()
    return [one_round(mechanism, held[:, t], seed=t) for t in range(ROUNDS)]


def with_peer(held: NDArray[np.int64]) -> list[FloatArray]:
    """multi-freq-ldpy's."""
    from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Aggregator_MI, L_OSUE_Client

    found = []
    for t in range(held.shape[1]):
        reports = [L_OSUE_Client(value, VALUES, EPS, SHARE * EPS) for value in held[:, t].tolist()]
        found.append(np.asarray(L_OSUE_Aggregator_MI(reports, EPS, SHARE * EPS), dtype=np.float64))
    return found


METHODS = {"deck": with_deck, "unary": with_unary, "peer": with_peer}


def collected(name: str, people: int) -> tuple[float, float]:
    """Seconds, and bytes above what importing and the values take."""
    from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Client

    L_OSUE_Client(0, VALUES, EPS, SHARE * EPS)  # compiled, as ours
    engine.compiled(engine.WORTHWHILE)
    held = population(people)
    METHODS[name](held[:64])
    before = memory()
    seconds, _ = processor_timed(lambda: METHODS[name](held))
    return seconds, max(memory("VmHWM") - before, 1.0)


def equally_private() -> Unary:
    """L-OSUE of which ten kept vectors, one for each value that is held, are together as private as the deck.

    Composed exactly, which is in its favour: the published account is the sum of their eps. And only for sequences
    that change at the same rounds: that a value has changed at all, L-OSUE does not hide.
    """

    def spent(eps: float) -> float:
        kept = unary(eps).privacy()
        if not isinstance(kept, Experiment):
            raise TypeError("what L-OSUE keeps must be one experiment")
        return math.log(Experiment([(factor, ROUNDS * count) for factor, count in kept.factors]).delta(EPS).upper)

    return unary(float(brentq(lambda eps: spent(eps) - math.log(DELTA), 0.11, 1.0, xtol=1e-6)))
