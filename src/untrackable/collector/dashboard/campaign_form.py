"""The form of a new campaign: what people type becomes goals, or says beside each field what is wrong with it."""

import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

from untrackable.collector.dashboard.posted_forms import Form
from untrackable.encodings.bit import Bit
from untrackable.encodings.categories import Categories
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.encodings.number_ranges import Buckets, IntegerRange
from untrackable.encodings.salt import SHORTEST_SALT
from untrackable.encodings.shown_text import check_shown
from untrackable.planning.goals import FOREVER, Goals
from untrackable.protocol.campaign import LONGEST_QUESTION, LONGEST_ROUND

UNITS = {"minutes": 60, "hours": 3600, "days": 86400, "weeks": 7 * 86400}
"""The seconds of each unit of time."""
_DAY = 86400
DEFAULTS: Form = {
    "question": "",
    "kind": "categories",
    "names": "",
    "low": "0",
    "high": "10",
    "outside": "clamp",
    "from": "0",
    "to": "100",
    "count": "10",
    "scale": "equal",
    "bits": "10",
    "longest": "100",
    "people": "1,000,000",
    "rounds": "12",
    "every": "1",
    "unit": "weeks",
    "observer": "alone",
    "eps": "1",
    "delta": "1e-6",
    "crowd_eps": "1",
    "crowd_delta": "1e-6",
    "error": "",
    "advantage": "0.01",
    "recognition": "0.002",
    "pooled": "1",
    "changes": "on",
}
"""What the fields say before anybody types. Those that are not here are empty."""
LABELS = {
    "question": "The question",
    "names": "The answers",
    "low": "The lowest number",
    "high": "The highest number",
    "from": "The lowest number",
    "to": "The highest number",
    "count": "The number of buckets",
    "bits": "The number of bits",
    "longest": "The longest text",
    "people": "People",
    "rounds": "Rounds",
    "every": "The length of a round",
    "first": "The first round",
    "eps": "Eps",
    "delta": "Delta",
    "crowd_eps": "Eps in the crowd",
    "crowd_delta": "Delta in the crowd",
    "error": "The error",
    "advantage": "The advantage",
    "recognition": "The recognition",
    "pooled": "The number of pooled rounds",
}
"""How errors name the fields."""
_WHOLE = ("people", "pooled")
_REAL = ("eps", "delta", "error", "advantage", "recognition", "crowd_eps", "crowd_delta")
_NEEDED = ("delta", "advantage", "recognition", "pooled")
_CHOICES = {
    "kind": ("categories", "yes-no", "numbers", "buckets", "strings"),
    "outside": ("error", "clamp", "separate"),
    "scale": ("equal", "log"),
    "unit": tuple(UNITS),
    "observer": ("alone", "crowd"),
}
_CHANGEABLE = ("people", "rounds", "pooled", "eps", "advantage", "recognition", "one_network", "changes")
"""The fields that a button below a plan may change."""
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


def empty_form(now: float) -> CampaignForm:
    """The form before anybody typed."""
    midnight = (int(now) // _DAY + 1) * _DAY
    first = datetime.datetime.fromtimestamp(midnight, datetime.UTC).strftime("%Y-%m-%dT%H:%M")
    return CampaignForm({**DEFAULTS, "first": first, "others": "", "one_network": ""})


def unread_form(sent: Form) -> CampaignForm:
    """The form as it was sent, without looking at what is wrong with it."""
    changed = dict(parse_qsl(sent.get("use", ""), keep_blank_values=True))
    sent = sent | {name: text for name, text in changed.items() if name in _CHANGEABLE}
    form = CampaignForm({name: sent.get(name, "") for name in (*DEFAULTS, "first", "others", "one_network")}, sent)
    for name, allowed in _CHOICES.items():
        if form.typed[name] not in allowed:
            form.typed[name] = DEFAULTS[name]
    return form


def read_campaign_form(sent: Form, now: float, *, whole: bool) -> CampaignForm:
    """Check what somebody typed. A plan does not need the question; the `whole` campaign does."""
    form = unread_form(sent)
    encoding = _encoding(form)
    goals = _goals(form, encoding)
    question = _question(form, whole)
    seconds = _seconds(form)
    first = _first_round(form, seconds, now)
    if not form.errors and goals is not None:
        form.asked = Asked(goals, question, first, seconds)
    return form


def _question(form: CampaignForm, needed: bool) -> str:
    text = form.typed["question"].strip()
    if needed and not text:
        form.errors["question"] = "Write the question that people are asked."
    elif len(text) > LONGEST_QUESTION:
        form.errors["question"] = f"The question must have at most {LONGEST_QUESTION:,} characters."
    else:
        _tried(form, "question", lambda: check_shown("question", text))
    return text


def _seconds(form: CampaignForm) -> int:
    """The length of a round."""
    every = _whole(form, "every")
    if every is None:
        form.errors.setdefault("every", "Say how long a round is.")
        return 1
    seconds = every * UNITS[form.typed["unit"]]
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


def _goals(form: CampaignForm, encoding: Encoding | None) -> Goals | None:
    """The goals. A field that is wrong is left out, so that the next wrong one is noticed, too."""
    given: dict[str, Any] = {name: _whole(form, name) for name in _WHOLE} | {
        name: _real(form, name) for name in _REAL
    }
    given["rounds"] = FOREVER if form.typed["rounds"].strip().lower() == FOREVER else _whole(form, "rounds")
    for name in _NEEDED:
        if not form.typed[name].strip():
            form.errors[name] = f"{LABELS[name]} must be given."
    if form.typed["observer"] == "alone":
        given["crowd_eps"] = None
        for name in ("crowd_eps", "crowd_delta"):
            form.errors.pop(name, None)
    given = {name: value for name, value in given.items() if value is not None and name not in form.errors}
    switches = {name: bool(form.typed[name]) for name in ("changes", "one_network")}
    kept: Any = encoding or Bit()
    for _ in range(len(given)):
        try:
            return Goals(encoding=kept, observer=form.typed["observer"], **switches, **given)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            wrong = _noted(form, str(error), tuple(given) or ("people",))
            if wrong not in given:
                return None
            given[wrong] = _harmless(wrong)
    return None


def _harmless(name: str) -> Any:
    """A value for a field that is wrong, with which the others can be checked."""
    return {"people": 10**6, "rounds": 30, "pooled": 1, "eps": 1.0, "crowd_eps": 1.0, "error": 0.05}.get(name, 0.01)


def _noted(form: CampaignForm, message: str, names: tuple[str, ...]) -> str:
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


def _encoding(form: CampaignForm) -> Encoding | None:
    """How answers become numbers. None if a field is wrong."""
    typed = form.typed
    outside: Any = typed["outside"]
    match typed["kind"]:
        case "yes-no":
            return Bit()
        case "categories":
            return _categories(form)
        case "numbers":
            low, high = _needed(form, "low", _whole), _needed(form, "high", _whole)
            _check_order(form, low, high, "high")
            return _made(form, "high", lambda: IntegerRange(low=low, high=high, below=outside, above=outside))
        case "buckets":
            start, end, count = (
                _needed(form, n, of) for n, of in (("from", _real), ("to", _real), ("count", _whole))
            )
            _check_order(form, start, end, "to")
            make = Buckets.log_scale if typed["scale"] == "log" else Buckets.equal_width
            return _made(form, "to", lambda: make(start, end, count, below=outside, above=outside))
    bits, longest = _needed(form, "bits", _whole), _needed(form, "longest", _whole)
    return _made(form, "bits", lambda: HashedStrings(bits=bits, salt=bytes(SHORTEST_SALT), longest=longest))


def _check_order(form: CampaignForm, low: float | None, high: float | None, name: str) -> None:
    if low is not None and high is not None and low >= high:
        form.errors.setdefault(name, "The highest number must be above the lowest.")


def _categories(form: CampaignForm) -> Encoding | None:
    names = [line.strip() for line in form.typed["names"].splitlines() if line.strip()]
    unknown: Any = "other" if form.typed["others"] else "error"
    if len(names) + (unknown == "other") < 2:
        form.errors["names"] = "Write at least two possible answers, each on a line of its own."
        return None
    return _made(form, "names", lambda: Categories(names=names, unknown=unknown))


def _made(form: CampaignForm, otherwise: str, make: Callable[[], Encoding]) -> Encoding | None:
    """An encoding, unless its fields are wrong."""
    words = {"low": "from", "high": "to"} if otherwise == "to" else {}
    if any(name in form.errors for name in (otherwise, "low", "from", "count", "longest")):
        return None
    try:
        return make()
    except (TypeError, ValueError) as error:
        message = str(error)
        for word, name in words.items():
            message = re.sub(rf"^{word}\b", name, message)
        _noted(form, message, (otherwise,))
        return None


def _needed(form: CampaignForm, name: str, read: Callable[[CampaignForm, str], Any]) -> Any:
    found = read(form, name)
    if found is None:
        form.errors.setdefault(name, f"{LABELS[name]} must be given.")
    return found


def _whole(form: CampaignForm, name: str) -> int | None:
    """A whole number, in which 1,000,000 and 1e6 are the same; None if nothing is typed."""
    number = _number(form, name)
    if number is None:
        return None
    if number != number.to_integral_value():
        form.errors[name] = f"{LABELS[name]} must be a whole number."
        return None
    return int(number)


def _real(form: CampaignForm, name: str) -> float | None:
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


def _tried(form: CampaignForm, name: str, check: Callable[[], object]) -> None:
    try:
        check()
    except (TypeError, ValueError) as error:
        _noted(form, str(error), (name,))
