"""A question without an answer: one value, one report, and nothing to learn from it."""

from typing import Any

import numpy as np
import pytest

from untrackable import Fresh
from untrackable.collector.browser import answer_lines
from untrackable.encodings.days_of_use import READY_QUESTIONS, DaysOfUse
from untrackable.encodings.encoding import Presence, from_json, from_text
from untrackable.mechanisms import Present
from untrackable.mechanisms.interface import from_json as mechanism_from_json
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.theory.turns import Turns

FRESH = Fresh(Present())
PEOPLE = READY_QUESTIONS["people"]
CAMPAIGN = Campaign(
    question=PEOPLE.question,
    encoding=PEOPLE.encoding,
    randomizer=FRESH,
    first_round=1_800_000_000,
    round_seconds=604_800,
    rounds=52,
    guarantee=Guarantee(eps=0),
    turns=Turns(rounds=52),
)


@pytest.mark.parametrize("raw", [True, 1, np.True_])
def test_who_is_there_says_so(raw: Any) -> None:
    assert Presence().encode(raw) == 0
    assert Presence().decode(0) is True
    assert Presence().label(0) == "present"


@pytest.mark.parametrize("raw", [False, 0, np.False_, 2, -1, "yes", None, 1.0])
def test_nothing_else_is_an_answer(raw: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as refused:
        Presence().encode(raw)
    assert repr(raw) not in str(refused.value).replace("must be 0", "")
    with pytest.raises(ValueError, match="value"):
        Presence().label(1)


def test_it_is_written_and_read() -> None:
    assert Presence().to_json() == {"type": "presence", "version": 1}
    assert from_json(Presence().to_json()) == Presence()
    assert mechanism_from_json(FRESH.to_json()) == FRESH
    assert Campaign.from_bytes(CAMPAIGN.to_bytes()) == CAMPAIGN
    assert "such as true" in answer_lines(CAMPAIGN)
    assert DaysOfUse.begun(1, newcomer=True).answer(Presence(), 1) is True
    assert [from_text(Presence(), text) for text in ("1", "yes", "present", "no")] == [True, True, True, False]


def test_reports_say_nothing() -> None:
    assert FRESH.loss_of_one_report == 0
    assert FRESH.privacy(reports=1).delta(0.0).upper == 0
    assert FRESH.report_bits == 1
    assert FRESH.client(0).report(3) == 0
    assert Present().possible(0)
    assert not Present().possible(1)
    assert Present().log_likelihood(np.array([0, 1], dtype=np.uint64), 0).tolist() == [0, -np.inf]
    assert Present().accuracy(10, 0.05).radius == 0
    sums = FRESH.aggregator().add([0, 0]).add(np.zeros((3, 1), dtype=np.uint64))
    assert FRESH.restore_sums(sums.to_bytes(), 1).n == 5
    for wrong in ([1], np.array([1], dtype=np.uint64)):
        with pytest.raises(ValueError, match="must be 0"):
            sums.add(wrong)
    assert sums.estimate().interval(simultaneous=True).lower.tolist() == [1.0]
