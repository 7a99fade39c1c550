"""Checks that a PostgreSQL server neither loses acknowledged reports nor records when a report came."""

import time
from collections.abc import Mapping
from typing import Final

from untrackable.collector.stores.postgres_connection import Connection
from untrackable.errors import StoreUnavailable

_RECHECK_SECONDS = 5.0
"""How often a connection that adds reports checks the settings, which may change while the server runs."""
_SAFE: Final = ("fsync", "full_page_writes")
"""Settings without which the server may lose acknowledged reports."""


_QUIET: Final[Mapping[str, frozenset[str]]] = {
    "log_statement": frozenset({"none"}),
    "log_duration": frozenset({"off"}),
    "log_min_duration_statement": frozenset({"-1"}),
    "log_min_duration_sample": frozenset({"-1"}),
    "log_transaction_sample_rate": frozenset({"0"}),
    "log_parser_stats": frozenset({"off"}),
    "log_planner_stats": frozenset({"off"}),
    "log_executor_stats": frozenset({"off"}),
    "log_statement_stats": frozenset({"off"}),
    "log_min_messages": frozenset({"warning", "info", "notice", "error", "log", "fatal", "panic"}),
    "log_parameter_max_length_on_error": frozenset({"0"}),
    "debug_print_parse": frozenset({"off"}),
    "debug_print_rewritten": frozenset({"off"}),
    "debug_print_plan": frozenset({"off"}),
    "debug_print_raw_parse": frozenset({"off"}),
    "trace_sort": frozenset({"off"}),
    "trace_locks": frozenset({"off"}),
    "trace_lwlocks": frozenset({"off"}),
    "wal_debug": frozenset({"off"}),
    "auto_explain.log_min_duration": frozenset({"-1"}),
    "pgaudit.log": frozenset({"none", ""}),
    "pgaudit.role": frozenset({""}),
    "pgaudit.log_parameter": frozenset({"off"}),
}
"""Settings that may write a line into the server's log for a statement or commit, and the values that prevent it.

Every line has its time, so it would tell when a report came. Not all servers have all of these settings.
"""
_ADVISED: Final = {"log_min_messages": "warning", "pgaudit.log": "none", "pgaudit.role": "''"}
"""The value to advise where several are allowed, or where it is empty."""


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
    names = [*_SAFE, *_QUIET, "track_commit_timestamp"]
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
        f"`ALTER ROLE … SET {name} = {_ADVISED.get(name, min(quiet))}`"
        for name, quiet in _QUIET.items()
        if name in found and found[name].lower() not in quiet
    ]
    if wrong:
        raise StoreUnavailable(
            "PostgreSQL would write reports into its log, or when they come: a superuser turns that off for the "
            "collector's role with " + " and ".join(wrong)
        )
