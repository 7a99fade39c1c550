"""Paths: the answers in all looks of a round are kept on the device, and one report tells them at its end."""

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest

from tests.client.samples import DAY, START, Clock, Server, client, send, snapshot, turns_campaign
from tests.client.test_turns import joined, turn_of
from untrackable.client.client import Client, SendTimes, members
from untrackable.client.state import State, file_name
from untrackable.encodings.encoding import Bit
from untrackable.encodings.record import Path as AnswerPath
from untrackable.errors import CampaignRefused, StateError
from untrackable.mechanisms.views import Views

ROUNDS, LOOKS = 4, 3
SMOKES = AnswerPath(of=Bit(), looks=LOOKS)
LOUD = Views(bits=LOOKS, views=((0, 1, 2),), eps=40.0, width=LOOKS)
"""Hardly any noise, so that what is sent is the path."""
ASKED = turns_campaign(LOUD, encoding=SMOKES, rounds=ROUNDS, eps=40.0)


def at(look: float) -> float:
    """The time at which so many looks are over."""
    return START + look * DAY / LOOKS


def sent_path(body: bytes) -> int:
    """The path of a report with hardly any noise."""
    report, base = int.from_bytes(body[21:], "little"), LOUD
    likely = [base.log_likelihood(report_array(report), value)[0] for value in range(1 << LOOKS)]
    return max(range(1 << LOOKS), key=lambda value: likely[value])


def report_array(report: int) -> Any:
    import numpy as np

    return np.array([report], dtype=np.uint64)


def someone_in(tmp_path: Path, turn: int, clock: Clock) -> Client:
    """Somebody who joined with the answer 0, and whose turn is this one."""
    for number in range(200):
        person = joined(tmp_path / str(number), clock, ASKED, value=0, eps=40.0)
        if turn_of(person) == turn:
            return person
    raise AssertionError("nobody has this turn")


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ([], [0, 0, 0]),
        ([(0.5, 1)], [1, 1, 1]),
        ([(0.2, 1), (0.8, 0), (1.5, 1)], [0, 1, 1]),
        ([(1.1, 1), (2.01, 0)], [0, 1, 0]),
        ([(-2.5, 1)], [1, 1, 1]),
        ([(-2.5, 1), (-0.5, 0), (2.01, 1)], [0, 0, 1]),
    ],
)
def test_the_last_answer_of_each_look_is_sent_and_carried_on(
    given: list[tuple[float, int]], path: list[int], tmp_path: Path
) -> None:
    clock, server = Clock(), Server()
    person = someone_in(tmp_path, 3, clock)
    for look, value in given:
        clock.now = at(2 * LOOKS + look)
        person.answer(value)
        assert send(person, server, clock) == "NOTHING"
    clock.now = at(3 * LOOKS) - 1
    assert send(person, server, clock) == "ACCEPTED"
    assert sent_path(server.bodies[0]) == SMOKES.encode(path)
    assert not list(person.folder.path.glob("*.state"))
    person.answer(1)


def test_the_report_is_sent_within_the_last_look(tmp_path: Path) -> None:
    for number in range(30):
        clock = Clock()
        person = joined(tmp_path / str(number), clock, ASKED, value=1, eps=40.0)
        due, end = person.due(), turn_of(person) * LOOKS
        assert due is not None
        assert at(end - 1 + 1 / 20) <= due <= at(end - 1 / 20)
        assert SendTimes(clock).tend(person, lambda: pytest.fail("it is early"))[1] == due


def test_files_do_not_say_whether_it_is_the_turn(tmp_path: Path) -> None:
    """Until the report is made, the same answers leave the same files in each round, but for the keys."""
    contents = []
    for turn in (2, 4):
        clock = Clock()
        person = someone_in(tmp_path / str(turn), turn, clock)
        for look, value in ((LOOKS + 0.1, 1), (LOOKS + 1.2, 0)):
            clock.now = at(look)
            before = {path.name for path in snapshot(person.folder.path)}
            person.answer(value)
        after = snapshot(person.folder.path)
        assert {path.name for path in after} == before
        state = State.read(person.folder, ASKED.id)
        assert state is not None
        contents.append(state.looks)
    assert contents[0] == contents[1] == ((-1, 0), (3, 1), (4, 0))


def test_a_round_that_has_begun_is_not_answered(tmp_path: Path) -> None:
    clock = Clock(at(LOOKS + 0.5))
    for number in range(40):
        person = client(tmp_path / str(number), ASKED, clock, eps=40.0)
        person.answer(1)
        assert person.due() is None or turn_of(person) > 2


def test_copies_make_the_same_report(tmp_path: Path) -> None:
    clock = Clock()
    person = someone_in(tmp_path, 2, clock)
    clock.now = at(LOOKS + 1)
    person.answer(1)
    with person.opened(clock.now) as (_, held):
        assert held is not None
        made = [person._up_to_date(held, clock.now).answered(ASKED, 2).prepared for _ in range(2)]
    assert made[0] == made[1]


@pytest.mark.parametrize(
    "answers",
    [
        [[0]],
        5,
        [["", 0]],
    ],
)
def test_a_file_that_makes_no_sense_is_an_error(answers: Any, tmp_path: Path) -> None:
    clock = Clock()
    person = someone_in(tmp_path, 2, clock)
    content = person.folder.read(file_name(ASKED.id), "it", dict)
    person.folder.write(file_name(ASKED.id), {**(content or {}), "looks": answers})
    clock.now = at(2 * LOOKS) - 1
    for attempt in (lambda: person.answer(1), person.report):
        with pytest.raises(StateError, match="the state cannot be understood"):
            attempt()


def test_every_person_once_over_all_incidents(tmp_path: Path) -> None:
    """Late joins, missed rounds, clock jumps and leaving: one report at most, about the answers that were given."""
    chance = random.Random(11)  # noqa: S311
    reports = 0
    for number in range(80):
        clock, server = Clock(START - 100), Server(*chance.choices([200, 503, None], k=3))
        folder = tmp_path / str(number)
        person = client(folder, ASKED, clock, eps=40.0)
        only = number % 2 if number % 3 == 0 else None
        now = START + chance.uniform(-DAY, DAY)
        while now < START + (ROUNDS + 1) * DAY:
            clock.now = now if chance.random() > 0.1 else chance.choice([0.0, START + DAY, START + 40 * DAY])
            match chance.randrange(6):
                case 0 | 1:
                    with contextlib.suppress(CampaignRefused):  # It is over.
                        person.answer(chance.randrange(2) if only is None else only)
                case 2 | 3 | 4:
                    for member in members(folder, clock=clock):
                        send(member, server, clock)
                case _:
                    if chance.random() < 0.05:
                        person.leave()
                    person = client(folder, ASKED, clock, eps=40.0)
            now += chance.uniform(0, DAY / 6)
        assert len(set(server.bodies)) <= 1
        if server.bodies and only is not None:
            assert sent_path(server.bodies[0]) == SMOKES.encode([only] * LOOKS)
        reports += bool(server.bodies)
    assert reports > 0  # about 12 on average


def test_paths_need_turns_and_looks_of_whole_seconds() -> None:
    with pytest.raises(ValueError, match="a path needs turns"):
        turns_campaign(LOUD, encoding=SMOKES, turns=None)
    with pytest.raises(ValueError, match="a path needs turns"):
        turns_campaign(LOUD, encoding=SMOKES, round_seconds=100)
