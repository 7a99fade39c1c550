"""Mechanisms as JSON and back: the name of the class, and the parameters that its constructor takes."""

import importlib
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from untrackable.errors import MechanismError

if TYPE_CHECKING:
    from untrackable.mechanisms.interface import Mechanism

_HOMES = {
    "assigned": "others.assigned.Assigned",
    "bitwise": "kept.bitwise.Bitwise",
    "dbitflip": "kept.dbitflip.DBitFlip",
    "dealt": "wrappers.card_dealing.Dealt",
    "deck": "inner_product.deck.Deck",
    "faded": "inner_product.faded.Faded",
    "fading": "inner_product.fading.Fading",
    "fixed-vector": "others.fixed_vector.FixedVector",
    "fresh": "wrappers.fresh.Fresh",
    "lgrr": "kept.lgrr.Lgrr",
    "loloha": "kept.loloha.Loloha",
    "memoized": "wrappers.stored.Memoized",
    "one-change": "others.one_change.OneChange",
    "rappor": "kept.rappor.Rappor",
    "rnip": "inner_product.rnip.InnerProduct",
    "stored": "wrappers.stored.Stored",
    "unary": "kept.unary.Unary",
    "votes": "others.votes.Votes",
}
_BASES = {
    "count-mean-sketch": "local.sketches.CountMeanSketch",
    "divided": "local.divided.Divided",
    "hadamard-sketch": "local.sketches.HadamardSketch",
    "levelled": "local.string_levels.Levelled",
    "noisy-inner-product": "local.noisy_inner_product.NoisyInnerProduct",
    "numbered-bit": "others.assigned.NumberedBit",
    "one-bit-mean": "local.one_bit_mean.OneBitMean",
    "present": "local.present.Present",
    "randomized-response": "local.randomized_response.RandomizedResponse",
    "subset-selection": "local.subset_selection.SubsetSelection",
    "views": "local.views.Views",
    "vector-question": "others.fixed_vector.VectorQuestion",
}
"""Local mechanisms. Others are built on them."""

_KEY = "mechanism"


def describe(mechanism: object) -> dict[str, Any]:
    """The mechanism's name and parameters, for `from_json`. Only mechanisms of this library can be described."""
    kind = type(mechanism)
    home = f"{kind.__module__.removeprefix('untrackable.mechanisms.')}.{kind.__name__}"
    for name, known in {**_HOMES, **_BASES}.items():
        if known == home:
            return {
                _KEY: name,
                **{key: plain(getattr(mechanism, key)) for key in inspect.signature(kind).parameters},
            }
    raise MechanismError(f"{kind.__name__} has no description in JSON: only mechanisms of this library have one")


def from_json(description: Mapping[str, Any]) -> "Mechanism":
    """The mechanism of this description. `MechanismError` if `to_json` would not have written it."""
    mechanism: Mechanism = _from_description(description, _HOMES)
    return mechanism


def _from_description(description: object, homes: Mapping[str, str]) -> Any:
    if not isinstance(description, Mapping):
        raise MechanismError("a mechanism must be a JSON object")
    name = description.get(_KEY)
    if not isinstance(name, str) or name not in homes:
        raise MechanismError(f"{_KEY} must be one of {', '.join(homes)}")
    module, _, attribute = homes[name].rpartition(".")
    kind = getattr(importlib.import_module(f"untrackable.mechanisms.{module}"), attribute)
    wanted = list(inspect.signature(kind).parameters)
    given = {key: value for key, value in description.items() if key != _KEY}
    if missing := [key for key in wanted if key not in given]:
        raise MechanismError(f"{name} lacks {', '.join(missing)}")
    if unknown := [key for key in given if key not in wanted]:
        raise MechanismError(f"{name} has no field {', '.join(map(repr, unknown))}")
    try:
        mechanism = kind(**{key: _parameter(value) for key, value in given.items()})
    except (TypeError, ValueError, OverflowError) as error:
        raise MechanismError(f"{name}: {error}") from error
    written = describe(mechanism)
    if changed := [key for key in wanted if written[key] != given[key]]:
        raise MechanismError(f"{name}: {', '.join(changed)} must be as `to_json` writes it")
    return mechanism


def _parameter(given: Any) -> Any:
    """A parameter in the form that constructors take."""
    if isinstance(given, Mapping):
        return _from_description(given, _BASES)
    return tuple(given) if isinstance(given, list) else given


def plain(parameter: Any) -> Any:
    """A parameter in JSON. Whole numbers have no decimal point, so that every JSON writer agrees on them."""
    if isinstance(parameter, tuple):
        return [plain(entry) for entry in parameter]
    if isinstance(parameter, bytes):
        return parameter.hex()
    if isinstance(parameter, float) and parameter.is_integer() and abs(parameter) < 2**53:
        return int(parameter)
    if parameter is None or isinstance(parameter, (bool, int, float, str)):
        return parameter
    return describe(parameter)
