"""How often each address sends in a stretch of time, without keeping any address.

The counts are in a table of fixed size in memory. A place in it is a hash of the address with a random key, which
is forgotten together with all counts when the time is over. So the table tells nothing about earlier times, and
without the key nothing about addresses. Addresses that share a place share its limit. That is rare among 65,536
places.
"""

import secrets
import socket
import time
from array import array
from collections.abc import Callable
from hashlib import blake2b

from starlette.requests import Request

_PLACES = 1 << 16
_KEY_BYTES = 16
_NETWORK_BITS = 64
_MAPPED = bytes(10) + b"\xff\xff"
"""What an IPv4 address begins with that is written as one of IPv6."""


class SenderCounts:
    """The number of requests from each address in the present minute, or in as many seconds."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic, *, seconds: float = 60.0) -> None:
        self._most, self._clock, self._seconds = most, clock, seconds
        self._renew()

    def allows(self, address: str) -> bool:
        """Count a request, and say whether the address may send it."""
        if not 0 <= self._clock() - self._since < self._seconds:
            self._renew()
        place = int.from_bytes(blake2b(sender(address), digest_size=2, key=self._key).digest(), "little")
        if self._counts[place] >= self._most:
            return False
        self._counts[place] += 1
        return True

    def _renew(self) -> None:
        """Forget all counts and the key."""
        self._since, self._key = self._clock(), secrets.token_bytes(_KEY_BYTES)
        self._counts = array("L", bytes(array("L").itemsize * _PLACES))


def sender(address: str) -> bytes:
    """One sender: an IPv4 address, or the network of an IPv6 address, all of which one household has."""
    address = address.partition("%")[0]
    try:
        packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    except (OSError, ValueError):
        return address.encode()
    return packed[len(_MAPPED) :] if packed.startswith(_MAPPED) else packed[: _NETWORK_BITS // 8]


def sender_address(request: Request, header: str | None) -> str:
    """The sender's address, which is used to count and for nothing else.

    A proxy adds it to a header as the last one, so addresses before it are of the sender's own making.
    """
    address = "" if header is None else ",".join(request.headers.getlist(header)).rpartition(",")[2].strip()
    if address:
        return address
    return "" if request.client is None else request.client.host
