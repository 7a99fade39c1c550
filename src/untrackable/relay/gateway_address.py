"""The gateways that a relay forwards to. There is no way to have it forward to anything else."""

import contextlib
import ipaddress
import re
import socket
from dataclasses import dataclass

from untrackable.web_address import WebAddress

WELL_KNOWN = "/.well-known/ohttp-gateway"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True, slots=True)
class GatewayAddress:
    """A gateway: the name that the relay has for it, and where it is."""

    name: str
    server: WebAddress

    @staticmethod
    def parse(given: str) -> "GatewayAddress":
        """The gateway in a text such as `study=https://collect.example`."""
        name, equals, url = given.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise ValueError(
                "gateway must be a name of small letters, digits and dashes, and an address: "
                "study=https://collect.example"
            )
        return GatewayAddress(name, WebAddress.parse(f"gateway {name}", url))

    @property
    def path(self) -> str:
        """The path at which the gateway takes sealed reports, and has its keys."""
        return f"{self.server.path}{WELL_KNOWN}"


def check_not_itself(gateways: tuple[GatewayAddress, ...], bound: socket.socket) -> None:
    """Refuse a gateway that is the relay itself, which listens at a socket."""
    host, port = bound.getsockname()[:2]
    for gateway in gateways:
        if gateway.server.port == port and any(_is_here(found, host) for found in _addresses(gateway.server)):
            raise ValueError(f"gateway {gateway.name} is this relay itself; name the collector's address")


def _addresses(server: WebAddress) -> set[str]:
    with contextlib.suppress(OSError, UnicodeError):
        return {str(found[4][0]) for found in socket.getaddrinfo(server.host, server.port)}
    return set()  # The name may be known later, when the first request comes.


def _is_here(address: str, bound: str) -> bool:
    """Whether connections to an address come to a socket that is bound to another one, or to all."""
    if not ipaddress.ip_address(bound).is_unspecified:
        return address == bound
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as trial, contextlib.suppress(OSError):
        trial.bind((address, 0))  # That works for an address of this machine only.
        return True
    return False
