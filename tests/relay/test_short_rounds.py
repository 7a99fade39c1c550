"""Programs that run for two seconds now and then, through a relay that holds, to a collector; both are killed."""

import secrets
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from tests.client.samples import policy
from tests.relay.numbered_people import EPS, ShortRounds
from untrackable.client.client import Client

pytestmark = pytest.mark.slow

PEOPLE = 100
PROGRAM = """
import sys, time
from untrackable import take_part
document, collector, folder, number = sys.argv[1:]
with open(document, "rb") as file:
    said = take_part(file.read(), collector, int(number), folder=folder)
time.sleep(2)
sys.exit(said.startswith("failed"))
"""


def live(study: ShortRounds, number: int) -> list[int]:
    """Somebody who runs a program twice in each round: its exit statuses."""
    folder, half, ended = study.folder, study.asked.round_seconds / 2, list[int]()
    command = [sys.executable, "-c", PROGRAM, str(folder / "asked.json"), study.collector]
    for part in range(2 * len(study.numbers)):
        moment = study.asked.first_round + half * (part + 0.7 * secrets.randbelow(1000) / 1000)
        time.sleep(max(0.0, moment - time.time()))
        program = subprocess.run([*command, str(folder / f"{number}"), str(number)], check=False)  # noqa: S603
        ended.append(program.returncode)
    return ended


def test_every_turn_of_people_who_came_is_counted_once(tmp_path: Path) -> None:
    study = ShortRounds.begin_in(6, tmp_path, seconds=14, rounds=3, delay=3)
    (tmp_path / "asked.json").write_bytes(study.asked.to_bytes())
    allowed = policy(eps=EPS, relays=(study.relay,), pins=(study.asked.id,))
    for number in range(PEOPLE):
        Client(study.asked, None, allowed, folder=tmp_path / f"{number}").answer(number)
    assert time.time() < study.asked.first_round
    with ThreadPoolExecutor(PEOPLE) as living:
        lives = [living.submit(live, study, number) for number in range(PEOPLE)]
        study.go_on_with_kills(lambda: wait(lives))
    counted = study.counted()
    assert len(set(counted)) == len(counted) >= 0.99 * PEOPLE
    assert [each.result() for each in lives] == [[0] * 6] * PEOPLE
