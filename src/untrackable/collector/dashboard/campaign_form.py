"""The form of a new campaign: what people type becomes goals, or says beside each field what is wrong with it."""

import datetime
from typing import Any
from urllib.parse import parse_qsl

from untrackable.collector.dashboard.asked_answers import KINDS, asked_answers
from untrackable.collector.dashboard.posted_forms import Form
from untrackable.collector.dashboard.typed_fields import (
    DEFAULTS,
    LABELS,
    Asked,
    CampaignForm,
    noted,
    real,
    tried,
    whole,
)
from untrackable.display.numbers import odds_factor
from untrackable.encodings.bit import Bit
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.shown_text import check_shown
from untrackable.mechanisms.wanted_figure import WANTS
from untrackable.planning.goals import Goals
from untrackable.protocol.campaign import LONGEST_QUESTION, LONGEST_ROUND

UNITS = {"minutes": 60, "hours": 3600, "days": 86400, "weeks": 7 * 86400}
"""The seconds of each unit of time."""
OTHER = "other"
"""The level of protection that is typed as a number."""
LEVELS = {
    "1": "Strong: no answer looks more than {} times as likely as another (eps 1).",
    "2": "Middle: at most {} times (eps 2). Take this one unless the question is sensitive or harmless.",
    "4": "Light: at most {} times (eps 4). A report is often the plain answer: for harmless questions only.",
    OTHER: "Another eps, which is typed below.",
}
"""The levels of protection, by their eps, in words with a place for the odds."""
_WIPES = {"programs": 0, "pages": 1}
"""How often a client may lose what it stored, by where people answer. Browsers delete what pages store."""
_TICKS = ("others", "relay")
_DAY = 86400
_WHOLE = ("people", "rounds", "pooled")
_REAL = ("error", "share", "crowd_delta", "margin")
_NEEDED = ("pooled", "share")
_CHOICES = {
    "kind": KINDS,
    "outside": ("error", "clamp", "separate"),
    "want": WANTS,
    "unit": tuple(UNITS),
    "protection": tuple(LEVELS),
    "where": tuple(_WIPES),
}
_CHANGEABLE = ("people", "rounds", "pooled", "eps", "protection")
"""The fields that a button below a plan may change."""


def levels() -> list[tuple[str, str]]:
    """The levels of protection in words."""
    odds = {eps: "" if eps == OTHER else odds_factor(float(eps)) for eps in LEVELS}
    return [(eps, words.format(odds[eps])) for eps, words in LEVELS.items()]


def empty_form(now: float) -> CampaignForm:
    """The form before anybody typed."""
    midnight = (int(now) // _DAY + 1) * _DAY
    first = datetime.datetime.fromtimestamp(midnight, datetime.UTC).strftime("%Y-%m-%dT%H:%M")
    return CampaignForm({**DEFAULTS, "first": first, **dict.fromkeys(_TICKS, "")})


def unread_form(sent: Form) -> CampaignForm:
    """The form as it was sent, without looking at what is wrong with it."""
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
    if not form.errors and goals is not None:
        form.asked = Asked(goals, question, first, seconds)
    return form


def _question(form: CampaignForm, needed: bool) -> str:
    text = form.typed["question"].strip()
    if needed and not text:
        form.errors["question"] = "Write the question that people are asked."
    elif len(text) > LONGEST_QUESTION:
        form.errors["question"] = f"The question must have at most {LONGEST_QUESTION:,} characters."
    elif text:
        tried(form, "question", lambda: check_shown("question", text))
    return text


def _seconds(form: CampaignForm) -> int:
    """The length of a round."""
    every = whole(form, "every")
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
    given: dict[str, Any] = {name: whole(form, name) for name in _WHOLE} | {
        name: real(form, name) for name in _REAL
    }
    level = form.typed["protection"]
    given["eps"] = real(form, "eps") if level == OTHER else float(level)
    wipes = whole(form, "wipes")
    given["wipes"] = _WIPES[form.typed["where"]] if wipes is None else wipes
    for name in _NEEDED:
        if not form.typed[name].strip():
            form.errors[name] = f"{LABELS[name]} must be given."
    given = {name: value for name, value in given.items() if value is not None and name not in form.errors}
    if "share" in given:  # 0.1 is a tenth, and not the nearest floating-point number.
        given["share"] = str(given["share"])
    if form.typed["kind"] in ("numbers", "buckets"):
        given["want"] = form.typed["want"]
    kept: Any = encoding or Bit()
    for _ in range(len(given)):
        try:
            return Goals(encoding=kept, relay=bool(form.typed["relay"]), looks=1, **given)
        except (TypeError, ValueError) as error:
            wrong = noted(form, str(error), tuple(given) or ("people",))
            if wrong not in given:
                return None
            given[wrong] = _harmless(wrong)
    return None


def _harmless(name: str) -> Any:
    """A value for a field that is wrong, with which the others can be checked."""
    usual = {"people": 10**6, "rounds": 30, "pooled": 1, "eps": 1.0, "share": 1, "wipes": 0, "error": 0.05}
    return "frequencies" if name == "want" else usual.get(name, 0.01)
