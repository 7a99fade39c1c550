"""The interface of all encodings; what they share: asked tables, shown text, normal form, salt, JSON; and lists.

An encoding is the public rule that turns a person's value into an integer, and integers back into words. It is a
frozen object with nothing secret in it. The rule also says what happens to a value that does not fit: an error, or
a fallback that the encoding declares. Errors never contain the value.

The encodings of answers from a list are here as well: yes or no, one entry, several at once; and presence, which
is no answer.
"""

import importlib
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from untrackable import checks
from untrackable.errors import EncodingError
from untrackable.randomizers.randomness import system
from untrackable.strict_json import plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from untrackable.encodings.record import Path
    from untrackable.estimation.estimate import NumberEdges
    from untrackable.mechanisms.interface import Mechanism


View = tuple[int, ...]
"""Positions of bits of an encoded value, ascending, 0 for the lowest."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One share to estimate: that of people whose `bits` are the number `entry`."""

    label: str
    bits: View
    entry: int


@dataclass(frozen=True, slots=True)
class AskedTable:
    """A table of shares under a name, such as all choices, or one attribute against another."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class AskedTables:
    """The views that reports are about, and the tables that they answer; the first table is the one to show."""

    views: tuple[View, ...]
    tables: tuple[AskedTable, ...]

    @property
    def cells(self) -> int:
        """The number of cells of all tables together."""
        return sum(len(table.cells) for table in self.tables)

    @property
    def shown(self) -> tuple[View, ...]:
        """The bits that tables are of, each once. Cells of the same bits are equally well known."""
        return tuple(dict.fromkeys(cell.bits for table in self.tables for cell in table.cells))

    def named(self, name: str | None) -> AskedTable:
        """The table of that name, or the first one."""
        if name is None:
            return self.tables[0]
        for table in self.tables:
            if table.name == name:
                return table
        if len(self.tables) == 1:
            raise ValueError(f"table must be {self.tables[0].name}, which has every share that was asked for")
        known = "; ".join(table.name for table in self.tables)
        raise ValueError(f"table must be one of: {known}; others were not asked for, so nothing is known of them")


LARGEST_BITS = 256
"""The largest width of an encoded value, in bits."""
_WIDEST_ARRAY = 64
"""Encoded values with more bits than this do not fit into an array of words."""
_HOMES = {
    "bit": "encoding.Bit",
    "integer-range": "numbers.IntegerRange",
    "buckets": "numbers.Buckets",
    "categories": "encoding.Categories",
    "hashed-strings": "strings.HashedStrings",
    "discovered-strings": "strings.DiscoveredStrings",
    "choices": "encoding.Choices",
    "presence": "encoding.Presence",
    "record": "record.Record",
    "path": "record.Path",
}


class Encoding(ABC):
    """Turns a person's raw value into an encoded integer 0 … values-1, and encoded integers into words."""

    __slots__ = ()

    kind: ClassVar[str]
    """The encoding's type in JSON."""
    version: ClassVar[int] = 1
    """The version of the JSON and of the rule. An encoding whose rule changes gets a new version."""

    ordered: ClassVar[bool] = False
    """Whether people answer with numbers, so that mean and quantiles are of interest."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Parameters that JSON leaves out if they are empty."""

    @property
    @abstractmethod
    def values(self) -> int:
        """The number of encoded values, which are the integers 0 … values-1."""

    @property
    def bits(self) -> int:
        """The width d of an encoded value, in bits."""
        return (self.values - 1).bit_length()

    @property
    def path(self) -> "Path | None":
        """This encoding, if it is of the answers in several looks; None if of one answer."""
        return None

    @property
    def asked(self) -> AskedTables | None:
        """The tables that are asked for, if reports are about parts of a value; None if about whole values."""
        return None

    def alone(self) -> "tuple[tuple[str, Encoding], ...]":
        """For each table that reports are about, its name and the encoding of a question about it alone."""
        return ()

    @abstractmethod
    def encode(self, raw: Any) -> int:
        """The integer for a person's raw value."""

    def encode_many(self, raws: "Iterable[Any] | NDArray[Any]") -> "NDArray[np.uint64]":
        """Encode many raw values as an array of the same shape."""
        import numpy as np

        if self.bits > _WIDEST_ARRAY:
            raise ValueError(f"bits must be at most {_WIDEST_ARRAY} for an array, got {self.bits}")
        if isinstance(raws, np.ndarray):
            return self._encode_array(raws)
        if isinstance(raws, (str, bytes)):
            raise TypeError("raws must be a collection of values, not one string")
        return np.array(self._encode_each(raws), dtype=np.uint64)

    def _encode_each(self, raws: Iterable[Any]) -> list[int]:
        return [self.encode(raw) for raw in raws]

    def _encode_array(self, raws: "NDArray[Any]") -> "NDArray[np.uint64]":
        import numpy as np

        return np.array(self._encode_each(raws.ravel().tolist()), dtype=np.uint64).reshape(raws.shape)

    def from_text(self, text: str) -> Any:
        """The raw value that is written as this text, such as the cell of a file."""
        return text

    @abstractmethod
    def decode(self, value: int) -> Any:
        """The raw value that is encoded as this integer, or its label if it stands for several raw values."""

    @abstractmethod
    def label(self, value: int) -> str:
        """A short name of the encoded value for a table or a chart."""

    def numbers(self) -> "NumberEdges":
        """The numbers that each encoded value stands for, in order; an error if values are not numbers."""
        raise ValueError("these values are not numbers, so they have no mean and no quantiles")

    @abstractmethod
    def describe(self) -> str:
        """The question in words, and what happens to values that do not fit."""

    def to_json(self) -> dict[str, Any]:
        """A description from which `from_json` makes an equal encoding."""
        parameters = {field.name: plain(getattr(self, field.name)) for field in fields(self) if field.init}  # type: ignore[arg-type]
        for name in self.optional:
            if not parameters[name]:
                del parameters[name]
        return {"type": self.kind, "version": self.version, **parameters}

    @classmethod
    def _from_parameters(cls, parameters: dict[str, Any]) -> Self:
        return cls(**parameters)

    def _value(self, value: int) -> int:
        return checks.private_integer("value", value, below=self.values)


def from_json(description: Mapping[str, Any]) -> Encoding:
    """The encoding that wrote this description. Anything that `to_json` does not write is an `EncodingError`."""
    if not isinstance(description, Mapping):
        raise EncodingError("an encoding must be a JSON object")
    kind = description.get("type")
    if not isinstance(kind, str) or kind not in _HOMES:
        raise EncodingError(f"type must be one of {', '.join(_HOMES)}")
    module, name = _HOMES[kind].split(".")
    encoding_type: type[Encoding] = getattr(importlib.import_module(f"untrackable.encodings.{module}"), name)
    version = description.get("version")
    if type(version) is not int or version != encoding_type.version:
        raise EncodingError(f"version of {kind} must be {encoding_type.version}")
    wanted = [field.name for field in fields(encoding_type) if field.init]  # type: ignore[arg-type]
    parameters = {key: given for key, given in description.items() if key not in ("type", "version")}
    if missing := [key for key in wanted if key not in {*parameters, *encoding_type.optional}]:
        raise EncodingError(f"{kind} lacks {', '.join(missing)}")
    if unknown := [key for key in parameters if key not in wanted]:
        raise EncodingError(f"{kind} has no field {', '.join(map(repr, unknown))}")
    try:
        encoding = encoding_type._from_parameters(parameters)
    except (TypeError, ValueError) as error:
        raise EncodingError(f"{kind}: {error}") from error
    written = encoding.to_json()
    if changed := [key for key in wanted if written.get(key) != parameters.get(key)]:
        raise EncodingError(f"{kind}: {', '.join(changed)} must be written exactly as `to_json` writes it")
    return encoding


def from_text(encoding: Encoding | None, text: str) -> Any:
    """The value that is written as this text; without an encoding, an integer."""
    return number_from_text(int, text, "an integer") if encoding is None else encoding.from_text(text)


def number_from_text(kind: type[int] | type[float], text: str, what: str) -> int | float:
    """A number. The error does not show the private text."""
    try:
        return kind(text)
    except ValueError:
        pass  # Its message contains the private text, and an error raised here would keep it as its context.
    raise ValueError(f"value must be {what}; the given one (not shown) is not")


def check_room(mechanism: "Mechanism", encoding: Encoding) -> None:
    """Refuse an encoding with more values than a mechanism takes."""
    if not mechanism.has_room_for(encoding.values):
        raise ValueError(
            f"the encoding has {encoding.values} values, the mechanism has room for {mechanism.capacity}"
        )


# --- text that people are shown: no characters that move a cursor, end a line or turn text ----------------

_HIDDEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
"""Categories of Unicode: controls, invisible formatting, private use, half surrogates, line and paragraph ends."""
_NON_JOINER, _JOINER = "\u200c", "\u200d"
_UNSEEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Letters and signs without a shape: Unicode's default-ignorable code points, and the empty sign of braille."""
_MOST_MARKS = 6
"""The most accents and vowel signs on one letter. Tibetan needs the most of them."""
_MARKS = {"Mn", "Mc", "Me"}
_VIRAMA = 9
"""The combining class of the sign that takes a letter's vowel away in the scripts of India."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def check_shown(name: str, text: str) -> str:
    """Return a text that people may be shown, such as a question or the name of an answer.

    Refused are characters that could forge or hide other text, a text in which there is nothing to see, and heaps
    of accents on one letter. Joiners are allowed where a script needs them.
    """
    check_characters(name, text)
    if not any(map(_seen, text)):
        raise ValueError(f"{name} must have something to see: the given text is empty, or has blanks only")
    marks = 0
    for mark in () if text.isascii() else text:
        marks = marks + 1 if unicodedata.category(mark) in _MARKS else 0
        if marks > _MOST_MARKS:
            raise ValueError(f"{name} must have at most {_MOST_MARKS} accents or signs on one letter")
    return text


def check_characters(name: str, characters: str, *, joiners: bool = False) -> str:
    """Return characters that people may be shown: none of them could forge or hide other text.

    Joiners are allowed where a script needs them, and with `joiners` everywhere.
    """
    for place in hidden_places(characters):
        if not (joiners and characters[place] in (_NON_JOINER, _JOINER)):
            raise ValueError(
                f"{name} must not contain control characters, line breaks or invisible formatting, such as marks "
                f"that change the direction of text; the given text has U+{ord(characters[place]):04X}"
            )
    return characters


def hidden_places(text: str) -> list[int]:
    """The places of characters that people cannot see, or that act on the characters around them."""
    if text.isascii() and text.isprintable():
        return []
    return [
        place
        for place, mark in enumerate(text)
        if unicodedata.category(mark) in _HIDDEN and not _joins(text, place)
    ]


def _seen(mark: str) -> bool:
    """Whether a character has a shape of its own."""
    return not (mark.isspace() or _UNSEEN.match(mark) or unicodedata.category(mark)[0] in "CMZ")


def _joins(text: str, place: int) -> bool:
    """Whether a joiner or non-joiner stands where a script needs it.

    These are the rules of internet names (RFC 5892, appendix A): after a virama, or between letters of scripts that
    are written from right to left and joined, such as Persian. A joiner may also make one picture of two emoji.
    """
    if text[place] not in (_NON_JOINER, _JOINER) or not 0 < place < len(text) - 1:
        return False
    before, after = text[place - 1], text[place + 1]
    if unicodedata.combining(before) == _VIRAMA:
        return True
    letter = place - 1
    while letter and unicodedata.category(text[letter]) == "Mn":  # Vowel signs stand between a letter and a joiner.
        letter -= 1
    if all(unicodedata.bidirectional(mark) in ("AL", "R") for mark in (text[letter], after)):
        return True
    pictures = text[place] == _JOINER and unicodedata.category(after) == "So"
    return pictures and (unicodedata.category(before) in ("So", "Sk") or before == "\ufe0f")


def normalise(name: str, given: object) -> str:
    """The string in Unicode's composed form (NFC), so that strings that look the same are the same.

    Half of a surrogate pair is refused, because it is not a character and has no UTF-8. Errors do not show the
    string.
    """
    if not isinstance(given, str):
        raise TypeError(f"{name} must be a string")
    if _LONE_SURROGATE.search(given):
        raise ValueError(f"{name} must be well-formed Unicode; the given one contains half of a surrogate pair")
    return unicodedata.normalize("NFC", str(given))


# --- the public salt and the other parameters that hashing encodings share --------------------------------

SHORTEST_SALT, LONGEST_SALT = 16, 64
"""The smallest and the largest number of bytes of a salt."""
TooLong = Literal["error", "truncate"]
"""How a string above the length limit is treated: refused, or cut at the limit."""


def check_hash_parameters(salt: object, too_long: str) -> None:
    """Refuse a salt of the wrong length or an unknown rule for strings that are too long."""
    if not isinstance(salt, bytes):
        raise TypeError(f"salt must be bytes, not {type(salt).__name__}")
    if not SHORTEST_SALT <= len(salt) <= LONGEST_SALT:
        raise ValueError(f"salt must have {SHORTEST_SALT} to {LONGEST_SALT} bytes, got {len(salt)}")
    checks.choice("too_long", too_long, ("error", "truncate"))


def fresh_salt() -> bytes:
    """A new random salt from the operating system's entropy."""
    return system(SHORTEST_SALT)


def parse_salt(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters from JSON with the salt turned into bytes."""
    if not isinstance(parameters["salt"], str):
        raise TypeError("salt must be a string of hexadecimal digits")
    return {**parameters, "salt": bytes.fromhex(parameters["salt"])}


def too_long_words(too_long: str) -> str:
    """How a string that is too long is treated, in words."""
    return "cut there" if too_long == "truncate" else "refused"


LARGEST_LIST = 1 << 16
"""The largest number of names in a list."""
OTHER = "other"
"""The name of the category for strings that are not in the list."""
NAME = "choices"
"""The name of the only table of choices."""
NONE = "none of them"
_SHOWN = 8
"""`describe` lists this number of names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bit(Encoding):
    """Encodes True or 1 as 1, and False or 0 as 0. `one` and `zero` are the names that people see."""

    zero: str = "no"
    one: str = "yes"

    kind = "bit"
    values = 2

    def __post_init__(self) -> None:
        checks.settle(self, zero=_name("zero", self.zero), one=_name("one", self.one))
        if self.zero == self.one:
            raise ValueError(f"zero and one must have different names, got {self.one!r} for both")

    def encode(self, raw: Any) -> int:
        """Encode 0, 1 or a truth value as 0 or 1. Nothing else counts as true or false."""
        return _truth("bit", raw)

    def from_text(self, text: str) -> Any:
        return {self.zero: 0, self.one: 1, "0": 0, "1": 1}.get(text, text)

    def decode(self, value: int) -> bool:
        return bool(self._value(value))

    def numbers(self) -> "NumberEdges":
        """0 and 1. The mean is the share of ones."""
        import numpy as np

        from untrackable.estimation.estimate import NumberEdges

        return NumberEdges(np.array([0.0, 1.0]), np.array([0.0, 1.0]))

    def label(self, value: int) -> str:
        return self.one if self._value(value) else self.zero

    def describe(self) -> str:
        return f"{self.zero} (0) or {self.one} (1); anything else is refused"


def _name(parameter: str, given: object) -> str:
    return check_shown(parameter, normalise(parameter, given))


def _truth(name: str, raw: Any) -> int:
    """A private truth value as 0 or 1. NumPy's do not count as integers, but Python's do."""
    if getattr(getattr(raw, "dtype", None), "kind", "") == "b":
        raw = raw.item()
    return checks.private_integer(name, raw, below=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories(Encoding):
    """Encodes a string as its position in a list of `names`. Strings are compared in Unicode's composed form (NFC).

    A string that is not in the list is refused (`unknown="error"`), or counts as one more category at the end,
    which people see as "other" (`unknown="other"`).
    """

    names: Sequence[str]
    unknown: Literal["error", "other"] = "error"
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    kind = "categories"

    def __post_init__(self) -> None:
        checks.choice("unknown", self.unknown, ("error", "other"))
        places = named_places(self.names, most=LARGEST_LIST)
        if self.unknown == "other" and OTHER in places:
            raise ValueError(f'names must not contain {OTHER!r}, because unknown="other" adds it')
        checks.settle(self, names=tuple(places), _places=places)
        if self.values < 2:
            raise ValueError('names must have at least 2 entries, or 1 with unknown="other"')

    @property
    def values(self) -> int:
        """The number of names, plus one if `unknown` is "other"."""
        return len(self.names) + (self.unknown == "other")

    def encode(self, raw: Any) -> int:
        place = self._places.get(raw) if isinstance(raw, str) else None
        if place is None:
            place = self._places.get(normalise("category", raw))
        if place is not None:
            return place
        if self.unknown == "other":
            return len(self.names)
        raise ValueError(
            f"category must be one of the {len(self.names)} in the list; the given one (not shown) is not"
        )

    def decode(self, value: int) -> str:
        value = self._value(value)
        return self.names[value] if value < len(self.names) else OTHER

    def label(self, value: int) -> str:
        return self.decode(value)

    def describe(self) -> str:
        rest = f"all others count as {OTHER}" if self.unknown == "other" else "anything else is refused"
        return f"one of {described_names(self.names)}; {rest}"


def named_places(names: Sequence[str], *, most: int) -> dict[str, int]:
    """The position of every name of a list, after checks."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Sequence):
        raise TypeError(f"names must be a list of strings, not {type(names).__name__}")
    if not 1 <= len(names) <= most:
        raise ValueError(f"names must have between 1 and {most} entries, got {len(names)}")
    places: dict[str, int] = {}
    for given in names:
        name = check_shown("names", normalise("names", given))
        if name in places:
            raise ValueError(f"names must be different, got {name!r} twice")
        places[name] = len(places)
    return places


def described_names(names: Sequence[str]) -> str:
    """The number of names, and the first of them."""
    shown = ", ".join(names[:_SHOWN])
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{len(names):,}: {shown}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence(Encoding):
    """Encodes True or 1 as 0, the only value. A report then says nothing but that somebody sent it."""

    kind = "presence"
    values = 1

    def encode(self, raw: Any) -> int:
        """Encode true as 0. Somebody who is not there sends nothing, so there is no other value."""
        if not _truth("presence", raw):
            raise ValueError("presence must be true: somebody who is not there sends nothing")
        return 0

    def from_text(self, text: str) -> bool:
        return text in ("1", "yes", self.label(0))

    def decode(self, value: int) -> bool:
        return self._value(value) == 0

    def label(self, value: int) -> str:
        self._value(value)
        return "present"

    def describe(self) -> str:
        return "nothing is asked; those who take part are counted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices(Encoding):
    """Encodes a set of names as one bit for each of the `names`: 1 if it is in the set.

    Each report is about one of the names, drawn independently. The share of people who chose a name is estimated
    for all names together. Which names go together is not asked, and cannot be told.
    """

    names: Sequence[str]
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    kind = "choices"

    def __post_init__(self) -> None:
        places = named_places(self.names, most=LARGEST_BITS)
        if len(places) < 2:
            raise ValueError("names must have at least 2 entries; for one, ask a yes/no question")
        checks.settle(self, names=tuple(places), _places=places)

    @property
    def values(self) -> int:
        return 1 << len(self.names)

    @property
    def asked(self) -> AskedTables:
        cells = tuple(Cell(name, (place,), 1) for place, name in enumerate(self.names))
        return AskedTables(tuple((place,) for place in range(len(self.names))), (AskedTable(NAME, cells),))

    def alone(self) -> tuple[tuple[str, Encoding], ...]:
        return tuple((name, Bit()) for name in self.names)

    def encode(self, raw: Any) -> int:
        """The bits of a collection of names, which may be empty. A name that comes twice counts once."""
        if isinstance(raw, (str, bytes, Mapping)) or not isinstance(raw, Iterable):
            raise TypeError("choices must be a list or set of names")
        value = 0
        for name in raw:
            place = self._places.get(normalise("choice", name))
            if place is None:
                raise ValueError(
                    f"each choice must be one of the {len(self.names)} in the list; one (not shown) is not"
                )
            value |= 1 << place
        return value

    def from_text(self, text: str) -> list[str]:
        """Choices are separated by commas."""
        return [part.strip() for part in text.split(",") if part.strip()]

    def decode(self, value: int) -> tuple[str, ...]:
        value = self._value(value)
        return tuple(name for place, name in enumerate(self.names) if value >> place & 1)

    def label(self, value: int) -> str:
        return ", ".join(self.decode(value)) or NONE

    def describe(self) -> str:
        return f"any number of {described_names(self.names)}; anything else is refused"
