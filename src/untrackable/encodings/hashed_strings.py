"""Strings from no list, hashed into 2^d buckets; the frequencies of known candidates follow from the buckets'."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from untrackable import checks
from untrackable.encodings.encoding import LARGEST_BITS, Encoding
from untrackable.encodings.normal_text import normal
from untrackable.encodings.salt import TooLong, check_hashed, fresh_salt, too_long_words, with_salt

if TYPE_CHECKING:
    from untrackable.estimation.aggregators import Estimate

LONGEST = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedStrings(Encoding):
    """The first `bits` bits of SHA-256(n ‖ salt ‖ string), most significant first; the byte n is the salt's length.

    The string is UTF-8, in Unicode's composed form (NFC), and may be empty. One of more than `longest` characters
    (code points) is refused (`too_long="error"`) or cut there (`too_long="truncate"`). The salt is public and the
    same for everyone, drawn at random and not to suit what people hold: error bars of `candidates` are over it.
    """

    bits: int = field()
    salt: bytes
    longest: int
    too_long: TooLong = "error"

    kind = "hashed-strings"

    def __post_init__(self) -> None:
        check_hashed(self.salt, self.too_long)
        checks.settle(
            self,
            bits=checks.integer("bits", self.bits, low=1, high=LARGEST_BITS),
            longest=checks.integer("longest", self.longest, low=1, high=LONGEST),
        )

    @classmethod
    def fresh(cls, *, bits: int, longest: int, too_long: TooLong = "error") -> Self:
        """With a new salt, from the operating system's entropy."""
        return cls(bits=bits, salt=fresh_salt(), longest=longest, too_long=too_long)

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        return cls(**with_salt(parameters))

    @property
    def values(self) -> int:
        """2^bits buckets."""
        return 1 << self.bits

    def encode(self, raw: Any) -> int:
        """The bucket that the string is hashed into."""
        text = normal("string", raw)
        if len(text) > self.longest:
            if self.too_long == "error":
                raise ValueError(f"string must have at most {self.longest} characters; the one given has more")
            text = text[: self.longest]
        digest = hashlib.sha256(bytes([len(self.salt)]) + self.salt + text.encode()).digest()
        return int.from_bytes(digest) >> (8 * len(digest) - self.bits)

    def _encode_each(self, raws: Iterable[Any]) -> list[int]:
        """Each different string is hashed once."""
        known: dict[str, int] = {}
        found = []
        for raw in raws:
            bucket = known.get(raw) if isinstance(raw, str) else None
            if bucket is None:
                bucket = known[raw] = self.encode(raw)
            found.append(bucket)
        return found

    def decode(self, value: int) -> str:
        """The bucket's label, since many strings share it."""
        return self.label(value)

    def label(self, value: int) -> str:
        """The bucket, in hexadecimal."""
        return f"bucket {self._value(value):0{-(-self.bits // 4)}x}"

    def describe(self) -> str:
        """Buckets, salt and limit."""
        longer = too_long_words(self.too_long)
        return (
            f"a string, hashed into 2^{self.bits} buckets under the public salt {self.salt.hex()}; "
            f"one of more than {self.longest} characters is {longer}"
        )

    def grouped(self, strings: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """The strings by the bucket that they share, in order: no estimate tells those of a group apart."""
        groups: dict[int, list[str]] = {}
        for string in strings:
            groups.setdefault(self.encode(string), []).append(string)
        return tuple(tuple(group) for group in groups.values())

    def candidates(
        self, estimate: "Estimate", strings: Sequence[str | Sequence[str]], *, of: Sequence[int] | None = None
    ) -> "Estimate":
        """Frequencies of known strings, in their order, from those of buckets; others' collisions are taken out.

        `estimate` is of all 2^bits buckets, or of the encoded values `of`. An entry of `strings` may be a group
        that shares a bucket (`grouped`) and is estimated together; others that share one are refused by name. The
        answer's `beta` is three times that of the estimate. See `untrackable.encodings.known_strings`.
        """
        from untrackable.encodings.known_strings import estimate_candidates

        return estimate_candidates(self, estimate, strings, of)
