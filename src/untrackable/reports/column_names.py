"""The names of a file's columns in messages. A first line that may be somebody's data is not shown."""

import re
from collections.abc import Sequence

# fmt: off
_USUAL = {
    "bloom", "client_id", "cohort", "count", "created_at", "date", "datetime", "day", "device", "device_id",
    "frequency", "id", "irr", "nonce", "place", "prr", "pseudonym", "rappor", "received_at", "report", "reports",
    "round", "session_id", "time", "timestamp", "user", "user_id", "userid", "uuid", "value", "window",
}
# fmt: on
"""Words that name columns, and hardly ever are data."""
_NAME = re.compile(r"[^\W\d][\w .:/()%-]{0,39}")


def are_names(cells: Sequence[str]) -> bool:
    """Whether a first line certainly names columns.

    One cell must be a usual name, and all must look like names: no number, no long text, no cell that is empty.
    """
    stripped = [cell.strip() for cell in cells]
    return any(cell.lower() in _USUAL for cell in stripped) and all(map(_NAME.fullmatch, stripped))


def column_words(columns: Sequence[str], *, shown: bool) -> str:
    """Which columns a file has, or how many if its first line may be data."""
    if not shown:
        return f"its first line has {len(columns)} column{'s' * (len(columns) != 1)}, which may not be names"
    return f"its columns are {', '.join(columns) or 'none'}"
