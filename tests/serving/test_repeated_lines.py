"""A log stays short, whatever strangers find to repeat."""

import io
import logging
import logging.config

from untrackable.serving import http_server
from untrackable.serving.repeated_lines import RepeatedLines


def record(text: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("untrackable", logging.ERROR, "file", 1, text, arguments, None)


def test_a_line_is_written_once_in_a_minute() -> None:
    now = [0.0]
    lines = RepeatedLines(clock=lambda: now[0])
    assert lines.filter(record("failed at %s", "a:1"))
    assert not any(lines.filter(record("failed at %s", "a:1")) for _ in range(1000))
    other = record("failed at %s", "b:2")
    assert lines.filter(other)
    assert other.getMessage() == "failed at b:2 (1000 repeated lines were left out before)"
    now[0] = 59.9
    assert not lines.filter(record("failed at a:1"))
    now[0] = 60.0
    again = record("failed at %s", "a:1")
    assert lines.filter(again)
    assert again.getMessage() == "failed at a:1 (1 repeated lines were left out before)"


def test_different_lines_are_bounded_too() -> None:
    now = [0.0]
    lines = RepeatedLines(clock=lambda: now[0])
    assert sum(lines.filter(record("%d", number)) for number in range(5000)) == 1000
    now[0] = 60.0
    assert lines.filter(record("%d", 5000))


def test_servers_log_in_this_way() -> None:
    written = io.StringIO()
    names = http_server._LOGGING["loggers"]
    before = {
        name: (list(found.handlers), found.level, found.propagate)
        for name in names
        for found in [logging.getLogger(name)]
    }
    settings = {
        **http_server._LOGGING,
        "handlers": {"stderr": {**http_server._LOGGING["handlers"]["stderr"], "stream": written}},
    }
    try:
        logging.config.dictConfig(settings)
        for _ in range(100):
            logging.getLogger("untrackable.collector").error("failed")
    finally:
        for name, (handlers, level, propagate) in before.items():
            found = logging.getLogger(name)
            found.handlers, found.propagate = handlers, propagate
            found.setLevel(level)
    assert written.getvalue() == "ERROR: failed\n"
