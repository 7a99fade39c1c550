"""Checks that a PostgreSQL server neither loses acknowledged reports nor records when a report came."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from untrackable.collector.stores.postgres_connection import Connection
from untrackable.errors import StoreUnavailable

_RECHECK_SECONDS = 5.0
"""How often a connection that adds reports checks the settings, which may change while the server runs."""
_SAFE: Final = ("fsync", "full_page_writes")
"""Settings without which the server may lose acknowledged reports."""


def _logs_statements(found: Mapping[str, str]) -> bool:
    """Whether the server logs some statements."""
    return (
        found["log_statement"] in ("mod", "all")
        or int(found["log_min_duration_statement"]) >= 0
        or int(found["log_min_duration_sample"]) >= 0
        or float(found["log_transaction_sample_rate"]) > 0
    )


def _logs_plans(found: Mapping[str, str]) -> bool:
    """Whether the server logs some query plans. It does not without the extension auto_explain."""
    return float(found.get("auto_explain.log_min_duration", "-1")) >= 0


def _always(found: Mapping[str, str]) -> bool:
    return True


_LEAKING: Final[Mapping[str, tuple[str, Callable[[Mapping[str, str]], bool]]]] = {
    "log_parameter_max_length": ("0", _logs_statements),
    "log_parameter_max_length_on_error": ("0", _always),
    "debug_print_parse": ("off", _always),
    "debug_print_rewritten": ("off", _always),
    "debug_print_plan": ("off", _always),
    "pgaudit.log_parameter": ("off", _always),
    "auto_explain.log_verbose": ("off", _logs_plans),
    "auto_explain.log_parameter_max_length": ("0", _logs_plans),
}
"""Settings that may write reports into the server's log: the value that prevents it, and when it matters."""
_OTHERS: Final = (
    "track_commit_timestamp",
    "log_statement",
    "log_min_duration_statement",
    "log_min_duration_sample",
    "log_transaction_sample_rate",
    "auto_explain.log_min_duration",
)
"""Further settings that the checks need."""


def recheck_settings(connection: Connection) -> None:
    """Check the server's settings unless this connection did so a moment ago."""
    now = time.monotonic()
    if now - connection.settings_checked >= _RECHECK_SECONDS:
        try:
            check_settings(connection)
        except StoreUnavailable:
            connection.close()  # A corrected setting of a role only applies to new sessions.
            raise
        connection.settings_checked = now


def check_settings(connection: Connection) -> None:
    """Raise `StoreUnavailable` if the server could lose acknowledged reports or record when a report came."""
    names = [*_SAFE, *_LEAKING, *_OTHERS]
    found = dict(
        connection.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", (names,)).fetchall()
    )
    for name in _SAFE:
        if found[name] != "on":
            raise StoreUnavailable(
                f"PostgreSQL runs with {name} off and may lose acknowledged reports: set {name} = on"
            )
    if found["track_commit_timestamp"] != "off":
        raise StoreUnavailable(
            "PostgreSQL runs with track_commit_timestamp on and would record when a report came: "
            "set track_commit_timestamp = off"
        )
    wrong = [
        f"`ALTER ROLE … SET {name} = {right}`"
        for name, (right, logs) in _LEAKING.items()
        if found.get(name, right) != right and logs(found)
    ]
    if wrong:
        raise StoreUnavailable(
            "PostgreSQL would write reports into its log, with the time: turn off the logging of parameters with "
            + " and ".join(wrong)
        )
