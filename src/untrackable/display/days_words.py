"""Answers to the ready questions about days of use, in words for people and for JSON."""

import dataclasses
from typing import Any

from untrackable.answers.answer import Answer
from untrackable.answers.days_answers import DaysShare, active_shares, asks_about_days, returned_shares
from untrackable.display.number_words import NumberRow
from untrackable.display.percentages import percent

_UNKNOWN = "these reports cannot tell"


def days_shares(answer: Answer, beta: float) -> list[DaysShare]:
    """What is asked about days of use; nothing if the question is another one, or nothing is known of the error."""
    asked = asks_about_days(answer)
    if asked is None:
        return []
    try:
        return active_shares(answer, beta=beta) if asked == "active-days" else returned_shares(answer, beta=beta)
    except ValueError:
        return []


def days_rows(answer: Answer, beta: float) -> list[NumberRow]:
    """Each share with where it lies."""
    words = "{} or more" if asks_about_days(answer) == "active-days" else "D{}: back on that day"
    return [
        NumberRow(
            words.format(share.days),
            percent(share.value) if share.tells else _UNKNOWN,
            f"between {percent(share.lower, 'down')} and {percent(share.upper, 'up')}" if share.tells else "",
        )
        for share in days_shares(answer, beta)
    ]


def days_notes(answer: Answer, beta: float) -> list[str]:
    """What these shares are of, and how certain they are."""
    shares = days_shares(answer, beta)
    if not shares:
        return []
    sure = f"these intervals hold together, except with probability {beta:.3g} (upper)"
    if asks_about_days(answer) == "active-days":
        return [f"or more: {sure}"]
    known = ", ".join(f"D{share.days} {percent(share.known)}" for share in shares)
    return [
        f"coming back: {sure}; each is a share of those whose day is over and who were new when first asked "
        f"(of all people, estimated: {known}); those who removed the program do not answer"
    ]


def days_json(answer: Answer, beta: float) -> list[dict[str, Any]]:
    """The shares for JSON."""
    return [
        dataclasses.asdict(share) | ({} if share.tells else {"value": None}) for share in days_shares(answer, beta)
    ]
