"""The golden vectors, reproduced by the package and by an independent client in plain Python.

The independent client below imports nothing of the mechanisms: it is what another language has to do.
"""

import decimal
import functools
import hashlib
import itertools
import json
import math
import operator
import runpy
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from untrackable import (
    Bitwise,
    Dealt,
    Deck,
    Fading,
    Fresh,
    InnerProduct,
    Memoized,
    NoisyInnerProduct,
    RandomizedResponse,
    Rappor,
    Stored,
    framing,
)
from untrackable.mechanisms import Unary
from untrackable.mechanisms.interface import Mechanism

VECTORS = Path(__file__).parent.parent / "vectors"
NAMES = ("bitwise", "dealt", "deck", "fading", "fresh", "innerproduct", "memoized", "rappor", "stored", "unary")
WHOLE = 1 << 64

Json = dict[str, Any]


def groups(name: str) -> Iterator[tuple[str, Json]]:
    content = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    for group in content["groups"]:
        yield content["name"], group


# --- an independent client -------------------------------------------------------------------------------------


@dataclass
class Tape:
    """Entropy, read in order."""

    data: bytes
    at: int = 0

    def take(self, size: int) -> int:
        """The next bytes as a big-endian integer."""
        assert self.at + size <= len(self.data), "more entropy read than recorded"
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "big")

    def happens(self, threshold: int) -> int:
        """1 if the next 64-bit word is below the threshold."""
        return int(self.take(8) < threshold)

    def below(self, limit: int) -> int:
        """Uniform below the limit, redrawing words from the last incomplete run of `limit`."""
        while True:
            word = self.take(8)
            if word < WHOLE - WHOLE % limit:
                return word % limit

    def nonzero_vector(self, bits: int) -> int:
        """Uniform and not zero, high surplus bits cleared."""
        while True:
            vector = self.take(-(-bits // 8)) % (1 << bits)
            if vector:
                return vector


def flip(eps: float, symbols: int = 2) -> int:
    """⌈2^64·(g-1)/(e^eps + g-1)⌉."""
    others = symbols - 1
    with decimal.localcontext(prec=90):
        return math.ceil(others * Fraction(WHOLE) / (others + Fraction(decimal.Decimal(eps).exp())))


def toward(probability: float, other: float) -> int:
    """A probability over 2^64, rounded toward the other one."""
    scaled = Fraction(probability) * WHOLE
    return math.ceil(scaled) if other > probability else math.floor(scaled)


def integers(numbers: list[int], bits: int) -> bytes:
    return b"".join(number.to_bytes(-(-bits // 8), "big") for number in numbers)


def seal(mechanism: str, payload: bytes) -> bytes:
    body = b"UTS\x02" + hashlib.sha256(mechanism.encode()).digest()[:8] + payload
    return body + zlib.crc32(body).to_bytes(4, "big")


@dataclass
class Local:
    """Randomised response (bits = 0) or a noisy inner product."""

    bits: int
    eps: float
    width: int

    @property
    def report_bits(self) -> int:
        return self.width * (self.bits + 1)

    def draw(self, value: int, tape: Tape) -> int:
        if not self.bits:
            return value ^ tape.happens(flip(self.eps))
        if self.width > 1:
            return self.wide(value, tape)
        vector = tape.nonzero_vector(self.bits)
        bit = bin(vector & value).count("1") % 2
        return vector << 1 | bit ^ tape.happens(flip(self.eps))

    def wide(self, value: int, tape: Tape) -> int:
        """Vectors of which no sum is zero, the first lowest; above the answer, which may be a lie."""
        vectors: list[int] = []
        while len(vectors) < self.width:
            vectors.append(tape.nonzero_vector(self.bits))
            if 0 in sums_of(vectors):
                vectors.pop()
        answer = sum(bin(v & value).count("1") % 2 << i for i, v in enumerate(vectors))
        if tape.happens(flip(self.eps, 1 << self.width)):
            answer = (answer + 1 + tape.below((1 << self.width) - 1)) % (1 << self.width)
        digits = "".join(f"{v:0{self.bits}b}" for v in reversed(vectors)) + f"{answer:0{self.width}b}"
        return int(digits, 2)


def xor(numbers: Iterable[int]) -> int:
    return functools.reduce(operator.xor, numbers, 0)


def local(given: Json) -> Local:
    if "base" in given:
        given = given["base"]
        return Local(given.get("bits", 0), given["eps"], given.get("width", 1))
    return Local(given["bits"], given["eps_report"], given.get("width", 1))


class BitwiseClient:
    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        self.told = flip(given["eps_report"])
        self.kept = int(value) ^ tape.happens(flip(given["eps_state"]))

    def report(self, round: int, tape: Tape) -> int:
        return self.kept ^ tape.happens(self.told)

    def payload(self) -> bytes:
        return bytes([self.kept])


class RapporClient:
    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        self.bits = given["bloom_bits"]
        p, q = given["p"], given["q"]
        self.one, self.zero = toward(q, p), toward(p, q)
        self.cohort = tape.below(given["cohorts"]) if given["cohorts"] > 1 else 0
        self.width = self.bits + (given["cohorts"] - 1).bit_length()
        salted = self.cohort.to_bytes(4, "big") + value.encode("utf-8")
        digest = hashlib.md5(salted, usedforsecurity=False).digest()
        positions = {byte % self.bits for byte in digest[: given["hashes"]]}
        lie = toward(given["f"] / 2, 0.5)
        self.kept = [int(position in positions) ^ tape.happens(lie) for position in range(self.bits)]

    def report(self, round: int, tape: Tape) -> int:
        told = sum(tape.happens(self.one if bit else self.zero) << i for i, bit in enumerate(self.kept))
        return int(self.cohort << self.bits | told)

    def payload(self) -> bytes:
        kept = sum(bit << i for i, bit in enumerate(self.kept))
        return integers([self.cohort << self.bits | kept], self.width)


class UnaryClient:
    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        chances = thresholds("Unary", given)
        self.one, self.zero = chances["one_chance"], chances["zero_chance"]
        self.kept = [
            1 ^ tape.happens(chances["lost_chance"])
            if position == int(value)
            else tape.happens(chances["added_chance"])
            for position in range(given["values"])
        ]

    def report(self, round: int, tape: Tape) -> int:
        return sum(tape.happens(self.one if bit else self.zero) << i for i, bit in enumerate(self.kept))

    def payload(self) -> bytes:
        return integers([sum(bit << i for i, bit in enumerate(self.kept))], len(self.kept))


class StoredClient:
    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        self.base = local(given)
        self.slots = [self.base.draw(int(value), tape) for _ in range(given.get("slots", 1))]

    def report(self, round: int, tape: Tape) -> int:
        return self.slots[tape.below(len(self.slots))]

    def payload(self) -> bytes:
        return integers(self.slots, self.base.report_bits)


class DealtClient:
    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        self.base = local(given)
        self.cards = [self.base.draw(int(value), tape) for _ in range(given["slots"])]
        self.sent: set[int] = set()

    def change(self, value: str, tape: Tape) -> None:
        for i in range(len(self.cards)):
            if i not in self.sent:
                self.cards[i] = self.base.draw(int(value), tape)

    def report(self, round: int, tape: Tape) -> int:
        slot = (round - 1) % len(self.cards)
        self.sent.add(slot)
        return self.cards[slot]

    def payload(self) -> bytes:
        """One bit per card, first card in the highest bit of the first byte; then the cards."""
        size = -(-len(self.cards) // 8)
        flags = sum(1 << (8 * size - 1 - slot) for slot in self.sent)
        return flags.to_bytes(size, "big") + integers(self.cards, self.base.report_bits)


class FreshClient:
    def __init__(self, given: Json, value: str, tape: Tape) -> None:
        self.base = local(given)
        self.value = int(value)

    def change(self, value: str, tape: Tape) -> None:
        self.value = int(value)

    def report(self, round: int, tape: Tape) -> int:
        return self.base.draw(self.value, tape)

    def payload(self) -> bytes:
        return integers([self.value], self.base.bits or 1)


@dataclass
class FadingClient:
    given: Json
    held: str
    tape: Tape = field(repr=False)
    last: tuple[int, int] = (0, 0)

    def change(self, value: str, tape: Tape) -> None:
        self.held = value

    def report(self, round: int, tape: Tape) -> int:
        if round != self.last[0]:
            eps = self.given["scale"] * round ** -self.given["power"]
            self.last = round, Local(self.given["bits"], eps, self.width).draw(int(self.held), tape)
        return self.last[1]

    def payload(self) -> bytes:
        """The last round in 8 bytes, the value, that round's report."""
        bits = self.given["bits"]
        report = integers([self.last[1]], self.width * (bits + 1))
        return integers([self.last[0]], 64) + integers([int(self.held)], bits) + report

    @property
    def width(self) -> int:
        return int(self.given.get("width", 1))


CLIENTS: dict[str, Callable[[Json, str, Tape], Any]] = {
    "Bitwise": BitwiseClient,
    "Dealt": DealtClient,
    "Deck": DealtClient,
    "Fading": FadingClient,
    "Fresh": FreshClient,
    "InnerProduct": StoredClient,
    "Memoized": StoredClient,
    "Rappor": RapporClient,
    "Unary": UnaryClient,
    "Stored": StoredClient,
}


def thresholds(name: str, given: Json) -> dict[str, int]:
    if name == "Bitwise":
        return {"state_flip": flip(given["eps_state"]), "report_flip": flip(given["eps_report"])}
    if name == "Rappor":
        p, q = given["p"], given["q"]
        return {
            "state_flip": toward(given["f"] / 2, 0.5),
            "zero_chance": toward(p, q),
            "one_chance": toward(q, p),
        }
    if name == "Unary":
        return {
            "lost_chance": toward(1 - given["keep"], 1),
            "added_chance": toward(given["add"], 1),
            "one_chance": toward(given["q"], given["p"]),
            "zero_chance": toward(given["p"], given["q"]),
        }
    return {"flip": flip(local(given).eps, 1 << local(given).width)}


@pytest.mark.parametrize("name", NAMES)
def test_independent_client_reproduces_every_case(name: str) -> None:
    cases = 0
    for kind, group in groups(name):
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
            cases += 1
    assert cases >= 6


@pytest.mark.parametrize("name", [n for n in NAMES if n != "fading"])
def test_independent_thresholds(name: str) -> None:
    for kind, group in groups(name):
        expected = {key: str(number) for key, number in thresholds(kind, group["parameters"]).items()}
        assert group["thresholds"] == expected


def test_independent_thresholds_of_fading() -> None:
    for _, group in groups("fading"):
        given = group["parameters"]
        for key, threshold in group["thresholds"].items():
            round = int(key.removeprefix("flip at round "))
            eps = given["scale"] * round ** -given["power"]
            assert threshold == str(flip(eps, 1 << given.get("width", 1)))


# --- the package -----------------------------------------------------------------------------------------------


def build(kind: str, given: Json) -> Mechanism:
    """The mechanism of a group, made from its parameters."""
    given = dict(given)
    if kind in ("Deck", "InnerProduct"):
        given = {"width": 1, **given}  # where none is named
    if "base" in given:
        base = dict(given.pop("base"))
        if base["name"] == "NoisyInnerProduct":
            base = {"width": 1, **base}
        makers = {"RandomizedResponse": RandomizedResponse, "NoisyInnerProduct": NoisyInnerProduct}
        given["base"] = makers[base.pop("name")](**base)
    mechanisms: dict[str, Callable[..., Mechanism]] = {
        "Bitwise": Bitwise,
        "Dealt": Dealt,
        "Deck": Deck,
        "Fading": Fading,
        "Fresh": Fresh,
        "InnerProduct": InnerProduct,
        "Memoized": Memoized,
        "Rappor": Rappor,
        "Stored": Stored,
        "Unary": Unary,
    }
    return mechanisms[kind](**given)


def test_vectors_are_what_make_vectors_writes() -> None:
    """Every byte: this also runs all private deterministic functions against what is committed."""
    made = runpy.run_path(str(VECTORS / "make.py"))["vectors"]()
    assert {path.name for path in VECTORS.glob("*.json")} == set(made)
    assert set(made) > {f"{name}.json" for name in NAMES}  # the others have clients of their own
    for name, text in made.items():
        assert (VECTORS / name).read_bytes() == text.encode("utf-8"), name


@pytest.mark.parametrize("name", NAMES)
def test_recorded_states_restore(name: str) -> None:
    for kind, group in groups(name):
        mechanism = build(kind, group["parameters"])
        assert framing.identity(mechanism).decode() == group["mechanism"]
        for case in group["cases"]:
            for key in ("state", "state_after"):
                state = bytes.fromhex(case[key])
                assert mechanism.restore(state).to_bytes() == state


@pytest.mark.parametrize("name", ["dealt", "deck"])
def test_restored_client_repeats_recorded_reports(name: str) -> None:
    """A dealt card needs no entropy, so the public client must send exactly what was recorded."""
    for kind, group in groups(name):
        mechanism = build(kind, group["parameters"])
        for case in group["cases"]:
            client = mechanism.restore(bytes.fromhex(case["state_after"]))
            assert [str(client.report(round)) for round in case["rounds"]] == case["reports"]


def test_rare_branches_are_in_the_vectors() -> None:
    """Redrawn zero vectors and rejected words take extra entropy; nothing else in these groups does."""
    for name, words_per_report in (("deck", 0), ("innerproduct", 1)):
        for _, group in groups(name):
            given = group["parameters"]
            slots, size = given["slots"], -(-given["bits"] // 8)
            plain = {
                case["label"]: len(case["entropy"]) // 2
                - slots * (size + 8)
                - 8 * words_per_report * len(case["rounds"])
                for case in group["cases"]
            }
            for label, surplus in plain.items():
                if "zero vector redrawn" in label:
                    assert surplus >= size
                if "slot redrawn" in label:
                    assert surplus >= 8
    labels = [case["label"] for name in NAMES for _, group in groups(name) for case in group["cases"]]
    assert sum("zero vector redrawn" in label for label in labels) == 10
    assert sum("slot redrawn" in label for label in labels) == 3
    assert sum("sum redrawn" in label for label in labels) == 5
    assert sum("lie redrawn" in label for label in labels) == 1


def test_vectors_have_wide_answers_of_every_kind() -> None:
    """Width 2 and 3, kept and fresh; the first list of a "sum redrawn" is one that no report may have."""
    widths = {
        name: {group["parameters"].get("base", group["parameters"]).get("width", 1) for _, group in groups(name)}
        for name in ("deck", "fading", "fresh", "innerproduct", "memoized")
    }
    assert all(found >= {1, 2, 3} for found in widths.values()), widths
    for _, group in groups("innerproduct"):
        for case in group["cases"]:
            if "sum redrawn" in case["label"]:
                bits, width = group["parameters"]["bits"], group["parameters"]["width"]
                tape = Tape(bytes.fromhex(case["entropy"]))
                assert 0 in sums_of([tape.nonzero_vector(bits) for _ in range(width)])


def sums_of(vectors: list[int]) -> set[int]:
    """Of one vector or more."""
    some = itertools.product((0, 1), repeat=len(vectors))
    return {xor(v for v, taken in zip(vectors, c, strict=True) if taken) for c in some if any(c)}
