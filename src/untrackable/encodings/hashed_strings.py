"""Strings hashed into 2^d buckets. The buckets' frequencies give the frequencies of known candidate strings."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from untrackable import checks
from untrackable.encodings.encoding import LARGEST_BITS, Encoding
from untrackable.encodings.normal_text import normalise
from untrackable.encodings.salt import TooLong, check_hash_parameters, fresh_salt, parse_salt, too_long_words

if TYPE_CHECKING:
    from untrackable.estimation.aggregators import Estimate

LONGEST = 1 << 20
"""The largest value of `longest`, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedStrings(Encoding):
    """Encodes a string as the first `bits` bits of SHA-256(n ‖ salt ‖ string). The byte n is the salt's length.

    The string is UTF-8 in Unicode's composed form (NFC) and may be empty. A string of more than `longest`
    characters (code points) is refused (`too_long="error"`) or cut (`too_long="truncate"`). The salt is public and
    the same for everyone. It must be random and independent of people's values, because the intervals of
    `candidates` rely on that.
    """

    bits: int = field()
    salt: bytes
    longest: int
    too_long: TooLong = "error"

    kind = "hashed-strings"

    def __post_init__(self) -> None:
        check_hash_parameters(self.salt, self.too_long)
        checks.settle(
            self,
            bits=checks.integer("bits", self.bits, low=1, high=LARGEST_BITS),
            longest=checks.integer("longest", self.longest, low=1, high=LONGEST),
        )

    @classmethod
    def fresh(cls, *, bits: int, longest: int, too_long: TooLong = "error") -> Self:
        """Make an encoding with these parameters and a new random salt."""
        return cls(bits=bits, salt=fresh_salt(), longest=longest, too_long=too_long)

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        return cls(**parse_salt(parameters))

    @property
    def values(self) -> int:
        """The number of buckets, 2^bits."""
        return 1 << self.bits

    def encode(self, raw: Any) -> int:
        """The bucket that the string is hashed into."""
        text = normalise("string", raw)
        if len(text) > self.longest:
            if self.too_long == "error":
                raise ValueError(f"string must have at most {self.longest} characters; the given one has more")
            text = text[: self.longest]
        digest = hashlib.sha256(bytes([len(self.salt)]) + self.salt + text.encode()).digest()
        return int.from_bytes(digest) >> (8 * len(digest) - self.bits)

    def _encode_each(self, raws: Iterable[Any]) -> list[int]:
        """Encode many strings, but hash each different string only once."""
        known: dict[str, int] = {}
        found = []
        for raw in raws:
            bucket = known.get(raw) if isinstance(raw, str) else None
            if bucket is None:
                bucket = known[raw] = self.encode(raw)
            found.append(bucket)
        return found

    def decode(self, value: int) -> str:
        """The bucket's label, because many strings share a bucket."""
        return self.label(value)

    def label(self, value: int) -> str:
        """The bucket's number in hexadecimal."""
        return f"bucket {self._value(value):0{-(-self.bits // 4)}x}"

    def describe(self) -> str:
        """The number of buckets, the salt and the length limit, in words for people."""
        longer = too_long_words(self.too_long)
        return (
            f"a string, hashed into 2^{self.bits} buckets under the public salt {self.salt.hex()}; "
            f"one of more than {self.longest} characters is {longer}"
        )

    def grouped(self, strings: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """The strings in groups that share a bucket. No estimate can tell the strings of a group apart."""
        groups: dict[int, list[str]] = {}
        for string in strings:
            groups.setdefault(self.encode(string), []).append(string)
        return tuple(tuple(group) for group in groups.values())

    def candidates(
        self, estimate: "Estimate", strings: Sequence[str | Sequence[str]], *, of: Sequence[int] | None = None
    ) -> "Estimate":
        """Frequencies of known strings from an estimate of buckets, corrected for collisions with other strings.

        `estimate` covers all 2^bits buckets, or the encoded values `of`. An entry of `strings` may be a group that
        shares a bucket (`grouped`); it is estimated as a whole. Separate entries that share a bucket are an error.
        The result's `beta` is three times that of the estimate. See `untrackable.encodings.known_strings`.
        """
        from untrackable.encodings.known_strings import estimate_candidates

        return estimate_candidates(self, estimate, strings, of)
