"""Limits what one address may send, without keeping addresses.

The relay counts requests in a table of fixed size. A place in it is a hash of the address with a random key, which
is forgotten after a minute together with all counts. So the table tells nothing about earlier minutes, and without
the key nothing about addresses. Addresses that share a place share its limit. That is rare among 65,536 places.
"""

import ipaddress
import secrets
import time
from array import array
from collections.abc import Callable
from hashlib import blake2b

_PLACES = 1 << 16
_SECONDS = 60.0
_KEY_BYTES = 16
_NETWORK_BITS = 64


class SenderCounts:
    """The number of requests from each address in the present minute."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._renew()

    def allows(self, address: str) -> bool:
        """Count a request, and say whether the address may send it."""
        if not 0 <= self._clock() - self._since < _SECONDS:
            self._renew()
        place = int.from_bytes(blake2b(sender(address), digest_size=2, key=self._key).digest(), "little")
        if self._counts[place] >= self._per_minute:
            return False
        self._counts[place] += 1
        return True

    def _renew(self) -> None:
        """Forget all counts and the key."""
        self._since, self._key = self._clock(), secrets.token_bytes(_KEY_BYTES)
        self._counts = array("L", bytes(array("L").itemsize * _PLACES))


def sender(address: str) -> bytes:
    """One sender: an IPv4 address, or the network of an IPv6 address, all of which one household has."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address.encode()
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return found.ipv4_mapped.packed
        return found.packed[: _NETWORK_BITS // 8]
    return found.packed
