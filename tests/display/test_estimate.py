"""Answers in words."""

from untrackable.display.estimate import (
    BALLOTS_NEEDED,
    interval_words,
    invented_people_words,
    invented_words,
    rounds_words,
)
from untrackable.display.numbers import range_words
from untrackable.estimation.estimate import Invented
from untrackable.estimation.rounds import active_people
from untrackable.theory.turns import Turns


def test_rounds_and_ranges() -> None:
    assert rounds_words([7]) == "round 7"
    assert rounds_words([1, 2, 1200]) == "3 rounds pooled, 1 to 1,200"
    assert range_words(0.10009, 0.30001) == "10.00 to 30.01 %"


def test_who_stands_out_is_said_by_the_interval_alone() -> None:
    row = {"frequency": 0.2, "lower": 0.1, "upper": 0.3}
    said = interval_words(0.05, [row], discovered=False)
    assert said[0] == "All intervals hold at once, except with probability 5 % (upper)."
    assert any("stands out if its interval excludes zero" in sentence for sentence in said)
    assert len(interval_words(0.01, [row], discovered=True)) == len(said) + 1
    unknown = {"frequency": None, "lower": 0.0, "upper": 1.0}
    more = interval_words(0.05, [row, unknown], discovered=False, others=True)[len(said) :]
    assert [sentence.split(",")[0].split(":")[0] for sentence in more] == [
        "Cannot tell",
        "Where intervals overlap",
        "Answers that are not shown may be as frequent as some of these.",
    ]


def test_how_few_invented_reports_matter() -> None:
    """The shift is rounded up, so that the number of reports stays a lower bound."""
    (said,) = invented_words(Invented(1234, 0.02099))
    assert said.startswith("As few as 1,234 invented reports could move a share by 2.1 points")
    assert invented_words(Invented(1, 0.5))[0].startswith("As few as 1 invented report could move a share by 50 p")
    assert invented_words(None) == []
    (ballots,) = invented_words(Invented(1234, 0.02099), ballots=True)
    assert ballots == said.replace("Nothing tells them from real ones.", BALLOTS_NEEDED)
    assert invented_words(None, ballots=True) == [BALLOTS_NEEDED]


def test_how_few_invented_reports_add_people() -> None:
    people = active_people([400], Turns(rounds=4))
    (said,) = invented_people_words(people, 0.25, 1)
    few = people.invented(0.25, 1)
    assert said.startswith(f"As few as {few} invented reports would add ")
    assert active_people([400 + few], Turns(rounds=4)).value >= people.upper
    assert active_people([400 + few - 1], Turns(rounds=4)).value < people.upper
    (counted,) = invented_people_words(active_people([400], None), 1.0, 1, ballots=True)
    assert counted == f"Each invented report would add one person (exact). {BALLOTS_NEEDED}"
