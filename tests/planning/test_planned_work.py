"""Plans tell which share of their work is done: it grows to the end, and mechanisms have different shares."""

from typing import Any

import pytest

from untrackable.encodings import Choices
from untrackable.mechanisms.catalogue import CATALOGUE
from untrackable.planning.goals import Goals
from untrackable.planning.planned_work import PlannedWork, entry_work
from untrackable.planning.plans import plan
from untrackable.planning.question_set import plan_together

ASKED: dict[str, dict[str, Any]] = {
    "error": {"people": 10**6, "values": 2, "rounds": 4, "eps": 1.0},
    "eps": {"people": 10**6, "values": 2, "rounds": 4, "error": 0.05},
    "crowd": {"people": 10**5, "values": 2, "rounds": 4, "crowd_eps": 1.0},
    "choices": {"people": 10**6, "encoding": Choices(names=["a", "b"]), "rounds": 2, "eps": 2.0},
}


@pytest.mark.parametrize("demands", ASKED.values(), ids=ASKED)
def test_a_plan_tells_its_shares(demands: dict[str, Any]) -> None:
    told: list[tuple[str, float]] = []
    plan(**demands, progress=lambda what, done: told.append((what, done or 0.0)))
    shares = [done for _, done in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0.5 < shares[-1] <= 1
    if "encoding" not in demands:
        assert shares[-1] == pytest.approx(1)
        assert {what for what, _ in told} == set(CATALOGUE)


@pytest.mark.parametrize("budget", [{}, {"crowd_eps": 1.0}], ids=["alone", "crowd"])
def test_a_set_tells_its_shares(budget: dict[str, float]) -> None:
    told: list[tuple[str, float]] = []
    questions: dict[str, dict[str, Any]] = {"a": {"values": 2}, "b": {"values": 2, "error": 0.05}}
    plan_together(
        questions,
        people=10**6,
        rounds=2,
        progress=lambda what, done: told.append((what, done or 0.0)),
        **budget,
    )
    shares = [done for _, done in told]
    assert shares == sorted(shares)
    assert len(set(shares)) > 8
    assert (shares[0], told[0][0]) == (0, "attendance")
    assert 0.7 < shares[-1] <= 1
    assert {what for what, _ in told} == {"attendance", "a", "b", "budget"}


def test_only_what_can_be_planned_takes_time() -> None:
    crowd = Goals(**ASKED["crowd"])
    work = {name: entry_work(entry, crowd) for name, entry in CATALOGUE.items()}
    assert [name for name, units in work.items() if units >= 1] == ["deck"]
    wide = Goals(people=10**6, bits=16, rounds=4, eps=1.0)
    assert entry_work(CATALOGUE["rappor"], wide) < entry_work(CATALOGUE["deck"], wide)
    unknown = wide.replace(eps=None, error=0.05)
    assert entry_work(CATALOGUE["deck"], unknown) > entry_work(CATALOGUE["deck"], wide)


def test_more_work_than_expected_is_all_of_it() -> None:
    told: list[float | None] = []
    work = PlannedWork(lambda what, done: told.append(done), 4.0)
    work.begin("a")
    for _ in range(3):
        work.did("a", 2.0)
    assert told == [0, 0.5, 1, 1]
