"""States and sums are recognised by the mechanism's JSON; what version 0.1 wrote still opens."""

import hashlib
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from untrackable import estimate_files, framing
from untrackable.collector.rounds.round_export import export_round
from untrackable.collector.stores.records import Round
from untrackable.collector.stores.store_address import open_store
from untrackable.errors import StateError, SumsError
from untrackable.estimation.candidate_sums import CandidateCounts
from untrackable.mechanisms.entropy import Entropy
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.local.randomized_response import RandomizedResponse
from untrackable.mechanisms.registry import from_json
from untrackable.mechanisms.wrappers.fresh import Fresh
from untrackable.protocol.campaign import Campaign

OLD = Path(__file__).parent / "version_0_1"
FRAMES = json.loads((OLD / "frames.json").read_text(encoding="utf-8"))
DECK = Deck(bits=2, slots=9, eps_report=0.5, width=1)


def named(entry: dict[str, Any]) -> str:
    return str(entry["mechanism"]["mechanism"])


def reformed(data: bytes, format: int) -> bytes:
    """The same frame under another format's number, its checksum right."""
    body = data[:3] + bytes([format]) + data[4:-4]
    return body + zlib.crc32(body).to_bytes(4, "big")


class Own(RandomizedResponse):
    """A local mechanism of somebody's own, which has no JSON."""

    def draw(self, value: int, entropy: Entropy) -> int:
        return super().draw(1 - value, entropy)


class Printed:
    """Not even a mechanism; all that is known of it is what it prints."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def test_the_header_is_the_digest_of_the_canonical_json() -> None:
    text = b'{"bits":2,"eps_report":0.5,"mechanism":"deck","slots":9,"when_empty":"stop","width":1}'
    assert framing.identity(DECK) == text
    head = b"UTS\x02" + hashlib.sha256(text).digest()[:8]
    assert framing.frame_state(DECK, b"payload")[:-4] == head + b"payload"
    assert framing.unframe_state(DECK, framing.frame_state(DECK, b"payload")) == b"payload"
    assert framing.frame_sums(DECK, b"pay", b"load")[:4] == b"UTA\x02"
    assert framing.frame_counts(DECK, b"payload")[:4] == b"UTC\x02"


def test_the_text_is_that_of_a_campaign_s_document() -> None:
    """So that a client in another language hashes the bytes that it was sent."""
    campaign = json.loads((OLD / "client.json").read_text(encoding="utf-8"))["campaign"].encode()
    assert framing.identity(Campaign.from_bytes(campaign).mechanism) in campaign


def test_renaming_a_class_changes_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither those that are written now nor those of version 0.1, which hashed what Python printed."""
    now, old = DECK.client(1).to_bytes(), [e for e in FRAMES["states"] if named(e) == "deck"]
    monkeypatch.setattr(Deck, "__repr__", lambda self: "CardDeck()")
    assert DECK.restore(now).to_bytes() == now
    for entry in old:
        from_json(entry["mechanism"]).restore(bytes.fromhex(entry["state"]))


def test_without_json_it_is_module_class_and_what_is_printed() -> None:
    own = Fresh(Own(eps=1.0))
    assert framing.identity(own) == b"untrackable.mechanisms.wrappers.fresh.Fresh " + repr(own).encode()
    state = own.client(1).to_bytes()
    assert own.restore(state).to_bytes() == state
    with pytest.raises(StateError, match="of another mechanism"):
        Fresh(Own(eps=2.0)).restore(state)
    first, second = Printed("first"), Printed("second")
    assert framing.identity(first).startswith(b"tests.test_framing.Printed first")
    assert bytes(framing.unframe_sums(first, framing.frame_sums(Printed("first"), b"x"))) == b"x"
    with pytest.raises(SumsError, match="of another mechanism than second"):
        framing.unframe_sums(second, framing.frame_sums(first, b"x"))


@pytest.mark.parametrize("entry", FRAMES["states"], ids=named)
def test_old_states_open_and_are_saved_in_the_new_format(entry: dict[str, Any]) -> None:
    mechanism, old = from_json(entry["mechanism"]), bytes.fromhex(entry["state"])
    assert old[:4] == b"UTS\x01"
    new = mechanism.restore(old).to_bytes()
    assert new[:4] == b"UTS\x02"
    assert new[12:-4] == old[12:-4]


@pytest.mark.parametrize("entry", FRAMES["sums"], ids=named)
def test_old_sums_open_and_are_saved_in_the_new_format(entry: dict[str, Any]) -> None:
    mechanism, old = from_json(entry["mechanism"]), bytes.fromhex(entry["sums"])
    assert old[:4] == b"UTA\x01"
    sums = mechanism.restore_sums(old, entry["round"])
    assert sums.n == entry["reports"]
    assert sums.to_bytes()[:4] == b"UTA\x02"
    assert sums.to_bytes()[12:-4] == old[12:-4]


def test_old_counts_open() -> None:
    entry = FRAMES["counts"]
    mechanism: Any = from_json(entry["mechanism"])
    counts = CandidateCounts(mechanism.aggregator(), entry["candidates"]).add_saved(bytes.fromhex(entry["counts"]))
    assert counts.n == entry["reports"]
    assert counts.estimate().frequencies.tolist() == entry["frequencies"]
    assert counts.to_bytes()[:4] == b"UTC\x02"


def test_old_frames_of_somebody_s_own_mechanism_open_by_what_it_prints() -> None:
    printed = Printed("Mine(1)")
    body = b"UTS\x01" + hashlib.sha256(b"Mine(1)").digest()[:8] + b"x"
    old = body + zlib.crc32(body).to_bytes(4, "big")
    assert framing.unframe_state(printed, old) == b"x"
    with pytest.raises(StateError, match=r"untrackable 0\.1 wrote, of another mechanism than Mine\(2\)"):
        framing.unframe_state(Printed("Mine(2)"), old)


def test_each_refusal_says_what_to_do() -> None:
    now = DECK.client(1).to_bytes()
    with pytest.raises(StateError, match=r"untrackable 0\.1 wrote, .* read them with the code that"):
        DECK.restore(reformed(now, 1))  # an old frame with a new fingerprint, which nobody wrote
    with pytest.raises(StateError, match=r"of format 3, or are damaged; .* reads formats 1 and 2"):
        DECK.restore(reformed(now, 3))
    with pytest.raises(StateError, match="with damage: the checksum"):
        DECK.restore(now[:-1] + bytes([now[-1] ^ 1]))
    with pytest.raises(StateError, match="are not a state, or are truncated"):
        DECK.restore(now[:15])
    old = next(bytes.fromhex(e["state"]) for e in FRAMES["states"] if named(e) == "deck")
    with pytest.raises(StateError, match="of another mechanism"):
        DECK.restore(old)


# --- whole folders and stores of version 0.1 --------------------------------------------------------------------


def test_an_old_collector_s_store_opens_and_its_rounds_are_estimated(tmp_path: Path) -> None:
    known = json.loads((OLD / "collector.json").read_text(encoding="utf-8"))
    shutil.copy(OLD / "collector.db", tmp_path / "c.db")
    store = open_store(f"sqlite:///{tmp_path}/c.db")  # which examines every round's sums
    try:
        assert [(r.number, r.state, r.reports) for r in store.rounds(known["id"])] == [
            (1, "closed", 300),
            (2, "open", None),
        ]
        stored = store.campaign(known["id"])
        assert stored is not None
        mechanism: Any = Campaign.from_bytes(stored.document).mechanism
        sums = store.sums(Round(known["id"], 1))
        assert sums is not None
        assert sums[:4] == b"UTA\x01"
        found: NDArray[np.float64] = mechanism.restore_sums(sums, 1).estimate().frequencies
        assert found.tolist() == known["frequencies"]
        export_round(store, known["id"], 1, tmp_path / "again.parquet")
    finally:
        store.close()
    for path in (OLD / "round-1.parquet", tmp_path / "again.parquet"):
        (alone,) = estimate_files(path).rounds.values()
        assert alone.frequencies.tolist() == known["frequencies"][: alone.frequencies.size]
