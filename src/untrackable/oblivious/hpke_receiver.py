"""The receiving side of HPKE in base mode (RFC 9180), for a gateway that opens many requests with one key.

pyhpke derives for each request what depends on the key alone, and takes twice as long. Here this is done once. The
curve and the ciphers are pyhpke's, and tests compare all results with it and with the vectors of the RFC.
"""

from hmac import digest

from untrackable.errors import SealingError
from untrackable.extras import extra
from untrackable.oblivious.key_config import AES_128_GCM, X25519, Suite

with extra("oblivious"):
    from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKeyInterface

NONCE_BYTES = 12
_VERSION = b"HPKE-v1"
_BASE_MODE = b"\x00"
_SECRET_BYTES = 32


def key_bytes(suite: Suite) -> int:
    """The number of bytes of the cipher's key, which is above that of its nonce."""
    return 16 if suite.aead == AES_128_GCM else 32


def cipher_suite(suite: Suite) -> CipherSuite:
    """What pyhpke has for a suite."""
    return CipherSuite.new(KEMId(X25519), KDFId(suite.kdf), AEADId(suite.aead))


class HpkeReceiver:
    """Opens what was sealed for one key with one suite and one `info`. HKDF-SHA256 is the only KDF."""

    def __init__(self, secret: KEMKeyInterface, suite: Suite, info: bytes) -> None:
        cipher = cipher_suite(suite)
        self._kem, self._aead, self._private = cipher.kem, cipher.aead, secret.raw
        kem = _VERSION + b"KEM" + _two(X25519)
        self._suite = _VERSION + b"HPKE" + _two(X25519) + _two(suite.kdf) + _two(suite.aead)
        self._agreed = kem + b"eae_prk"
        self._shared = _two(_SECRET_BYTES) + kem + b"shared_secret"
        self._public = secret.raw.public_key().public_bytes_raw() + b"\x01"
        hashed = [digest(b"", self._suite + label, "sha256") for label in (b"psk_id_hash", b"info_hash" + info)]
        context = _BASE_MODE + b"".join(hashed)
        self._secret = self._suite + b"secret"
        self._size = key_bytes(suite)
        self._key = self._expanding(self._size, b"key" + context)
        self._nonce = self._expanding(NONCE_BYTES, b"base_nonce" + context)
        self._exporter = self._expanding(_SECRET_BYTES, b"exp" + context)

    def open(self, encapsulated: bytes, sealed: bytes) -> tuple[bytes, bytes]:
        """The first message that was sealed, and the secret from which `export` derives others."""
        try:
            agreed = self._private.exchange(self._kem.deserialize_public_key(encapsulated).raw)
        except ValueError:
            raise SealingError("a request was sealed with an encapsulated key that cannot be used") from None
        shared = digest(
            digest(b"", self._agreed + agreed, "sha256"), self._shared + encapsulated + self._public, "sha256"
        )
        secret = digest(shared, self._secret, "sha256")
        key = digest(secret, self._key, "sha256")[: self._size]
        nonce = digest(secret, self._nonce, "sha256")[:NONCE_BYTES]
        try:
            content = self._aead.import_key(key).open(sealed, nonce)
        except Exception:  # Its cause says nothing more, and differs between ciphers.
            raise SealingError("the request was not sealed with this gateway's key, or it was altered") from None
        return content, digest(secret, self._exporter, "sha256")

    def export(self, exporter_secret: bytes, context: bytes, size: int) -> bytes:
        """A secret of at most 32 bytes that only the sender and the receiver know."""
        return digest(exporter_secret, self._expanding(size, b"sec" + context), "sha256")[:size]

    def _expanding(self, size: int, label: bytes) -> bytes:
        """What one step of HKDF takes to derive so many bytes, at most 32, for a purpose."""
        return _two(size) + self._suite + label + b"\x01"


def _two(number: int) -> bytes:
    return number.to_bytes(2, "big")
