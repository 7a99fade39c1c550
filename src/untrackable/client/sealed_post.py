"""Sends sealed reports through a relay. The relay cannot read them, and the collector does not see who sent them.

A report is sealed anew for every attempt, always to the same length, with a public key that the campaign lists. It
goes to the relay and nowhere else. Only the collector's gateway can open it, and only this client can open the
answer: an answer that does not open counts as none, whatever its status.
"""

from collections.abc import Callable, Sequence
from typing import Any

from untrackable import strict_json
from untrackable.client.http_exchange import ExchangeFailed, Head
from untrackable.client.http_post import TIMEOUT, Address, Ready, Reply, connected, request_head, retry_seconds
from untrackable.errors import CampaignRefused, SealingError
from untrackable.oblivious.binary_http import BinaryRequest, BinaryResponse
from untrackable.oblivious.key_config import KeyConfig
from untrackable.protocol.campaign import check_id
from untrackable.protocol.wire import round_of
from untrackable.web_address import WebAddress, is_this_machine

AUTHORITY = b"collector.invalid"
"""The collector's name in every sealed request. Its real name could have been made for one person."""
UNKNOWN_KEY = "https://iana.org/assignments/http-problem-types#ohttp-key"
"""The problem type of a gateway that does not have the key (RFC 9458, section 5.3)."""
_LARGEST_ANSWER = 1 << 14
_ASKED_TO_RETRY = (429, 503)

KeysFrom = Callable[[int], Sequence[bytes]]
"""The key configurations for a round: its own, and then the ones that the campaign lists after it."""


def relay_address(relay: str, collector: Address) -> Address:
    """The address of a relay, which must be https (http on this machine) and not at the collector's host."""
    found = WebAddress.parse("relay", relay)
    if found.host == collector.host and not (is_this_machine(found.host) and found.port != collector.port):
        raise ValueError("relay must not be the collector: whoever runs both knows who sent which report")
    return Address(found.scheme, found.host, found.port, found.path or "/")


class SealedPost:
    """The way of a campaign's reports through a relay. It is called as `http_post.post` is, with a relay's address.

    If the gateway does not have the key that a report was sealed with, the next attempt uses the next listed key.
    That is remembered for this report only, because later reports would otherwise be recognised by their key.
    """

    def __init__(self, campaign: str, keys_from: KeysFrom, *, collector: Address, timeout: float = TIMEOUT) -> None:
        from untrackable.oblivious import sealing  # It needs an extra, and says so before a report is made.

        self._sealing: Any = sealing
        self._path = f"/campaigns/{check_id(campaign)}/reports".encode()
        self._keys_from, self._collector, self._timeout = keys_from, collector, timeout
        self._refused: tuple[bytes, int] = (b"", 0)
        """The last report for which a key was refused, and the number of its keys that were."""

    def __call__(self, relay: Address, body: bytes, ready: Ready) -> Reply:
        """Seal a report and send it to the relay once, over a connection of its own."""
        fields = ((b"content-type", b"application/octet-stream"),)
        request = BinaryRequest(b"POST", b"https", AUTHORITY, self._path, fields, body)
        sealed = self._sealing.seal_request(self._key(body), request.to_bytes())
        head = request_head(relay, self._sealing.REQUEST_MEDIA_TYPE, len(sealed.body))
        try:
            with connected(relay, self._timeout) as exchange:
                if exchange.certified_for(self._collector.host):
                    raise CampaignRefused(
                        "the relay has a certificate for the collector's name, so it is the collector's: "
                        "nothing was sent; choose a relay that somebody else runs"
                    )
                if not ready(*exchange.addresses()):
                    return Reply(None)
                found = exchange.ask(head + sealed.body)
                content = exchange.content(found, _LARGEST_ANSWER)
        except ExchangeFailed:
            return Reply(None)
        if _media_type(found) == self._sealing.ANSWER_MEDIA_TYPE:
            return _opened(sealed, content)
        if _is_unknown_key(found, content):
            self._refused = (body, self._refusals(body) + 1)
        return Reply(None, _delay(found))

    def _key(self, body: bytes) -> KeyConfig:
        keys = self._keys_from(round_of(body))
        return KeyConfig.from_bytes(keys[min(self._refusals(body), len(keys) - 1)])

    def _refusals(self, body: bytes) -> int:
        return self._refused[1] if self._refused[0] == body else 0


def _opened(sealed: Any, content: bytes) -> Reply:
    """The collector's reply, or none if this is not its answer to this request."""
    try:
        answer = BinaryResponse.from_bytes(sealed.open_answer(content))
    except SealingError:
        return Reply(None)
    given = dict(answer.fields).get(b"retry-after")
    return Reply(answer.status, retry_seconds(None if given is None else given.decode("latin-1")))


def _is_unknown_key(head: Head, content: bytes) -> bool:
    """Whether this is the problem of a gateway that does not have the key.

    A relay could claim it too. Nothing is lost by believing it, because every listed key is the gateway's.
    """
    if _media_type(head) != "application/problem+json":
        return False
    try:
        problem = strict_json.parse(content)
    except ValueError:
        return False
    return isinstance(problem, dict) and problem.get("type") == UNKNOWN_KEY


def _delay(head: Head) -> float | None:
    """The delay that the relay asks for if it is busy. Anything else that it says by itself is ignored."""
    return retry_seconds(head.header("retry-after")) if head.status in _ASKED_TO_RETRY else None


def _media_type(head: Head) -> str:
    return (head.header("content-type") or "").partition(";")[0].strip().lower()
