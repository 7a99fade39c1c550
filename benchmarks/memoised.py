"""Ten rounds of memoised collection: 100,000 people, 1,024 values, a tenth of them changing theirs each round.

Deck, and our own L-OSUE with every bit of every client drawn, against multi-freq-ldpy's L-OSUE: time and memory,
each in a process of its own, memory being its peak over what it held when all was imported, compiled and tried on a
few. The other's client keeps nothing from round to round: it draws the permanent bits anew in every call. Ours does
the same here, so that both draw as much. Ratios above 1 mean that ours is faster or smaller. Run with `make bench`;
an argument sets the number of people.
"""

import math
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from untrackable import Deck
from untrackable.kernels import compilation
from untrackable.mechanisms import Unary
from untrackable.theory import Experiment

PEOPLE, BITS, ROUNDS = 100_000, 10, 10
VALUES = 1 << BITS
EPS, DELTA = 1.0, 1e-6
SHARE = 0.5
"""Privacy of one L-OSUE report, as a part of that of what is kept."""
SEEDS = 8

FloatArray = NDArray[np.float64]


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


METHODS = {"Deck": with_deck, "our L-OSUE": with_unary, "multi-freq-ldpy's L-OSUE": with_peer}


def alone(name: str, people: int) -> None:
    """In a process of its own: seconds, mebibytes above what importing and the values take, largest error."""
    from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Client

    L_OSUE_Client(0, VALUES, EPS, SHARE * EPS)  # compiled, as ours
    compilation.compiled(compilation.WORTHWHILE)
    held = population(people)
    METHODS[name](held[:64])
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1024
    start = time.perf_counter()
    found = METHODS[name](held)
    taken = time.perf_counter() - start
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    truth = np.array([np.bincount(column, minlength=VALUES) / people for column in held.T])
    print(taken, memory, float(np.abs(np.array(found) - truth).max(axis=1).mean()))


def compare(people: int) -> None:
    """Each in a process of its own, ours twice."""
    print(f"ten rounds, {people:,} people, {VALUES:,} values, a tenth changing each round")
    print("method                        seconds      MiB   largest error (mean over rounds)")
    best: dict[str, tuple[float, float]] = {}
    for name in ("Deck", "our L-OSUE", "multi-freq-ldpy's L-OSUE", "Deck", "our L-OSUE"):
        command = [sys.executable, __file__, "alone", name, str(people)]
        out = subprocess.run(command, capture_output=True, check=True, text=True).stdout  # noqa: S603
        taken, memory, error = (float(number) for number in out.split())
        print(f"{name:28} {taken:8.3f} {memory:8.0f}   {error:.5f}")
        old = best.get(name, (math.inf, 0.0))
        best[name] = (min(old[0], taken), max(old[1], memory))
    peer = best["multi-freq-ldpy's L-OSUE"]
    for name in ("Deck", "our L-OSUE"):
        taken, memory = best[name]
        print(f"{name}: {peer[0] / taken:.0f} × faster, 1/{peer[1] / memory:.0f} of the memory")


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


def accuracy(people: int) -> None:
    """Standard errors of a value that nobody holds: exact, and measured over all values and some seeds."""
    print(f"\naccuracy at equal everlasting privacy, ({EPS:g}, {DELTA:g}); standard error × √n")
    print("                                                     exact   measured   Deck/L-OSUE")
    values = np.full(people, VALUES - 1)  # so that nobody holds the others
    shown = {}
    for name, mechanism in (
        ("one round of Deck", deck()),
        ("one round of L-OSUE, a fixed value", unary()),
        ("one round of L-OSUE, ten values one after another", equally_private()),
    ):
        exact = mechanism.accuracy(1).standard_error
        errors = [one_round(mechanism, values, seed)[:-1] for seed in range(SEEDS)]
        measured = math.sqrt(float(np.mean(np.square(errors))) * people)
        shown[name] = exact
        ratio = shown["one round of Deck"] / exact
        print(f"{name:50} {exact:8.3f}   {measured:8.3f}   {ratio:10.3f}")
    pooled = shown["one round of Deck"] / math.sqrt(ROUNDS)
    kept = unary()  # whose noise does not average out, and is all that is left if that of the reports does
    floor = Unary(values=VALUES, keep=kept.keep, add=kept.add, q=1.0, p=0.0).accuracy(1).standard_error
    print(f"all ten rounds pooled, if nobody changes: Deck {pooled:.3f}, L-OSUE above {floor:.3f} (both exact)")
    print(
        "Deck holds for any sequence of values. L-OSUE's fixed value is private with delta = 0; its ten values are"
    )
    print(
        "composed exactly, for sequences that change at the same rounds: whether a value changed, it does not hide."
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["alone"]:
        alone(sys.argv[2], int(sys.argv[3]))
    else:
        size = int(sys.argv[1]) if len(sys.argv) > 1 else PEOPLE
        compare(size)
        accuracy(min(size, 20_000))
