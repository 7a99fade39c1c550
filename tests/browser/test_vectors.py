"""The browser's client does the same as the Python one, to the byte, and its guarantees are the same numbers."""

import gzip
import json
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.browser.built import SHIPPED, SOURCES, ask, build, script
from tests.client.samples import campaign
from untrackable.accounting import client_check
from untrackable.auditing.evidence.client_audit import audit_client
from untrackable.checks import MOST_ROUNDS
from untrackable.client.account import Account
from untrackable.client.ledger import Ledger
from untrackable.client.life import Life
from untrackable.encodings.bit import Bit
from untrackable.encodings.categories import Categories
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.encodings.number_ranges import Buckets, IntegerRange
from untrackable.errors import CampaignError
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.fading import Fading
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.registry import plain
from untrackable.protocol.campaign import Campaign
from untrackable.strict_json import canonical
from untrackable.theory.attendance import Attendance
from untrackable.theory.integer_losses import STEPS, composed

VECTORS = Path(__file__).parent.parent / "vectors"
LARGEST = 6000
"""The promised size of the client in bytes, compressed. Parts that few pages load may be larger."""
LARGEST_JOINING = 8000
LARGEST_CROWD = 12_000
LARGEST_VIEWS = 6500


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return script(tmp_path_factory.mktemp("browser"))


def read(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def test_shipped_files_are_those_of_the_sources_and_are_small(tmp_path: Path) -> None:
    built = build(tmp_path)
    assert built == {path.name: path.read_bytes() for path in SHIPPED.iterdir()}
    sizes = {name.split("-")[0]: len(gzip.compress(content, 9)) for name, content in built.items()}
    assert sizes["untrackable"] <= LARGEST
    assert sizes["joining"] <= LARGEST_JOINING
    assert sizes["crowd"] <= LARGEST_CROWD
    assert sizes["views"] <= LARGEST_VIEWS
    described = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))
    assert "dependencies" not in described


@pytest.mark.parametrize("name", ["deck", "innerproduct", "bitwise"])
def test_states_and_reports(program: Path, name: str) -> None:
    """From entropy to the same state and reports; and from the state's bytes to the same reports."""
    cases = [(group, case) for group in read(f"{name}.json")["groups"] for case in group["cases"]]
    tasks = [
        {"task": "mechanism", **case, "mechanism": group["mechanism"], "state": state}
        for group, case in cases
        for state in (None, case["state"])
    ]
    answers = ask(program, tasks)
    assert len(answers) == 2 * len(cases) > 20
    for i, found in enumerate(answers):
        group, case = cases[i // 2]
        for part in ("state", "reports", "state_after"):
            assert found[part] == case[part], case["label"]
        assert found["thresholds"] == group["thresholds"], case["label"]
        assert found["used"] == len(case["entropy"]) // 2, case["label"]


def test_lives_coins_and_the_wire(program: Path) -> None:
    lives = [case for case in read("client/lives.json") if '"fading"' not in case["campaign"]]
    for case, found in zip(lives, ask(program, [{"task": "life", **case} for case in lives]), strict=True):
        assert found == {"made": case["made"], "changed": case["changed"], "steps": [case["steps"]] * 2}
    coins = read("client/coins.json")
    assert ask(program, [{"task": "coins", **case} for case in coins]) == [case["answered"] for case in coins]
    reports = read("wire/reports.json")["reports"]
    assert ask(program, [{"task": "wire", **case} for case in reports]) == [case["bytes"] for case in reports]


def test_an_audit_confirms_what_a_campaign_claims(program: Path) -> None:
    """As `untrackable audit-client` does it. A claim that is too strong is refuted by the same reports."""
    deck = campaign(Deck(bits=1, slots=4, eps_report=1.0), encoding=Bit(), rounds=4, eps=4, delta=0)
    assert not client_check.recompute(deck).problems
    text = deck.to_bytes().decode()
    tasks = [
        {"task": "streams", "campaign": text, "value": value, "clients": 1000, "rounds": 4} for value in (0, 1)
    ]
    made = dict(enumerate(map(iter, ask(program, tasks))))

    def factory(value: int) -> Callable[[], int]:
        reports = iter(map(int, next(made[value])))
        return lambda: next(reports)

    found = audit_client(factory, [0, 1], reports=4, clients=1000, claimed_eps=4.0, level=1 - 1e-6)
    assert not found.refuted
    assert not found.persists
    assert not found.shares_randomness
    assert found.eps.lower > 0.5
    assert replace(found, claimed_eps=found.eps.lower / 2).refuted


ENCODINGS: list[tuple[Encoding, Sequence[Any]]] = [
    (Bit(), [True, False, 0, 1, 2, None, "yes"]),
    (IntegerRange(low=-3, high=9), [-3, 0, 9, -4, 10, 2.5, "1", True]),
    (IntegerRange(low=-3, high=9, below="separate", above="clamp"), [-3, -4, -(2**53) + 1, 9, 10, 4]),
    (IntegerRange(low=0, high=2**53 - 1, below="clamp", above="separate"), [0, 2**53 - 1, -7, 2**52]),
    (Buckets(edges=[-1.5, 0, 0.1, 7e20]), [-1.5, -1.6, 0, 0.05, 0.1, 7e20, 8e20, "#NaN", "3"]),
    (
        Buckets(edges=[1, 2, 4, 8], below="separate", above="separate", unit="ms"),
        [0.999, 1, 2, 3.999, 8, 8.1, "#Infinity"],
    ),
    (Categories(names=["red", "é", "?", "日本"]), ["red", "e\u0301", "?", "日本", "Red", 7, "\ud800"]),
    (Categories(names=["red"], unknown="other"), ["red", "blue", "other"]),
    (
        HashedStrings(bits=13, salt=bytes(range(16)), longest=4),
        ["", "abcd", "abcde", "e\u0301😀xy", "😀😀😀😀", "\udc00"],
    ),
    (HashedStrings(bits=256, salt=bytes(64), longest=2, too_long="truncate"), ["abc", "😀😀😀", "ab"]),
]


def encoded(encoding: Encoding, raw: Any) -> int | None:
    value = float(raw[1:]) if isinstance(raw, str) and raw.startswith("#") else raw
    try:
        return encoding.encode(value)
    except (TypeError, ValueError):
        return None


def test_encodings(program: Path) -> None:
    pairs = [(encoding, raw) for encoding, raws in ENCODINGS for raw in raws]
    tasks = [{"task": "encode", "encoding": encoding.to_json(), "raw": raw} for encoding, raw in pairs]
    for (encoding, raw), found in zip(pairs, ask(program, tasks), strict=True):
        expected = encoded(encoding, raw)
        if expected is None:
            assert "the answer" in found["refused"]
            shown = str(raw).removeprefix("#")
            assert len(shown) < 2 or shown not in found["refused"]  # nothing private in a message
        else:
            assert found == str(expected), (encoding, raw)


def test_documents_are_written_alike(program: Path) -> None:
    source = random.Random(7)  # noqa: S311
    numbers = [math.ldexp(source.random(), source.randrange(-1000, 1000)) for _ in range(300)]
    numbers += [0, 1, -1, 1e-4, 9.9e-5, 1e-5, 1e15, 1e16, 1e17, 123456.75, 1e22, 5e-324, 1.7e308, 2**53 - 1, 0.1]
    content = {
        "b": [plain(number) for number in numbers],
        "a": ['"\\\n\t\u2028é😀\x7f', None, True, {"z": [], "y": {}}],
        "é": 1,
    }
    texts = [canonical(content).decode()]
    assert ask(program, [{"task": "canonical", "text": text} for text in texts]) == texts


F = Fraction
DECK = Deck.for_budget(bits=4, slots=60, eps=1, delta=1e-6, participation=F(1, 8))
Revealed = tuple[list[tuple[Campaign, list[int | None]]], float, float]
"""Campaigns and the rounds of their states, an eps and a gamma."""


def kept_bit(rounds: int, values: str, gamma: float) -> Revealed:
    mechanism = Bitwise(eps_state=0.5, eps_report=0.25)
    asked = campaign(mechanism, rounds=rounds, values=values, attendance=Attendance(F(1, 5)))
    return [(asked, [rounds])], 0.4, gamma


REVEALED: list[Revealed] = [
    ([(campaign(), [30])], 1.0, 0.0),
    ([(campaign(DECK, attendance=Attendance(F(1, 8)), rounds=60), [60])], 1.0, 0.0),
    (
        [
            (campaign(DECK, attendance=Attendance(F(3, 7), (F(1, 3), F(1, 4), F(1, 5)), 7), rounds=60), [20, 30]),
            (campaign(Deck(bits=2, slots=9, eps_report=0.5, width=2), rounds=9), [2]),
        ],
        2.0,
        0.0,
    ),
    ([(campaign(Deck(bits=4, slots=8, eps_report=0.1, when_empty="replay"), rounds=20), [20])], 1.0, 0.0),
    (
        [
            (
                campaign(
                    InnerProduct(bits=4, slots=100, eps_report=0.05), rounds=9, attendance=Attendance(F(1, 9))
                ),
                [9],
            )
        ],
        0.1,
        0.0,
    ),
    ([(campaign(InnerProduct(bits=8, slots=40, eps_report=0.2), rounds=20, values="fixed"), [20])], 0.5, 0.0),
    ([(campaign(InnerProduct(bits=8, slots=40, eps_report=0.2), rounds=None, values="fixed"), [None])], 0.5, 0.0),
    ([(campaign(InnerProduct(bits=8, slots=3, eps_report=0.2), rounds=3000, values="fixed"), [3000])], 0.5, 0.0),
    *(kept_bit(*given) for given in [(1, "any", 0.0), (3, "fixed", 0.05), (9, "any", 0.1), (260, "fixed", 0.3)]),
    (
        [
            (campaign(Bitwise(eps_state=2, eps_report=1), rounds=9, values="fixed"), [9]),
            (campaign(Bitwise(eps_state=1, eps_report=0.5), rounds=7, values="fixed"), [2, 3]),
        ],
        1.4,
        0.7,
    ),
]


def declaring_wipes(wipes: Any) -> Campaign:
    """A deck that declares wipes."""
    return client_check.declaring_recognition(
        campaign(DECK, attendance=Attendance(F(1, 8)), rounds=60, wipes=wipes)
    )


def test_guarantees_are_the_same_numbers(program: Path) -> None:
    """Privacy, tracking and recognition of one campaign and of several together, as the ledger has them."""
    tasks = [
        {
            "task": "revealed",
            "campaigns": [[asked.to_bytes().decode(), rounds] for asked, rounds in parts],
            "eps": eps,
            "gamma": gamma,
        }
        for parts, eps, gamma in REVEALED
    ]
    for (parts, eps, gamma), found in zip(REVEALED, ask(program, tasks), strict=True):
        accounts = {}
        for asked, rounds in parts:
            lives, first = [], 1
            for count in rounds:
                lives.append(Life("", first, None if count is None else first + count - 1, 0))
                first += count or 0
            accounts[asked.id] = Account(asked.to_bytes(), tuple(lives))
        ledger, step = Ledger(accounts), eps / STEPS
        delta = composed((law for each in accounts.values() for law in each.charged.privacy(step)), step).delta(eps)
        expected = [delta, ledger.joint.tracking_delta(gamma), ledger.joint.recognition()]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-30), parts[0][0].mechanism


def test_wiped_storage_is_charged_alike(program: Path) -> None:
    """The golden vectors: a campaign that declares wipes counts as a whole, with one state more for each."""
    cases = read("client/wipes.json")
    tasks = [
        {
            "task": "revealed",
            "campaigns": [[case["campaign"], case["lives"]]],
            "eps": json.loads(case["campaign"])["guarantee"]["eps"],
            "gamma": json.loads(case["campaign"])["guarantee"]["gamma"],
        }
        for case in cases
    ]
    for case, found in zip(cases, ask(program, tasks), strict=True):
        expected = [case["delta"], case["tracking_delta"], case["recognition"]]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-30)


def test_declared_guarantees_are_confirmed_or_refused(program: Path) -> None:
    """The same verdicts as the Python client's; and a promise that is a little too strong is refused."""
    kept_bit = Bitwise(eps_state=1, eps_report=3)
    laws = [kept_bit.integer_privacy(reports, values="fixed", step=0.5 / STEPS) for reports in (None, 60)]
    for_ever, of_rounds = (law.delta(0.5) for law in laws)
    assert for_ever < of_rounds  # The second is rounded up.
    wiped = client_check.declaring_recognition(
        campaign(
            Bitwise(eps_state=0.5, eps_report=0.25),
            rounds=9,
            eps=1,
            delta=0.0,
            values="fixed",
            tracking_delta=1,
            attendance=Attendance(F(1, 5)),
            wipes=1,
        )
    )
    good = [
        client_check.declaring_recognition(campaign(DECK, attendance=Attendance(F(1, 8)), rounds=60)),
        campaign(
            Deck(bits=4, slots=30, eps_report=0.03125),
            eps=30 * 0.03125,
            delta=0.0,
            encoding=Buckets(edges=[50, 77, 120], unit="ms"),
        ),
        campaign(kept_bit, rounds=60, values="fixed", eps=0.5, delta=for_ever, tracking_delta=1),
        *(declaring_wipes(wipes) for wipes in ("any", 0, 3)),
        wiped,
    ]
    once_more = replace(wiped.guarantee, wipes=2)
    text = good[0].to_bytes().decode()
    declared = good[0].guarantee
    assert declared.recognition is not None
    less = f"{declared.recognition * 0.99:.6g}"
    bad = {
        "delta": text.replace('"delta":1e-06', '"delta":9.9e-07'),
        "recognition": text.replace(f'"recognition":{declared.recognition}', f'"recognition":{less}'),
        "tracking_delta": campaign(InnerProduct(bits=4, slots=9, eps_report=0.01), rounds=9, values="fixed")
        .to_bytes()
        .decode(),
    }
    # Its delta is confirmed for ever only; that must not hide that its tracking is not confirmed.
    kept = replace(good[2], guarantee=replace(good[2].guarantee, tracking_delta=0.01))
    assert len(client_check.recompute(kept).problems) == 1
    bad["delta "] = replace(wiped, guarantee=once_more).to_bytes().decode()
    bad["wipes"] = replace(wiped, guarantee=replace(once_more, wipes="any")).to_bytes().decode()
    for broken in (bad["delta "], bad["wipes"]):
        assert client_check.recompute(Campaign.from_bytes(broken.encode())).problems
    bad["tracking_delta "] = kept.to_bytes().decode()
    strings = HashedStrings(bits=8, salt=bytes(16), longest=9)
    hashed = campaign(Deck(bits=8, slots=30, eps_report=0.05), encoding=strings).to_bytes().decode()
    wrong = {
        "version 1 to 5": text.replace('"version":2}', '"version":3}'),
        "canonical": text.replace('"eps":1,', '"eps":1.0,'),
        "canonical ": text[:-1] + ',"z":1}',
        "JSON": text[:-1],
        "network": text.replace('"one_network":false', '"one_network":true'),
        "encoding": text.replace('"type":"integer-range"', '"type":"discovered-strings"'),
        "mechanism": campaign(Fading(bits=4, eps=1.0, delta=1e-6), rounds=None).to_bytes().decode(),
        "all values": campaign(Deck(bits=1, slots=30, eps_report=0.05), encoding=IntegerRange(low=0, high=3))
        .to_bytes()
        .decode(),
        "valid": text.replace('"slots":60', '"slots":60.5'),
        "valid ": text.replace('"participation":"1/8"', '"participation":"9/8"'),
        "valid  ": text.replace('["1/2","1/2"]', '["1/2","2/3"]'),
        "valid   ": text.replace('["1/2","1/2"]', "2"),
        "valid    ": text.replace('"rounds":60', f'"rounds":{MOST_ROUNDS + 1}'),
        "the encoding      ": hashed.replace('"bits":8,"longest"', '"bits":1000000000,"longest"'),
    }
    for name in ("valid    ", "the encoding      "):
        with pytest.raises(CampaignError):
            Campaign.from_bytes(wrong[name].encode())
    ends = re.search(r'"high":\d+,"low":\d+', text)
    assert ends is not None
    for place, (high, low) in enumerate((("0", "5"), ("-1", "0"), ("3", "3"), ('"3"', "0"), ("3", '"0"'))):
        broken = text.replace(ends[0], f'"high":{high},"low":{low}')
        wrong["the encoding" + " " * place] = broken
        with pytest.raises(CampaignError):
            Campaign.from_bytes(broken.encode())
    tasks = [*(each.to_bytes().decode() for each in good), *bad.values(), *wrong.values()]
    found = ask(program, [{"task": "problem", "campaign": each} for each in tasks])
    assert found[: len(good)] == [None] * len(good)
    for each in good:
        assert not client_check.recompute(each).problems
    for name, words in zip(bad, found[len(good) :], strict=False):
        assert words == f"the campaign's guarantee cannot be confirmed: {name.strip()}"
    for name, words in zip(wrong, found[len(good) + len(bad) :], strict=True):
        assert name.strip() in words
