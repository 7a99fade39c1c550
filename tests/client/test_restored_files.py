"""Files that were put back, lost or brought from elsewhere: what is noticed, and what a rollback can still do."""

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client.samples import (
    DAY,
    HOME,
    START,
    WORK,
    Clock,
    Server,
    campaign,
    client,
    nonce_of,
    round_of,
    send,
    snapshot,
    turns_campaign,
)
from untrackable.client.client import members
from untrackable.errors import CampaignRefused, ClockBehind, StateError
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.fading import Fading


def test_a_restored_folder_answers_no_round_that_has_begun(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock, server, asked = Clock(), Server(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(2)
    clock.late_in(3)
    someone.report()
    shutil.copytree(tmp_path / "c", tmp_path / "backup")
    for round in (3, 4, 5):
        clock.late_in(round)
        send(someone, server, clock)
    shutil.rmtree(tmp_path / "c")
    shutil.copytree(tmp_path / "backup", tmp_path / "c")
    for round in (5, 6):
        clock.late_in(round)
        send(client(tmp_path / "c", asked, clock), server, clock)
    assert [round_of(body) for body in server.bodies] == [3, 4, 5, 6]
    assert [told.getMessage() for told in caplog.records] == [
        f"{tmp_path / 'c'} was restored or copied, or writing it was interrupted: it is not known what was "
        "answered since, so rounds that have begun are not answered, and reports that were about to be sent are "
        "dropped"
    ]


def test_a_campaign_that_an_older_folder_does_not_know_is_not_joined_again(tmp_path: Path) -> None:
    """It may have been joined and answered after the copy was made. Campaigns that begin later are joined."""
    clock, asked = Clock(), turns_campaign(rounds=2)
    known, later = (turns_campaign(rounds=1, first_round=START + day * DAY) for day in (3, 5))
    client(tmp_path / "c", known, clock, eps=3.0).answer(1)
    shutil.copytree(tmp_path / "c", tmp_path / "backup")
    client(tmp_path / "c", asked, clock, eps=3.0).answer(1)
    shutil.rmtree(tmp_path / "c")
    shutil.copytree(tmp_path / "backup", tmp_path / "c")
    clock.now = START + 1.0
    again = client(tmp_path / "c", asked, clock, eps=3.0)
    with pytest.raises(CampaignRefused, match="began before the client's folder was restored"):
        again.answer(1)
    assert again.due() is None
    person = client(tmp_path / "c", later, clock, eps=3.0)
    person.answer(1)
    assert person.due() is not None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no owners as on Unix")
def test_a_folder_that_is_looked_after_answers_every_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modes set again, snapshots of links, backups read: none of it is a restored folder."""
    monkeypatch.setattr("untrackable.client.folder.generation", lambda descriptor: b"7777")
    clock, server, asked = Clock(), Server(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(2)
    for round in (1, 2, 3):
        clock.late_in(round)
        for file in (tmp_path / "c").iterdir():
            file.chmod(0o600)
            os.chown(file, os.geteuid(), os.getegid())
            (tmp_path / f"{round}{file.name}").hardlink_to(file)
        shutil.copytree(tmp_path / "c", tmp_path / f"backup{round}")
        assert send(someone, server, clock) == "ACCEPTED"


def test_a_file_system_where_every_file_is_another_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, numbers = Clock(), itertools.count()
    someone = client(tmp_path / "c", campaign(), clock)
    someone.answer(2)
    monkeypatch.setattr("untrackable.client.folder._mark", lambda descriptor: str(next(numbers)))
    with pytest.raises(StateError, match=r"c is on a file system where .* move the folder to another"):
        someone.due()


def test_a_state_put_back_does_not_answer_again(tmp_path: Path) -> None:
    clock, server, asked = Clock(), Server(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(2)
    place = tmp_path / "c" / f"{asked.id}.state"
    old = place.read_bytes()
    clock.late_in(2)
    send(someone, server, clock)
    place.write_bytes(old)
    send(someone, server, clock)
    clock.late_in(3)
    assert send(someone, server, clock) == "ACCEPTED"
    assert [round_of(body) for body in server.bodies] == [2, 3]


def test_a_ledger_put_back_alone_is_an_error_and_nothing_is_touched(tmp_path: Path) -> None:
    clock, server, asked, other = Clock(), Server(), campaign(), campaign(question="Another?")
    someone = client(tmp_path / "c", asked, clock, eps=2.0, delta=2e-6)
    client(tmp_path / "c", other, clock, eps=2.0, delta=2e-6).answer(1)
    client(tmp_path / "c", other, clock).leave()
    old = (tmp_path / "c" / "ledger").read_bytes()
    someone.answer(2)
    clock.late_in(2)
    send(someone, server, clock)
    (tmp_path / "c" / "ledger").write_bytes(old)
    before = snapshot(tmp_path / "c")
    third = client(tmp_path / "c", campaign(question="A third?"), clock)
    for attempt in (someone.report, someone.leave, lambda: someone.answer(1), lambda: third.answer(1)):
        with pytest.raises(StateError, match=r"the ledger is an old one, .* put the later one back"):
            attempt()
    with pytest.raises(StateError, match="old one"):
        members(tmp_path / "c")
    assert {path: data for path, data in snapshot(tmp_path / "c").items() if data or path in before} == before


def test_a_ledger_one_step_older_answers_no_round_that_has_begun(tmp_path: Path) -> None:
    """As after a crash between lock and ledger: with the state put back too, nothing shows which of both it was."""
    clock, server, asked = Clock(), Server(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(2)
    clock.late_in(2)
    clock.now -= 500
    someone.report()
    old = {path: data for path, data in snapshot(tmp_path / "c").items() if path.name != "lock"}
    assert send(someone, server, clock, HOME) == "ACCEPTED"
    for path, data in old.items():
        path.write_bytes(data)
    assert send(someone, server, clock, WORK) == "NOTHING"
    clock.late_in(3)
    assert send(someone, server, clock, WORK) == "ACCEPTED"
    assert [round_of(body) for body in server.bodies] == [2, 3]


def test_a_lost_ledger_is_no_fresh_budget(tmp_path: Path) -> None:
    clock, server, asked = Clock(), Server(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(2)
    clock.late_in(1)
    send(someone, server, clock)
    someone.leave()
    assert not list((tmp_path / "c").glob("*.state"))
    (tmp_path / "c" / "ledger").unlink()
    with pytest.raises(StateError, match="the ledger is missing"):
        client(tmp_path / "c", campaign(question="Another?"), clock).answer(2)
    with pytest.raises(StateError, match="the ledger is missing"):
        members(tmp_path / "c")


def test_a_state_that_the_ledger_does_not_list_is_left_as_it_is(tmp_path: Path) -> None:
    clock, asked, other = Clock(), campaign(), campaign(question="Another?")
    someone = client(tmp_path / "mine", asked, clock)
    someone.answer(2)
    for one in (asked, other):
        client(tmp_path / "theirs" / one.question, one, clock).answer(1)
    place = tmp_path / "mine" / f"{asked.id}.state"
    mine, theirs = place.read_bytes(), (tmp_path / "theirs" / asked.question / place.name).read_bytes()
    place.write_bytes(theirs)
    for attempt in (someone.report, someone.due, lambda: someone.answer(3)):
        with pytest.raises(StateError, match="not of the same time"):
            attempt()
    assert place.read_bytes() == theirs
    place.write_bytes(mine)
    assert someone.due() is not None
    # Of a campaign that the ledger does not know at all: what was spent there is not known either.
    strange = tmp_path / "mine" / f"{other.id}.state"
    shutil.copy(tmp_path / "theirs" / other.question / strange.name, strange)
    for attempt in (someone.report, lambda: client(tmp_path / "mine", other, clock).answer(1)):
        with pytest.raises(StateError, match=f"{other.id}.state does not belong to this ledger"):
            attempt()
    assert strange.exists()


def test_a_state_that_is_later_than_the_ledger_is_an_error(tmp_path: Path) -> None:
    """The ledger put back together with the lock: the folder is another one then, but the state knows better."""
    clock, asked = Clock(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(2)
    old = {name: (tmp_path / "c" / name).read_bytes() for name in ("ledger", "lock")}
    clock.late_in(4)
    someone.report()
    for name, data in old.items():
        (tmp_path / "c" / name).write_bytes(data)
    clock.late_in(2)
    with pytest.raises(StateError, match="not of the same time"):
        someone.report()


@pytest.mark.parametrize("behind", [0.0, START - 101.0])
def test_a_restored_folder_waits_for_a_clock_that_is_right(behind: float, tmp_path: Path) -> None:
    """Nothing has begun by a clock at 1970: the round that is on would be answered once more afterwards."""
    clock, server, asked = Clock(), Server(), campaign()
    folder = tmp_path / "c"
    someone = client(folder, asked, clock)
    someone.answer(2)
    shutil.copytree(folder, tmp_path / "backup")
    clock.late_in(5)
    assert send(someone, server, clock, HOME) == "ACCEPTED"
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder)
    before, again = snapshot(folder), client(folder, asked, clock)
    clock.now = behind
    for attempt in (again.due, again.report, lambda: again.answer(1), again.leave):
        with pytest.raises(ClockBehind, match="until the clock is right"):
            attempt()
    assert {path: data for path, data in snapshot(folder).items() if data or path in before} == before
    clock.late_in(5)
    assert send(again, server, clock, WORK) == "NOTHING"
    clock.late_in(6)
    assert send(again, server, clock, WORK) == "ACCEPTED"
    assert [round_of(body) for body in server.bodies] == [5, 6]


@pytest.mark.parametrize("how", ["replaced", "in place", "lock left"])
def test_a_folder_put_back_over_itself_sends_nothing_again(how: str, tmp_path: Path) -> None:
    clock, server, asked = Clock(), Server(), campaign()
    folder = tmp_path / "c"
    someone = client(folder, asked, clock)
    someone.answer(2)
    clock.late_in(1)
    send(someone, server, clock)
    shutil.copytree(folder, tmp_path / "backup")
    clock.late_in(2)
    assert send(someone, server, clock, HOME) == "ACCEPTED"
    for kept in (tmp_path / "backup").iterdir():
        place = folder / kept.name
        if kept.read_bytes() == place.read_bytes() or (how == "lock left" and kept.name == "lock"):
            continue
        if how == "in place":
            place.write_bytes(kept.read_bytes())
        else:
            shutil.copy2(kept, tmp_path / "part")
            (tmp_path / "part").replace(place)
    again = client(folder, asked, clock)
    if how == "lock left":
        with pytest.raises(StateError, match="old one"):
            send(again, server, clock, WORK)
        return
    assert send(again, server, clock, WORK) == "NOTHING"
    clock.late_in(3)
    assert send(again, server, clock, WORK) == "ACCEPTED"
    assert len({nonce_of(body) for body in server.bodies}) == len(server.bodies)


def test_a_sealed_state_put_back_within_its_round_is_not_sent_from_elsewhere(tmp_path: Path) -> None:
    clock, server, asked = Clock(), Server(), campaign()
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(2)
    clock.late_in(1)
    clock.now -= 500
    someone.report()
    place = tmp_path / "c" / f"{asked.id}.state"
    old = place.read_bytes()
    assert send(someone, server, clock, HOME) == "ACCEPTED"
    place.write_bytes(old)
    assert (someone.due() or 0) > START + DAY
    assert send(someone, server, clock, WORK) == "NOTHING"
    assert len(server.bodies) == 1


def rolled_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """What a snapshot of the disk does: everything is as it was, inodes and times too."""
    monkeypatch.setattr("untrackable.client.folder._mark", lambda descriptor: "here")
    old = snapshot(folder)

    def back() -> None:
        for path, data in old.items():
            path.write_bytes(data)

    return back


def test_a_rollback_that_nothing_shows_makes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, mechanism in enumerate(
        (Deck(bits=8, slots=30, eps_report=0.05), Fading(bits=8, eps=1.0, delta=1e-6))
    ):
        monkeypatch.setattr("untrackable.client.folder._mark", lambda descriptor: "here")
        clock, asked = Clock(), campaign(mechanism)
        someone = client(tmp_path / str(number), asked, clock)
        someone.answer(2)
        back = rolled_back(tmp_path / str(number), monkeypatch)
        clock.late_in(5)
        first = someone.report()
        back()
        assert someone.report() == first is not None


def test_after_a_rollback_another_answer_has_noise_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same vector and flip, two reports of a round would tell the values' difference without noise."""
    monkeypatch.setattr("untrackable.client.folder._mark", lambda descriptor: "here")
    clock, asked = Clock(), campaign(Fading(bits=16, eps=1.0, delta=1e-6), rounds=None)
    someone = client(tmp_path / "c", asked, clock)
    someone.answer(1)
    back, joined = rolled_back(tmp_path / "c", monkeypatch), clock.now
    found = []
    for value in (1, 1, 2, 3, 1):
        back()
        clock.now = joined
        someone.answer(2)
        someone.answer(value)
        due = someone.due()
        clock.late_in(1)
        body = someone.report() or b""
        found.append((due, nonce_of(body), int.from_bytes(body[21:], "little") >> 1))
    assert len({due for due, _, _ in found}) == 1  # when it goes out does not show that the answer changed
    assert len({nonce for _, nonce, _ in found}) == 5
    assert len({vector for _, _, vector in found}) > 1  # of 2^16 - 1: all the same with chance 2^-64


ONCE = turns_campaign(rounds=2)


def waiting(folder: Path, clock: Clock) -> Path:
    """The folder of somebody whose turn is the second round."""
    for number in range(100):
        someone = client(folder / str(number), ONCE, clock)
        someone.answer(2)
        if (someone.due() or 0) > START + DAY:
            return folder / str(number)
    raise AssertionError("nobody has this turn")


@pytest.mark.parametrize("copied_in", [0, 1, 2])
def test_copies_of_a_folder_answer_in_one_turn_with_the_same_bytes(copied_in: int, tmp_path: Path) -> None:
    """A collector counts equal bytes once. A copy that is made after the round began answers nothing."""
    clock, server = Clock(), Server()
    folder = waiting(tmp_path, clock)
    if copied_in:
        clock.now = START + (copied_in - 1) * DAY + 5
    copies = [folder, tmp_path / "one", tmp_path / "two"]
    for copy in copies[1:]:
        shutil.copytree(folder, copy)
        client(copy, ONCE, clock).due()  # It is noticed here.
    for round in (1, 2, 3):
        for copy in copies:
            clock.late_in(round)
            expected = "ACCEPTED" if round == 2 and (copied_in < 2 or copy is folder) else "NOTHING"
            assert send(client(copy, ONCE, clock), server, clock) == expected
    assert len(set(server.bodies)) == 1
    assert len(server.bodies) == (1 if copied_in == 2 else 3)


@pytest.mark.parametrize("what", ["state", "folder", "ledger", "rollback"])
def test_a_turn_that_was_put_back_gives_no_second_answer(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, server = Clock(), Server()
    if what == "rollback":
        monkeypatch.setattr("untrackable.client.folder._mark", lambda descriptor: "here")
    folder = waiting(tmp_path, clock)
    old = snapshot(folder)
    shutil.copytree(folder, tmp_path / "backup")
    clock.late_in(2)
    clock.now -= 400
    assert send(client(folder, ONCE, clock), server, clock) == "ACCEPTED"
    if what == "folder":
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "backup", folder)
    else:
        for path, data in old.items():
            if what == "rollback" or path.name == (f"{ONCE.id}.state" if what == "state" else "ledger"):
                path.write_bytes(data)
    for round in (2, 3):
        clock.late_in(round)
        again = client(folder, ONCE, clock)
        send(again, server, clock)  # It does not look at the ledger, because the lock says that nothing is to come.
        if what == "ledger":
            with pytest.raises(StateError, match="old one"):
                again.answer(2)
        else:
            again.answer(2)
    # Only a rollback that nothing shows sends again, and then the very same bytes.
    assert len(server.bodies) == (2 if what == "rollback" else 1)
    assert len(set(server.bodies)) == 1
