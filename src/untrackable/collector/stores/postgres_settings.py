"""Whether a PostgreSQL server would lose what it acknowledged, or write down when a report came."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from untrackable.collector.stores.postgres_connection import Connection
from untrackable.errors import StoreUnavailable

_LOOK_SECONDS = 5.0
"""How often a connection that adds reports looks: settings may change while the server runs."""
_SAFE: Final = ("fsync", "full_page_writes")


def _statements(found: Mapping[str, str]) -> bool:
    """Whether some statements are logged."""
    return (
        found["log_statement"] in ("mod", "all")
        or int(found["log_min_duration_statement"]) >= 0
        or int(found["log_min_duration_sample"]) >= 0
        or float(found["log_transaction_sample_rate"]) > 0
    )


def _explained(found: Mapping[str, str]) -> bool:
    """Whether some plans are logged; without the extension, none is."""
    return float(found.get("auto_explain.log_min_duration", "-1")) >= 0


def _always(found: Mapping[str, str]) -> bool:
    return True


_TELLING: Final[Mapping[str, tuple[str, Callable[[Mapping[str, str]], bool]]]] = {
    "log_parameter_max_length": ("0", _statements),
    "log_parameter_max_length_on_error": ("0", _always),
    "debug_print_parse": ("off", _always),
    "debug_print_rewritten": ("off", _always),
    "debug_print_plan": ("off", _always),
    "pgaudit.log_parameter": ("off", _always),
    "auto_explain.log_verbose": ("off", _explained),
    "auto_explain.log_parameter_max_length": ("0", _explained),
}
"""What would write parameters into the server's log: the setting that keeps it from that, and when it would."""
_OTHERS: Final = (
    "track_commit_timestamp",
    "log_statement",
    "log_min_duration_statement",
    "log_min_duration_sample",
    "log_transaction_sample_rate",
    "auto_explain.log_min_duration",
)


def look(connection: Connection) -> None:
    """Check a connection's settings if that has not been done for a while."""
    now = time.monotonic()
    if now - connection.looked >= _LOOK_SECONDS:
        try:
            check_settings(connection)
        except StoreUnavailable:
            connection.close()  # what is set right for a role is so in new sessions
            raise
        connection.looked = now


def check_settings(connection: Connection) -> None:
    """`StoreUnavailable` if the server would lose what it acknowledged, or write down when a report came."""
    names = [*_SAFE, *_TELLING, *_OTHERS]
    found = dict(
        connection.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", (names,)).fetchall()
    )
    for name in _SAFE:
        if found[name] != "on":
            raise StoreUnavailable(f"PostgreSQL runs with {name} off, so that nothing it acknowledges is safe")
    if found["track_commit_timestamp"] != "off":
        raise StoreUnavailable("PostgreSQL runs with track_commit_timestamp on, and would tell when a report came")
    wrong = [
        f"`ALTER ROLE … SET {name} = {right}`"
        for name, (right, logs) in _TELLING.items()
        if found.get(name, right) != right and logs(found)
    ]
    if wrong:
        raise StoreUnavailable(
            "PostgreSQL would write reports into its log, with the time: let it log no parameters, with "
            + " and ".join(wrong)
        )
