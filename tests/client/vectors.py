"""Golden vectors of the client: files and sent bytes, coins, wipes, answers; `make vectors` writes them.

The entropy of a new state is SHA-256 of a label in counter mode; all that follows is determined by it. Files, keys
and bodies are hexadecimal; moments are seconds since 1970. They are in tests/vectors/client.
"""

import json
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from untrackable.accounting.charged_rounds import ChargedRounds
from untrackable.client.account import Account
from untrackable.client.life import Life

from tests.client.samples import campaign
from tests.vectors.make import stream
from untrackable.client.ledger import Ledger
from untrackable.client.membership import Member
from untrackable.client.private_folder import Folder, framed
from untrackable.client.round_keys import SIZE, Ratchet
from untrackable.client.saved_state import State
from untrackable.encodings.bit import Bit
from untrackable.encodings.categories import Categories
from untrackable.encodings.choices import Choices
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.number_ranges import Buckets, IntegerRange
from untrackable.encodings.record import Record
from untrackable.mechanisms.entropy import Recorded
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.faded import Faded
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.local.one_bit_mean import OneBitMean
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.crowd_declaration import CrowdGuarantee, Gateway, GatewayKey
from untrackable.strict_json import canonical
from untrackable.theory.attendance import Attendance

PLACE = Path(__file__).parent.parent / "vectors" / "client" / "lives.json"
COINS = PLACE.with_name("coins.json")
WIPES = PLACE.with_name("wipes.json")
ANSWERS = PLACE.with_name("answers.json")
FIXED = {"values": "fixed", "tracking_delta": 1}
OFTEN = Attendance(Fraction(1, 2))
STORED = InnerProduct(bits=4, slots=100, eps_report=0.05)
FEATURES = Choices(names=["search", "export", "é"])
STARTS = Buckets(edges=[0, 50, 200, 1000], above="separate", unit="ms")
VISIT = Record(
    attributes={"browser": Categories(names=["Firefox", "Safari"], unknown="other"), "start": STARTS, "new": Bit()},
    tables=[["browser", "start"], ["new"]],
)


def in_a_crowd(asked: Campaign) -> Campaign:
    """The same campaign, which relies on a crowd of a thousand people, and has two gateway keys."""
    ciphers = bytes.fromhex("000400010001")
    keys = [
        GatewayKey(bytes([number, 0, 32]) + stream(f"gateway/{number}", 32) + ciphers, first)
        for number, first in ((7, 1), (8, 4))
    ]
    crowd = CrowdGuarantee(eps=1.5, delta=1e-6, people=1000)
    return replace(asked, guarantee=replace(asked.guarantee, crowd=crowd), gateway=Gateway(tuple(keys)))


PERCENT = IntegerRange(low=0, high=100)


def about(encoding: Encoding, *, slots: int, eps: float) -> Dealt:
    """A deck of reports about the tables that an encoding asks for."""
    assert encoding.asked is not None
    return Dealt(Views(bits=encoding.bits, views=encoding.asked.views, eps=eps), slots)


CASES = [
    (campaign(Deck(bits=4, slots=5, eps_report=0.25), rounds=5, eps=2), 11, [1, 2, 5]),
    (campaign(Fading(bits=10, eps=1.0, delta=1e-6, scale=0.125), rounds=None), 777, [3, 4]),
    (campaign(InnerProduct(bits=3, slots=2, eps_report=0.25), rounds=9, **FIXED), 5, [2, 7]),
    (campaign(Bitwise(eps_state=0.5, eps_report=0.25), rounds=9, **FIXED), 1, [1, 9]),
    (in_a_crowd(campaign(Deck(bits=4, slots=5, eps_report=3.0), rounds=5, eps=9, attendance=OFTEN)), 6, [2, 5]),
    (campaign(about(FEATURES, slots=4, eps=1.0), encoding=FEATURES, rounds=4, eps=4), 5, [1, 3]),
    (campaign(about(VISIT, slots=4, eps=1.0), encoding=VISIT, rounds=4, eps=4), 22, [2, 3]),
    (campaign(Dealt(Views.prefixes(bits=2, eps=1.0), 4), encoding=STARTS, rounds=4, eps=4), 3, [1, 4]),
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
    held.write(opened, asked.id)
    file = folder / f"{asked.id}.state"
    member, steps, made = Member(asked, opened), [], file.read_bytes().hex()
    for number in rounds:
        moment = member._moment(held.ratchet.at(number))
        held = held.answered(asked, number)
        held.write(opened, asked.id)
        assert held.prepared is not None
        steps.append(
            {"round": number, "moment": moment, "body": held.prepared.body.hex(), "file": file.read_bytes().hex()}
        )
    listed = Ledger({}, "12:3:456", 7, 1_800_000_000).joined(asked, Life(held.life, 1, asked.rounds, 0))
    ledger = listed.marked(asked.id, rounds[-1]).attempted(asked.id, rounds[0])
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


FRACTIONS = [
    "1",
    "1/20",
    "3/7",
    # With 8 bytes, nearly half of the numbers are redrawn.
    "2305843009213693951/9223372036854775837",
    # This one takes 16 bytes.
    "7654321098765432109/98765432109876543211",
]
ROUNDS = 60


def coin(participation: str) -> dict[str, Any]:
    """The rounds that are answered with a key: in all campaigns of this participation."""
    ratchet = Ratchet(stream(f"coin/{participation}", SIZE), 1)
    answered = [n for n in range(1, ROUNDS + 1) if ratchet.at(n).answers(Fraction(participation))]
    return {"participation": participation, "key": ratchet.key.hex(), "rounds": ROUNDS, "answered": answered}


def coins() -> list[dict[str, Any]]:
    """A key of round 1 for each fraction, and which of the first rounds are answered with it."""
    return [coin(participation) for participation in FRACTIONS]


WIPED = [
    (campaign(Deck(bits=4, slots=9, eps_report=0.25), rounds=9, eps=0.8, attendance=OFTEN, wipes="any"), [4]),
    (
        in_a_crowd(campaign(Deck(bits=4, slots=5, eps_report=3.0), rounds=5, eps=9, attendance=OFTEN, wipes="any")),
        [5],
    ),
    (
        campaign(Bitwise(eps_state=0.5, eps_report=0.25), rounds=9, eps=0.1, attendance=OFTEN, **FIXED, wipes=0),
        [2, 3],
    ),
    (campaign(Bitwise(eps_state=0.5, eps_report=0.25), rounds=9, eps=0.6, attendance=OFTEN, **FIXED, wipes=2), [9]),
    (campaign(STORED, rounds=9, eps=0.1, attendance=OFTEN, **FIXED, wipes=1), [2, 7]),
]
"""Campaigns that say how often storage may be wiped, and the rounds of the lives that a ledger knows."""


def wiped(asked: Campaign, rounds: list[int]) -> dict[str, Any]:
    """What a ledger charges for these lives: deltas at the declared eps and gamma, and recognition."""
    lives, first = [], 1
    for count in rounds:
        lives.append(Life("", first, first + count - 1, 0))
        first += count
    ledger = Ledger({asked.id: Account(asked.to_bytes(), tuple(lives))})
    eps, gamma = asked.guarantee.eps, asked.guarantee.gamma
    return {
        "campaign": asked.to_bytes().decode(),
        "id": asked.id,
        "lives": rounds,
        "delta": ledger.joint.delta_by(eps, ChargedRounds.privacy),
        "tracking_delta": ledger.joint.tracking_delta(gamma),
        "recognition": ledger.joint.recognition(),
    }


def wipes() -> list[dict[str, Any]]:
    """What is charged if storage may be wiped."""
    return [wiped(*case) for case in WIPED]


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
]
"""What people say, for encodings of several answers at once and of numbers."""


def answers() -> list[dict[str, Any]]:
    """Answers and the values that they are encoded as. Encodings are texts, as in documents."""
    return [
        {"encoding": canonical(encoding.to_json()).decode(), "answer": raw, "value": encoding.encode(raw)}
        for encoding, raws in TOLD
        for raw in raws
    ]


if __name__ == "__main__":
    PLACE.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
    WIPES.write_text(json.dumps(wipes(), indent=1) + "\n", encoding="utf-8")
    ANSWERS.write_text(json.dumps(answers(), indent=1) + "\n", encoding="utf-8")
    COINS.write_text(json.dumps(coins(), indent=1) + "\n", encoding="utf-8")
