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


def live(study: ShortRounds, number: int, turn: int) -> tuple[list[int], bool]:
    """Somebody who runs a program twice in each round.

    Returns its exit statuses, and whether it ran in the round of their turn, as far as the machine is fast.
    """
    folder, half, ended, came = study.folder, study.asked.round_seconds / 2, list[int](), False
    command = [sys.executable, "-c", PROGRAM, str(folder / "asked.json"), study.collector]
    for part in range(2 * len(study.numbers)):
        moment = study.asked.first_round + half * (part + 0.7 * secrets.randbelow(1000) / 1000)
        time.sleep(max(0.0, moment - time.time()))
        begun = time.time()
        program = subprocess.run([*command, str(folder / f"{number}"), str(number)], check=False)  # noqa: S603
        ended.append(program.returncode)
        came |= study.asked.begins(turn) <= begun and time.time() < study.asked.begins(turn + 1) - 1
    return ended, came


def test_every_turn_of_people_who_came_is_counted_once(tmp_path: Path) -> None:
    study = ShortRounds.begin_in(6, tmp_path, seconds=14, rounds=3, delay=3)
    (tmp_path / "asked.json").write_bytes(study.asked.to_bytes())
    allowed = policy(eps=EPS, relays=(study.relay,), pins=(study.asked.id,))
    turns = []
    for number in range(PEOPLE):
        person = Client(study.asked, None, allowed, folder=tmp_path / f"{number}")
        person.answer(number)
        turns.append(study.asked.round_at(person.due() or 0.0) or 0)
    with ThreadPoolExecutor(PEOPLE) as living:
        lives = [living.submit(live, study, number, turn) for number, turn in enumerate(turns)]
        study.go_on_with_kills(lambda: wait(lives))
    came = [number for number, each in enumerate(lives) if each.result()[1]]
    counted = study.counted()
    assert len(set(counted)) == len(counted)
    assert len(set(counted).intersection(came)) >= 0.99 * len(came)
    assert len(came) > PEOPLE / 2
    assert [each.result()[0] for each in lives] == [[0] * 6] * PEOPLE
