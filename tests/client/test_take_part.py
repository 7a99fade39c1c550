"""A program lets a person take part in one call that never waits, whatever is missing, full or switched off."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.client.samples import DAY, START, Clock, snapshot, turns_campaign
from untrackable.client import job, quiet, sender, sending, take_part
from untrackable.client.client import Client, Member
from untrackable.client.ledger import read_ledger
from untrackable.client.policy import Policy
from untrackable.client.sending import Outcome
from untrackable.client.state import State
from untrackable.encodings.days_of_use import ACTIVE_DAYS
from untrackable.encodings.numbers import IntegerRange
from untrackable.encodings.record import Path as AnswerPath
from untrackable.errors import CampaignRefused, FolderBusy
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign

HOUR = 3600
REFUSED = "http://127.0.0.1:9"
UNIX = pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="it is about the way to start a process on Unix")


class Collector:
    """Takes reports of real processes."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(202)
                self.end_headers()

            def log_message(self, *given: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """No further reports."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def due_now(folder: Path) -> tuple[Campaign, Member]:
    """Somebody whose moment has come, by the real clock, in a round that goes on for hours."""
    for number in range(1000):
        first = int(time.time()) - 20 * HOUR
        asked = turns_campaign(rounds=1, first_round=first, round_seconds=24 * HOUR)
        place = folder / f"{number}"
        person = joined(place, asked, lambda first=first: first - 10.0)
        if (person.due() or 0.0) < time.time():
            return asked, Member(asked, place)
    raise AssertionError("no moment came")


def joined(folder: Path, asked: Campaign, clock: Any) -> Client:
    person = Client(asked, None, Policy(pins=(asked.id,)), folder=folder, clock=clock)
    person.answer(2)
    return person


def taken(asked: Campaign, server: str, folder: Path, clock: Any, answer: Any = 2, **named: Any) -> str:
    return take_part.take_part(asked.to_bytes(), server, answer, folder=folder, clock=clock, **named)


def wait_until(found: Any, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < until
        time.sleep(0.05)


def sender_is_over() -> bool:
    sender._started[:] = [process for process in sender._started if not sender._ended(process)]
    return not sender._started


def test_outcomes_are_those_of_the_client() -> None:
    assert (take_part.OFF, take_part.NOTHING, take_part.HANDED_OVER) == (
        Outcome.OFF,
        Outcome.NOTHING,
        Outcome.HANDED_OVER,
    )


def test_a_report_that_is_due_is_sent_by_a_process_of_its_own(tmp_path: Path, collector: Collector) -> None:
    asked, person = due_now(tmp_path)
    assert person.send_later(collector.address) is Outcome.HANDED_OVER
    wait_until(lambda: quiet.next_look(person.folder.path, asked.id) == float("inf"))
    assert len(collector.bodies) == 1
    assert person.send_later(collector.address) is Outcome.NOTHING
    assert taken(asked, collector.address, person.folder.path, time.time) == take_part.NOTHING
    assert quiet.next_look(person.folder.path, asked.id) == float("inf")
    assert len(collector.bodies) == 1


def test_a_first_answer_is_noted_by_a_process_of_its_own(tmp_path: Path, collector: Collector) -> None:
    asked = turns_campaign(rounds=3, first_round=int(time.time()) + HOUR)
    folder = tmp_path / "a" / "c"
    assert taken(asked, collector.address, folder, time.time, lambda: 3) == take_part.HANDED_OVER
    wait_until(lambda: quiet.next_look(folder, asked.id) > 0.0)
    assert read_ledger(folder).accounts[asked.id].life
    assert taken(asked, collector.address, folder, time.time, lambda: 1 / 0) == take_part.NOTHING
    assert collector.bodies == []


def test_what_could_not_leave_is_tried_again_in_the_round(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, person = due_now(tmp_path)
    folder = person.folder.path
    assert person.send(REFUSED, timeout=0.5, sleep=lambda seconds: None) is Outcome.LATER
    assert read_ledger(folder).accounts[asked.id].tried == 0
    assert taken(asked, collector.address, folder, time.time) == take_part.HANDED_OVER
    wait_until(lambda: quiet.next_look(folder, asked.id) == float("inf"))
    assert len(collector.bodies) == 1


@UNIX
def test_while_a_sender_works_further_runs_leave_it_in_peace(tmp_path: Path) -> None:
    asked, person = due_now(tmp_path)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        server = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        assert person.send_later(server) is Outcome.HANDED_OVER
        process = sender._started[-1]
        assert person.send_later(server) is Outcome.NOTHING
        wait_until(lambda: _connected_once(deaf))
        assert person.send_later(server) is Outcome.NOTHING
        os.kill(process, 9)
        wait_until(sender_is_over)
    # Killed with the report on its way: the turn is over. Killed before: it is still to come.
    assert read_ledger(person.folder.path).accounts[asked.id].tried in (0, 1)


def _connected_once(deaf: socket.socket) -> bool:
    deaf.settimeout(0.05)
    with contextlib.suppress(TimeoutError):
        deaf.accept()[0].close()
        return True
    return False


@UNIX
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it looks into /proc")
def test_a_sender_inherits_nothing_and_tells_nothing(tmp_path: Path) -> None:
    asked, person = due_now(tmp_path)
    secret = (person.folder.path / f"{asked.id}.state").read_bytes()
    key = json.loads(secret[4:-32])["key"]
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(8)
        server = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        assert taken(asked, server, person.folder.path, time.time, 2) == take_part.HANDED_OVER
        process = sender._started[-1]
        connection, _ = deaf.accept()  # It is at work now.
        try:
            proc = Path(f"/proc/{process}")
            told = (proc / "cmdline").read_bytes() + (proc / "environ").read_bytes()
            assert key.encode() not in told
            assert asked.id.encode() not in told
            assert str(person.folder.path).encode() not in told
            links = {link.readlink() for link in (proc / "fd").iterdir()}
            assert Path(f"/proc/self/fd/{writing}").readlink() not in links
            assert {(proc / "fd" / f"{number}").readlink() for number in range(3)} == {Path(os.devnull)}
            assert os.getsid(process) == process
        finally:
            os.kill(process, 9)
            connection.close()
    os.close(reading)
    os.close(writing)
    wait_until(sender_is_over)


def test_a_sender_that_hangs_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        "import time; from untrackable.client import job; job.LIMIT = 0.2; "
        "job.done = lambda given, **named: time.sleep(600); job.main({})"
    )
    run = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)  # noqa: S603
    assert run.returncode == 1


@pytest.mark.parametrize("why", ["frozen", "another program", pytest.param("too large", marks=UNIX)])
def test_where_no_process_can_be_started_it_is_done_here(
    why: str, tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, person = due_now(tmp_path)
    if why == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    elif why == "another program":
        monkeypatch.setattr(sys, "executable", "/usr/bin/host")
    else:
        monkeypatch.setattr(sender, "_PIPE", 1 << 30)
        monkeypatch.setattr(sys, "path", [*sys.path, "/x" * 50_000])
    assert person.send_later(collector.address) is Outcome.ACCEPTED
    assert len(collector.bodies) == 1


class Name:
    """The environment variables that switch a client off, and what they may say."""

    OFF = (("DO_NOT_TRACK", "1"), ("DO_NOT_TRACK", "true"), ("CI", "true"), ("CI", "woodpecker"))
    ON = (("DO_NOT_TRACK", "0"), ("DO_NOT_TRACK", ""), ("CI", ""), ("CI", "False"), ("CI", "0"))


AUDITED = """
import sys
seen = []
sys.addaudithook(lambda event, given: seen.append((event, given)) if event.split(".")[0] in
                 ("open", "socket", "subprocess", "os", "pathlib", "shutil", "ctypes") else None)
from untrackable.client import take_part, client, job, policy
from untrackable.client.take_part import take_part
from untrackable.client.client import Client, Member
from untrackable.protocol.campaign import Campaign
asked = Campaign.from_bytes(open(sys.argv[1], "rb").read())
switch = sys.argv[3] == "on"
person = Client(asked, None, policy.Policy(pins=(asked.id,)), folder=__import__("pathlib").Path(sys.argv[2]),
                enabled=switch)
document = asked.to_bytes()
def calls():
    yield take_part(document, "http://127.0.0.1:9", 2, folder=sys.argv[2], enabled=lambda: switch)
    yield person.send("http://127.0.0.1:9")
    yield person.send_later("http://127.0.0.1:9")
    if "answer" in sys.argv:
        person.answer(2)
        person.used()
        yield person.due()
seen.clear()
print([str(found) for found in calls()], [(event, str(given[0])) for event, given in seen])
"""


def audited(asked: Campaign, folder: Path, *given: str, **environment: str) -> tuple[list[str], list[Any]]:
    """What the calls of a run give, and what a run opens, connects to or starts with them."""
    document = folder.parent / "document"
    document.write_bytes(asked.to_bytes())
    command = [sys.executable, "-c", AUDITED, str(document), str(folder), *given]
    known = {name: text for name, text in os.environ.items() if name not in ("CI", "DO_NOT_TRACK")}
    run = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, timeout=60, check=False, env=known | environment
    )
    assert run.returncode == 0, run.stderr
    found, seen = run.stdout.strip().split("] [")
    return eval(found + "]"), eval("[" + seen)  # noqa: S307 - printed by the script above


@pytest.mark.parametrize("name", [*Name.OFF, None])
def test_switched_off_nothing_is_opened_or_sent(name: tuple[str, str] | None, tmp_path: Path) -> None:
    asked = turns_campaign()
    switch, environment = ("off", {}) if name is None else ("on", dict([name]))
    found, seen = audited(asked, tmp_path / "c", switch, "answer", **environment)
    assert found == [take_part.OFF] * 3 + ["None"]
    assert seen == []
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("name", Name.ON)
def test_other_words_do_not_switch_it_off(name: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*name)
    assert not quiet.switched_off()


@pytest.fixture
def traced(tmp_path: Path) -> Callable[..., tuple[str, list[str]]]:
    """What a program says that takes part once, and the system calls of it about files, networks and processes."""
    if sys.platform != "linux" or not Path("/usr/bin/strace").exists():
        pytest.skip("there is no strace")

    def calls(asked: Campaign, folder: Path, **environment: str) -> tuple[str, list[str]]:
        (tmp_path / "document").write_bytes(asked.to_bytes())
        script = (
            "import sys; from untrackable.client.take_part import take_part\n"
            "document = open(sys.argv[1], 'rb').read(); open('/dev/null').close()\n"
            "print(take_part(document, 'http://127.0.0.1:9', 2, folder=sys.argv[2]))"
        )
        log, seen = tmp_path / "log", "trace=network,process,openat,?mkdir,?rename"
        watched = ["/usr/bin/strace", "-f", "-e", seen, "-o", str(log), sys.executable, "-c", script]
        run = subprocess.run(  # noqa: S603
            [*watched, str(tmp_path / "document"), str(folder)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, **environment},
        )
        if "ptrace" in run.stderr:
            pytest.skip("processes may not be traced here")
        lines = log.read_text().splitlines()
        begin = next(place for place, line in enumerate(lines) if '"/dev/null"' in line)
        return run.stdout.strip(), [
            line for line in lines[begin + 1 :] if "(" in line and "exit_group(" not in line
        ]

    return calls


def test_switched_off_the_system_sees_no_socket_and_no_file(
    traced: Callable[..., tuple[str, list[str]]], tmp_path: Path
) -> None:
    asked = turns_campaign()
    assert traced(asked, tmp_path / "c", DO_NOT_TRACK="1") == (take_part.OFF, [])
    said, calls = traced(asked, tmp_path / "c", DO_NOT_TRACK="0")
    assert said == take_part.HANDED_OVER
    assert any("execve(" in line for line in calls)


def test_of_a_run_without_a_turn_the_system_sees_one_small_file(
    traced: Callable[..., tuple[str, list[str]]], tmp_path: Path
) -> None:
    asked = turns_campaign(rounds=3, first_round=int(time.time()) + HOUR)
    joined(tmp_path / "c", asked, time.time)
    said, [call] = traced(asked, tmp_path / "c")
    assert said == take_part.NOTHING
    assert f'"{tmp_path / "c" / "next"}", O_RDONLY' in call


def test_a_run_without_a_turn_opens_one_small_file(tmp_path: Path) -> None:
    asked = turns_campaign(rounds=3, first_round=int(time.time()) + HOUR)
    joined(tmp_path / "c", asked, time.time)
    before = snapshot(tmp_path / "c")
    found, seen = audited(asked, tmp_path / "c", "on")
    assert found == [take_part.NOTHING] * 3
    assert seen == [("open", str(tmp_path / "c" / "next"))] * 3
    assert snapshot(tmp_path / "c") == before
    assert (tmp_path / "c" / "next").stat().st_size < 1000


def test_files_that_are_missing_old_damaged_or_of_others_lead_to_a_full_look(tmp_path: Path) -> None:
    clock, asked = Clock(), turns_campaign(rounds=2)
    person = joined(tmp_path / "c", asked, clock)
    place = tmp_path / "c" / "next"
    whole, due = place.read_bytes(), person.due()
    assert quiet.next_look(tmp_path / "c", asked.id) == due
    damaged = [whole[:size] for size in range(len(whole))] + [whole + b"0", b"\0" * 100, b""]
    damaged += [whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in range(len(whole))]
    for data in damaged:
        place.write_bytes(data)
        assert quiet.next_looks(tmp_path / "c") == {}, data
    place.unlink()
    assert quiet.next_looks(tmp_path / "c") == {}
    place.mkdir()
    assert quiet.next_looks(tmp_path / "c") == {}
    place.rmdir()
    if hasattr(os, "O_NOFOLLOW"):
        (tmp_path / "elsewhere").write_bytes(whole)
        place.symlink_to(tmp_path / "elsewhere")
        assert quiet.next_looks(tmp_path / "c") == {}
    else:
        place.touch()
    place.unlink()
    assert person.due() == due  # It is written again by a full look.
    assert place.read_bytes() == whole
    person.leave()
    assert quiet.next_looks(tmp_path / "c") == {}  # It is from before the ledger.
    assert person.due() is None
    assert quiet.next_look(tmp_path / "c", asked.id) == float("inf")
    over = place.read_bytes()
    other = joined(tmp_path / "d", asked, clock)
    (tmp_path / "d" / "next").write_bytes(over)  # Another folder's, which says that nothing is to come.
    assert quiet.next_looks(tmp_path / "d") == {}
    clock.now = other.due() or 0.0
    assert not other.idle()


def test_what_the_file_says_once_a_turn_is_over_is_the_same_for_everyone(tmp_path: Path) -> None:
    said = set()
    for number in range(20):
        clock, asked = Clock(), turns_campaign(rounds=2)
        person = joined(tmp_path / f"{number}", asked, clock)
        if number % 2:
            person.leave()
        clock.late_in(3)
        assert person.due() is None
        said.add((tmp_path / f"{number}" / "next").read_text().split("\n")[1])
    assert said == {f"{asked.id} inf"}


def test_the_looks_of_other_campaigns_stay(tmp_path: Path) -> None:
    clock, first, second = Clock(), turns_campaign(rounds=1), turns_campaign(rounds=1, first_round=START + DAY)
    policy = Policy(eps=2.0, pins=(first.id, second.id))
    people = [Client(asked, None, policy, folder=tmp_path / "c", clock=clock) for asked in (first, second)]
    for person in people:
        person.answer(1)
    for asked, person in zip((first, second), people, strict=True):
        assert quiet.next_look(tmp_path / "c", asked.id) == person.due()


def test_a_refused_campaign_is_left_in_peace_for_a_day(tmp_path: Path) -> None:
    clock, asked = Clock(), turns_campaign(rounds=1)
    clock.late_in(2)
    given = {
        "answer": [2],
        "campaign": asked.to_bytes(),
        "folder": str(tmp_path / "c"),
        "policy": None,
        "server": REFUSED,
    }
    with pytest.raises(CampaignRefused, match="is over"):
        job.done(given, timeout=1.0, clock=clock)
    assert taken(asked, REFUSED, tmp_path / "c", clock) == take_part.NOTHING
    clock.now += DAY + 1
    assert quiet.next_look(tmp_path / "c", asked.id) < clock.now


def test_a_folder_that_cannot_be_written_is_an_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = turns_campaign()
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    said = taken(asked, REFUSED, tmp_path / "c", Clock())
    assert said == "failed: the folder cannot be written, so nothing can be kept"
    with pytest.raises(PermissionError):
        taken(asked, REFUSED, tmp_path / "c", Clock(), strict=True)
    assert not (tmp_path / "c").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="it is about XDG_STATE_HOME")
def test_the_usual_folder_and_none_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNTRACKABLE_FOLDER", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert quiet.default_folder() == "/home/somebody/.local/state/untrackable"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert quiet.default_folder() == "/home/somebody/Library/Application Support/untrackable"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/c/Users/somebody/AppData/Local")
    assert quiet.default_folder() == "/c/Users/somebody/AppData/Local/untrackable"
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert quiet.default_folder() == "/state/untrackable"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setattr(os.path, "expanduser", lambda place: place)
    assert quiet.default_folder() is None
    said = take_part.take_part(turns_campaign().to_bytes(), REFUSED, 2)
    assert said == "failed: there is no home folder, so nothing can be kept"


def test_errors_are_outcomes_without_private_values(tmp_path: Path) -> None:
    asked = turns_campaign()

    def failing() -> int:
        return int("a private value")

    said = taken(asked, REFUSED, tmp_path / "c", Clock(), failing)
    assert said == "failed: the function for the answer failed with ValueError"
    with pytest.raises(RuntimeError):
        taken(asked, REFUSED, tmp_path / "c", Clock(), failing, strict=True)
    assert taken(asked, REFUSED, tmp_path / "c", Clock(), object()).startswith("failed: answer must be a truth")


def test_a_full_disk_is_no_exception_and_nothing_is_sent(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(sys, "frozen", True, raising=False)  # It is done in this process.
    asked, person = due_now(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        said = taken(asked, collector.address, person.folder.path, time.time)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert said == "failed: File too large"
    assert collector.bodies == []
    later = taken(asked, collector.address, person.folder.path, time.time)
    assert later in (Outcome.ACCEPTED, Outcome.NOTHING)
    assert len(collector.bodies) <= 1


def test_a_home_that_is_forgotten_after_every_run_sends_nothing(tmp_path: Path) -> None:
    """A container without a volume: every run joins again, from the next round on."""
    clock, asked = Clock(), turns_campaign(rounds=10)
    for round in range(1, 10):
        clock.late_in(round)
        given = {
            "answer": [2],
            "campaign": asked.to_bytes(),
            "folder": str(tmp_path / f"{round}"),
            "policy": None,
            "server": "http://127.0.0.1:1",
        }
        assert job.done(given, timeout=0.1, clock=clock) is Outcome.NOTHING


def test_two_programs_at_once_send_one_report(tmp_path: Path, collector: Collector) -> None:
    asked, person = due_now(tmp_path)
    script = (
        "import sys; from pathlib import Path; from untrackable.client.take_part import take_part\n"
        "print(take_part(Path(sys.argv[1]).read_bytes(), sys.argv[2], 2, folder=sys.argv[3]))"
    )
    (tmp_path / "document").write_bytes(asked.to_bytes())
    command = [sys.executable, "-c", script, str(tmp_path / "document"), collector.address, str(person.folder.path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]  # noqa: S603
    said = [process.communicate(timeout=60)[0].strip() for process in running]
    assert set(said) <= {take_part.HANDED_OVER, take_part.NOTHING}
    assert take_part.HANDED_OVER in said
    wait_until(lambda: quiet.next_look(person.folder.path, asked.id) == float("inf"))
    assert len(collector.bodies) == 1


def test_a_use_is_noted_once_a_day(tmp_path: Path) -> None:
    clock = Clock()
    asked = turns_campaign(NoisyInnerProduct(bits=5, eps=1.0), encoding=ACTIVE_DAYS, first_round=START + 9 * DAY)
    given = {
        "answer": [],
        "campaign": asked.to_bytes(),
        "folder": str(tmp_path / "c"),
        "newcomer": True,
        "policy": None,
        "server": REFUSED,
    }
    for day in range(3):
        clock.now = START + day * DAY + 1.0
        assert quiet.next_look(tmp_path / "c", asked.id) <= clock.now
        assert job.done(given, timeout=1.0, clock=clock) is Outcome.NOTHING
        assert (
            take_part.take_part(asked.to_bytes(), REFUSED, folder=tmp_path / "c", clock=clock) == take_part.NOTHING
        )
        assert quiet.next_look(tmp_path / "c", asked.id) == (int(clock.now) // DAY + 1) * DAY
    state = State.read(Member(asked, tmp_path / "c").folder, asked.id)
    assert state is not None
    assert state.days is not None
    assert len(state.days.days) == 3


def test_answers_of_looks_are_noted_from_the_last_look_before_the_round(tmp_path: Path) -> None:
    looks = AnswerPath(of=IntegerRange(low=0, high=3), looks=2)
    asked = turns_campaign(Views(bits=4, views=((0, 1, 2, 3),), eps=1.0), rounds=4, encoding=looks)
    clock = Clock()
    person = joined(tmp_path / "c", asked, clock)
    first = read_ledger(tmp_path / "c").accounts[asked.id].first
    assert quiet.next_look(tmp_path / "c", asked.id) == asked.begins(first) - asked.look_seconds
    clock.now = asked.begins(first) + 1.0
    assert not person.idle()


@pytest.mark.parametrize("what", ["nobody listens", "nobody answers", "no name server answers", "a frozen process"])
def test_sending_ends_within_its_time(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these would go on for a very long time."""
    monkeypatch.setattr(sending, "TIMEOUT", 1e6)
    monkeypatch.setattr("untrackable.client.folder.PATIENCE", 1e6)
    _, person = due_now(tmp_path)
    server, held = REFUSED, contextlib.nullcontext() if what != "a frozen process" else person.folder.locked()
    with socket.socket() as deaf, contextlib.ExitStack() as waiting:
        if what == "nobody answers":
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(0)
            for _ in range(4):
                filling = waiting.enter_context(socket.socket())
                filling.setblocking(False)
                filling.connect_ex(deaf.getsockname())
            server = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        elif what == "no name server answers":
            done = threading.Event()
            waiting.callback(done.set)
            monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: done.wait() and [])
        with held:  # Another process holds the folder, and does not move.
            other = Member(person.campaign, person.folder.path)
            try:
                outcome = other.send(server, timeout=0.3).name
            except FolderBusy:
                outcome = "busy"
    assert outcome == {"no name server answers": "OFFLINE", "a frozen process": "busy"}.get(what, "LATER")
    monkeypatch.undo()
    assert person.send(REFUSED, timeout=0.5) is Outcome.LATER  # It is still to come.


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), "1"])
def test_a_time_that_is_none(timeout: Any, tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError), match="timeout"):
        Member(turns_campaign(), tmp_path / "c").send(REFUSED, timeout=timeout)


IN_A_HOME = """
import sys
from untrackable import take_part
sys.frozen = True  # It is done here, so that the outcome is seen.
print(take_part(open(sys.argv[1], "rb").read(), "http://127.0.0.1:9", 2, folder=sys.argv[2] + "/a/c"))
"""


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("cat /dev/zero > {home}/filling 2>/dev/null", "failed: No space left on device"),
        ("mount -o remount,ro {home}", "failed: the folder cannot be written, so nothing can be kept"),
    ],
    ids=["full", "read-only"],
)
def test_a_home_that_is_really_full_or_read_only(how: str, said: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "document").write_bytes(turns_campaign(first_round=int(time.time()) + HOUR).to_bytes())
    mounted = f"mount -t tmpfs -o size=64k none {home}"
    trial = ["unshare", "-m", "sh", "-c"]
    with contextlib.suppress(FileNotFoundError):
        if subprocess.run([*trial, mounted], capture_output=True, check=False).returncode == 0:  # noqa: S603
            script = f'{mounted}; {how.format(home=home)}; exec "$0" "$@"'
            command = [*trial, script, sys.executable, "-c", IN_A_HOME, str(tmp_path / "document"), str(home)]
            run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
            assert (run.stdout.strip(), run.stderr) == (said, "")
            return
    pytest.skip("file systems cannot be mounted here")
