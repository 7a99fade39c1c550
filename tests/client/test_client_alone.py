"""`pip install untrackable` alone: a client's whole life with its own files and Python's standard library."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests import distribution
from tests.client.samples import START, campaign, turns_campaign
from tests.client.vectors import VISIT, about, in_a_crowd
from tests.randomizers.test_vectors import GROUPS
from untrackable.client import client, sending, take_part
from untrackable.client.ledger import read_ledger
from untrackable.encodings.encoding import Categories, Choices, Encoding, Presence
from untrackable.encodings.numbers import Buckets, IntegerRange
from untrackable.encodings.record import Path as AnswerPath
from untrackable.encodings.strings import DiscoveredStrings, HashedStrings
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import OneBitMean, Present, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.local_interface import Local
from untrackable.mechanisms.sketches import HadamardSketch
from untrackable.mechanisms.string_levels import Levelled
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign

HOUR = 3600
NAMES = Categories(names=["a", "b", "c"])
LOOKS = AnswerPath(of=NAMES, looks=2)
STRINGS = DiscoveredStrings(prefixes=range(1, 4), bucket_bits=8, longest=3, salt=b"s" * 16)
ASKED: list[tuple[Local, Encoding, object]] = [
    (RandomizedResponse(eps=1.0), IntegerRange(low=0, high=1), 1),
    (NoisyInnerProduct(bits=2, eps=1.0), NAMES, "b"),
    (SubsetSelection(values=3, eps=1.0), NAMES, "c"),
    (OneBitMean(values=3, eps=1.0), Buckets(edges=[0, 1, 10, 100]), 3.5),
    (Present(), Presence(), True),
    (about(Choices(names=["x", "y", "z"]), 1.0), Choices(names=["x", "y", "z"]), ["x", "z"]),
    (about(VISIT, 1.0), VISIT, {"browser": "Firefox", "start": 70, "new": True}),
    (Divided(sizes=(2, 2), eps=1.0), LOOKS, "a"),
    (Levelled(NoisyInnerProduct(bits=8, eps=1.0), 3), STRINGS, "abc"),
    (NoisyInnerProduct(bits=8, eps=1.0), HashedStrings(bits=8, longest=10, salt=b"s" * 16), "é"),
]
LIFE = """
import sys, threading
sys.path.insert(0, sys.argv[1])

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from untrackable import Campaign, Client, Policy

bodies = []

class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        bodies.append([self.path.split("/")[2], self.rfile.read(int(self.headers["Content-Length"])).hex()])
        self.send_response(202)
        self.end_headers()

    def log_message(self, *given):
        pass

server = HTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
for number, (document, value) in enumerate(json.loads(Path(sys.argv[2]).read_text())):
    asked = Campaign.from_bytes(document.encode())
    policy, now = Policy(eps=9.0, turns_a_year=99, pins=(asked.id,)), asked.first_round - 1.0
    client = Client(asked, None, policy, folder=Path(sys.argv[3]) / str(number), clock=lambda: now)
    shown = client.preview(value)
    client.answer(value)
    now = client.due()
    assert client.send(f"http://127.0.0.1:{server.server_port}").name == "ACCEPTED"
    assert client.send(f"http://127.0.0.1:{server.server_port}").name == "NOTHING"
    assert len(shown.example) == len(bytes.fromhex(bodies[-1][1])) and shown.refusal is None
server.shutdown()
for name in ("numpy", "scipy", "click", "rich", "pyhpke", "cryptography", "untrackable.mechanisms"):
    assert name not in sys.modules, name
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    raise AssertionError(f"{name} is here")
print(json.dumps(bodies))
"""
VECTORS = """
import sys
sys.path.insert(0, sys.argv[1])

import io, json
from pathlib import Path
from untrackable.randomizers import from_json

for group in json.loads(Path(sys.argv[2]).read_text()):
    made = from_json(json.loads(group["mechanism"]))
    for case in group["cases"]:
        entropy = io.BytesIO(bytes.fromhex(case["entropy"])).read
        state, reports = made.new_state(int(case["value"]), entropy), []
        for round, change in zip(case["rounds"], case["changes"]):
            if change is not None:
                state = made.change_value(state, int(change), entropy)
            report, state = made.make_report(state, round, entropy)
            reports.append(str(report))
        assert reports == case["reports"], case
print("ok")
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client's files and nothing else."""
    folder = tmp_path_factory.mktemp("alone")
    for name in distribution.client_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(distribution.ROOT / "src" / name, folder / name)
    return folder


def python(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A Python that has its standard library alone (-S), and does not look at this environment (-I)."""
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603


def asked(base: Local, encoding: Encoding) -> Campaign:
    return turns_campaign(base, encoding=encoding, rounds=1, first_round=START, round_seconds=HOUR)


def test_a_client_answers_and_sends(alone: Path, tmp_path: Path) -> None:
    every = [(asked(base, encoding), base, answer) for base, encoding, answer in ASKED]
    (tmp_path / "asked").write_text(json.dumps([(one.to_bytes().decode(), answer) for one, _, answer in every]))
    run = python(LIFE, alone, tmp_path / "asked", tmp_path / "folders")
    assert run.returncode == 0, run.stderr
    sent = json.loads(run.stdout)
    assert [name for name, _ in sent] == [one.id for one, _, _ in every]
    for (one, base, _), (_, body) in zip(every, sent, strict=True):
        report = wire.of(one.mechanism).decode(bytes.fromhex(body))
        assert report.rounds.tolist() == [1]
        assert base.possible(int.from_bytes(report.payloads[0].tobytes(), "little"))


def test_a_client_makes_the_golden_reports(alone: Path, tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text(json.dumps(GROUPS))
    run = python(VECTORS, alone, tmp_path / "vectors")
    assert run.stdout == "ok\n", run.stderr


FIRST = "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
TAKE_PART = (
    FIRST
    + """
import time
from untrackable import take_part
from untrackable.client import quiet

def run():
    return take_part(Path(sys.argv[2]).read_bytes(), "http://127.0.0.1:9", 1, folder=sys.argv[3])

print(run())
until = time.monotonic() + 60
while not quiet.next_looks(sys.argv[3]) and time.monotonic() < until:
    time.sleep(0.05)
print(run(), "untrackable.client.client" in sys.modules)
"""
)
READ = FIRST + "from untrackable import Campaign; Campaign.from_bytes(Path(sys.argv[2]).read_bytes())"
JOIN = READ.replace("import Campaign;", "import Campaign, Client, Policy; asked =") + (
    "\npolicy = Policy(eps=9.0, relays=('https://relay.example',), pins=(asked.id,))"
    "\nClient(asked, None, policy, folder=Path(sys.argv[3]), clock=lambda: asked.first_round - 1.0).answer(1)"
)
MISSING = "packages that are not installed: pip install 'untrackable[all]'"


def test_a_program_takes_part_in_one_call(alone: Path, tmp_path: Path) -> None:
    made = turns_campaign(first_round=int(time.time()) + HOUR)
    (tmp_path / "asked").write_bytes(made.to_bytes())
    run = python(TAKE_PART, alone, tmp_path / "asked", tmp_path / "folder")
    assert run.stdout.splitlines() == [take_part.HANDED_OVER, f"{take_part.NOTHING} False"], run.stderr
    assert read_ledger(tmp_path / "folder").accounts[made.id].life


@pytest.mark.parametrize(
    "made",
    [campaign(), turns_campaign(HadamardSketch(eps=1.0, hashes=4, width=64))],
    ids=["every round", "unknown base"],
)
def test_a_campaign_that_needs_more_is_refused_in_words(made: Campaign, alone: Path, tmp_path: Path) -> None:
    (tmp_path / "asked").write_bytes(made.to_bytes())
    run = python(READ, alone, tmp_path / "asked")
    assert run.stderr.splitlines()[-1].endswith(MISSING), run.stderr


def test_a_campaign_whose_reports_could_not_be_sealed_is_not_joined(alone: Path, tmp_path: Path) -> None:
    made = in_a_crowd(turns_campaign())
    (tmp_path / "asked").write_bytes(made.to_bytes())
    run = python(JOIN, alone, tmp_path / "asked", tmp_path / "folder")
    assert run.stderr.splitlines()[-1] == (
        "untrackable.errors.CampaignRefused: this campaign is refused: Sealed reports need packages that are not "
        "installed: pip install 'untrackable[crowd]'"
    )
    assert not (tmp_path / "folder" / "ledger").exists()


@pytest.mark.parametrize(
    ("script", "begins"),
    [
        ("from untrackable import Deck", "untrackable.errors.ExtraMissing"),
        ("import untrackable.__main__ as main; main.run()", "Error"),
    ],
)
def test_what_needs_more_says_so(script: str, begins: str, alone: Path) -> None:
    run = python(FIRST + script, alone)
    assert run.returncode == 1
    lines = run.stderr.splitlines()
    assert lines[-1] == f"{begins}: Estimates, commands and this part of untrackable need {MISSING}"
    assert len(lines) == 1 or begins != "Error"


def test_a_client_without_an_engine_reads_what_it_can_check(alone: Path, tmp_path: Path) -> None:
    """And the engine checks the same: a guarantee that is too strong is refused by both."""
    made = turns_campaign()
    false = replace(made, guarantee=replace(made.guarantee, eps=0.5))
    (tmp_path / "asked").write_bytes(false.to_bytes())
    run = python(JOIN, alone, tmp_path / "asked", tmp_path / "folder")
    assert "it declares eps = 0.5, and has 1" in run.stderr.splitlines()[-1]


def test_it_waits_longer_for_another_sender_than_an_attempt_takes() -> None:
    """The client does not load what sends for this number."""
    assert client._PATIENCE >= sending.TIMEOUT + 30
