"""The client runs where nothing heavy is installed: a whole life with those packages out of reach."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"numba", "scipy", "pandas", "pyarrow", "rich", "altair"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())

import threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.client.client import Client, members
from untrackable.client.policy import Policy
from untrackable.encodings.encoding import Bit
from untrackable.encodings.numbers import IntegerRange
from untrackable.errors import CampaignRefused
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.rappor import Rappor
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import OneBitMean
from untrackable.mechanisms.local import RandomizedResponse
from untrackable.mechanisms.local import Fresh
from untrackable.theory.turns import Turns

bodies = []

class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(202)
        self.end_headers()

    def log_message(self, *given):
        pass

server = HTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
folder, now = Path(sys.argv[1]), [1_800_000_000.0 - 10]
eighths = IntegerRange(low=0, high=7)
bases = [
    (NoisyInnerProduct(bits=3, eps=1.0), eighths),
    (OneBitMean(values=8, eps=1.0), eighths),
    (RandomizedResponse(eps=1.0), Bit()),
]

def joining(asked):
    asked = Campaign.from_bytes(asked.to_bytes())
    policy = Policy(eps=9.0, delta=1e-4, tracking_delta=1.0, every_round=True, pins=(asked.id,))
    Client(asked, None, policy, folder=folder, clock=lambda: now[0]).answer(1)

for number, (base, encoding) in enumerate(bases):
    joining(Campaign(
        question="Which?", encoding=encoding, randomizer=Fresh(base),
        first_round=1_800_000_000 + 3600 * number, round_seconds=3600, rounds=1,
        guarantee=Guarantee(eps=1.0), turns=Turns(rounds=1),
    ))
for mechanism in (Deck(bits=3, slots=10, eps_report=0.02), Rappor(bloom_bits=8, hashes=1, f=0.99, p=0.5, q=0.51)):
    try:
        joining(Campaign(
            question="Which?", encoding=eighths, randomizer=mechanism,
            first_round=1_800_000_000, round_seconds=3600, rounds=10,
            guarantee=Guarantee(eps=1.0, delta=1e-5, values="fixed", gamma=0.0, tracking_delta=1.0),
        ))
        assert isinstance(mechanism, Deck)
    except CampaignRefused as refusal:
        assert "without the full package" in str(refusal), refusal
for round in range(1, 4):
    now[0] = 1_800_000_000.0 + round * 3600 - 1
    own = members(folder, clock=lambda: now[0])
    sent = [member.send(f"http://127.0.0.1:{server.server_port}").name for member in own]
    assert sorted(sent) == ["ACCEPTED"] * 2 + ["NOTHING"] * (3 - round), sent
assert len(bodies) == 6 and len({body[5:21] for body in bodies}) == 6

from untrackable.cli import main
main(["send", f"http://127.0.0.1:{server.server_port}", "--folder", str(folder), "--json"], standalone_mode=False)
heavy = {name for name in sys.modules if name.split(".")[0] in ("numba", "scipy", "pandas")}
assert not heavy, heavy
print("lived")
"""


def test_a_whole_life_without_anything_heavy(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "c")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603
    assert run.stdout.endswith("lived\n"), run.stderr
