"""The mechanism that words name: one of the catalogue, one in a JSON file, or MODULE:NAME of one's own."""

import contextlib
import dataclasses
import importlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from untrackable import strict_json
from untrackable.cli.terminal import kind_of, wrong_kind
from untrackable.encodings.strings import DiscoveredStrings
from untrackable.errors import UntrackableError
from untrackable.mechanisms import interface
from untrackable.mechanisms.deck import Dealt
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local import Fresh
from untrackable.mechanisms.stored import Memoized, Stored
from untrackable.protocol.campaign import Campaign
from untrackable.settings.catalogue import CATALOGUE, Entry
from untrackable.settings.demands import Budget


def resolve_strings(name: str, parameters: Sequence[str], encoding: DiscoveredStrings) -> Mechanism:
    """The mechanism of that name for strings to be discovered; the encoding gives its bits."""
    makers: dict[str, Any] = {
        "fresh": lambda *, eps: Fresh(encoding.local(eps)),
        "memoized": lambda *, eps: Memoized(encoding.local(eps)),
        "deck": lambda *, slots, eps_report: Dealt(encoding.local(eps_report), slots),
        "rnip": lambda *, slots, eps_report: Stored(encoding.local(eps_report), slots),
    }
    if name not in makers:
        raise ValueError(f"mechanism must be one of {', '.join(makers)} for strings to be discovered, got {name!r}")
    made: Mechanism = _call(name, makers[name], dict(_key_and_value(text) for text in parameters))
    return made


def resolve(
    name: str, parameters: Sequence[str] = (), preset: str | None = None, goal: Budget | None = None
) -> Any:
    """The mechanism of that name with `key=value` parameters or a published preset.

    With neither, its parameters meet a goal: by default 16 values (2 for yes/no mechanisms) and eps = 2.
    `MODULE:NAME` is imported, also from the current folder, and called with the parameters unless it is already a
    mechanism. A name that ends in .json is a file, of a campaign or of a mechanism. JSON itself is a mechanism.
    """
    given = dict(_key_and_value(text) for text in parameters)
    if name not in CATALOGUE and (name.endswith(".json") or name.lstrip().startswith("{") or Path(name).is_file()):
        if given or preset is not None:
            raise ValueError("JSON says all parameters of a mechanism: give no others, and no preset")
        return _from_json(name)
    if ":" in name:
        if preset is not None:
            raise ValueError(f"a preset needs a mechanism of the catalogue, and {name} is not one")
        return _import_mechanism(name, given)
    if name not in CATALOGUE:
        known = f"{', '.join(CATALOGUE)}, a .json file, or MODULE:NAME"
        raise ValueError(f"mechanism must be one of {known}; got {name!r}")
    entry = CATALOGUE[name]
    if preset is not None:
        if given:
            raise ValueError("give parameters or a preset, not both")
        return _preset(entry, preset)
    if not given:
        wanted = goal or Budget()
        return entry.for_budget(dataclasses.replace(wanted, values=2) if entry.yes_no else wanted)
    return _call(entry.name, entry.make, given)


def campaign_in(name: str) -> Campaign | None:
    """The campaign in the file of this name; None if it is a mechanism, or no .json file."""
    if not name.endswith(".json") or kind_of(name) != "campaign":
        return None
    return Campaign.from_bytes(strict_json.small_file(name))


def _from_json(given: str) -> Any:
    """The mechanism in a JSON text, or in a file of it, which may be a campaign."""
    if given.lstrip().startswith("{"):
        try:
            document = strict_json.parse(given)
        except ValueError as error:
            raise ValueError(f"a mechanism in JSON cannot be read: {error}") from None
        return interface.from_json(document)
    try:
        if (asked := campaign_in(given)) is not None:
            return asked.mechanism
        return interface.from_json(strict_json.parse(strict_json.small_file(given)))
    except OSError as error:
        raise ValueError(f"cannot read {given}: {error.strerror}") from None
    except (UntrackableError, ValueError) as error:
        neither = f"{given} is neither a campaign nor a mechanism in JSON: {error}"
        raise ValueError(wrong_kind(given, "mechanism") or neither) from None


def _preset(entry: Entry, preset: str) -> Any:
    if preset not in entry.presets:
        known = ", ".join(entry.presets) or "none"
        raise ValueError(f"preset of {entry.name} must be one of: {known}; got {preset!r}")
    return entry.presets[preset]()


def _key_and_value(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise ValueError(f"a parameter must be written key=value, got {text!r}")
    return key, _number_or_text(value)


def _number_or_text(text: str) -> Any:
    if "," in text:
        return tuple(_number_or_text(part) for part in text.split(",") if part)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _import_mechanism(name: str, given: Mapping[str, Any]) -> Any:
    module, _, attribute = name.partition(":")
    named = imported(module, attribute)
    if inspect.isclass(named) or not hasattr(named, "tracking"):
        return _call(name, named, given)
    if given:
        raise ValueError(f"{name} is already a mechanism: leave out the parameters")
    return named


def imported(module: str, attribute: str) -> Any:
    """What a module has under this name, in the current folder or installed. It prints on standard error."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            named: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"there is no module {error.name} in this folder or installed") from None
    except (Exception, SystemExit) as error:
        raise ValueError(f"importing {module} raised {type(error).__name__}: {error}") from None
    for part in attribute.split("."):
        if not hasattr(named, part):
            raise ValueError(f"the module {module} has no {attribute}")
        named = getattr(named, part)
    return named


def _call(name: str, make: Any, given: Mapping[str, Any]) -> Any:
    """Call with parameters; the error for a missing or unknown one lists all that there are."""
    if not callable(make):
        raise TypeError(f"{name} is neither a mechanism nor a function that makes one")
    signature = inspect.signature(make)
    try:
        signature.bind(**given)
    except TypeError as error:
        known = ", ".join(str(parameter).split(":")[0] for parameter in signature.parameters.values())
        takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
        unknown = [] if takes_any else [key for key in given if key not in signature.parameters]
        wrong = f"there is no {', '.join(unknown)}" if unknown else str(error)
        raise ValueError(f"{name} takes {known or 'no parameters'}: {wrong}") from None
    return make(**given)
