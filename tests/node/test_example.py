"""The example of a command-line tool: opt-in, preview, leaving, and a report that keeps nobody waiting."""

import json
import os
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.browser.drawn_turns import key_of, moment_of
from tests.browser.questions import question
from tests.node.programs import PATIENCE, Installed, environment
from tests.node.test_crashes import collector
from untrackable.encodings.encoding import Categories
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign

pytestmark = [pytest.mark.xdist_group("node"), pytest.mark.slow]

SYSTEMS = Categories(names=["linux", "darwin", "win32"], unknown="other")


class Person:
    """Somebody with the program."""

    def __init__(self, people: Installed, campaign: Campaign, server: str, home: Path, **more: str) -> None:
        self.people, self.campaign, self.home = people, campaign, home
        self.settings = {
            "COUNT_LINES_HOME": str(home),
            "COUNT_LINES_COLLECTOR": server,
            "COUNT_LINES_CAMPAIGN": campaign.id,
            "COUNT_LINES_DEBUG": "1",
            **more,
        }

    def runs(self, *arguments: str, **more: str) -> str:
        """What the program says. It never fails, and complains about nothing."""
        process = self.people.started("count-lines.mjs", *arguments, env=environment(**self.settings, **more))
        said, complaints = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert complaints == ""
        return said

    def counts(self, **more: str) -> None:
        """The program does what it is for."""
        assert self.runs("driver.mjs", **more).endswith(" driver.mjs\n")


def test_nothing_without_an_opt_in(people: Installed, tmp_path: Path) -> None:
    with collector(question(encoding=SYSTEMS)) as (server, bodies):
        person = Person(people, question(encoding=SYSTEMS), server, tmp_path / "home")
        person.counts()
        assert person.runs("sharing").startswith("Sharing is off.")
        said = person.runs("sharing", "preview")
        assert "Which page is yours?" in said
        assert "a factor of at most 7.39 (eps 2, upper)" in said
        assert "It takes eps 2 of the 2 allowed" in said
        assert person.runs("sharing", "off") == "Nothing is sent any more.\n"
        assert not person.home.exists()
        assert bodies == []


@pytest.mark.parametrize("signal", ["DO_NOT_TRACK", "CI"])
def test_a_signal_wins(people: Installed, tmp_path: Path, signal: str) -> None:
    campaign = question(encoding=SYSTEMS)
    person = Person(people, campaign, "http://localhost:9", tmp_path / "home")
    env = {signal: "1"}
    person.counts(**env)
    assert "Nothing is sent: you said so" in person.runs("sharing", "preview", **env)
    person.runs("sharing", "on", **env)
    person.counts(**env)
    assert [path.name for path in person.home.iterdir()] == ["sharing-is-on"]


def test_a_collector_that_is_away_harms_nobody(people: Installed, tmp_path: Path) -> None:
    campaign = question(encoding=SYSTEMS)
    person = Person(people, campaign, "http://localhost:9", tmp_path / "home", COUNT_LINES_DEBUG="")
    person.runs("sharing", "on")
    person.counts()


def test_a_report_leaves_in_the_background(people: Installed, tmp_path: Path) -> None:
    """It is due, and whatever is run meanwhile, one process sends it, once."""
    begin, length = int(time.time()) - 6, 40
    campaign = question(encoding=SYSTEMS, rounds=1, round_seconds=length, first_round=begin)
    with collector(campaign) as (server, bodies):
        person = Person(people, campaign, server, tmp_path / "home")
        joined(person, campaign)
        person.counts()
        assert bodies == []  # Nobody has agreed.
        person.runs("sharing", "on")
        while time.time() < campaign.begins(2) and not bodies:
            person.counts()
            time.sleep(0.5)
        person.counts()
        while kept(person)["states"] and time.time() < campaign.begins(2):
            time.sleep(0.1)
        assert [wire.round_of(body) for body in bodies] == [1]
        assert kept(person)["ledger"]["accounts"][campaign.id]["done"] is True
        assert person.runs("sharing") == "Sharing is on.\n"
        assert person.runs("sharing", "off") == "Nothing is sent any more.\n"
        assert person.runs("sharing").startswith("Sharing is off.")


def test_a_lock_that_was_left_over(people: Installed, tmp_path: Path) -> None:
    """By a process of another machine, or whose number another one has now: one process waits until it is free."""
    campaign = question(encoding=SYSTEMS, rounds=1, round_seconds=80, first_round=int(time.time()) - 6)
    with collector(campaign) as (server, bodies):
        person = Person(people, campaign, server, tmp_path / "home")
        joined(person, campaign)
        person.runs("sharing", "on")
        lock = person.home / "answers" / "lock-background"
        lock.write_text(f"{os.getpid()}\nabc\nanother machine", encoding="utf-8")
        os.utime(lock, (0, 0))
        person.counts()
        while lock.exists() and time.time() < campaign.begins(2):
            time.sleep(0.1)
        assert [wire.round_of(body) for body in bodies] == [1]


HURRIED = """const wait = globalThis.setTimeout;
globalThis.setTimeout = (work, ms) => wait(work, ms == 600_000 ? 1000 : ms);
"""


def test_a_process_that_ends_early_gives_its_lock_back(people: Installed, tmp_path: Path) -> None:
    """Ten minutes are a second here, in which nobody is there to take the report."""
    campaign = question(encoding=SYSTEMS, rounds=1, round_seconds=600, first_round=int(time.time()) - 300)
    with collector(campaign) as (server, _):
        person = Person(people, campaign, server, tmp_path / "home")
        joined(person, campaign)
    folder = person.home / "answers"
    given = {"server": server, "campaign": campaign.id, "policy": {"eps": 2}, "folder": str(folder)}
    (people.path / "hurried.mjs").write_text(HURRIED, encoding="utf-8")
    options = f"--import={(people.path / 'hurried.mjs').as_uri()}"
    env = environment(UNTRACKABLE_SEND=json.dumps(given), NODE_OPTIONS=options)
    process = people.started("node_modules/untrackable-node/dist/send.js", env=env)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert kept(person)["states"]
    assert not (folder / "lock-background").exists()


def joined(person: Person, campaign: Campaign) -> None:
    """Let the person have joined, by a clock of then, with a moment that is over by now."""
    key = next(key for _ in count() if moment_of(campaign, key := key_of(campaign, 1), 1) < time.time())
    options = {
        "server": person.settings["COUNT_LINES_COLLECTOR"],
        "campaign": campaign.id,
        "policy": {"eps": 2},
        "folder": str(person.home / "answers"),
    }
    times = [campaign.first_round - rounds * campaign.round_seconds for rounds in (2, 1)]
    steps = [(now, "answer", "linux") for now in times]
    task = {"options": options, "entropy": "00" * 16 + key.hex(), "steps": steps}
    process = person.people.started("driver.mjs")
    assert process.communicate(json.dumps(task) + "\n", timeout=PATIENCE)[0] == '"not yet"\n"kept"\n'


def kept(person: Person) -> Any:
    """What is in the person's file."""
    (file,) = (person.home / "answers").glob("kept.*")
    return json.loads(file.read_text(encoding="utf-8").split("\n")[1])
