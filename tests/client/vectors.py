"""Golden vectors of the client: files and sent bytes, turns, answers; `make vectors` writes them.

Those of paths are answers that are given at some times, and the path and the sending time of a round. The entropy
of a new state is SHA-256 of a label in counter mode; all that follows is determined by it. Files, keys
and bodies are hexadecimal. Moments are seconds since 1970, and those of turns are shares of the round. They are in
tests/vectors/client.
"""

import json
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.client.samples import DAY, START, campaign, turns_campaign
from tests.recorded_entropy import Recorded
from tests.vectors.make import stream
from untrackable.client.client import Member
from untrackable.client.folder import Folder, framed
from untrackable.client.ledger import Ledger
from untrackable.client.state import SIZE, LookAnswer, Ratchet, State, noted_look, path_of
from untrackable.encodings.encoding import Bit, Categories, Choices, Encoding
from untrackable.encodings.numbers import Buckets, IntegerRange
from untrackable.encodings.record import Path as AnswerPath
from untrackable.encodings.record import Record
from untrackable.mechanisms.deck import Dealt, Deck
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.fading import Faded, Fading
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.kept_bits import Bitwise
from untrackable.mechanisms.local import OneBitMean, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.stored import InnerProduct
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign, CrowdGuarantee, Gateway, GatewayKey
from untrackable.strict_json import canonical

PLACE = Path(__file__).parent.parent / "vectors" / "client" / "lives.json"
TURNS = PLACE.with_name("turns.json")
ANSWERS = PLACE.with_name("answers.json")
PATHS = PLACE.with_name("paths.json")
FIXED = {"values": "fixed", "tracking_delta": 1}
FEATURES = Choices(names=["search", "export", "é"])
STARTS = Buckets(edges=[0, 50, 200, 1000], above="separate", unit="ms")
VISIT = Record(
    attributes={"browser": Categories(names=["Firefox", "Safari"], unknown="other"), "start": STARTS, "new": Bit()},
    tables=[["browser", "start"], ["new"]],
)


def in_a_crowd(asked: Campaign) -> Campaign:
    """The same campaign, which relies on a crowd of a thousand reports, and has two gateway keys."""
    ciphers = bytes.fromhex("000400010001")
    keys = [
        GatewayKey(bytes([number, 0, 32]) + stream(f"gateway/{number}", 32) + ciphers, first)
        for number, first in ((7, 1), (8, 4))
    ]
    crowd = CrowdGuarantee(eps=1.5, delta=1e-6, reports=1000)
    return replace(asked, guarantee=replace(asked.guarantee, crowd=crowd), gateway=Gateway(tuple(keys)))


PERCENT = IntegerRange(low=0, high=100)
SET = Record(attributes={"smokes": Bit(), "share": PERCENT}, tables=[["smokes"], ["share"]])
SMOKES = AnswerPath(of=Bit(), looks=4)
BROWSERS = AnswerPath(of=Categories(names=["Firefox", "é"], unknown="other"), looks=3)


def about(encoding: Encoding, eps: float, width: int = 1) -> Views:
    """Reports about the tables that an encoding asks for."""
    assert encoding.asked is not None
    return Views(bits=encoding.bits, views=encoding.asked.views, eps=eps, width=width)


CASES = [
    (campaign(Deck(bits=4, slots=5, eps_report=0.25), rounds=5, eps=2), 11, [1, 2, 5]),
    (campaign(Fading(bits=10, eps=1.0, delta=1e-6, scale=0.125), rounds=None), 777, [3, 4]),
    (campaign(InnerProduct(bits=3, slots=2, eps_report=0.25), rounds=9, **FIXED), 5, [2, 7]),
    (campaign(Bitwise(eps_state=0.5, eps_report=0.25), rounds=9, **FIXED), 1, [1, 9]),
    (in_a_crowd(campaign(Deck(bits=4, slots=5, eps_report=3.0), rounds=5, eps=9)), 6, [2, 5]),
    (campaign(Dealt(about(VISIT, 1.0), 4), encoding=VISIT, rounds=4, eps=4), 22, [2, 3]),
    (campaign(Dealt(OneBitMean(values=101, eps=1.0), 4), encoding=PERCENT, rounds=4, eps=4), 33, [1, 2]),
    (
        campaign(
            Faded(local=OneBitMean(values=101, eps=1.0), eps=1.0, delta=1e-6, scale=0.125),
            encoding=PERCENT,
            rounds=None,
        ),
        33,
        [1, 16],
    ),
]


def life(asked: Campaign, value: int, rounds: list[int], folder: Path) -> dict[str, Any]:
    """A state as it is made, and after each of some rounds."""
    material = stream(f"client/{type(asked.mechanism).__name__}", 4096)
    source = Recorded(material)
    opened = Folder(folder)
    held = State.new(asked, value, 1, source)
    assert held is not None
    held.write(opened, asked.id)
    file = folder / f"{asked.id}.state"
    member, steps, made = Member(asked, folder), [], file.read_bytes().hex()
    for number in rounds:
        moment = member._moment(held.ratchet.at(number))
        held = held.answered(asked, number)
        held.write(opened, asked.id)
        assert held.prepared is not None
        steps.append(
            {"round": number, "moment": moment, "body": held.prepared.body.hex(), "file": file.read_bytes().hex()}
        )
    listed = Ledger({}, "12:3:456", 7, 1_800_000_000).joined(asked, 1, held.life)
    ledger = listed.marked(asked.id, rounds[0], tried=True).marked(asked.id, rounds[-1], tried=False)
    changed = None
    if asked.guarantee.values == "any":
        held = held.holding(asked, 2, source)
        held.write(opened, asked.id)
        changed = file.read_bytes().hex()
    return {
        "campaign": asked.to_bytes().decode(),
        "id": asked.id,
        "value": value,
        "entropy": material[: source.used].hex(),
        "made": made,
        "steps": steps,
        "changed": changed,
        "ledger": framed(ledger.content()).hex(),
    }


def vectors() -> list[dict[str, Any]]:
    """All cases."""
    with tempfile.TemporaryDirectory() as folder:
        return [life(*case, folder=Path(folder) / str(i)) for i, case in enumerate(CASES)]


ONE = RandomizedResponse(eps=1.0)
TURN_CASES: list[tuple[Campaign, int, int]] = [
    (turns_campaign(NoisyInnerProduct(bits=4, eps=4.0, width=2), eps=4), 11, 3),
    (turns_campaign(ONE, rounds=52, encoding=Bit()), 1, 0),
    (turns_campaign(ONE, rounds=7, share=Fraction(1, 2), wipes=1, eps=2, encoding=Bit()), 0, 1),
    (turns_campaign(ONE, rounds=3, share=Fraction(1, 3), encoding=Bit()), 1, 0),
    (turns_campaign(ONE, rounds=99_999, share=Fraction(2, 3), encoding=Bit(), round_seconds=7), 1, 0),
    # A share that is hardly ever drawn: no turn.
    (turns_campaign(ONE, rounds=9, share=Fraction(1, 10**18 - 1), encoding=Bit()), 1, 0),
    (turns_campaign(NoisyInnerProduct(bits=10, eps=4.0, width=5), eps=4, rounds=12), 777, 3),
    (turns_campaign(about(FEATURES, 1.0), encoding=FEATURES), 5, 2),
    (turns_campaign(about(VISIT, 1.0), encoding=VISIT, rounds=5), 22, 3),
    (turns_campaign(NoisyInnerProduct(bits=VISIT.bits, eps=1.0), encoding=VISIT), 22, 3),
    (turns_campaign(Views.prefixes(bits=2, eps=1.0), encoding=STARTS), 3, 0),
    (turns_campaign(Divided(sizes=(1, 7), eps=6.0, weights=(2, 3), widths=(1, 3)), encoding=SET, eps=6), 133, 2),
    (turns_campaign(OneBitMean(values=101, eps=1.0), encoding=PERCENT), 33, 34),
    (turns_campaign(SubsetSelection(values=101, eps=1.0), encoding=PERCENT), 100, 0),
    (in_a_crowd(turns_campaign(NoisyInnerProduct(bits=4, eps=4.0, width=2), eps=4, rounds=5)), 6, 7),
    (turns_campaign(about(SMOKES, 4.0, 4), encoding=SMOKES, rounds=3, eps=4), 0b0011, 0b1111),
    (turns_campaign(about(BROWSERS, 1.0), encoding=BROWSERS, rounds=4), 0b100100, 0),
]
"""Campaigns with turns, a value, and another one that it changes to."""


def turn(asked: Campaign, value: int, other: int) -> dict[str, Any]:
    """A client that joins before the first round: its turn and its report, and the one after a changed value."""
    assert asked.turns is not None
    material = stream(f"turn/{asked.id}", 256)
    source = Recorded(material)
    held = State.new(asked, value, 1, source)
    life, key = material[:16], material[16 : 16 + SIZE]
    found: dict[str, Any] = {
        "campaign": asked.to_bytes().decode(),
        "id": asked.id,
        "value": value,
        "entropy": material[:48].hex(),
        "life": life.hex(),
        "key": key.hex(),
        "turn": Ratchet(key, 1).turn(asked.turns),
        "moment": Ratchet(key, 1).moment(),
        "body": None,
        "changed": None,
    }
    if held is None:
        return found
    assert (held.life, held.ratchet) == (life.hex(), Ratchet(key, found["turn"]))
    changed = held.holding(asked, other, source)
    return {
        **found,
        "entropy": material[: source.used].hex(),
        "body": _body(asked, held),
        "changed": {"value": other, "fresh": changed.ratchet.fresh.hex(), "body": _body(asked, changed)},
    }


def _body(asked: Campaign, held: State) -> str:
    prepared = held.answered(asked, held.ratchet.round).prepared
    assert prepared is not None
    return prepared.body.hex()


def turns() -> list[dict[str, Any]]:
    """All turns. The first 48 bytes of entropy are drawn when a client joins, the others when its value changes."""
    return [turn(*case) for case in TURN_CASES]


TOLD: list[tuple[Encoding, list[Any]]] = [
    (FEATURES, [[], ["export"], ["e\u0301", "search", "search"]]),
    (
        VISIT,
        [
            {"browser": "Safari", "start": 199.5, "new": True},
            {"new": 0, "start": 1000, "browser": "Lynx"},
            {"browser": "Firefox", "start": 1001, "new": 1},
        ],
    ),
    (STARTS, [0, 50, 1e9]),
    (PERCENT, [0, 100]),
    (SMOKES, [[True, 0, 0, 1], [0, 0, 0, 0]]),
    (BROWSERS, [["Firefox", "e\u0301", "Lynx"]]),
]
"""What people say, for encodings of several answers at once and of numbers."""


def answers() -> list[dict[str, Any]]:
    """Answers and the values that they are encoded as. Encodings are texts, as in documents."""
    return [
        {"encoding": canonical(encoding.to_json()).decode(), "answer": raw, "value": encoding.encode(raw)}
        for encoding, raws in TOLD
        for raw in raws
    ]


PATH_CASES: list[tuple[Campaign, int, list[tuple[float, Any]]]] = [
    # Within one round: the last answer of each look, and looks without one.
    (TURN_CASES[-2][0], 1, [(-100, 0), (10, 1), (DAY / 4 - 1, 0), (DAY / 2, 1)]),
    # Carried through a round without an answer, and on into the next one.
    (TURN_CASES[-2][0], 3, [(-100, 0), (DAY / 2, 1)]),
    (TURN_CASES[-1][0], 2, [(-5, "Lynx"), (5, "Firefox"), (1.5 * DAY, "é"), (2 * DAY - 1, "Firefox")]),
    # A clock that was ahead: what it noted of later looks goes.
    (TURN_CASES[-1][0], 2, [(-5, "Lynx"), (1.9 * DAY, "Firefox"), (DAY, "é")]),
    # No answer is from before the round: the first one counts before it, too.
    (TURN_CASES[-2][0], 1, [(DAY / 2, 1), (3 * DAY / 4, 0)]),
]
"""Campaigns that ask for paths, a round, and answers with the seconds from the first round to them."""


def answered_path(asked: Campaign, round: int, given: list[tuple[float, Any]], folder: Path) -> dict[str, Any]:
    """The path of a round, from what was said when, and when it is sent by a client with a key of zeros."""
    path = asked.encoding
    assert isinstance(path, AnswerPath)
    looks: tuple[LookAnswer, ...] = ()
    for after, raw in given:
        looks = noted_look(looks, asked, path.of.encode(raw), START + after)
    key = bytes(SIZE)
    return {
        "campaign": asked.to_bytes().decode(),
        "answers": [[START + after, raw] for after, raw in given],
        "round": round,
        "path": path_of(looks, path, round),
        "key": key.hex(),
        "sent": Member(asked, folder)._moment(Ratchet(key, round)),
    }


def paths() -> list[dict[str, Any]]:
    """All cases of paths."""
    with tempfile.TemporaryDirectory() as place:
        return [answered_path(*case, Path(place) / str(i)) for i, case in enumerate(PATH_CASES)]


if __name__ == "__main__":
    PATHS.write_text(json.dumps(paths(), indent=1) + "\n", encoding="utf-8")
    PLACE.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
    TURNS.write_text(json.dumps(turns(), indent=1) + "\n", encoding="utf-8")
    ANSWERS.write_text(json.dumps(answers(), indent=1) + "\n", encoding="utf-8")
