"""The form of a new campaign: what people type becomes goals, or an error beside its field.

The goals and their limits are those of `planning.goal_fields`. What people may answer is described by fields of its
own.
"""

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from untrackable import checks
from untrackable.collector.dashboard.signed_in import Form
from untrackable.display.numbers import odds_factor
from untrackable.encodings.encoding import (
    LARGEST_BITS,
    SHORTEST_SALT,
    Bit,
    Categories,
    Choices,
    Encoding,
    check_shown,
)
from untrackable.encodings.numbers import IntegerRange, buckets_from_text
from untrackable.encodings.record import Record
from untrackable.encodings.strings import HashedStrings
from untrackable.planning.goal_fields import GOALS, UNKNOWNS, GoalError
from untrackable.planning.goals import Goals
from untrackable.protocol.campaign import LONGEST_DELAY, LONGEST_QUESTION, LONGEST_ROUND, HoldingRelay
from untrackable.units import read_number

DEFAULTS: Form = {
    "question": "",
    "kind": "categories",
    "names": "",
    "low": "0",
    "high": "10",
    "outside": "clamp",
    "buckets": "0:100:10",
    "attributes": "",
    "tables": "",
    "want": "frequencies",
    "bits": "10",
    "longest": "100",
    "people": "100,000",
    "rounds": "12",
    "every": "1",
    "unit": "weeks",
    "protection": "2",
    "where": "programs",
    "eps": "",
    "error": "",
    "pooled": "1",
    "share": "1",
    "wipes": "",
    "crowd_delta": "1e-6",
    "margin": "0.05",
    "hold_at": "",
    "release_after": "",
    "release_unit": "hours",
}
"""What the fields say before anybody types. Those that are not here are empty."""
LABELS = {
    "question": "The question",
    "names": "The answers",
    "low": "The lowest number",
    "high": "The highest number",
    "buckets": "Buckets",
    "attributes": "Attributes",
    "tables": "Tables",
    "longest": "The longest text",
    "every": "The length of a round",
    "first": "The first round",
    "hold_at": "The relay's address",
    "release_after": "The time until the release",
    **{name: field.label for name, field in GOALS.items() if field.label},
}
"""How errors name the fields."""
KINDS = ("categories", "choices", "yes-no", "numbers", "buckets", "record", "strings")
"""The kinds of answers."""
_YES_NO = "yes/no"
_LARGEST_NUMBER, _SMALLEST_NUMBER = 10**18, 1e-100
UNITS = {"minutes": 60, "hours": 3600, "days": 86400, "weeks": 7 * 86400}
"""The seconds of each unit of time."""
OTHER = "other"
"""The level of protection that is typed as a number."""
LEVELS = ("1", "2", "4")
"""The levels of protection, by their eps."""
_WIPES = {"programs": 0, "pages": 1}
"""How often a client may lose what it stored, by where people answer. Browsers delete what pages store."""
_TICKS = ("others", "relay")
_DAY = 86400
_TYPED_GOALS = ("people", "rounds", "eps", "error", "pooled", "share", "wipes", "crowd_delta", "margin")
_NEEDED = ("pooled", "share")
_STAND_INS = {"people": 10**6, "rounds": checks.MOST_ROUNDS, "eps": 1.0, "error": 0.05}
"""Values for goals that are wrong, with which the others can be checked."""
_CHOICES = {
    "kind": KINDS,
    "outside": ("error", "clamp", "separate"),
    "want": GOALS["want"].words,
    "unit": tuple(UNITS),
    "release_unit": tuple(UNITS),
    "protection": (*LEVELS, OTHER),
    "where": tuple(_WIPES),
}
_CHANGEABLE = ("people", "rounds", "pooled", "eps", "protection")
"""The fields that a button below a plan may change."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the form asks for: the goals of a plan, and question, times and holding relay of its campaign."""

    goals: Goals
    question: str
    first_round: int
    round_seconds: int
    relay: HoldingRelay | None = None


@dataclass(slots=True)
class CampaignForm:
    """A form as somebody typed it, its errors by field, and the goals if there are none.

    `sent` has all fields that arrived, and `typed` those that are shown.
    """

    typed: Form
    sent: Form = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    asked: Asked | None = None


def levels() -> dict[str, str]:
    """By how much each level of protection lets odds change, at most."""
    return {eps: odds_factor(float(eps)) for eps in LEVELS}


def empty_form(now: float) -> CampaignForm:
    """The form before anybody typed."""
    midnight = (int(now) // _DAY + 1) * _DAY
    first = datetime.datetime.fromtimestamp(midnight, datetime.UTC).strftime("%Y-%m-%dT%H:%M")
    return CampaignForm({**DEFAULTS, "first": first, **dict.fromkeys(_TICKS, "")})


def unread_form(sent: Form) -> CampaignForm:
    """The form as it was sent, unchecked."""
    changed = dict(parse_qsl(sent.get("use", ""), keep_blank_values=True))
    sent = sent | {name: text for name, text in changed.items() if name in _CHANGEABLE}
    form = CampaignForm({name: sent.get(name, "") for name in (*DEFAULTS, "first", *_TICKS)}, sent)
    for name, allowed in _CHOICES.items():
        if form.typed[name] not in allowed:
            form.typed[name] = DEFAULTS[name]
    return form


def read_campaign_form(sent: Form, now: float, *, campaign: bool) -> CampaignForm:
    """Check what somebody typed. A plan does not need the question; a `campaign` does."""
    form = unread_form(sent)
    encoding = asked_answers(form)
    goals = _goals(form, encoding)
    question = _question(form, campaign)
    seconds = _seconds(form)
    first = _first_round(form, seconds, now)
    relay = _holding_relay(form, first + seconds)
    if not form.errors and goals is not None:
        form.asked = Asked(goals, question, first, seconds, relay)
    return form


def _goals(form: CampaignForm, encoding: Encoding | None) -> Goals | None:
    """The goals, each checked alone and then together. None if there are none because a field is wrong."""
    typed = form.typed
    given: dict[str, Any] = {name: number(form, name, whole=GOALS[name].kind == "whole") for name in _TYPED_GOALS}
    if typed["protection"] != OTHER:
        form.errors.pop("eps", None)
        given["eps"] = float(typed["protection"])
    if given["wipes"] is None:
        given["wipes"] = _WIPES[typed["where"]]
    for name in _NEEDED:
        if not typed[name].strip():
            form.errors[name] = f"{LABELS[name]} must be given."
    for name, value in given.items():
        try:
            if value is not None:
                GOALS[name].checked(value)
        except GoalError as error:
            noted(form, error, name)
    empty = [name for name in UNKNOWNS if given[name] is None and name not in form.errors]
    if len(empty) > 1:
        left = " and ".join(LABELS[name].lower() for name in empty)
        told = f"Leave at most one of people, rounds, eps and error empty: {left} are."
        form.errors.setdefault(empty[0], told)
    given = {name: value for name, value in given.items() if value is not None and name not in form.errors}
    given |= {name: value for name, value in _STAND_INS.items() if name in form.errors}
    if typed["kind"] in ("numbers", "buckets"):
        given["want"] = typed["want"]
    kept: Any = encoding or Bit()
    try:
        return Goals(encoding=kept, relay=bool(typed["relay"]), looks=1, **given)
    except GoalError as error:
        noted(form, error, "people")
        return None


def _question(form: CampaignForm, needed: bool) -> str:
    text = form.typed["question"].strip()
    if needed and not text:
        form.errors["question"] = "Write the question that people are asked."
    elif len(text) > LONGEST_QUESTION:
        form.errors["question"] = f"The question must have at most {LONGEST_QUESTION:,} characters."
    elif text:
        try:
            check_shown("question", text)
        except ValueError as error:
            noted(form, error, "question")
    return text


def _seconds(form: CampaignForm) -> int:
    """The length of a round."""
    every: int | None = number(form, "every", whole=True)
    if every is None:
        form.errors.setdefault("every", "Say how long a round is.")
        return 1
    seconds: int = every * UNITS[form.typed["unit"]]
    if not 1 <= seconds <= LONGEST_ROUND:
        form.errors["every"] = "A round must last between a minute and a year."
    return seconds


def _first_round(form: CampaignForm, seconds: int, now: float) -> int:
    """When the first round begins."""
    try:
        moment = datetime.datetime.strptime(form.typed["first"], "%Y-%m-%dT%H:%M").replace(tzinfo=datetime.UTC)
    except ValueError:
        form.errors["first"] = "Give a date and a time, such as 2027-01-31T12:00."
        return 0
    first = int(moment.timestamp())
    if first < 0 or first + seconds <= now:
        form.errors["first"] = "The first round would be over already. Choose a later time."
    return first


def _holding_relay(form: CampaignForm, first_end: int) -> HoldingRelay | None:
    """The relay that holds reports, if one is named. The first round ends at `first_end`."""
    address, after = form.typed["hold_at"].strip(), number(form, "release_after", whole=True)
    if not address:
        if after is not None:
            form.errors["hold_at"] = "Name the relay that holds reports, or leave the time until its release empty."
        return None
    if not form.typed["relay"]:
        form.errors["hold_at"] = "Tick above that reports go through a relay, or name none."
        return None
    try:
        relay = HoldingRelay.usual(address, first_end)
    except ValueError as error:
        noted(form, error, "hold_at")
        return None
    delay = relay.delay if after is None else after * UNITS[form.typed["release_unit"]]
    if not 0 <= delay <= LONGEST_DELAY:
        form.errors["release_after"] = f"A release must come within {LONGEST_DELAY // _DAY} days after a round."
        return None
    return HoldingRelay(address, delay)


def asked_answers(form: CampaignForm) -> Encoding | None:
    """How answers become numbers. None if a field is wrong."""
    typed = form.typed
    outside: Any = typed["outside"]
    match typed["kind"]:
        case "yes-no":
            return Bit()
        case "categories":
            unknown: Any = "other" if typed["others"] else "error"
            return _of_names(form, lambda names: Categories(names=names, unknown=unknown), unknown == "other")
        case "choices":
            return _of_names(form, lambda names: Choices(names=names))
        case "numbers":
            low, high = needed(form, "low"), needed(form, "high")
            if low is not None and high is not None and low >= high:
                form.errors.setdefault("high", "The highest number must be above the lowest.")
            return _made(
                form,
                "high",
                lambda: IntegerRange(low=low, high=high, below=outside, above=outside),
                beside=("low",),
            )
        case "buckets":
            text = typed["buckets"].strip()
            return _made(form, "buckets", lambda: buckets_from_text(text, below=outside, above=outside))
        case "record":
            return _record(form)
    bits, longest = needed(form, "bits"), needed(form, "longest")
    return _made(
        form,
        "bits",
        lambda: HashedStrings(bits=bits, salt=bytes(SHORTEST_SALT), longest=longest),
        beside=("longest",),
    )


def _of_names(form: CampaignForm, make: Callable[[list[str]], Encoding], others: bool = False) -> Encoding | None:
    names = _lines(form, "names")
    if len(names) + others < 2:
        form.errors["names"] = "Write at least two possible answers, each on a line of its own."
        return None
    return _made(form, "names", lambda: make(names))


def _record(form: CampaignForm) -> Encoding | None:
    """Several attributes, each on a line with its name, a colon, and what it may be."""
    attributes: dict[str, Encoding] = {}
    for line in _lines(form, "attributes"):
        name, _, said = (part.strip() for part in line.partition(":"))
        if not name or not said or name in attributes:
            form.errors["attributes"] = (
                "Write each attribute on a line, with a name of its own, a colon and what it may be, such as "
                f"“system: linux, mac”. This line is different: {line}"
            )
            return None
        try:
            attributes[name] = _attribute(said)
        except (TypeError, ValueError) as error:
            form.errors["attributes"] = f"{name}: {str(error).replace('names', 'answers')}."
            return None
        # Large ones take a while, so no further one is made.
        if sum(encoding.bits for encoding in attributes.values()) > LARGEST_BITS:
            form.errors["attributes"] = f"All attributes together must have at most {LARGEST_BITS} bits."
            return None
    if len(attributes) < 2:
        form.errors["attributes"] = "Write at least two attributes, each on a line of its own."
        return None
    order = list(attributes)
    tables = [[name.strip() for name in line.split(",")] for line in _lines(form, "tables")]
    if unknown := next((name for table in tables for name in table if name not in attributes), None):
        form.errors["tables"] = f"“{unknown}” is not one of the attributes: {', '.join(order)}."
        return None
    ordered = [sorted(table, key=order.index) for table in tables]
    try:
        return Record(attributes=attributes, tables=ordered)
    except (TypeError, ValueError) as error:
        noted(form, error, "tables" if "table" in str(error) else "attributes")
        return None


def _attribute(said: str) -> Encoding:
    """What one attribute may be: yes/no, buckets of numbers, or one of some names with commas."""
    if said.replace(" ", "") == _YES_NO:
        return Bit()
    if ":" in said:
        return buckets_from_text(said, below="clamp", above="clamp")
    names = [name.strip() for name in said.split(",") if name.strip()]
    if len(names) < 2:
        raise ValueError("write at least two answers, with a comma between them")
    return Categories(names=names)


def _lines(form: CampaignForm, name: str) -> list[str]:
    return [line.strip() for line in form.typed[name].splitlines() if line.strip()]


def _made(
    form: CampaignForm, name: str, make: Callable[[], Encoding], *, beside: tuple[str, ...] = ()
) -> Encoding | None:
    """An encoding, unless its fields are wrong."""
    if any(each in form.errors for each in (name, *beside)):
        return None
    try:
        return make()
    except (TypeError, ValueError) as error:
        noted(form, error, name, *beside)
        return None


def noted(form: CampaignForm, error: Exception, name: str, *beside: str) -> None:
    """Note an error of the library beside its field, in the words of the form.

    An error that does not say which field is wrong is about `name`, unless it begins with one of those `beside`.
    """
    if isinstance(error, GoalError):
        wrong, label = error.field, LABELS.get(error.field, error.field)
        told = error.worded(lambda field: label if field == wrong else field)
    else:
        wrong = next((each for each in beside if str(error).startswith(f"{each} ")), name)
        told = re.sub(rf"^{wrong}\b", LABELS[wrong], str(error))
    form.errors.setdefault(wrong if wrong in LABELS else name, f"{told[:1].upper()}{told[1:]}.")


def needed(form: CampaignForm, name: str) -> Any:
    """The whole number in a field, which must not be empty."""
    value = number(form, name, whole=True)
    if value is None:
        form.errors.setdefault(name, f"{LABELS[name]} must be given.")
    return value


def number(form: CampaignForm, name: str, *, whole: bool = False) -> Any:
    """The number in a field, in which 1,000,000 and 1e6 are the same, and 1 % is 0.01; None if nothing is typed."""
    if not (text := form.typed[name].strip()):
        return None
    try:
        typed = read_number(text)
    except ValueError:
        told = f"a number, such as {DEFAULTS[name] or '0.01'}"
    else:
        if abs(typed) > _LARGEST_NUMBER or 0 < abs(typed) < _SMALLEST_NUMBER:
            told = "a number of a usual size"
        elif whole and typed.denominator != 1:
            told = "a whole number"
        else:
            return int(typed) if whole else float(typed)
    form.errors[name] = f"{LABELS[name]} must be {told}."
    return None
