"""What a client needs of a mechanism: a secret state, and a report of it for each round; and JSON.

A `Randomizer` is the client's part of any mechanism. A `LocalRandomizer` makes one noisy report of one value and
keeps nothing; the field calls it so, too.

In JSON, a mechanism is the name of its class, and the parameters that its constructor takes.
"""

import importlib
import inspect
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from untrackable.errors import MechanismError, StateError, ValueChangeRefused
from untrackable.randomizers.randomness import Entropy
from untrackable.strict_json import plain


class Randomizer(ABC):
    """Turns a value into reports, which are integers below 2^report_bits.

    The methods of a state take their entropy as an argument and are deterministic otherwise.
    """

    __slots__ = ()

    independent: ClassVar[bool] = False
    """Whether a client's rounds are independent given its values, equally noisy or not."""

    @property
    @abstractmethod
    def report_bits(self) -> int:
        """Width of a report."""

    @property
    @abstractmethod
    def capacity(self) -> int | None:
        """The number of possible values, which are 0 … capacity-1. None if any integer or text will do."""

    def has_room_for(self, values: int) -> bool:
        """Whether a question with this number of values fits."""
        return self.capacity is None or values <= self.capacity

    @property
    def last_round(self) -> int | None:
        """The last round in which clients can report; None if there is no last one."""
        return None

    @property
    def loss_of_one_report(self) -> float | None:
        """The largest loss of a report, if each one is fresh (exact, rounded up); None if not, or if unknown."""
        return None

    @property
    def changes_in_place(self) -> bool:
        """Whether a client can change the value in its state. If not, it keeps a state for each value."""
        return type(self).change_value is not Randomizer.change_value

    def tracking_advantage_upper(self, reports: int | None) -> float:
        """A bound in closed form on the observer's advantage, for the worst split of the reports.

        With `reports` None it holds for any number of reports.
        """
        return 0.0 if self.independent or reports in (0, 1) else 1.0

    def client_part(self) -> "Randomizer":
        """The same reports, made with the standard library alone if that is possible."""
        return self

    def to_json(self) -> dict[str, Any]:
        """The name and the parameters. `from_json` makes it again."""
        return FORMS.describe(self)

    @abstractmethod
    def new_state(self, value: Any, source: Entropy) -> Any:
        """The secret state of a new client."""

    @abstractmethod
    def make_report(self, state: Any, round: int, source: Entropy) -> tuple[int, Any]:
        """The report of a round, and the state after it."""

    def forget_report(self, state: Any, round: int, source: Entropy) -> Any:
        """The state without the report of a round that will not be needed again."""
        return state

    def change_value(self, state: Any, value: Any, source: Entropy) -> Any:
        """The state after a change of value."""
        raise ValueChangeRefused(f"{type(self).__name__} keeps its state for one value; make a new client instead")

    @abstractmethod
    def pack_state(self, state: Any) -> bytes:
        """The state as bytes. All states of a mechanism have the same length."""

    @abstractmethod
    def unpack_state(self, payload: bytes) -> Any:
        """The state that was packed as these bytes, after checks."""


@runtime_checkable
class LocalRandomizer(Protocol):
    """A stateless rule for one report of one value. `Fresh` sends its reports."""

    @property
    def values(self) -> int:
        """The number of possible values, which are 0 … values-1."""

    @property
    def report_bits(self) -> int:
        """Width of a report."""

    def draw(self, value: int, entropy: Entropy) -> int:
        """A random report of a value."""

    def possible(self, report: int) -> bool:
        """Whether this can be a report."""


@runtime_checkable
class BoundedLocal(Protocol):
    """A local mechanism that knows the most that one report reveals, with the standard library alone."""

    def largest_loss(self) -> float:
        """The largest log ratio of probabilities of one report, over all pairs of values (exact, rounded up)."""


def pack_integers(numbers: Sequence[int], widths: Sequence[int]) -> bytes:
    """Integers of these widths in bits, each in ⌈width/8⌉ bytes, big-endian."""
    return b"".join(number.to_bytes((width + 7) // 8, "big") for number, width in zip(numbers, widths, strict=True))


def unpack_integers(data: bytes, widths: Sequence[int]) -> list[int]:
    """The integers that `pack_integers` packed. A wrong length or a surplus bit is an error."""
    ends = [0, *itertools.accumulate((width + 7) // 8 for width in widths)]
    if len(data) != ends[-1]:
        raise StateError(f"this state should have a payload of {ends[-1]} bytes, it has {len(data)}")
    numbers = [int.from_bytes(data[start:end], "big") for start, end in itertools.pairwise(ends)]
    if any(number >> width for number, width in zip(numbers, widths, strict=True)):
        raise StateError("this state has bits set that its mechanism does not use")
    return numbers


def unpack_reports(data: bytes, bits: int, count: int, possible: Callable[[int], bool]) -> list[int]:
    """Stored reports; one that its mechanism cannot have made is an error."""
    reports = unpack_integers(data, [bits] * count)
    if not all(possible(report) for report in reports):
        raise StateError("this state holds a report that its mechanism cannot have made")
    return reports


_KEY = "mechanism"


class JsonForms(NamedTuple):
    """The JSON of a package's mechanisms: the name, and the module and class, of each mechanism and each base."""

    package: str
    mechanisms: Mapping[str, str]
    bases: Mapping[str, str]

    def describe(self, part: object) -> dict[str, Any]:
        """The name and the parameters of a mechanism or a base. Only those of the package can be described."""
        kind = type(part)
        home = f"{kind.__module__}.{kind.__name__}".removeprefix(f"{self.package}.")
        for name, known in {**self.mechanisms, **self.bases}.items():
            if known == home:
                parameters = inspect.signature(kind).parameters
                return {_KEY: name, **{key: plain(getattr(part, key), self.describe) for key in parameters}}
        raise MechanismError(
            f"{kind.__name__} has no description in JSON: only mechanisms of this library have one"
        )

    def knows(self, description: object) -> bool:
        """Whether the names in a description are those of a mechanism here, and of its base."""
        if not isinstance(description, Mapping) or description.get(_KEY) not in self.mechanisms:
            return False
        parts = [part for part in description.values() if isinstance(part, Mapping)]
        return all(self._knows_base(part) for part in parts)

    def _knows_base(self, description: Mapping[str, Any]) -> bool:
        parts = [part for part in description.values() if isinstance(part, Mapping)]
        return description.get(_KEY) in self.bases and all(map(self._knows_base, parts))

    def made(self, description: object) -> Any:
        """The mechanism of this description. `MechanismError` if `describe` would not have written it."""
        return self._made(description, self.mechanisms)

    def _made(self, description: object, homes: Mapping[str, str]) -> Any:
        if not isinstance(description, Mapping):
            raise MechanismError("a mechanism must be a JSON object")
        name = description.get(_KEY)
        if not isinstance(name, str) or name not in homes:
            raise MechanismError(f"{_KEY} must be one of {', '.join(homes)}")
        module, _, attribute = homes[name].rpartition(".")
        kind = getattr(importlib.import_module(f"{self.package}.{module}"), attribute)
        wanted = list(inspect.signature(kind).parameters)
        given = {key: value for key, value in description.items() if key != _KEY}
        if missing := [key for key in wanted if key not in given]:
            raise MechanismError(f"{name} lacks {', '.join(missing)}")
        if unknown := [key for key in given if key not in wanted]:
            raise MechanismError(f"{name} has no field {', '.join(map(repr, unknown))}")
        try:
            mechanism = kind(**{key: self._parameter(value) for key, value in given.items()})
        except (TypeError, ValueError, OverflowError) as error:
            raise MechanismError(f"{name}: {error}") from error
        written = self.describe(mechanism)
        if changed := [key for key in wanted if written[key] != given[key]]:
            raise MechanismError(f"{name}: {', '.join(changed)} must be as `to_json` writes it")
        return mechanism

    def _parameter(self, given: Any) -> Any:
        """A parameter in the form that constructors take."""
        if isinstance(given, Mapping):
            return self._made(given, self.bases)
        return tuple(given) if isinstance(given, list) else given


FORMS = JsonForms(
    "untrackable.randomizers",
    {"fresh": "fresh.Fresh"},
    {
        "divided": "divided.Divided",
        "levelled": "views.Levelled",
        "noisy-inner-product": "inner_product.NoisyInnerProduct",
        "one-bit-mean": "local.OneBitMean",
        "present": "local.Present",
        "randomized-response": "local.RandomizedResponse",
        "subset-selection": "local.SubsetSelection",
        "views": "views.Views",
    },
)


def from_json(description: Mapping[str, Any]) -> Randomizer:
    """The randomizer of this description. `MechanismError` if `to_json` would not have written it."""
    randomizer: Randomizer = FORMS.made(description)
    return randomizer
