"""Encodings of strings by hashes: into 2^d buckets, or by prefixes so that unknown strings can be found.

`HashedStrings` gives the frequencies of known candidates from those of their buckets. `DiscoveredStrings` hashes a
few prefixes; `untrackable.discover` finds the frequent strings from estimates of these hashes. Encoding needs no
arrays.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from untrackable import checks
from untrackable.encodings import encoding
from untrackable.randomizers.randomness import STEP, WORD, mixed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from untrackable.estimation.estimate import Estimate
    from untrackable.mechanisms.deck import Dealt
    from untrackable.mechanisms.string_levels import Levelled


Encoded = TypeVar("Encoded")
LONGEST = 1 << 20
"""The largest value of `longest`, in characters."""


class _SaltedStrings(encoding.Encoding):
    """Strings that are hashed under a public salt, so that no encoded value is one string."""

    __slots__ = ()

    @classmethod
    def fresh(cls, **parameters: Any) -> Self:
        """Make an encoding with these parameters and a new random salt."""
        return cls(**{**parameters, "salt": encoding.fresh_salt()})

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        return cls(**encoding.parse_salt(parameters))

    def decode(self, value: int) -> str:
        return self.label(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedStrings(_SaltedStrings):
    """Encodes a string as the first `bits` bits of SHA-256(n ‖ salt ‖ string). The byte n is the salt's length.

    The string is UTF-8 in Unicode's composed form (NFC) and may be empty. A string of more than `longest`
    characters (code points) is refused (`too_long="error"`) or cut (`too_long="truncate"`). The salt is public and
    the same for everyone. It must be random and independent of people's values, because the intervals of
    `candidates` rely on that.
    """

    bits: int = field()
    salt: bytes
    longest: int
    too_long: encoding.TooLong = "error"

    kind = "hashed-strings"

    def __post_init__(self) -> None:
        encoding.check_hash_parameters(self.salt, self.too_long)
        checks.settle(
            self,
            bits=checks.integer("bits", self.bits, low=1, high=encoding.LARGEST_BITS),
            longest=checks.integer("longest", self.longest, low=1, high=LONGEST),
        )

    @property
    def values(self) -> int:
        return 1 << self.bits

    def encode(self, raw: Any) -> int:
        text = encoding.normalise("string", raw)
        if len(text) > self.longest:
            if self.too_long == "error":
                raise ValueError(f"string must have at most {self.longest} characters; the given one has more")
            text = text[: self.longest]
        digest = hashlib.sha256(bytes([len(self.salt)]) + self.salt + text.encode()).digest()
        return int.from_bytes(digest) >> (8 * len(digest) - self.bits)

    def _encode_each(self, raws: Iterable[Any]) -> list[int]:
        """Encode many strings, but hash each different string only once."""
        return list(_each_once(self.encode, raws))

    def label(self, value: int) -> str:
        return f"bucket {self._value(value):0{-(-self.bits // 4)}x}"

    def describe(self) -> str:
        longer = encoding.too_long_words(self.too_long)
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
        The result's `beta` is three times that of the estimate.
        """
        from untrackable.encodings.known_strings import estimate_candidates

        return estimate_candidates(self, estimate, strings, of)


# --- strings that nobody listed beforehand, by hashes of some of their prefixes ---------------------------

LONGEST_DISCOVERED = 255
"""The largest number of symbols of a string."""
MOST_LEVELS = 16
"""The largest number of hashed prefixes."""
LARGEST_BUCKET_BITS = 26
"""The largest width of one hash, in bits."""
LARGEST_STEP = 1 << 24
"""The largest number of ways to continue a prefix of one level to the next. A search has to try all of them."""
_DOMAIN = b"untrackable discovered strings 1"
"""Goes into every hash key, so that these hashes differ from any other use of the salt."""
_END = 0
"""The symbol that marks the end of a string shorter than `longest`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredStrings(_SaltedStrings):
    """Encodes a string by hashes of a few of its prefixes, `bucket_bits` bits each, with the first hash lowest.

    A string is a sequence of symbols: its characters, which must be in `alphabet`, or the bytes of its UTF-8 if the
    alphabet is empty. `prefixes` lists the length that each level hashes. The last level hashes all, `longest`.
    Repeat that one, because a second hash confirms the whole string. Strings are brought into Unicode's composed
    form (NFC). A string of more than `longest` symbols is refused (`too_long="error"`) or cut at a whole character
    (`"truncate"`). Characters outside the alphabet are refused (`unknown="error"`) or left out (`"omit"`). A string
    of fewer than `shortest` symbols is always refused.
    """

    longest: int
    prefixes: Sequence[int]
    salt: bytes
    alphabet: str = ""
    shortest: int = 0
    bucket_bits: int = 20
    too_long: encoding.TooLong = "error"
    unknown: Literal["error", "omit"] = "error"
    keys: tuple[int, ...] = field(init=False, repr=False, compare=False)

    kind = "discovered-strings"

    def __post_init__(self) -> None:
        encoding.check_hash_parameters(self.salt, self.too_long)
        checks.choice("unknown", self.unknown, ("error", "omit"))
        longest = checks.integer("longest", self.longest, low=1, high=LONGEST_DISCOVERED)
        checks.settle(
            self,
            longest=longest,
            shortest=checks.integer("shortest", self.shortest, low=0, high=longest),
            bucket_bits=checks.integer("bucket_bits", self.bucket_bits, low=1, high=LARGEST_BUCKET_BITS),
            alphabet=_alphabet(self.alphabet),
        )
        checks.settle(self, prefixes=self._prefix_lengths())
        keys = (
            hashlib.sha256(_DOMAIN + bytes([len(self.salt)]) + self.salt + bytes([i])).digest()
            for i in range(self.levels + 1)
        )
        checks.settle(self, keys=tuple(int.from_bytes(key[:8]) for key in keys))

    def _prefix_lengths(self) -> tuple[int, ...]:
        if isinstance(self.prefixes, (str, bytes)) or not isinstance(self.prefixes, Sequence):
            raise TypeError("prefixes must be a list of lengths")
        lengths = tuple(checks.integer("prefixes", length, low=1, high=self.longest) for length in self.prefixes)
        if not 1 <= len(lengths) <= MOST_LEVELS:
            raise ValueError(f"prefixes must be 1 to {MOST_LEVELS} lengths, got {len(lengths)}")
        rising = all(a < b or b == self.longest for a, b in pairwise(lengths))
        if lengths[-1] != self.longest or not rising:
            raise ValueError(
                f"prefixes must rise to longest, {self.longest}, and may repeat only that, got {list(lengths)}"
            )
        widest = max(b - a for a, b in pairwise((0, *lengths)))
        if self.symbols**widest > LARGEST_STEP:
            raise ValueError(
                f"prefixes must be closer together: a search can try {LARGEST_STEP} continuations of a prefix, "
                f"and {self.symbols}^{widest} are too many"
            )
        for level, length in enumerate(lengths, 1):
            if self.symbols**length > 1 << self.bucket_bits * level:
                raise ValueError(
                    f"bucket_bits must be large enough to tell prefixes apart: there are {self.symbols}^{length} "
                    f"prefixes and only 2^({self.bucket_bits}·{level}) combinations of buckets"
                )
        return lengths

    @property
    def levels(self) -> int:
        """The number of hashed prefixes."""
        return len(self.prefixes)

    @property
    def symbols(self) -> int:
        """The number of different symbols."""
        return len(self.alphabet) or 256

    @property
    def values(self) -> int:
        return 1 << (self.levels * self.bucket_bits)

    def encode(self, raw: Any) -> int:
        """The hashes of the string's prefixes as one integer. The first prefix has the lowest bits."""
        return sum(bucket << self.bucket_bits * i for i, bucket in enumerate(self.buckets(raw)))

    def buckets(self, raw: Any) -> tuple[int, ...]:
        """The hash of each prefix."""
        return self._hashed(self._symbols(raw))

    def length(self, raw: Any) -> int:
        """The number of symbols of the string as it is hashed."""
        return len(self._symbols(raw))

    def prepared_text(self, raw: Any) -> str:
        """The string as it is hashed: in composed form, cut, and without omitted characters."""
        return self.text([number - 1 for number in self._symbols(raw)]) or ""

    def text(self, symbols: Iterable[int]) -> str | None:
        """The string of these symbols, 0 … symbols-1, or None for bytes that are not UTF-8."""
        if self.alphabet:
            return "".join(self.alphabet[symbol] for symbol in symbols)
        try:
            return bytes(symbols).decode()
        except UnicodeDecodeError:
            return None

    def local(self, eps: float) -> "Levelled":
        """The local mechanism for encoded strings, to be wrapped in `Fresh(…)`, `Dealt(…, slots)` and similar."""
        from untrackable.mechanisms.inner_product import NoisyInnerProduct
        from untrackable.mechanisms.string_levels import Levelled

        return Levelled(NoisyInnerProduct(bits=self.bucket_bits, eps=eps), self.levels)

    def deck(self, *, slots: int, eps: float, delta: float) -> "Dealt":
        """A deck of reports of encoded strings. All its reports together are (eps, delta)-private for ever."""
        from untrackable.mechanisms.budget import best_base
        from untrackable.mechanisms.deck import Dealt
        from untrackable.mechanisms.string_levels import Levelled

        base = best_base(bits=self.bucket_bits, slots=slots, eps=eps, delta=delta, accounting="exact")
        return Dealt(Levelled(base, self.levels), slots)

    def encode_many(self, raws: "Iterable[Any] | NDArray[Any]") -> "NDArray[np.uint64]":
        """Encode many strings for simulation. The hashes of each string's prefixes are along a new last axis."""
        import numpy as np

        if isinstance(raws, (str, bytes)):
            raise TypeError("raws must be a collection of values, not one string")
        array = raws if isinstance(raws, np.ndarray) else None
        rows = list(_each_once(self.buckets, raws if array is None else array.ravel().tolist()))
        shape = (len(rows),) if array is None else array.shape
        return np.array(rows, dtype=np.uint64).reshape(*shape, self.levels)

    def label(self, value: int) -> str:
        value, digits = self._value(value), -(-self.bucket_bits // 4)
        mask = (1 << self.bucket_bits) - 1
        return "buckets " + " ".join(
            f"{value >> self.bucket_bits * i & mask:0{digits}x}" for i in range(self.levels)
        )

    def describe(self) -> str:
        of = f"characters of {self.alphabet!r}" if self.alphabet else "bytes of UTF-8"
        size = f"{self.longest}" if self.shortest == self.longest else f"{self.shortest} to {self.longest}"
        longer = encoding.too_long_words(self.too_long)
        dropped = "left out" if self.unknown == "omit" else "refused"
        others = f", other characters {dropped}" if self.alphabet else ""
        lengths = ", ".join(map(str, self.prefixes))
        return (
            f"a string of {size} {of}, by its first {lengths}, each hashed into 2^{self.bucket_bits} buckets under "
            f"the public salt {self.salt.hex()}; a longer one is {longer}{others}"
        )

    def _symbols(self, raw: Any) -> list[int]:
        """The string's symbols, numbered from 1."""
        text = encoding.normalise("string", raw)
        if self.alphabet:
            places = {character: i + 1 for i, character in enumerate(self.alphabet)}
            if self.unknown == "omit":
                text = "".join(character for character in text if character in places)
            elif any(character not in places for character in text):
                raise ValueError("string must consist of characters of the alphabet; the given one has others")
            numbers = [places[character] for character in text]
        else:
            numbers = [byte + 1 for byte in text.encode()]
        if len(numbers) > self.longest:
            if self.too_long == "error":
                raise ValueError(f"string must have at most {self.longest} {self._unit()}; the given one has more")
            kept = self.longest
            while not self.alphabet and numbers[kept] - 1 & 0xC0 == 0x80:
                kept -= 1  # Do not cut within a character.
            numbers = numbers[:kept]
        if len(numbers) < self.shortest:
            raise ValueError(f"string must have at least {self.shortest} {self._unit()}; the given one has fewer")
        return numbers

    def _unit(self) -> str:
        return "characters" if self.alphabet else "bytes"

    def _hashed(self, numbers: list[int]) -> tuple[int, ...]:
        """Hash each prefix by mixing its symbols into a word. The end of a short string is mixed in as well."""
        sequence = numbers if len(numbers) == self.longest else [*numbers, _END]
        state, done, hashes = self.keys[0], 0, []
        for length, key in zip(self.prefixes, self.keys[1:], strict=True):
            for number in sequence[done:length]:
                state = mixed(state + STEP * (number + 1) & WORD)
            done = length
            hashes.append(mixed(state ^ key) >> 64 - self.bucket_bits)
        return tuple(hashes)


def _each_once(encode: Callable[[Any], Encoded], raws: Iterable[Any]) -> Iterator[Encoded]:
    """The encoding of each raw value. Equal strings are encoded once."""
    known: dict[str, Encoded] = {}
    for raw in raws:
        if not isinstance(raw, str):
            raise TypeError("string must be a string")
        if raw not in known:
            known[raw] = encode(raw)
        yield known[raw]


def _alphabet(given: object) -> str:
    # Each character stands alone here, so that there is no word around a joiner.
    alphabet = encoding.check_characters("alphabet", encoding.normalise("alphabet", given), joiners=True)
    if alphabet != given:
        raise ValueError("alphabet must be in Unicode's composed form (NFC)")
    if len(set(alphabet)) < len(alphabet):
        raise ValueError("alphabet must not have a character twice")
    if len(alphabet) == 1:
        raise ValueError("alphabet must have at least 2 characters, or be empty for the bytes of UTF-8")
    return alphabet
