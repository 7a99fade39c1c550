"""Servers: their sockets, their log, the signals that end them, and servers beside a program."""

import io
import logging
import logging.config
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

import pytest

from untrackable.demo.demo import run
from untrackable.serving import server
from untrackable.serving.server import RepeatedLines, postponed_signals


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Ctrl-C is what it is in a new process, whatever commands ran in this one before."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux only")
def test_the_system_does_not_keep_for_long_what_nobody_reads() -> None:
    """Otherwise closed connections whose answers nobody reads would take its memory for many minutes."""
    with server.bind("127.0.0.1", 0) as bound, socket.create_connection(bound.getsockname()):
        accepted, _ = bound.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000


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
    names = server._LOGGING["loggers"]
    before = {
        name: (list(logger.handlers), logger.level, logger.propagate)
        for name in names
        for logger in [logging.getLogger(name)]
    }
    settings = {
        **server._LOGGING,
        "handlers": {"stderr": {**server._LOGGING["handlers"]["stderr"], "stream": written}},
    }
    try:
        logging.config.dictConfig(settings)
        for _ in range(100):
            logging.getLogger("untrackable.collector").error("failed")
    finally:
        for name, (handlers, level, propagate) in before.items():
            logger = logging.getLogger(name)
            logger.handlers, logger.propagate = handlers, propagate
            logger.setLevel(level)
    assert written.getvalue() == "ERROR: failed\n"


@pytest.mark.parametrize("fails", [False, True])
def test_an_interrupt_takes_effect_after_the_block(fails: bool) -> None:
    before, done = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with postponed_signals():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            done.append(True)
            if fails:
                raise OSError("it did not start")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_have_no_signals_to_postpone() -> None:
    done = []

    def work() -> None:
        with postponed_signals():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Even if that is killed, and could not end anything itself."""
    starting = (
        "import signal, sys; from untrackable.serving.server import start_server; "
        "server = start_server(sys.argv[1]); print(server.address, flush=True); signal.pause()"
    )
    command = [sys.executable, "-c", starting, f"sqlite:///{tmp_path}/x.db"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:  # noqa: S603
        assert program.stdout is not None
        address = urlsplit(program.stdout.readline())
        assert _listens(address)
        program.kill()
        assert program.communicate(timeout=60) == ("", "")  # The server has its standard error open until it ends.
    assert not _listens(address)
    assert not [path for path in tmp_path.iterdir() if path.name.endswith("-wal")]  # It closed its store.


def test_worker_processes_end_with_the_process_that_started_them() -> None:
    """A pool's workers would wait for work for ever, if that is killed."""
    working = (
        "import multiprocessing, signal; from untrackable.serving.server import end_with_parent; "
        "pool = multiprocessing.get_context('spawn').Pool(2, end_with_parent); "
        "pool.map(abs, range(9)); print('at work', flush=True); signal.pause()"
    )
    command = [sys.executable, "-c", working]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:  # noqa: S603
        assert program.stdout is not None
        assert program.stdout.readline() == "at work\n"
        program.kill()
        assert program.communicate(timeout=60)[0] == ""  # Workers have standard output open until they end.


def _listens(address: SplitResult) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((address.hostname or "", address.port or 0)) == 0


@dataclass
class _Server:
    address: str = "http://localhost"
    ended: list[str] = field(default_factory=list)

    def end(self) -> None:
        self.ended.append(self.address)


def test_a_demonstration_that_is_interrupted_while_it_starts_a_server_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started_server = _Server()

    def started(*options: str) -> _Server:
        signal.raise_signal(signal.SIGINT)
        return started_server

    monkeypatch.setattr(server, "start_server", started)
    monkeypatch.setattr(server, "start_relay", started)
    with pytest.raises(KeyboardInterrupt), run(clients=2, simulated=2):
        pass
    assert started_server.ended == [started_server.address] * 2
