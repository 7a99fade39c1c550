"""The network that this machine is attached to. It is never sent, and kept only as a keyed digest.

If a report were sent from two networks, an observer could link them. So a report is sent again only from the same
network as before. Two networks may use the same private addresses, but the hardware addresses of their routers
differ.
"""

import fcntl
import hashlib
import hmac
import ipaddress
import os
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

_KEY = 16
_ROUTES, _NEIGHBOURS = Path("/proc/net/route"), Path("/proc/net/arp")
_UP_BY_A_ROUTER = 0x3
_SIOCGIFADDR = 0x8915
_ELSEWHERE = (("203.0.113.1", 9), ("2001:db8::1", 9))
"""Addresses for documentation, which belong to nobody. The route to them is the default route."""


@dataclass(frozen=True, slots=True, repr=False)
class Attachment:
    """A description of the attachment. If it is `certain`, no other attachment has the same one.

    `local` is this machine's address on the connection; "" if it is not known.
    """

    description: str
    certain: bool
    local: str = field(default="", compare=False)

    def digest(self) -> tuple[bytes, bytes] | None:
        """A random key and a digest under it, for the disk; None if the description is not certain."""
        return self._keyed(os.urandom(_KEY)) if self.certain else None

    def matches(self, stored: tuple[bytes, bytes] | None) -> bool:
        """Whether the digest was made at this attachment."""
        return self.certain and stored is not None and self._keyed(stored[0])[1] == stored[1]

    def _keyed(self, key: bytes) -> tuple[bytes, bytes]:
        return key, hmac.digest(key, self.description.encode(), hashlib.sha256)


Look = Callable[[str, int], Attachment]
"""A function that finds the attachment through which a host and port are reached."""


def look(host: str, port: int) -> Attachment:
    """The local address towards a host, its interface, and the hardware address of the router, if known."""
    local = _local(host, port)
    if local is None:
        return Attachment("", certain=False)
    # A program on this machine forwards the connection.
    if _is_loopback(local) and not _is_loopback(host):
        outward = Attachment("", certain=False) if (host, port) in _ELSEWHERE else _outward(look)
        return replace(outward, local=local)
    if _is_loopback(local):
        return replace(_THIS_MACHINE, local=local)
    router = _router(local)
    return Attachment(f"{local} {router}", certain=router is not None, local=local)


def attached(look: Look, host: str, port: int, *, proxied: bool, peer: str | None = None) -> Attachment:
    """The attachment through which a report goes out to a host.

    Once there is a connection, `peer` is the host's address, because a host may have several. A proxy on this
    machine may forward the report through any network, so nothing is certain then.
    """
    attachment = look(peer or host, port)
    forwarded = attachment == _THIS_MACHINE and (proxied or not _is_loopback(host))
    return replace(_outward(look), local=attachment.local) if forwarded else attachment


def default_route(look: Look) -> Attachment:
    """The attachment of the default route."""
    for address in _ELSEWHERE:
        attachment = look(*address)
        if attachment.description:
            return attachment
    return Attachment("", certain=False)


_THIS_MACHINE = Attachment("this machine", certain=True)


def _outward(look: Look) -> Attachment:
    """The attachment of the default route, not certain, because a program on this machine may use another one."""
    return replace(default_route(look), certain=False)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _local(host: str, port: int) -> str | None:
    """The address that connections to a host would come from."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # This sends nothing. It only looks up the route.
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError:
        return None


def _router(local: str) -> str | None:
    """Interface and hardware address of the default route, if its interface has this address (Linux, IPv4)."""
    try:
        routes = [line.split() for line in _ROUTES.read_text(encoding="ascii").splitlines()[1:]]
        neighbours = [line.split() for line in _NEIGHBOURS.read_text(encoding="ascii").splitlines()[1:]]
    except (OSError, ValueError):
        return None
    ways = [
        (int(metric), interface, socket.inet_ntoa(bytes.fromhex(gateway)[::-1]))
        for interface, destination, gateway, flags, _, _, metric, mask, *_ in (r for r in routes if len(r) > 7)
        if destination == mask == "00000000" and int(flags, 16) & _UP_BY_A_ROUTER == _UP_BY_A_ROUTER
    ]
    for _, interface, gateway in sorted(way for way in ways if _address_of(way[1]) == local)[:1]:
        for address, _, flags, hardware, _, device, *_ in (n for n in neighbours if len(n) > 5):
            if address == gateway and device == interface and flags != "0x0":
                return f"{interface} {hardware}"
    return None


def _address_of(interface: str) -> str | None:
    """The first IPv4 address of an interface."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
    except OSError:
        return None
    return socket.inet_ntoa(answer[20:24])
