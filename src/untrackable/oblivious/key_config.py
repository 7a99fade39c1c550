"""Key configurations (RFC 9458, section 3): the public key of a gateway, its number, and how to seal with it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from untrackable import checks
from untrackable.errors import SealingError

X25519 = 0x0020
"""The only way to agree on a key that is supported: DHKEM(X25519, HKDF-SHA256)."""
HKDF_SHA256 = 0x0001
AES_128_GCM = 0x0001
CHACHA20_POLY1305 = 0x0003
PUBLIC_KEY_BYTES = 32
MEDIA_TYPE = "application/ohttp-keys"
"""The media type of a list of key configurations."""


class Suite(NamedTuple):
    """The numbers of a key derivation function and of a cipher, as the IANA registry for HPKE lists them."""

    kdf: int
    aead: int


SUPPORTED = frozenset({Suite(HKDF_SHA256, AES_128_GCM), Suite(HKDF_SHA256, CHACHA20_POLY1305)})


@dataclass(frozen=True, slots=True)
class KeyConfig:
    """A gateway's public key. `suites` are in the gateway's order; everybody uses the first that is supported."""

    id: int
    public_key: bytes
    suites: tuple[Suite, ...] = (Suite(HKDF_SHA256, AES_128_GCM),)

    def __post_init__(self) -> None:
        checks.settle(self, id=checks.integer("id", self.id, low=0, high=255))
        if len(self.public_key) != PUBLIC_KEY_BYTES:
            raise ValueError(f"public_key must have {PUBLIC_KEY_BYTES} bytes, got {len(self.public_key)}")
        if not SUPPORTED & set(self.suites):
            raise ValueError("suites must have AES-128-GCM or ChaCha20-Poly1305 with HKDF-SHA256")

    @property
    def suite(self) -> Suite:
        """The first suite that is supported. Nobody may choose another, because the choice would mark them."""
        return next(suite for suite in self.suites if suite in SUPPORTED)

    def to_bytes(self) -> bytes:
        """The configuration without a length before it."""
        suites = b"".join(suite.kdf.to_bytes(2, "big") + suite.aead.to_bytes(2, "big") for suite in self.suites)
        head = bytes([self.id]) + X25519.to_bytes(2, "big") + self.public_key
        return head + len(suites).to_bytes(2, "big") + suites

    @classmethod
    def from_bytes(cls, data: bytes) -> "KeyConfig":
        """Read a configuration without a length before it. `SealingError` if it is none or is not supported."""
        at = 3 + PUBLIC_KEY_BYTES
        if len(data) < 3 or int.from_bytes(data[1:3], "big") != X25519:
            raise SealingError("a key configuration must be for X25519")
        size = int.from_bytes(data[at : at + 2], "big")
        if len(data) != at + 2 + size or size % 4 or not size:
            raise SealingError("a key configuration is cut off or has leftover bytes")
        numbers = [int.from_bytes(data[i : i + 2], "big") for i in range(at + 2, len(data), 2)]
        try:
            return cls(data[0], data[3:at], tuple(map(Suite, numbers[::2], numbers[1::2])))
        except ValueError as error:
            raise SealingError(f"a key configuration is not supported: {error}") from None


def configs_to_bytes(configs: Iterable[KeyConfig]) -> bytes:
    """A list of key configurations, each with its length before it, as `application/ohttp-keys` has it."""
    written = [config.to_bytes() for config in configs]
    return b"".join(len(each).to_bytes(2, "big") + each for each in written)
