"""A client that is killed between every pair of its steps, for real: a process of its own that ends right there."""

import contextlib
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client.samples import HOME, SERVER, Clock, campaign, client, nonce_of, round_of, turns_campaign
from untrackable.client.client import Member, members
from untrackable.client.folder import Folder
from untrackable.client.ledger import Account, Ledger
from untrackable.client.sending import Address, Post, Ready, Reply
from untrackable.encodings.numbers import IntegerRange
from untrackable.encodings.record import Path as AnswerPath
from untrackable.errors import CampaignRefused, ClockBehind
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.stored import InnerProduct
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign

KILLED = 9
LEFT = {"ledger", "lock", "sending"}
"""What is in the folder of somebody who takes part in nothing any more, beside the time of the next look."""
STEPS = ("open", "write", "ftruncate", "replace", "unlink", "mkdir")
"""What changes files. Killed before or after any other step, as a sync or a lock, a process leaves the same."""


def network(log: Path, step: Callable[[], None]) -> Post:
    """A server that remembers every body in a file; the second attempt of every other round gets through."""

    def post(address: Address, body: bytes, ready: Ready) -> Reply:
        step()
        assert ready("", address.host)
        seen = log.read_bytes().count(body) if log.exists() else 0
        with log.open("ab") as file:
            file.write(body)
        step()
        return Reply(503 if round_of(body) % 2 and not seen else 200)

    return post


def live(folder: Path, log: Path, mechanism: Mechanism, step: Callable[[], None]) -> None:
    """Join, report in three rounds, with a change of value where there may be one, leave, come back and leave."""
    clock, asked = Clock(), _asked(mechanism)
    someone = client(folder, asked, clock, eps=3.0, delta=1e-5, tracking_delta=1.0)
    someone.answer(2)
    for round in (1, 2, 4):
        clock.late_in(round)
        clock.now -= 400
        someone.send(SERVER, post=network(log, step), look=lambda host, port: HOME, sleep=clock.sleep)
        if round == 2 and asked.guarantee.values == "any":
            someone.answer(3)
    someone.leave()
    someone.answer(1)
    someone.leave()


def _asked(mechanism: Mechanism) -> Any:
    fixed = {} if isinstance(mechanism, Deck) else {"values": "fixed", "tracking_delta": 0.05}
    return campaign(mechanism, rounds=6, **fixed)


@contextlib.contextmanager
def _stepping(step: Callable[[], None], monkeypatch: pytest.MonkeyPatch, *, torn: bool) -> Iterator[None]:
    with monkeypatch.context() as patched:
        for name in STEPS:
            real = getattr(os, name)

            def stepped(*given: Any, real: Any = real, name: str = name, **named: Any) -> Any:
                if name == "open" and not given[1] & (os.O_CREAT | os.O_TRUNC):
                    return real(*given, **named)
                if name == "write" and torn:
                    data = bytes(given[1])
                    half = len(data) // 2
                    real(given[0], data[:half])
                    step()
                    return real(given[0], data[half:]) + half
                step()
                return real(*given, **named)

            patched.setattr(os, name, stepped)
        yield


def killed_at(
    number: int, run: Callable[[Callable[[], None]], None], monkeypatch: pytest.MonkeyPatch, torn: bool
) -> bool:
    """Run in a process of its own that ends before step `number`; whether it got that far."""
    if not hasattr(os, "fork"):
        pytest.skip("processes cannot fork here")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads of the tests do not matter to the child
        child = os.fork()
    if child == 0:
        try:
            _run_until(number, run, monkeypatch, torn)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, KILLED), code
    return code == KILLED


def _run_until(
    number: int, run: Callable[[Callable[[], None]], None], monkeypatch: pytest.MonkeyPatch, torn: bool
) -> None:
    """Run, and end this process before step `number`."""
    left = number

    def step() -> None:
        nonlocal left
        if left == 0:
            os._exit(KILLED)
        left -= 1

    with _stepping(step, monkeypatch, torn=torn):
        run(step)


def account_of(folder: Path, campaign_id: str) -> Account | None:
    opened = Folder(folder)
    with opened.locked():
        return Ledger.read(opened).accounts.get(campaign_id)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "torn"),
    [
        (Deck(bits=6, slots=6, eps_report=0.05), False),
        (Deck(bits=6, slots=6, eps_report=0.05), True),
        (InnerProduct(bits=6, slots=400, eps_report=0.05), False),
    ],
    ids=["deck", "deck-torn", "stored"],
)
def test_killed_between_every_pair_of_steps(
    mechanism: Mechanism, torn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _asked(mechanism)
    number, answered_later = 0, 0
    while True:
        folder, log = tmp_path / "c", tmp_path / "log"
        killed = killed_at(number, lambda step: live(folder, log, mechanism, step), monkeypatch, torn)  # noqa: B023
        if folder.exists():
            # What was sent is in the ledger, whatever happened.
            sent = _bodies(log, asked)
            for body in sent:
                account = account_of(folder, asked.id)
                assert account is not None, number
                assert not account.life or round_of(body) <= account.tried <= account.through, number
            # Somebody starts it again in the same round, and in all later ones.
            clock = Clock()
            for round in (2, 4, 5, 6):
                clock.late_in(round)
                for member in members(folder, clock=clock):
                    # Killed between lock and ledger, and back at an earlier time: not before the clock is right.
                    with contextlib.nullcontext() if round > 2 else contextlib.suppress(ClockBehind):
                        member.send(
                            SERVER, post=network(log, lambda: None), look=lambda host, port: HOME, sleep=clock.sleep
                        )
            bodies = _bodies(log, asked)
            assert bodies[: len(sent)] == sent
            for round in {round_of(body) for body in bodies}:
                same = {body for body in bodies if round_of(body) == round}
                assert len(same) == 1, (number, round)
            assert len({nonce_of(body) for body in bodies}) == len({round_of(body) for body in bodies})
            account = account_of(folder, asked.id)
            assert account is not None or not bodies
            if account is not None:
                assert not account.life or max(map(round_of, bodies), default=0) <= account.through
            answered_later += any(round_of(body) == 6 for body in bodies)
            if account is not None:
                Member(asked, folder, clock=clock).leave()
                assert {path.name for path in folder.iterdir()} - {"next"} == LEFT, number
            shutil.rmtree(folder)
        log.unlink(missing_ok=True)
        if not killed:
            break
        number += 1
    assert number > 80  # steps that change files
    assert answered_later > number // 2  # most of them live on


ONCE = turns_campaign(rounds=1)
PATH = turns_campaign(
    Views(bits=4, views=((0, 1, 2, 3),), eps=1.0),
    rounds=1,
    encoding=AnswerPath(of=IntegerRange(low=0, high=3), looks=2),
)


def live_once(
    folder: Path, log: Path, step: Callable[[], None], asked: Campaign, *, change: bool, leave: bool
) -> None:
    """Join, perhaps change the value, answer in the only round, perhaps leave first; then try to answer again."""
    clock = Clock()
    someone = client(folder, asked, clock)
    someone.answer(2)
    if change:
        clock.now += 200
        someone.answer(3)
    if leave:
        someone.leave()
    clock.late_in(1)
    clock.now -= 400
    someone.send(SERVER, post=network(log, step), look=lambda host, port: HOME, sleep=clock.sleep)
    someone.answer(1)
    someone.leave()


@pytest.mark.slow
@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize(("change", "leave"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("asked", [ONCE, PATH], ids=["value", "path"])
def test_killed_between_every_pair_of_steps_of_a_turn(
    asked: Campaign, change: bool, leave: bool, torn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never a second answer, never a state that no ledger lists, and never a charge that is taken back."""
    number, answered = 0, 0
    while True:
        folder, log = tmp_path / "c", tmp_path / "log"

        def run(step: Callable[[], None], folder: Path = folder, log: Path = log) -> None:
            live_once(folder, log, step, asked, change=change, leave=leave)

        killed = killed_at(number, run, monkeypatch, torn)
        answered += _answers_once(folder, log, asked)
        if not killed:
            break
        number += 1
    assert number > 20
    assert leave or answered > number // 3


def test_killed_as_a_program_of_its_own(tmp_path: Path) -> None:
    """Where processes cannot fork, every step is tried. Elsewhere some are: programs take long to start."""
    number, answered, tried = 0, 0, 0
    while True:
        folder, log = tmp_path / "c", tmp_path / "log"
        command = [sys.executable, "-m", "tests.client.test_crashes", str(number), str(folder), str(log)]
        code = subprocess.run(command, timeout=60, check=False).returncode  # noqa: S603
        assert code in (0, KILLED)
        answered, tried = answered + _answers_once(folder, log, ONCE), tried + 1
        if code == 0:
            break
        number += 9 if hasattr(os, "fork") else 1
    assert number > 20
    assert answered > tried // 3


def _answers_once(folder: Path, log: Path, asked: Campaign) -> bool:
    """Whether somebody who was killed answers after all, and never twice; then nothing is left of it."""
    bodies: list[bytes] = []
    if folder.exists():
        listed = account_of(folder, asked.id)  # This raises if there is a state that no ledger lists.
        sent = _bodies(log, asked)
        assert listed or not sent
        clock = Clock()
        clock.late_in(1)
        someone = client(folder, asked, clock)
        for value in (None, 1):
            if value is not None:
                with contextlib.suppress(CampaignRefused):  # It was never joined, and is over.
                    someone.answer(value)
            for member in members(folder, clock=clock):
                member.send(
                    SERVER, post=network(log, lambda: None), look=lambda host, port: HOME, sleep=clock.sleep
                )
        bodies = _bodies(log, asked)
        assert len(set(bodies)) <= 1
        assert bool(account_of(folder, asked.id)) == bool(listed)
        clock.late_in(2)
        assert all(member.due() is None for member in members(folder, clock=clock))
        if listed:
            assert {path.name for path in folder.iterdir()} - {"next"} == LEFT
        assert someone.due() is None
        shutil.rmtree(folder)
    log.unlink(missing_ok=True)
    return bool(bodies)


def _bodies(log: Path, asked: Any) -> list[bytes]:
    size = 21 + -(-asked.mechanism.report_bits // 8)
    data = log.read_bytes() if log.exists() else b""
    return [data[i : i + size] for i in range(0, len(data), size)]


if __name__ == "__main__":
    _run_until(
        int(sys.argv[1]),
        lambda step: live_once(Path(sys.argv[2]), Path(sys.argv[3]), step, ONCE, change=True, leave=False),
        pytest.MonkeyPatch(),
        torn=False,
    )
