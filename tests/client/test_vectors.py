"""The files and the sent bytes are what they were, to the byte."""

import hashlib
import hmac
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.client import vectors
from untrackable.client.folder import Folder, framed, unframed
from untrackable.client.ledger import Ledger
from untrackable.client.state import Ratchet, State
from untrackable.protocol.campaign import Campaign

CASES = json.loads(vectors.PLACE.read_text(encoding="utf-8"))
TURNS = json.loads(vectors.TURNS.read_text(encoding="utf-8"))


def test_vectors_are_reproduced() -> None:
    assert vectors.vectors() == CASES
    assert vectors.answers() == json.loads(vectors.ANSWERS.read_text(encoding="utf-8"))
    assert vectors.turns() == TURNS
    assert vectors.paths() == json.loads(vectors.PATHS.read_text(encoding="utf-8"))


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


def drawn_below(limit: int, numbers: Iterator[int]) -> int:
    """An integer by hand: numbers of 8 bytes, of which those above the last multiple of the limit are left out."""
    usable = 2**64 - 2**64 % limit
    return next(number for number in numbers if number < usable) % limit


def words(key: bytes, purpose: bytes) -> Iterator[int]:
    """Numbers of 8 bytes by hand: HMAC-SHA-256 of the key, in counter mode."""
    for counter in itertools.count():
        block = hmac.digest(key, purpose + counter.to_bytes(8, "big"), "sha256")
        yield from (int.from_bytes(block[i : i + 8], "big") for i in range(0, 32, 8))


@pytest.mark.parametrize("case", TURNS, ids=lambda case: case["id"][:8])
def test_turns_follow_from_the_entropy_as_documented(case: Any) -> None:
    entropy, document = bytes.fromhex(case["entropy"]), json.loads(case["campaign"])
    key = entropy[16:48]
    assert (case["life"], case["key"]) == (entropy[:16].hex(), key.hex())
    top, _, bottom = document["turns"]["share"].partition("/")
    numbers = words(key, b"turn")
    has_one = drawn_below(int(bottom or 1), numbers) < int(top)
    round = 1 + drawn_below(document["rounds"], numbers)
    assert case["turn"] == (round if has_one else None)
    assert case["moment"] == next(words(key, b"moment")) / 2**64
    for body, fresh in ((case["body"], b""), ((case["changed"] or {}).get("body"), entropy[48:])):
        assert (body is None) == (case["turn"] is None)
        if body is not None:
            sent = bytes.fromhex(body)
            assert int.from_bytes(sent[1:5], "little") == round
            assert sent[5:21] == hmac.digest(key, b"nonce" + bytes(8) + fresh, "sha256")[:16]


def test_some_have_a_turn_and_some_have_none() -> None:
    assert sum(case["turn"] is None for case in TURNS) in range(1, 4)
    assert all(case["changed"]["body"] != case["body"] for case in TURNS if case["turn"] is not None)
