"""The files and the sent bytes are what they were, to the byte."""

import hashlib
import hmac
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.client import vectors
from untrackable.client.ledger import Ledger
from untrackable.client.private_folder import Folder, framed, unframed
from untrackable.client.round_keys import Ratchet
from untrackable.client.saved_state import State
from untrackable.protocol.campaign import Campaign

CASES = json.loads(vectors.PLACE.read_text(encoding="utf-8"))
COINS = json.loads(vectors.COINS.read_text(encoding="utf-8"))


def test_vectors_are_reproduced() -> None:
    assert vectors.vectors() == CASES
    assert vectors.wipes() == json.loads(vectors.WIPES.read_text(encoding="utf-8"))
    assert vectors.answers() == json.loads(vectors.ANSWERS.read_text(encoding="utf-8"))
    assert vectors.coins() == COINS


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: str(json.loads(case["campaign"])["mechanism"]["mechanism"])
)
def test_files_of_the_vectors_are_read(case: Any, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "c")
    for file in (case["made"], case["steps"][-1]["file"]):
        (folder.path / f"{case['id']}.state").write_bytes(bytes.fromhex(file))
        held = State.read(folder, case["id"])
        assert held is not None
        assert held.value == case["value"]
    ledger = Ledger.from_content(unframed(bytes.fromhex(case["ledger"]), "it"))
    assert ledger.accounts[case["id"]].campaign == Campaign.from_bytes(case["campaign"].encode())
    assert (ledger.folder_mark, ledger.count, ledger.time) == ("12:3:456", 7, 1_800_000_000)
    assert framed(ledger.content()).hex() == case["ledger"]


def test_keys_follow_from_the_entropy_as_documented() -> None:
    """By hand, as somebody would in another language: name, key, then SHA-256 after SHA-256."""
    case = CASES[1]
    entropy = bytes.fromhex(case["entropy"])
    made = unframed(bytes.fromhex(case["made"]), "it")
    assert made["life"] == entropy[:16].hex()
    key = entropy[16:48]
    assert made["key"] == key.hex()
    for _ in range(2):
        key = hashlib.sha256(b"untrackable/next" + key).digest()
    step = case["steps"][0]
    assert step["round"] == 3
    body = bytes.fromhex(step["body"])
    assert body[5:21] == hmac.digest(key, b"nonce" + bytes(8), "sha256")[:16]
    share = int.from_bytes(hmac.digest(key, b"moment" + bytes(8), "sha256")[:8], "big") / 2**64
    assert step["moment"] == pytest.approx(1_800_000_000 + 86_400 * (2 + 0.05 + 0.9 * share), abs=1e-3)
    after = unframed(bytes.fromhex(step["file"]), "it")
    assert after["key"] == hashlib.sha256(b"untrackable/next" + key).hexdigest()
    assert after["round"] == 4


def test_a_changed_answer_draws_from_what_is_fresh_as_documented() -> None:
    case = CASES[1]
    before = unframed(bytes.fromhex(case["steps"][-1]["file"]), "it")
    after = unframed(bytes.fromhex(case["changed"]), "it")
    assert before["fresh"] == ""
    assert bytes.fromhex(after["fresh"]) == bytes.fromhex(case["entropy"])[48:80]
    assert after["key"] == before["key"]
    ratchet = Ratchet(bytes.fromhex(after["key"]), 5, bytes.fromhex(after["fresh"]))
    expected = hmac.digest(ratchet.key, b"noise" + bytes(8) + ratchet.fresh, "sha256")
    assert ratchet.entropy("noise")(32) == expected
    assert ratchet.moment() == replace(ratchet, fresh=b"").moment()


def drawn_below(limit: int, key: bytes) -> tuple[int, int]:
    """The coin's integer by hand, and how many numbers it took."""
    size = 8 if limit <= 2**64 else 16
    stream = b"".join(hmac.digest(key, b"coin" + n.to_bytes(8, "big"), "sha256") for n in range(16))
    numbers = [int.from_bytes(stream[i : i + size], "big") for i in range(0, len(stream), size)]
    usable = 2 ** (8 * size) - 2 ** (8 * size) % limit
    tries = next(i for i, number in enumerate(numbers) if number < usable)
    return numbers[tries] % limit, tries + 1


@pytest.mark.parametrize("case", COINS, ids=lambda case: str(case["participation"]))
def test_coins_are_tossed_as_documented(case: Any) -> None:
    """By hand: HMAC-SHA-256 of the round's key, integers of 8 or 16 bytes, and those too large are redrawn."""
    numerator, _, denominator = case["participation"].partition("/")
    key, answered, most = bytes.fromhex(case["key"]), [], 0
    for round in range(1, case["rounds"] + 1):
        drawn, tries = drawn_below(int(denominator or 1), key)
        most = max(most, tries)
        if drawn < int(numerator):
            answered.append(round)
        key = hashlib.sha256(b"untrackable/next" + key).digest()
    assert answered == case["answered"]
    assert (most > 1) == (denominator == "9223372036854775837")
    assert len(answered) > 0


def test_a_changed_answer_does_not_toss_another_coin() -> None:
    for case in COINS:
        for fresh in (b"", bytes(32), bytes(range(32))):
            ratchet = Ratchet(bytes.fromhex(case["key"]), 1, fresh)
            rounds = range(1, case["rounds"] + 1)
            found = [n for n in rounds if ratchet.at(n).answers(Fraction(case["participation"]))]
            assert found == case["answered"]
