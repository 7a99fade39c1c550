"""What pages and commands say about attendance."""

from fractions import Fraction

import pytest

from tests.protocol.test_campaign_attendance import TWENTIETH, asked, declared
from untrackable.display.attendance_words import attendance_words, participation_words, sample_words
from untrackable.protocol.campaign import Campaign
from untrackable.theory.attendance import Attendance

EVERY_DAY = Attendance()
CASES = {
    "a twentieth": (asked(), 0.00186, "about one round in 20, as a secret coin decides", "at most 0.19 %"),
    "two sevenths": (
        asked(attendance=Attendance(Fraction(2, 7)), guarantee=declared(recognition=1.0)),
        1.0,
        "a share of 2/7 of all rounds",
        "at most 100 %",
    ),
    "every round": (
        asked(attendance=EVERY_DAY, guarantee=declared(recognition=1.0)),
        1.0,
        "People answer every round, so nobody is seen at two places in one round.",
        "at most 100 %",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_who_answers_and_who_is_recognised(name: str) -> None:
    campaign, upper, often, recognised = CASES[name]
    words = attendance_words(campaign, upper)
    assert often in words[0]
    assert recognised in words[1]
    assert "(upper; guessing: 0.1 %)" in words[1]
    assert "50 % and 50 % of the time" in words[2]


def test_the_worst_stay_is_beside_it() -> None:
    words = attendance_words(asked(), 0.00186)
    assert words[-1].startswith("Where people stay longer at one place, attendance reveals more.")
    assert "stays of 37 rounds: at most 20.55 % (upper, by attendance alone)" in words[-1]
    worst = asked(attendance=TWENTIETH.with_persistence(37), guarantee=declared(recognition=0.21))
    assert "where they are for 37 rounds at a time" in attendance_words(worst, 0.2056)[-1]


def test_one_network_and_no_end() -> None:
    anchored = asked(attendance=Attendance(Fraction(1, 3), one_network=True))
    (words,) = attendance_words(anchored, 0.001)
    assert "one round in 3" in words
    assert words.endswith("from one network only, so an observer of another place never sees them.")
    endless = asked(rounds=None, guarantee=declared(recognition=1.0))
    assert attendance_words(endless, 1.0)[-1].startswith("There is no last round, so whoever answers from several")


def test_a_campaign_of_before() -> None:
    old = asked(attendance=None, guarantee=declared(recognition=None))
    words = attendance_words(old, 1.0)
    assert words[0] == participation_words(old.participation, old.attending.one_network)
    assert "declares nothing about attendance" in words[1]


@pytest.mark.parametrize(
    ("campaign", "expected"),
    [(asked(), "about 20,000 people in a round (estimated)"), (CASES["every round"][0], "")],
)
def test_who_the_reports_are_of(campaign: Campaign, expected: str) -> None:
    words = sample_words(campaign, 3_021, 3)
    assert words.endswith(f"{expected}.") if expected else words == ""
