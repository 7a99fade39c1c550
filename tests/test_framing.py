"""States and sums are recognised by the mechanism's JSON; other formats are refused."""

import hashlib
import zlib

import pytest

from tests.client.samples import campaign
from untrackable import framing
from untrackable.errors import StateError, SumsError
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.local import Fresh, RandomizedResponse
from untrackable.protocol.campaign import Campaign
from untrackable.randomizers.randomness import Entropy

DECK = Deck(bits=2, slots=9, eps_report=0.5, width=1)


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
    asked = campaign(DECK)
    assert framing.identity(DECK) in asked.to_bytes()
    assert framing.identity(Campaign.from_bytes(asked.to_bytes()).mechanism) == framing.identity(DECK)


def test_renaming_a_class_changes_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    now = DECK.client(1).to_bytes()
    monkeypatch.setattr(Deck, "__repr__", lambda self: "CardDeck()")
    assert DECK.restore(now).to_bytes() == now


def test_without_json_it_is_module_class_and_what_is_printed() -> None:
    own = Fresh(Own(eps=1.0))
    assert framing.identity(own) == b"untrackable.mechanisms.local.Fresh " + repr(own).encode()
    state = own.client(1).to_bytes()
    assert own.restore(state).to_bytes() == state
    with pytest.raises(StateError, match="of another mechanism"):
        Fresh(Own(eps=2.0)).restore(state)
    first, second = Printed("first"), Printed("second")
    assert framing.identity(first).startswith(b"tests.test_framing.Printed first")
    assert bytes(framing.unframe_sums(first, framing.frame_sums(Printed("first"), b"x"))) == b"x"
    with pytest.raises(SumsError, match="of another mechanism than second"):
        framing.unframe_sums(second, framing.frame_sums(first, b"x"))


def test_each_refusal_says_what_to_do() -> None:
    now = DECK.client(1).to_bytes()
    for format in (1, 3):
        with pytest.raises(StateError, match=rf"of format {format}, or are damaged; .* reads format 2"):
            DECK.restore(reformed(now, format))
    with pytest.raises(StateError, match="with damage: the checksum"):
        DECK.restore(now[:-1] + bytes([now[-1] ^ 1]))
    with pytest.raises(StateError, match="are not a state, or are truncated"):
        DECK.restore(now[:15])
    with pytest.raises(StateError, match="of another mechanism"):
        Deck(bits=2, slots=8, eps_report=0.5, width=1).restore(now)
