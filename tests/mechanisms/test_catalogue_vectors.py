"""Golden vectors of the rest of the catalogue, reproduced by independent clients in plain Python.

As in test_vectors.py, these clients import nothing of the mechanisms: they are what another language has to do.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from tests.mechanisms.test_vectors import WHOLE, Json, Tape, flip, groups, integers, seal
from untrackable import framing
from untrackable.mechanisms.changing_bit import OneChange, Votes
from untrackable.mechanisms.fixed_vector import Assigned, FixedVector
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept_symbol import Lgrr
from untrackable.mechanisms.loloha import Loloha

NAMES = ("assigned", "fixedvector", "lgrr", "loloha", "onechange", "votes")


class QuestionClient:
    """A question drawn once; its answer drawn once as well, or in each report."""

    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        self.given, self.value, self.lie = given, int(value), flip(given["eps"])
        self.question = tape.below(given["people"]) if "people" in given else tape.nonzero_vector(given["bits"])
        self.once = given["noise"] == "fixed"
        self.report_bits = (2 * given["people"] - 1).bit_length() if "people" in given else given["bits"] + 1
        if self.once:
            self.kept = self.answer(tape)

    def vector(self) -> int:
        if "people" not in self.given:
            return self.question
        bits: int = self.given["bits"]
        shift, x = (bits + 1) // 2, 1 + self.question % ((1 << bits) - 1)
        for odd in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
            x ^= x >> shift
            x = x * odd % (1 << bits)
        return x ^ x >> shift

    def answer(self, tape: Tape) -> int:
        truth = bin(self.vector() & self.value).count("1") % 2
        return 2 * self.question + (truth ^ tape.happens(self.lie))

    def change(self, value: str, tape: Tape) -> None:
        self.value = int(value)

    def report(self, round: int, tape: Tape) -> int:
        if not self.once:
            return self.answer(tape)
        tape.below(1)  # the only slot is drawn all the same
        return self.kept

    def payload(self) -> bytes:
        if self.once:
            return integers([self.kept], self.report_bits)
        return integers([self.question], self.report_bits - 1) + integers([self.value], self.given["bits"])


class ChangeClient:
    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        self.given = given
        self.levels = given["rounds"].bit_length()
        self.level, self.chosen = tape.below(self.levels), tape.below(given["changes"])
        self.held = self.before = int(value)
        self.turns = [1] if self.held else []
        self.last = self.said = 0

    def change(self, value: str, tape: Tape) -> None:
        self.held = int(value)

    def report(self, round: int, tape: Tape) -> int:
        if round == self.last:
            return self.said
        if self.held != self.before and len(self.turns) < self.given["changes"]:
            self.turns.append(round)
        code = 2
        if round % 2**self.level == 0:
            told = self.turns[self.chosen : self.chosen + 1]
            if told and told[0] > round - 2**self.level:
                code = (self.chosen + 1) % 2 ^ tape.happens(flip(self.given["eps"]))
            else:
                code = tape.happens(1 << 63)
        self.before, self.last, self.said = self.held, round, 4 * ((round - 1) * self.levels + self.level) + code
        return self.said

    def payload(self) -> bytes:
        at = self.turns[self.chosen] if self.chosen < len(self.turns) else 0
        numbers = [self.level, self.chosen, self.held, self.before, len(self.turns), at, self.last, self.said]
        return integers(numbers, 64)


class VoteClient:
    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        self.given = given
        self.held = self.before = self.reference = int(value)
        self.spent = self.last = self.said = 0

    def change(self, value: str, tape: Tape) -> None:
        self.held = int(value)

    def report(self, round: int, tape: Tape) -> int:
        if round == self.last:
            return self.said
        updates = sorted(self.given["updates"])
        if [r for r in updates if self.last < r < round]:
            self.reference = self.before
        wants = round <= updates[0] or self.held != self.reference
        yes = int(wants and self.spent < self.given["votes"])
        self.spent += yes
        self.said = yes ^ tape.happens(flip(self.given["eps_vote"]))
        if round in updates:
            bit = self.held if updates.index(round) < self.given["estimates"] else 0
            self.said += 2 * (bit ^ tape.happens(flip(self.given["eps_estimate"])))
            self.reference = self.held
        self.before, self.last = self.held, round
        return self.said

    def payload(self) -> bytes:
        return integers([self.held, self.before, self.reference, self.spent, self.last, self.said], 64)


def noisy(symbol: int, symbols: int, lie: int, tape: Tape) -> int:
    """The symbol, or with a lie one that is 1 … symbols-1 steps further on in a circle."""
    return (symbol + 1 + tape.below(symbols - 1)) % symbols if tape.happens(lie) else symbol


class LgrrClient:
    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        self.values, self.lies = given["values"], lies(given)
        self.kept = noisy(int(value), self.values, self.lies["keep_lie"], tape)

    def report(self, round: int, tape: Tape) -> int:
        return noisy(self.kept, self.values, self.lies["tell_lie"], tape)

    def payload(self) -> bytes:
        return integers([self.kept], (self.values - 1).bit_length())


class LolohaClient:
    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        self.given, self.lies, self.symbols = given, lies(given), given["symbols"]
        self.width = (self.symbols - 1).bit_length()
        self.seed = tape.below(1 << given["seed_bits"])
        self.kept = [noisy(s, self.symbols, self.lies["keep_lie"], tape) for s in range(self.symbols)]
        self.change(value, tape)

    def change(self, value: str, tape: Tape) -> None:
        golden = 0x9E3779B97F4A7C15
        key = splitmix((self.seed + 1) * golden % WHOLE)
        self.hashed = splitmix(key ^ (int(value) + 1) * golden % WHOLE) % self.symbols

    def report(self, round: int, tape: Tape) -> int:
        told: int = noisy(self.kept[self.hashed], self.symbols, self.lies["tell_lie"], tape)
        return int(self.seed << self.width | told)

    def payload(self) -> bytes:
        return integers([self.seed], self.given["seed_bits"]) + integers([self.hashed, *self.kept], self.width)


def splitmix(word: int) -> int:
    """The finaliser of SplitMix64."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % WHOLE
    word = (word ^ word >> 27) * 0x94D049BB133111EB % WHOLE
    return word ^ word >> 31


def lies(given: Json) -> dict[str, int]:
    return {f"{step}_lie": WHOLE - math.floor(Fraction(given[step]) * WHOLE) for step in ("keep", "tell")}


CLIENTS: dict[str, Callable[[Json, str, Tape], Any]] = {
    "Assigned": QuestionClient,
    "FixedVector": QuestionClient,
    "Lgrr": LgrrClient,
    "Loloha": LolohaClient,
    "OneChange": ChangeClient,
    "Votes": VoteClient,
}
BUILDERS: dict[str, Callable[..., Mechanism]] = {
    "Assigned": Assigned,
    "FixedVector": FixedVector,
    "Lgrr": Lgrr,
    "Loloha": Loloha,
    "OneChange": OneChange,
    "Votes": Votes,
}


def thresholds(given: Json) -> dict[str, str]:
    if "keep" in given:
        return {name: str(number) for name, number in lies(given).items()}
    if "eps_vote" in given:
        return {"vote_flip": str(flip(given["eps_vote"])), "estimate_flip": str(flip(given["eps_estimate"]))}
    return {"flip": str(flip(given["eps"]))}


@pytest.mark.parametrize("name", NAMES)
def test_independent_client_reproduces_every_case(name: str) -> None:
    for kind, group in groups(name):
        assert group["thresholds"] == thresholds(group["parameters"])
        for case in group["cases"]:
            tape = Tape(bytes.fromhex(case["entropy"]))
            client = CLIENTS[kind](group["parameters"], case["value"], tape)
            assert seal(group["mechanism"], client.payload()).hex() == case["state"], case["label"]
            reports = []
            for round, change in zip(case["rounds"], case["changes"], strict=True):
                if change is not None:
                    client.change(change, tape)
                reports.append(str(client.report(round, tape)))
            assert reports == case["reports"], case["label"]
            assert seal(group["mechanism"], client.payload()).hex() == case["state_after"], case["label"]
            assert tape.at == len(tape.data), case["label"]


@pytest.mark.parametrize("name", NAMES)
def test_recorded_states_restore(name: str) -> None:
    for kind, group in groups(name):
        mechanism = BUILDERS[kind](**group["parameters"])
        assert framing.identity(mechanism).decode() == group["mechanism"]
        for case in group["cases"]:
            for key in ("state", "state_after"):
                state = bytes.fromhex(case[key])
                assert mechanism.restore(state).to_bytes() == state
