"""When a campaign's rounds begin, and how long they are, as people write it."""

from __future__ import annotations

import datetime
import re
import time

from untrackable.cli.campaign_shown import UNITS


def round_length(given: str, name: str = "--every") -> int:
    """The seconds that 90s, 15m, 6h, 1d or 1w stand for."""
    found = re.fullmatch(r"(\d{1,9})([smhdw])", given)
    if not found:
        raise ValueError(f"{name} must be a whole number and a unit: 90s, 15m, 6h, 1d or 1w")
    return int(found[1]) * UNITS[found[2]]


def first_moment(given: str | None, name: str = "--first") -> int:
    """The second since 1970 at which the first round begins: the next midnight, unless a date is given."""
    if given is None:
        return (int(time.time()) // 86400 + 1) * 86400
    try:
        found = datetime.datetime.fromisoformat(given)
    except ValueError:
        raise ValueError(f"{name} must be a date such as 2027-01-31, or with a time, 2027-01-31T12:00") from None
    return int((found if found.tzinfo else found.replace(tzinfo=datetime.UTC)).timestamp())
