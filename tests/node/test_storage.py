"""The file and the lock of the client for Node.js, used by processes that tests bring out of step."""

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.built import script
from tests.node.programs import PATIENCE

pytestmark = [pytest.mark.xdist_group("node"), pytest.mark.slow]

LONG = 30_000


class Rival:
    """A process that uses the storage of a folder."""

    def __init__(self, program: Path, folder: Path) -> None:
        node = shutil.which("node")
        assert node, "there is no Node.js; make test installs it"
        self.process = subprocess.Popen(  # noqa: S603
            [node, str(program), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def begin(self, *command: Any) -> None:
        """Give a command whose answer is asked for later."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps([*command, None][:2]) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        """The answer to the command before. A process that gives none for minutes is killed."""
        assert self.process.stdout
        limit = threading.Timer(PATIENCE, self.process.kill)
        limit.start()
        try:
            return json.loads(self.process.stdout.readline())
        finally:
            limit.cancel()

    def does(self, *command: Any) -> Any:
        """The answer to a command."""
        self.begin(*command)
        return self.answer()

    def end(self) -> None:
        """Kill it, as nothing else could."""
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return script(tmp_path_factory.mktemp("rivals"), "../node/test/rivals.ts")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "kept"
    found.mkdir(mode=0o700)
    return found


Rivals = Callable[[], Rival]


@pytest.fixture
def rival(program: Path, folder: Path) -> Iterator[Rivals]:
    made: list[Rival] = []

    def make() -> Rival:
        made.append(Rival(program, folder))
        return made[-1]

    yield make
    for each in made:
        each.process.send_signal(signal.SIGCONT)
        each.end()


def test_one_process_holds_the_lock(rival: Rivals) -> None:
    one, other = rival(), rival()
    assert one.does("take", LONG) is None
    assert "another process uses the folder" in other.does("take", 200)["refused"]
    other.begin("take", LONG)
    assert one.does("give") is None
    assert other.answer() is None
    assert "another process uses the folder" in one.does("take", 200)["refused"]


def test_a_killed_process_leaves_no_lock(rival: Rivals, folder: Path) -> None:
    one, other = rival(), rival()
    one.does("take", LONG)
    one.end()
    assert (folder / "lock").exists()
    assert other.does("take", 5000) is None
    other.does("give")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("content", ["", "garbage", "PID\nabc\nanother machine", "reused"])
def test_a_lock_that_nobody_touches_is_free(rival: Rivals, folder: Path, content: str) -> None:
    """Half-written, of another machine, or of a process whose number another one has now."""
    one = rival()
    if content == "reused":
        one.does("take", LONG)
        content = (folder / "lock").read_text(encoding="utf-8").replace(str(one.process.pid), str(os.getpid()), 1)
        one.does("give")
    (folder / "lock").write_text(content.replace("PID", str(os.getpid())), encoding="utf-8")
    assert "another process uses the folder" in one.does("take", 200)["refused"]
    assert one.does("take", LONG) is None
    one.does("give")
    assert list(folder.iterdir()) == []


def test_a_lock_that_cannot_be_read(rival: Rivals, folder: Path) -> None:
    """The error is told, and what is in the lock's place stays."""
    one = rival()
    (folder / "lock").mkdir()
    assert "cannot be used (EISDIR), so nothing is answered" in one.does("add", 1)["refused"]
    (folder / "lock").rmdir()
    (folder / "lock").symlink_to("nowhere")
    assert "another process uses the folder" in one.does("take", 200)["refused"]
    assert [path.name for path in folder.iterdir()] == ["lock"]


def test_a_stopped_process_cannot_write_when_it_goes_on(rival: Rivals) -> None:
    """Its lock is taken from it, and what it has read is of yesterday."""
    one, other = rival(), rival()
    one.does("take", LONG)
    assert one.does("read") == 0
    one.process.send_signal(signal.SIGSTOP)
    assert other.does("take", LONG) is None
    assert other.does("read") == 0
    assert other.does("write", 7) is None
    one.process.send_signal(signal.SIGCONT)
    assert "another process was faster" in one.does("write", 5)["refused"]
    one.does("give")
    assert "another process uses the folder" in one.does("take", 200)["refused"]  # The lock was not its own.
    assert one.does("read") == 7


def test_what_was_read_long_ago_is_not_written(rival: Rivals, folder: Path) -> None:
    """Even if the number of the next version is free again."""
    one, other = rival(), rival()
    assert one.does("read") == 0
    for i in range(1, 5):
        other.does("read")
        assert other.does("write", i) is None
        assert [path.name for path in folder.iterdir()] == [f"kept.{i}"]
        assert "another process was faster" in one.does("write", 99)["refused"]
        assert [path.name for path in folder.iterdir()] == [f"kept.{i}"]
    assert one.does("read") == 4
    assert one.does("write", 99) is None
    assert other.does("read") == 99


def test_nothing_is_lost_between_processes(rival: Rivals, folder: Path) -> None:
    """With the lock, all that are added; without it, exactly those of which the process was told."""
    rivals = [rival() for _ in range(3)]
    for each in rivals:
        each.begin("add", 20)
    assert [each.answer() for each in rivals] == [None] * 3
    assert rivals[0].does("read") == 60
    for each in rivals:
        each.begin("race", 60)
    done = [each.answer() for each in rivals]
    assert rivals[0].does("read") == 60 + sum(done)
    assert 60 <= sum(done) < 180  # They did get in each other's way.
    assert len(list(folder.iterdir())) == 1


def test_kills_leave_a_whole_file(rival: Rivals, folder: Path) -> None:
    """Whatever a process was doing: no count is lost that was written, and nothing is left over."""
    before = 0
    for i in range(25):
        one = rival()
        assert one.does("read") >= before
        one.begin("add", 1000)
        delay = 0.004 * i
        try:
            one.process.wait(delay)
        except subprocess.TimeoutExpired:
            one.end()
        other = rival()
        found = other.does("read")
        assert found >= before
        before = found
        assert other.does("add", 1) is None
        assert other.does("read") == found + 1
        assert [path.name.split(".")[0] for path in folder.iterdir()] == ["kept"]
        other.end()
    assert before > 25
