"""Days of use: what a device keeps and answers, against the definition applied to all days of use."""

import itertools

import numpy as np
import pytest

from untrackable.encodings.days_of_use import (
    ACTIVE_DAYS,
    BEFORE,
    NEW,
    READY_QUESTIONS,
    RETENTION,
    RETURN_DAYS,
    DaysOfUse,
    retention_masks,
)
from untrackable.encodings.encoding import Bit, Presence


def test_answers_are_those_of_the_definition() -> None:
    """Some random lives: what the device kept gives the same answers as the list of all days."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        first, share = int(rng.integers(0, 20_000)), rng.random()
        used = {first, *(first + day for day in range(1, 70) if rng.random() < share)}
        kept = DaysOfUse.begun(first, newcomer=True)
        for today in range(first, first + 70):
            if today in used:
                kept = kept.used(today)
            assert kept.answer(ACTIVE_DAYS, today) == len(used & set(range(today - 27, today + 1)))
            known = [day for day in RETURN_DAYS if today > first + day]
            words = [f"day {day} {'yes' if first + day in used else 'no'}" for day in known]
            assert kept.answer(RETENTION, today) == (" and ".join(words) or NEW)
            assert len(kept.days) <= 28


def test_every_answer_can_be_encoded() -> None:
    assert [RETENTION.values, RETENTION.bits, ACTIVE_DAYS.values, ACTIVE_DAYS.bits] == [16, 4, 29, 5]
    seen = set()
    for back in itertools.product((False, True), repeat=3):
        kept = DaysOfUse.begun(100, newcomer=True)
        for day, came in zip(RETURN_DAYS, back, strict=True):
            kept = kept.used(100 + day) if came else kept
        seen |= {kept.answer(RETENTION, 100 + day) for day in (0, 1, 2, 7, 8, 28, 29, 400)}
    seen.add(DaysOfUse.begun(100, newcomer=False).used(101).answer(RETENTION, 400))
    assert seen == set(RETENTION.names)
    assert {question.encoding for question in READY_QUESTIONS.values()} == {ACTIVE_DAYS, RETENTION, Presence()}


def test_masks_say_who_came_back() -> None:
    for day in RETURN_DAYS:
        back, known = retention_masks(day)
        for name, came, sure in zip(RETENTION.names, back, known, strict=True):
            parts = name.split(" and ")
            assert came == (f"day {day} yes" in parts)
            assert sure == (came or f"day {day} no" in parts)
    assert retention_masks(28)[1][RETENTION.encode(BEFORE)] is False


def test_someone_who_used_it_before_is_not_new() -> None:
    kept = DaysOfUse.begun(10, newcomer=False).used(11)
    assert kept.answer(RETENTION, 500) == BEFORE
    assert kept.answer(ACTIVE_DAYS, 11) == 2


def test_a_clock_that_was_ahead_does_not_stop_the_count() -> None:
    kept = DaysOfUse.begun(50_000, newcomer=True).used(100)
    assert (kept.first, kept.days, kept.returned) == (100, (100,), ())
    ahead = DaysOfUse.begun(100, newcomer=True).used(101).used(40_000).used(102)
    assert ahead.answer(ACTIVE_DAYS, 102) == 1
    assert ahead.answer(RETENTION, 102) == "day 1 yes"


def test_other_questions_are_refused_and_nothing_is_shown() -> None:
    kept = DaysOfUse.begun(77_777, newcomer=True)
    with pytest.raises(ValueError, match="does not ask about days of use"):
        kept.answer(Bit(), 77_777)
    assert repr(kept) == object.__repr__(kept)  # its kind and where it is, and no day
