"""Files that survive: damage, full disks, two processes."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.samples import (
    HOME,
    SERVER,
    Clock,
    Server,
    campaign,
    client,
    policy,
    send,
    snapshot,
    turns_campaign,
)
from untrackable.client.folder import Folder, framed, unframed
from untrackable.client.ledger import store_policy
from untrackable.client.sending import Address, Ready, Reply
from untrackable.errors import FolderBusy, StateError
from untrackable.mechanisms.deck import Deck

SMALL = Deck(bits=2, slots=3, eps_report=0.05)


def joined(folder: Path) -> tuple[Clock, bytes, bytes]:
    """Somebody who has answered, with the bytes of both files."""
    clock, asked = Clock(), campaign(SMALL, rounds=3)
    client(folder, asked, clock).answer(2)
    return clock, (folder / "ledger").read_bytes(), (folder / f"{asked.id}.state").read_bytes()


@pytest.mark.parametrize("name", ["ledger", "state"])
def test_damage_at_every_byte_is_noticed_and_destroys_nothing(name: str, tmp_path: Path) -> None:
    clock, *contents = joined(tmp_path / "c")
    asked = campaign(SMALL, rounds=3)
    whole = contents[0] if name == "ledger" else contents[1]
    place = tmp_path / "c" / ("ledger" if name == "ledger" else f"{asked.id}.state")
    someone = client(tmp_path / "c", asked, clock)
    clock.late_in(1)
    damaged = [whole[:size] for size in range(len(whole))]
    damaged += [whole[:i] + bytes([whole[i] ^ (1 << i % 8)]) + whole[i + 1 :] for i in range(len(whole))]
    damaged += [whole + b"\0", b"\0" * len(whole)]
    for data in damaged:
        place.write_bytes(data)
        for attempt in (someone.report, someone.due, lambda: someone.answer(1)):
            with pytest.raises(StateError):
                attempt()
        if name == "ledger":
            with pytest.raises(StateError):
                someone.leave()
        assert place.read_bytes() == data
    place.write_bytes(whole)
    assert someone.report() is not None


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    clock, _, state = joined(tmp_path / "c")
    other = campaign(SMALL, rounds=3, question="Another?")
    store_policy(tmp_path / "c", policy(eps=3.0, delta=3e-6), clock=clock)
    someone = client(tmp_path / "c", other, clock, eps=3.0, delta=3e-6)
    someone.answer(1)
    place = tmp_path / "c" / f"{other.id}.state"
    strange: list[tuple[bytes, str]] = [
        (state, "not of the same time"),
        (
            b"UTF\x02" + framed({})[4:],
            "another version .* has format 2, .* reads format 1; move the whole folder away and answer .* policy",
        ),
        (framed({}), "cannot be understood: KeyError"),
        (
            framed({})[:4] + b"{" + hashlib.sha256(framed({})[:4] + b"{").digest(),
            "cannot be understood: JSONDecodeError",
        ),
    ]
    for data, reason in strange:
        place.write_bytes(data)
        for attempt in (someone.due, lambda: someone.answer(2)):
            with pytest.raises(StateError, match=reason):
                attempt()
        assert place.read_bytes() == data
    for content, reason in (
        (b"UTF\x02" + framed({})[4:], "has format 2, .* reads format 1; move the whole folder away"),
        (framed({}), "cannot be understood"),
    ):
        (tmp_path / "c" / "ledger").write_bytes(content)
        with pytest.raises(StateError, match=reason):
            someone.due()


def test_a_damaged_state_stands_in_the_way_of_its_own_campaign_only(tmp_path: Path) -> None:
    clock, server = Clock(), Server()
    asked = [campaign(SMALL, rounds=3, question=question) for question in ("A?", "B?")]
    for one in asked:
        client(tmp_path / "c", one, clock, eps=3.0, delta=2e-6).answer(1)
    damaged = tmp_path / "c" / f"{asked[0].id}.state"
    damaged.write_bytes(b"damaged")
    shutil.copytree(tmp_path / "c", tmp_path / "copy")
    for folder in (tmp_path / "c", tmp_path / "copy"):
        clock.late_in(2 if folder.name == "copy" else 1)
        with pytest.raises(StateError, match="damaged"):
            client(folder, asked[0], clock).due()
        assert (folder / damaged.name).read_bytes() == b"damaged"
        found = [send(client(folder, asked[1], clock), server, clock)]
        clock.late_in(3)
        found.append(send(client(folder, asked[1], clock), server, clock))
        assert found == (["NOTHING", "ACCEPTED"] if folder.name == "copy" else ["ACCEPTED", "ACCEPTED"])


@pytest.mark.parametrize("turn_is_over", [False, True])
def test_a_damaged_state_may_be_left_and_is_gone_after_the_turn(turn_is_over: bool, tmp_path: Path) -> None:
    clock, asked = Clock(), turns_campaign(rounds=1)
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(2)
    state = tmp_path / "c" / f"{asked.id}.state"
    state.write_bytes(b"damaged")
    with pytest.raises(StateError, match="damaged"):
        someone.due()
    if turn_is_over:
        clock.late_in(2)
        assert someone.due() is None
    else:
        someone.leave()
    assert not state.exists()


def test_leaving_what_was_never_joined_makes_nothing(tmp_path: Path) -> None:
    someone = client(tmp_path / "c", turns_campaign(), Clock())
    someone.due()
    before = snapshot(tmp_path / "c")
    someone.leave()
    assert snapshot(tmp_path / "c") == before


def test_states_without_a_ledger_are_not_answered_from(tmp_path: Path) -> None:
    clock, _, _ = joined(tmp_path / "c")
    (tmp_path / "c" / "ledger").unlink()
    (tmp_path / "c" / "lock").unlink()
    with pytest.raises(StateError, match="ledger is missing"):
        client(tmp_path / "c", campaign(SMALL, rounds=3), clock).answer(1)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no owners as on Unix")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joined(tmp_path / "c")
    monkeypatch.setattr(os, "geteuid", lambda: (tmp_path / "c").stat().st_uid + 1)
    with pytest.raises(StateError, match="somebody else"):
        Folder(tmp_path / "c")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no modes as on Unix")
def test_missing_folders_are_private_too(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        Folder(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    for place in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "c"):
        assert place.stat().st_mode & 0o777 == 0o700


def test_another_version_says_so() -> None:
    with pytest.raises(
        StateError, match=r"another version .* has format 2, .* reads format 1; move the whole folder away"
    ):
        unframed(b"UTF\x02" + framed({})[4:], "the state")


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    """Files may grow to so many bytes and no more, for every number up to what is needed."""
    resource = pytest.importorskip("resource")
    clock, ledger, state = joined(tmp_path / "c")
    asked = campaign(SMALL, rounds=3)
    someone, server = client(tmp_path / "c", asked, clock), Server()
    clock.late_in(1)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(len(ledger), len(state))
    for size in (0, 1, 100, len(ledger) - 1, largest - 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                send(someone, server, clock)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert not list((tmp_path / "c").glob("*.part"))
    assert server.bodies == []
    # The round may be counted, or the lock be ahead of the ledger; then it is given up, never answered twice.
    assert send(someone, server, clock) in ("ACCEPTED", "NOTHING")
    assert len(server.bodies) <= 1
    clock.late_in(2)
    assert send(someone, server, clock) == "ACCEPTED"


def test_a_leftover_of_a_killed_process_is_in_nobodys_way(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "c")
    (tmp_path / "c" / "x.part").write_bytes(b"half")
    folder.write("x", {"a": 1})
    assert folder.read("x", "it", dict) == {"a": 1}
    assert not (tmp_path / "c" / "x.part").exists()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "c")
    with (
        folder.locked(),
        pytest.raises(FolderBusy, match="another process"),
        Folder(tmp_path / "c").locked(patience=0.1),
    ):
        pass
    with Folder(tmp_path / "c").locked():
        pass


def test_many_processes_answer_a_round_once(tmp_path: Path) -> None:
    clock, _, _ = joined(tmp_path / "c")
    clock.late_in(1)
    script = (
        "import sys; from pathlib import Path; from untrackable.client.client import members\n"
        f"(m,) = members(Path({str(tmp_path / 'c')!r}), clock=lambda: {clock.now})\n"
        "print(m.report().hex())"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)  # noqa: S603
        for _ in range(4)
    ]
    found = {process.communicate(timeout=120)[0].strip() for process in running}
    assert len(found) == 1
    assert len(found.pop()) == 2 * 22


def test_two_senders_at_once_send_once(tmp_path: Path) -> None:
    clock, _, _ = joined(tmp_path / "c")
    asked, server = campaign(SMALL, rounds=3), Server()
    clock.late_in(1)
    clock.now -= 400
    first, second = (client(tmp_path / "c", asked, clock) for _ in range(2))
    found = []

    def meanwhile(address: Address, body: bytes, ready: Ready) -> Reply:
        """During an attempt, another process sends, too; and once more between two attempts."""
        found.append(send(second, server, clock))
        return Reply(None)

    def sleep(seconds: float) -> None:
        found.append(send(second, server, clock))

    outcome = first.send(SERVER, post=meanwhile, look=lambda host, port: HOME, sleep=sleep)
    # What has not gone out, the other process may send between two attempts, and then the first one does not.
    assert (found, outcome.name) == (["NOTHING", "ACCEPTED"], "NOTHING")
    assert len(server.bodies) == 1
    assert send(second, server, clock) == "NOTHING"
