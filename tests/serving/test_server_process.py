"""Servers beside a program, and the signals that end it."""

import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from untrackable.demo.demo_run import run
from untrackable.serving import server_process
from untrackable.serving.server_process import postponed_signals


@pytest.fixture(autouse=True)
def _interruptible() -> Iterator[None]:
    """Ctrl-C is what it is in a new process, whatever commands ran in this one before."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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


@dataclass
class _Server:
    address: str = "http://localhost"
    ended: list[str] = field(default_factory=list)

    def end(self) -> None:
        self.ended.append(self.address)


def test_a_demonstration_that_is_interrupted_while_it_starts_a_server_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = _Server()

    def started(*options: str) -> _Server:
        signal.raise_signal(signal.SIGINT)
        return server

    monkeypatch.setattr(server_process, "start_server", started)
    monkeypatch.setattr(server_process, "start_relay", started)
    with pytest.raises(KeyboardInterrupt), run(clients=2, simulated=2):
        pass
    assert server.ended == [server.address] * 2
