"""Addresses of servers that a person gave: checked, and https except on this machine."""

import ipaddress
import re
import urllib.parse
from dataclasses import dataclass

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An address without user, query or fragment. The path does not end with a slash."""

    scheme: str
    host: str
    port: int
    path: str

    @staticmethod
    def parse(name: str, given: str) -> "WebAddress":
        """The address in a text. Errors call it `name`."""
        if not isinstance(given, str):
            raise TypeError(f"{name} must be an address as a text, not {type(given).__name__}")
        try:
            parts = urllib.parse.urlsplit(given)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"{name} must be an address that begins with https://: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{name} must be an address that begins with https://, without ? or #")
        if parts.username is not None:
            raise ValueError(f"{name} must have no user name: reports must not say who sends them")
        if not parts.path.isascii() or not parts.path.isprintable() or " " in parts.path:
            raise ValueError(f"{name} must have a path of plain characters")
        if parts.scheme == "http" and not is_this_machine(parts.hostname):
            raise ValueError(f"{name} must be https; http is only for this machine")
        if not is_host(parts.hostname):
            raise ValueError(f"{name} must have a host of plain characters; write other characters as xn--…")
        if port == 0:
            raise ValueError(f"{name} must have a port between 1 and 65535, got 0")
        usual = 443 if parts.scheme == "https" else 80
        return WebAddress(parts.scheme, parts.hostname, port or usual, parts.path.rstrip("/"))

    @property
    def netloc(self) -> str:
        """The host, and the port if it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"


def is_host(given: str) -> bool:
    """Whether this is a name of plain labels, or an address without a zone."""
    try:
        ipaddress.ip_address(given)
    except ValueError:
        return len(given) <= _LONGEST_NAME and all(_LABEL.fullmatch(label) for label in given.split("."))
    return "%" not in given


def is_this_machine(host: str) -> bool:
    """Whether packets to this host never leave the machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
