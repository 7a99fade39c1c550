"""Strings from no list at all, by the hashes of a few of their prefixes: a server finds the frequent ones."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

from untrackable import checks
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.normal_text import normal
from untrackable.encodings.salt import TooLong, check_hashed, fresh_salt, too_long_words, with_salt
from untrackable.mechanisms.splitmix import STEP, WORD, mixed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from untrackable.mechanisms.local.string_levels import Levelled
    from untrackable.mechanisms.wrappers.dealt import Dealt

LONGEST = 255
MOST_LEVELS = 16
LARGEST_BUCKET_BITS = 26
LARGEST_STEP = 1 << 24
"""Prefixes that may differ from one level to the next, and so have to be tried for each that is looked into."""

_DOMAIN = b"untrackable discovered strings 1"
_END = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredStrings(Encoding):
    """One hash into 2^bucket_bits for each of a few prefixes, side by side, that of the first prefix lowest.

    A string is a sequence of symbols: its characters, which must be in `alphabet`, or with no alphabet the bytes of
    its UTF-8. `prefixes` says how many symbols each level looks at. The last looks at all, `longest`; it is well to
    have two of these, under different hashes, so that the whole string is confirmed and not only its beginning.
    Strings are taken in Unicode's composed form (NFC). One of more than `longest` symbols is refused
    (`too_long="error"`) or cut there (`"truncate"`, at a whole character), characters that are not in the alphabet
    are refused (`unknown="error"`) or left out (`"omit"`), one of fewer than `shortest` symbols is always refused.
    """

    longest: int
    prefixes: Sequence[int]
    salt: bytes
    alphabet: str = ""
    shortest: int = 0
    bucket_bits: int = 20
    too_long: TooLong = "error"
    unknown: Literal["error", "omit"] = "error"
    keys: tuple[int, ...] = field(init=False, repr=False, compare=False)

    kind = "discovered-strings"

    def __post_init__(self) -> None:
        check_hashed(self.salt, self.too_long)
        checks.choice("unknown", self.unknown, ("error", "omit"))
        longest = checks.integer("longest", self.longest, low=1, high=LONGEST)
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
                f"prefixes must rise to longest, {self.longest}, and may repeat it, got {list(lengths)}"
            )
        widest = max(b - a for a, b in pairwise((0, *lengths)))
        if self.symbols**widest > LARGEST_STEP:
            raise ValueError(
                f"prefixes must differ by so little that no more than {LARGEST_STEP} have to be tried for each: "
                f"{self.symbols}^{widest} are too many"
            )
        for level, length in enumerate(lengths, 1):
            if self.symbols**length > 1 << self.bucket_bits * level:
                raise ValueError(
                    f"bucket_bits must be enough to tell prefixes apart: {self.symbols}^{length} of them are more "
                    f"than 2^({self.bucket_bits}·{level}) choices of buckets"
                )
        return lengths

    @classmethod
    def fresh(cls, **parameters: Any) -> Self:
        """With a new salt, from the operating system's entropy, and otherwise the same parameters."""
        return cls(salt=fresh_salt(), **parameters)

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        return cls(**with_salt(parameters))

    @property
    def levels(self) -> int:
        """How many prefixes are hashed."""
        return len(self.prefixes)

    @property
    def symbols(self) -> int:
        """How many symbols there are."""
        return len(self.alphabet) or 256

    @property
    def values(self) -> int:
        """2^(levels·bucket_bits)."""
        return 1 << (self.levels * self.bucket_bits)

    def encode(self, raw: Any) -> int:
        """The hashes of the string's prefixes as one integer, that of the first prefix lowest."""
        return sum(bucket << self.bucket_bits * i for i, bucket in enumerate(self.buckets(raw)))

    def buckets(self, raw: Any) -> tuple[int, ...]:
        """The hash of each prefix."""
        return self._hashed(self._symbols(raw))

    def length(self, raw: Any) -> int:
        """How many symbols the string has, once cut."""
        return len(self._symbols(raw))

    def taken(self, raw: Any) -> str:
        """What is left of the string: in composed form, cut, and without what is left out."""
        return self.text([number - 1 for number in self._symbols(raw)]) or ""

    def text(self, symbols: Iterable[int]) -> str | None:
        """The string of these symbols, 0 … symbols-1; none for bytes that are no UTF-8."""
        if self.alphabet:
            return "".join(self.alphabet[symbol] for symbol in symbols)
        try:
            return bytes(symbols).decode()
        except UnicodeDecodeError:
            return None

    def local(self, eps: float) -> "Levelled":
        """The local mechanism for what is encoded: as `Fresh(…)`, `Dealt(…, slots)` and the like take it."""
        from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
        from untrackable.mechanisms.local.string_levels import Levelled

        return Levelled(NoisyInnerProduct(bits=self.bucket_bits, eps=eps), self.levels)

    def deck(self, *, slots: int, eps: float, delta: float) -> "Dealt":
        """A deck of such reports, all of them together (eps, delta)-private for ever."""
        from untrackable.mechanisms.inner_product.budget import best_base
        from untrackable.mechanisms.local.string_levels import Levelled
        from untrackable.mechanisms.wrappers.dealt import Dealt

        base = best_base(bits=self.bucket_bits, slots=slots, eps=eps, delta=delta, accounting="exact")
        return Dealt(Levelled(base, self.levels), slots)

    def encode_many(self, raws: "Iterable[Any] | NDArray[Any]") -> "NDArray[np.uint64]":
        """The hashes of each of many, along a last axis, one for each level, as simulation takes them."""
        import numpy as np

        if isinstance(raws, (str, bytes)):
            raise TypeError("raws must be a collection of values, not one string")
        array = raws if isinstance(raws, np.ndarray) else None
        known: dict[str, tuple[int, ...]] = {}
        found = []
        for raw in raws if array is None else array.ravel().tolist():
            buckets = known.get(raw) if isinstance(raw, str) else None
            if buckets is None:
                buckets = known[raw] = self.buckets(raw)
            found.append(buckets)
        shape = (len(found),) if array is None else array.shape
        return np.array(found, dtype=np.uint64).reshape(*shape, self.levels)

    def decode(self, value: int) -> str:
        """The label: hashes cannot be turned back into a string. `untrackable.discover` finds frequent strings."""
        return self.label(value)

    def label(self, value: int) -> str:
        """The hashes of the prefixes, in hexadecimal, the first prefix first."""
        value, digits = self._value(value), -(-self.bucket_bits // 4)
        mask = (1 << self.bucket_bits) - 1
        return "buckets " + " ".join(
            f"{value >> self.bucket_bits * i & mask:0{digits}x}" for i in range(self.levels)
        )

    def describe(self) -> str:
        """Symbols, levels, salt and what does not fit."""
        of = f"characters of {self.alphabet!r}" if self.alphabet else "bytes of UTF-8"
        size = f"{self.longest}" if self.shortest == self.longest else f"{self.shortest} to {self.longest}"
        longer = too_long_words(self.too_long)
        dropped = "left out" if self.unknown == "omit" else "refused"
        others = f", other characters {dropped}" if self.alphabet else ""
        lengths = ", ".join(map(str, self.prefixes))
        return (
            f"a string of {size} {of}, by its first {lengths}, each hashed into 2^{self.bucket_bits} buckets under "
            f"the public salt {self.salt.hex()}; a longer one is {longer}{others}"
        )

    def _symbols(self, raw: Any) -> list[int]:
        """Symbols from 1 on."""
        text = normal("string", raw)
        if self.alphabet:
            places = {character: i + 1 for i, character in enumerate(self.alphabet)}
            if self.unknown == "omit":
                text = "".join(character for character in text if character in places)
            elif any(character not in places for character in text):
                raise ValueError("string must consist of characters of the alphabet; the one given has others")
            numbers = [places[character] for character in text]
        else:
            numbers = [byte + 1 for byte in text.encode()]
        if len(numbers) > self.longest:
            if self.too_long == "error":
                raise ValueError(f"string must have at most {self.longest} {self._unit()}; the one given has more")
            kept = self.longest
            while not self.alphabet and numbers[kept] - 1 & 0xC0 == 0x80:
                kept -= 1  # not within a character
            numbers = numbers[:kept]
        if len(numbers) < self.shortest:
            raise ValueError(f"string must have at least {self.shortest} {self._unit()}; the one given has fewer")
        return numbers

    def _unit(self) -> str:
        return "characters" if self.alphabet else "bytes"

    def _hashed(self, numbers: list[int]) -> tuple[int, ...]:
        """Every symbol is mixed into a word, and so is an end that comes before `longest`."""
        sequence = numbers if len(numbers) == self.longest else [*numbers, _END]
        state, done, found = self.keys[0], 0, []
        for length, key in zip(self.prefixes, self.keys[1:], strict=True):
            for number in sequence[done:length]:
                state = mixed(state + STEP * (number + 1) & WORD)
            done = length
            found.append(mixed(state ^ key) >> 64 - self.bucket_bits)
        return tuple(found)


def _alphabet(given: object) -> str:
    alphabet = normal("alphabet", given)
    if alphabet != given:
        raise ValueError("alphabet must be in Unicode's composed form (NFC)")
    if len(set(alphabet)) < len(alphabet):
        raise ValueError("alphabet must not have a character twice")
    if len(alphabet) == 1:
        raise ValueError("alphabet must have at least 2 characters, or none for the bytes of UTF-8")
    return alphabet
