"""Ctrl-C ends every command with 130, in order: one short line, no half file, nothing left running.

Commands run in real processes and get real signals. To take seconds only, they are forked from a process that has
loaded everything. The demonstration is in `tests/cli/test_demo.py`, servers of several processes are in
`tests/collector/test_server.py`.
"""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.cli.commands import output
from tests.cli.test_discover import NAMES
from tests.rappor_decode.collected import collected, zipf
from tests.rappor_decode.samples import write_counts, write_params
from untrackable import Bitwise, DiscoveredStrings, Fresh, Rappor, write_reports
from untrackable.protocol.campaign import Campaign

WARM = """
import gc, importlib, json, os, sys, time
import pandas  # which pyarrow would load in every process
from untrackable.cli import JOBS, run

for modules in JOBS.values():
    for module in modules:
        importlib.import_module(f"untrackable.cli.{module}")
for module in (
    "auditing.comparison auditing.audit auditing.black_box auditing.file_audit "
    "accounting.check collector.app discovery.discovery display.view "
    "paper.paper planning.plan rappor_decode.decode "
    "relay.app reports.csv reports.sums reports.arrow reports.simulation "
    "reports.sums kernels.compiled cli.mechanism_argument"
).split():
    importlib.import_module(f"untrackable.{module}")

def pausing(where):
    module, _, path = where.partition(":")
    *outer, name = path.split(".")
    owner = importlib.import_module(module)
    for part in outer:
        owner = getattr(owner, part)

    def pause(*given, **named):
        open("working", "w").close()
        time.sleep(60)

    setattr(owner, name, pause)

gc.freeze()
for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(asked["folder"])
        for number, (name, flags) in enumerate([(asked["typed"], os.O_RDWR), ("out", 65), ("err", 65)]):
            os.dup2(os.open(name, flags, 0o600), number)
        if asked["pausing"]:
            pausing(asked["pausing"])
        sys.argv = ["untrackable", *asked["words"]]
        run()
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
PROGRESS = "untrackable.cli.terminal:RemainingTime.update"
"""Long work calls this as soon as it has begun."""
WRITING = "os:fsync"
"""What is called when all of a file has been written, but not under its name."""
VERIFYING = "untrackable.accounting.check:verify"
CLIENT = "def make(value):\n    return lambda: value\n"
NEW = "--question Often? --category no --category yes --rounds 3 --first 2100-01-01 --every-round"
WORDS = DiscoveredStrings(salt=bytes(16), alphabet="abcdefgh", longest=6, prefixes=[3, 6, 6], bucket_bits=12)

QUESTIONS = """
people = 60_000
rounds = 4
eps = 2
every = "1w"
first = "2100-01-01"

[questions.smoking]
question = "Do you smoke?"
categories = ["no", "yes"]

[questions.start-up]
question = "How long does it take to start?"
buckets = "0:8:4"
above = "clamp"
"""

pytestmark = pytest.mark.xdist_group("interrupts")


class Interrupted(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str


class WarmProcess:
    """A process that has loaded everything, and from which commands are forked, one at a time."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([sys.executable, "-c", WARM], stdin=pipe, stdout=pipe, bufsize=0)  # noqa: S603

    def interrupt(
        self,
        folder: Path,
        words: str,
        *,
        ready: Callable[[], object] | None = None,
        pausing: str = "",
        typed: str = os.devnull,
        press: Callable[[int], object] = lambda child: os.killpg(child, signal.SIGINT),
    ) -> Interrupted:
        """Start a command in a folder, and press Ctrl-C as soon as it is `ready`, or else where it is `pausing`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"folder": str(folder), "words": words.split(), "pausing": pausing, "typed": typed}
        self._process.stdin.write(f"{json.dumps(asked)}\n".encode())
        child = int(self._process.stdout.readline())
        is_ready = (folder / "working").exists if ready is None else ready
        while not is_ready():
            if select.select([self._process.stdout], [], [], 0.005)[0]:
                said = [(folder / name).read_text() for name in ("out", "err")]
                pytest.fail(f"it ended before, with {int(self._process.stdout.readline())}: {said}")
        press(child)
        # Python drops an interrupt that comes within a callback of its own, such as that of a weak reference.
        while not select.select([self._process.stdout], [], [], 20.0)[0]:
            press(child)
        status = int(self._process.stdout.readline())
        with pytest.raises(ProcessLookupError):  # Nothing that it started is left.
            os.killpg(child, 0)
        return Interrupted(status, *((folder / name).read_text() for name in ("out", "err")))

    def end(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmProcess]:
    process = WarmProcess()
    yield process
    process.end()


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that commands read."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "questions.toml").write_text(QUESTIONS)
    (folder / "reports.csv").write_text("user,day,report\n" + "".join(f"{i % 40},{i // 40},1\n" for i in range(80)))
    for name, mechanism, values, encoding in (
        ("numbers", Bitwise(eps_state=1, eps_report=1), [0, 1] * 50, None),
        ("strings", Fresh(WORDS.local(4.0)), WORDS.encode_many(["head", "bad"] * 50), WORDS),
    ):
        (batch,) = mechanism.simulate(np.array(values), rounds=1, seed=1)
        pieces = [(1, batch.reports[:, 0])]
        write_reports(folder / f"{name}.parquet", pieces, mechanism=mechanism, encoding=encoding)
    params = Rappor(bloom_bits=32, hashes=2, f=0, p=0.25, q=0.75, cohorts=8)
    write_params(folder / "params.csv", params)
    write_counts(folder / "counts.csv", collected(params, zipf(NAMES[:4], 2000, np.random.default_rng(1)), 1))
    (folder / "words.txt").write_text("\n".join(NAMES), encoding="utf-8")
    output("campaign", "new", str(folder / "campaign.json"), *NEW.split())
    return folder


def check(ended: Interrupted, folder: Path) -> None:
    """It ended because of Ctrl-C, said so in one line, and left nothing behind."""
    assert ended.status == 130, ended
    assert ended.err.splitlines()[-1:] == ["Stopped."]
    assert "Traceback" not in ended.err
    assert {path.name for path in folder.iterdir()} <= {"out", "err", "working", "its_module.py", "__pycache__"}


@pytest.mark.parametrize(
    ("words", "pausing"),
    [
        ("simulate deck bits=2 slots=3 eps_report=1 --people 9 --out x.csv", PROGRESS),
        ("simulate deck bits=2 slots=3 eps_report=1 --people 9 --out x.csv", WRITING),
        ("audit bitwise eps_state=1 eps_report=1 --export x.csv --plot x.svg --html x.html", PROGRESS),
        ("audit-client its_module:make --value 0 --value 1 --reports 3 --export x.csv", PROGRESS),
        ("audit-file {given}/reports.csv --export x.csv", PROGRESS),
        ("plan --people 60000 --values 2 --rounds 1 --eps 1 --html x.html", PROGRESS),
        ("plan --together {given}/questions.toml --campaign x.json", PROGRESS),
        ("compare --values 2 --html x.html", PROGRESS),
        ("estimate {given}/numbers.parquet --export x.csv", PROGRESS),
        ("estimate {given}/numbers.parquet --export x.csv", WRITING),
        ("discover {given}/strings.parquet --export x.csv", PROGRESS),
        ("rappor-decode {given}/params.csv {given}/counts.csv --candidates {given}/words.txt", PROGRESS),
        ("paper --export x.csv", PROGRESS),
        ("campaign verify {given}/campaign.json", VERIFYING),
        (f"campaign new x.json {NEW}", VERIFYING),
        (f"campaign new x.json {NEW}", WRITING),
    ],
)
def test_work_is_interrupted(words: str, pausing: str, given: Path, warm: WarmProcess, tmp_path: Path) -> None:
    (tmp_path / "its_module.py").write_text(CLIENT)
    ended = warm.interrupt(tmp_path, words.format(given=given), pausing=pausing)
    check(ended, tmp_path)
    assert ended.out == ""


def test_work_is_interrupted_in_the_middle_of_it(warm: WarmProcess, tmp_path: Path) -> None:
    words = "simulate deck bits=2 slots=900 eps_report=1 --people 900000000 --rounds 900 --out x.csv"
    check(warm.interrupt(tmp_path, words, ready=lambda: any(tmp_path.glob(".x.csv.*"))), tmp_path)


@pytest.mark.parametrize(
    "words", ["serve --store sqlite:///{given}/x.db --port 0", "relay --gateway a=https://nobody.invalid --port 0"]
)
def test_servers_are_interrupted(words: str, given: Path, warm: WarmProcess, tmp_path: Path) -> None:
    def answers() -> bool:
        """Whether it answers requests; it may answer that there is nothing."""
        out = tmp_path / "out"
        *_, address = (out.read_text() if out.exists() else "").split() or [""]
        try:
            urllib.request.urlopen(address).close()  # noqa: S310
        except ValueError:
            return False
        except urllib.error.HTTPError as error:
            error.close()
        return True

    check(warm.interrupt(tmp_path, words.format(given=given), ready=answers), tmp_path)


def test_waiting_for_the_next_report_is_interrupted(given: Path, warm: WarmProcess, tmp_path: Path) -> None:
    pinned = Campaign.from_bytes((given / "campaign.json").read_bytes()).id
    allowed = ["--pin", pinned, "--eps", "5", "--every-round"]
    output("answer", str(given / "campaign.json"), "--folder", str(given / "mine"), *allowed, given="yes\n")
    out, words = tmp_path / "out", f"send https://nobody.invalid --folder {given}/mine --stay"
    ended = warm.interrupt(tmp_path, words, ready=lambda: out.exists() and "next report" in out.read_text())
    check(ended, tmp_path)


def test_a_prompt_is_interrupted(given: Path, warm: WarmProcess, tmp_path: Path) -> None:
    """By the key itself, on a terminal. Nothing is stored."""
    pinned = Campaign.from_bytes((given / "campaign.json").read_bytes()).id
    allowed = f"--pin {pinned} --eps 5 --every-round"
    ours, theirs = pty.openpty()
    try:
        ended = warm.interrupt(
            tmp_path,
            f"answer {given}/campaign.json --folder {given}/hers {allowed}",
            typed=os.ttyname(theirs),
            ready=lambda: bool(select.select([ours], [], [], 0)[0]) and b"not shown" in os.read(ours, 1000),
            press=lambda child: os.write(ours, b"\x03"),
        )
    finally:
        os.close(ours)
        os.close(theirs)
    check(ended, tmp_path)
