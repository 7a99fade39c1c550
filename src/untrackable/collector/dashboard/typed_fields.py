"""The fields of the form of a new campaign: what somebody typed, read as numbers, and what is wrong with it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from untrackable.collector.dashboard.posted_forms import Form
from untrackable.planning.goals import Goals

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
    "want": "What is published",
    "bits": "The number of bits",
    "longest": "The longest text",
    "people": "People",
    "rounds": "Rounds",
    "every": "The length of a round",
    "first": "The first round",
    "eps": "Eps",
    "share": "The share",
    "crowd_delta": "Delta in the crowd",
    "margin": "The margin",
    "error": "The error",
    "pooled": "The number of pooled rounds",
    "wipes": "Wipes",
}
"""How errors name the fields."""
_LARGEST_NUMBER = 10**18


@dataclass(frozen=True, slots=True)
class Asked:
    """What the form asks for: the goals of a plan, and the question and the times of its campaign."""

    goals: Goals
    question: str
    first_round: int
    round_seconds: int


@dataclass(slots=True)
class CampaignForm:
    """A form as somebody typed it, what is wrong with it by field, and what it asks for if nothing is.

    `sent` has all fields that arrived, and `typed` those that are shown.
    """

    typed: Form
    sent: Form = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    asked: Asked | None = None


def noted(form: CampaignForm, message: str, names: tuple[str, ...]) -> str:
    """Note an error of the library beside its field, in the words of the form. Returns the field."""
    named = re.match(r"(\w+)(?: and (\w+))*", message)
    name = named[1] if named is not None and named[1] in LABELS else names[0]
    if "are missing" in message:
        left = " and ".join(LABELS[word].lower() for word in re.findall(r"people|rounds|eps|error", message)[:2])
        told = f"Leave at most one of people, rounds, eps and error empty: {left} are."
    else:
        told = re.sub(rf"^{name}\b", LABELS[name], message)
        told = told[:1].upper() + told[1:] + "."
    form.errors.setdefault(name, told)
    return name


def needed(form: CampaignForm, name: str, read: Callable[[CampaignForm, str], Any]) -> Any:
    """What a field says, which must not be empty."""
    found = read(form, name)
    if found is None:
        form.errors.setdefault(name, f"{LABELS[name]} must be given.")
    return found


def whole(form: CampaignForm, name: str) -> int | None:
    """A whole number, in which 1,000,000 and 1e6 are the same; None if nothing is typed."""
    number = _number(form, name)
    if number is None:
        return None
    if number != number.to_integral_value():
        form.errors[name] = f"{LABELS[name]} must be a whole number."
        return None
    return int(number)


def real(form: CampaignForm, name: str) -> float | None:
    """A number, in which 1 % is 0.01; None if nothing is typed."""
    number = _number(form, name)
    return None if number is None else float(number)


def _number(form: CampaignForm, name: str) -> Decimal | None:
    text = re.sub(r"(?<=\d)[,_ \u202f\u00a0](?=\d{3}\b)", "", form.typed[name].strip())
    if not text:
        return None
    share = text.endswith("%")
    try:
        number = Decimal(text.removesuffix("%").strip()) / (100 if share else 1)
    except ArithmeticError:
        form.errors[name] = f"{LABELS[name]} must be a number, such as {DEFAULTS[name] or '0.01'}."
        return None
    if not number.is_finite() or abs(number) > _LARGEST_NUMBER or number.adjusted() < -100:
        form.errors[name] = f"{LABELS[name]} must be a number of a usual size."
        return None
    return number


def tried(form: CampaignForm, name: str, check: Callable[[], object]) -> None:
    """Note what the library says against a field, if it does."""
    try:
        check()
    except (TypeError, ValueError) as error:
        noted(form, str(error), (name,))
