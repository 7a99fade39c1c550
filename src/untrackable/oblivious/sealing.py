"""Sealed requests and answers (RFC 9458, section 4). All requests have one length, and so have all answers.

A client seals a request with the gateway's public key. Only the gateway opens it, and only that client opens the
answer. A relay in between sees a key's number, a length that is always the same, and random bytes.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hmac import digest

from untrackable.errors import GatewayKeyUnknown, SealingError
from untrackable.extras import extra
from untrackable.oblivious.key_config import AES_128_GCM, PUBLIC_KEY_BYTES, SUPPORTED, X25519, KeyConfig, Suite

with extra("crowd"):
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from pyhpke import AEADId, CipherSuite, ContextInterface, KDFId, KEMId, KEMKeyInterface, KEMKeyPair, PyHPKEError
    from pyhpke.aead import AEAD, AEADParams
    from pyhpke.consts import Mode
    from pyhpke.kdf import KDF
    from pyhpke.kem import KEM
    from pyhpke.keys.x25519_key import X25519Key

REQUEST_MEDIA_TYPE = "message/ohttp-req"
ANSWER_MEDIA_TYPE = "message/ohttp-res"
REQUEST_LENGTH = 1024
"""The number of bytes of a request before it is sealed, padded with zeros. Every report fits into it."""
ANSWER_LENGTH = 768
"""The number of bytes of an answer before it is sealed, padded with zeros."""
_HEAD = 7
"""The number of bytes before the encapsulated key: the key's number, and how the request is sealed."""
_TAG = 16
SEALED_LENGTH = _HEAD + PUBLIC_KEY_BYTES + REQUEST_LENGTH + _TAG
"""The number of bytes of every sealed request."""
SEALED_ANSWER_LENGTH = 16 + ANSWER_LENGTH + _TAG
"""The number of bytes of every sealed answer with AES-128-GCM, which all our keys use."""
_REQUEST_INFO, _ANSWER_INFO = b"message/bhttp request", b"message/bhttp response"
_NONCE_BYTES = 12
_SECRET_BYTES = 32
"""The number of bytes of a shared secret, and of what SHA-256 gives at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class SealedRequest:
    """A sealed request, and what opens the answer to it."""

    body: bytes
    _encapsulated: bytes = field(repr=False)
    _suite: Suite = field(repr=False)
    _context: ContextInterface = field(repr=False)

    def open_answer(self, sealed: bytes) -> bytes:
        """The answer as binary HTTP with its padding. `SealingError` if it is not the answer to this request."""
        size = _key_bytes(self._suite)
        if len(sealed) < size + _TAG:
            raise SealingError("a sealed answer is cut off")
        key, nonce = _answer_key(self._suite, self._encapsulated, self._context, sealed[:size])
        try:
            return _cipher(self._suite).aead.import_key(key).open(sealed[size:], nonce)
        except Exception:  # Its cause says nothing more, and differs between ciphers.
            raise SealingError("this is not the answer to the sealed request, or it was altered") from None


class RecipientKey(X25519Key):
    """A gateway's private key, with the bytes of its public key."""

    def __init__(self, secret: bytes) -> None:
        private = X25519PrivateKey.from_private_bytes(secret)
        super().__init__(private)
        self.public_bytes = private.public_key().public_bytes_raw()


@dataclass(frozen=True, slots=True, eq=False)
class OpeningKey:
    """A gateway's private key, with which it opens requests. Its repr shows only what is public."""

    config: KeyConfig
    _secret: RecipientKey = field(repr=False)
    _suites: Mapping[bytes, Suite] = field(repr=False)
    """The ways of sealing, by the first bytes of requests that are sealed in this way with this key."""

    @classmethod
    def from_bytes(cls, id: int, secret: bytes, suites: tuple[Suite, ...] | None = None) -> "OpeningKey":
        """The key with these 32 secret bytes."""
        if len(secret) != PUBLIC_KEY_BYTES:
            raise ValueError(f"a private key must have {PUBLIC_KEY_BYTES} bytes")
        private = RecipientKey(secret)
        public = private.public_bytes
        config = KeyConfig(id, public) if suites is None else KeyConfig(id, public, suites)
        return cls(config, private, {_head(id, suite): suite for suite in config.suites if suite in SUPPORTED})


@dataclass(frozen=True, slots=True, eq=False)
class OpenedRequest:
    """What was in a sealed request, and what seals the answer to it."""

    content: bytes = field(repr=False)
    """The request as binary HTTP with its padding."""
    _encapsulated: bytes = field(repr=False)
    _suite: Suite = field(repr=False)
    _context: ContextInterface = field(repr=False)

    def seal_answer(self, answer: bytes) -> bytes:
        """Seal an answer in binary HTTP. It is padded, so that all sealed answers have one length."""
        padded = _padded(answer, ANSWER_LENGTH, "an answer")
        return _seal_answer(self, padded, os.urandom(_key_bytes(self._suite)))


def seal_request(config: KeyConfig, request: bytes, *, length: int = REQUEST_LENGTH) -> SealedRequest:
    """Seal a request in binary HTTP. It is padded, so that all sealed requests of clients have one length."""
    return _seal_request(config, _padded(request, length, "a request"), None)


def open_request(keys: Mapping[int, OpeningKey], body: bytes) -> OpenedRequest:
    """Open a sealed request with the key that it names. `keys` are by their numbers.

    `GatewayKeyUnknown` if there is no such key, or it is not for sealing in this way. `SealingError` for all else.
    """
    if len(body) < _HEAD + PUBLIC_KEY_BYTES + _TAG:
        raise SealingError("a sealed request is cut off")
    head, encapsulated = body[:_HEAD], body[_HEAD : _HEAD + PUBLIC_KEY_BYTES]
    key = keys.get(head[0])
    suite = None if key is None else key._suites.get(head)
    if key is None or suite is None:
        raise GatewayKeyUnknown("the request is sealed with a key that this gateway does not have")
    try:
        context = _recipient_suite(suite.aead).create_recipient_context(encapsulated, key._secret, info=_info(head))
        content = context.open(body[_HEAD + PUBLIC_KEY_BYTES :])
    except (PyHPKEError, ValueError):
        raise SealingError("the request was not sealed with this gateway's key, or it was altered") from None
    return OpenedRequest(content, encapsulated, suite, context)


def _seal_request(config: KeyConfig, request: bytes, ephemeral: KEMKeyPair | None) -> SealedRequest:
    """Seal a request as it is. The RFC's example gives the ephemeral key; otherwise a new one is drawn."""
    cipher = _cipher(config.suite)
    head = _head(config.id, config.suite)
    try:
        public = cipher.kem.deserialize_public_key(config.public_key)
        encapsulated, context = cipher.create_sender_context(public, info=_info(head), eks=ephemeral)
    except ValueError:
        raise SealingError("the gateway's public key cannot be used") from None
    return SealedRequest(head + encapsulated + context.seal(request), encapsulated, config.suite, context)


def _seal_answer(opened: OpenedRequest, answer: bytes, salt: bytes) -> bytes:
    key, nonce = _answer_key(opened._suite, opened._encapsulated, opened._context, salt)
    return salt + _cipher(opened._suite).aead.import_key(key).seal(answer, nonce)


def _answer_key(suite: Suite, encapsulated: bytes, context: ContextInterface, salt: bytes) -> tuple[bytes, bytes]:
    """The key and the nonce of an answer, by HKDF-SHA256 from what both sides know of the request."""
    size = _key_bytes(suite)
    secret = digest(encapsulated + salt, context.export(_ANSWER_INFO, size), "sha256")
    return digest(secret, b"key\x01", "sha256")[:size], digest(secret, b"nonce\x01", "sha256")[:_NONCE_BYTES]


def _head(id: int, suite: Suite) -> bytes:
    return bytes([id]) + b"".join(number.to_bytes(2, "big") for number in (X25519, *suite))


def _info(head: bytes) -> bytes:
    return _REQUEST_INFO + b"\x00" + head


def _padded(message: bytes, length: int, what: str) -> bytes:
    if len(message) > length:
        raise SealingError(f"{what} must be at most {length} bytes to be sealed, got {len(message)}")
    return message.ljust(length, b"\x00")


def _key_bytes(suite: Suite) -> int:
    """The number of bytes of the cipher's key: more than its nonce has."""
    return 16 if suite.aead == AES_128_GCM else 32


@lru_cache(maxsize=4)
def _cipher(suite: Suite) -> CipherSuite:
    return CipherSuite.new(KEMId(X25519), KDFId(suite.kdf), AEADId(suite.aead))


class _Kdf(KDF):
    """HKDF-SHA256 without an object for every step."""

    def extract(self, salt: bytes, ikm: bytes) -> bytes:
        return digest(salt, ikm, "sha256")

    def expand(self, prk: bytes, info: bytes, length: int) -> bytes:
        if length > _SECRET_BYTES:
            return super().expand(prk, info, length)
        return digest(prk, info + b"\x01", "sha256")[:length]


class _Kem(KEM):
    """DHKEM(X25519, HKDF-SHA256) that does not derive the recipient's public key each time."""

    def __init__(self) -> None:
        super().__init__(KEMId.DHKEM_X25519_HKDF_SHA256)
        self._kdf = _Kdf(KDFId.HKDF_SHA256, b"KEM" + _number(self.id))

    def decap(self, enc: bytes, skr: KEMKeyInterface, pks: KEMKeyInterface | None = None) -> bytes:
        if pks is not None or not isinstance(skr, RecipientKey):
            return super().decap(enc, skr, pks)
        shared = skr.raw.exchange(X25519PublicKey.from_public_bytes(enc))
        return self.extract_and_expand(shared, enc + skr.public_bytes, _SECRET_BYTES)


class RecipientSuite(CipherSuite):
    """X25519 and HKDF-SHA256 with a cipher, for a gateway that opens many requests with the same few keys.

    It finds the same as `pyhpke.CipherSuite` in three quarters of the time: everything that is the same for all
    requests is computed once, and HKDF is left to `hmac.digest`.
    """

    _kdf: _Kdf

    def __init__(self, aead: AEADId) -> None:
        kem = _Kem()
        name = b"HPKE" + _number(kem.id) + _number(KDFId.HKDF_SHA256) + _number(aead)
        super().__init__(kem, _Kdf(KDFId.HKDF_SHA256, name), AEAD(aead))
        self._cached_context = lru_cache(maxsize=256)(self._context)

    def _key_schedule(
        self, mode: Mode, shared_secret: bytes, info: bytes, psk: bytes, psk_id: bytes
    ) -> tuple[KDF, AEADParams]:
        kdf, aead, context = self._kdf, self._aead, self._cached_context(mode, info, psk_id)
        secret = kdf.labeled_extract(shared_secret, b"secret", psk)
        key = kdf.labeled_expand(secret, b"key", context, aead.key_size)
        nonce = kdf.labeled_expand(secret, b"base_nonce", context, aead.nonce_size)
        return kdf, AEADParams(aead, key, nonce, 0, kdf.labeled_expand(secret, b"exp", context, kdf.digest_size))

    def _context(self, mode: Mode, info: bytes, psk_id: bytes) -> bytes:
        """The context of the key schedule (RFC 9180, section 5.1). Nothing of it is secret."""
        hashes = (
            self._kdf.labeled_extract(b"", b"psk_id_hash", psk_id),
            self._kdf.labeled_extract(b"", b"info_hash", info),
        )
        return bytes([mode.value]) + b"".join(hashes)


def _number(id: KEMId | KDFId | AEADId) -> bytes:
    return int(id.value).to_bytes(2, "big")


@lru_cache(maxsize=4)
def _recipient_suite(aead: int) -> RecipientSuite:
    return RecipientSuite(AEADId(aead))
