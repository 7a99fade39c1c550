"""Where this machine is attached to the network: never sent, and kept only as a keyed digest.

The same bytes seen from two networks would link them, so a report is sent again only from where it was sent first.
Two networks may give out the same private address; the hardware address of the router tells them apart.
"""

import hashlib
import hmac
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_KEY = 16
_ROUTES, _NEIGHBOURS = Path("/proc/net/route"), Path("/proc/net/arp")


@dataclass(frozen=True, slots=True, repr=False)
class Attachment:
    """A description of the attachment, and whether it tells this one from every other."""

    description: str
    certain: bool

    def digest(self) -> tuple[bytes, bytes] | None:
        """A random key and a digest under it, for the disk; None where nothing is certain."""
        return self._keyed(os.urandom(_KEY)) if self.certain else None

    def matches(self, stored: tuple[bytes, bytes] | None) -> bool:
        """Whether this is where a digest was made."""
        return self.certain and stored is not None and self._keyed(stored[0])[1] == stored[1]

    def _keyed(self, key: bytes) -> tuple[bytes, bytes]:
        return key, hmac.digest(key, self.description.encode(), hashlib.sha256)


Look = Callable[[str, int], Attachment]
"""The attachment through which a host and port are reached."""


def look(host: str, port: int) -> Attachment:
    """The local address towards a host, its interface, and the hardware address of the router, where known."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)  # sends nothing: only the route is looked up
            local = str(probe.getsockname()[0])
    except OSError:
        return Attachment("", certain=False)
    if local == "::1" or local.startswith("127."):
        return Attachment("this machine", certain=True)
    router = _router()
    return Attachment(f"{local} {router}", certain=router is not None and family == socket.AF_INET)


def _router() -> str | None:
    """Interface and hardware address of the default route (Linux)."""
    try:
        routes = [line.split() for line in _ROUTES.read_text(encoding="ascii").splitlines()[1:]]
        neighbours = [line.split() for line in _NEIGHBOURS.read_text(encoding="ascii").splitlines()[1:]]
    except (OSError, ValueError):
        return None
    for route in routes:
        if len(route) > 2 and route[1] == "00000000":
            gateway = socket.inet_ntoa(bytes.fromhex(route[2])[::-1])
            for entry in neighbours:
                if len(entry) > 5 and entry[0] == gateway and entry[5] == route[0] and entry[2] != "0x0":
                    return f"{route[0]} {entry[3]}"
    return None
