"""Answers in words."""

from untrackable.display.estimate import interval_words, rounds_words
from untrackable.display.numbers import range_words


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
