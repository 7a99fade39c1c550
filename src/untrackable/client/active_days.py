"""The days on which somebody used something, in a private file of the client's folder. They are never sent."""

from untrackable.client.private_folder import Folder
from untrackable.encodings.days_of_use import DAY_SECONDS, LAST_DAYS, RETURN_DAYS, DaysOfUse
from untrackable.errors import StateError


def name(campaign: str) -> str:
    """The name of the file that holds the days of use for a campaign."""
    return f"{campaign}.days"


def day_of(now: float) -> int:
    """The day in UTC, numbered from 1970."""
    return int(now // DAY_SECONDS)


def read(folder: Folder, campaign: str) -> DaysOfUse | None:
    """The days on disk, if there are any. A file that is damaged is an error."""
    content = folder.read(name(campaign), "the file of days")
    if content is None:
        return None
    try:
        days, returned = ([int(day) for day in content[part]] for part in ("days", "returned"))
        found = DaysOfUse(int(content["first"]), bool(content["newcomer"]), tuple(days), tuple(returned))
    except (KeyError, TypeError, ValueError) as error:
        raise StateError(f"the file of days cannot be understood: {type(error).__name__}") from None
    if len(found.days) > LAST_DAYS or not set(found.returned) <= set(RETURN_DAYS):
        raise StateError("the file of days cannot be understood: it has more than can be")
    return found


def write(folder: Folder, campaign: str, days: DaysOfUse) -> None:
    """Replace the days on disk."""
    content = {
        "days": list(days.days),
        "first": days.first,
        "newcomer": days.newcomer,
        "returned": list(days.returned),
        "version": 1,
    }
    folder.write(name(campaign), content)
