"""Answers in words."""

from untrackable.display.answer_words import band_words, interval_words, range_words, rounds_words


def test_rounds_and_ranges() -> None:
    assert rounds_words([7]) == "round 7"
    assert rounds_words([1, 2, 1200]) == "3 rounds pooled, 1 to 1,200"
    assert range_words(0.10009, 0.30001) == "10.00 to 30.01 %"


def test_who_stands_out_is_said_by_the_interval_alone() -> None:
    said = interval_words(0.05, discovered=False)
    assert said[0] == "All intervals hold at once, except with probability 5 % (upper)."
    assert any("stands out if its interval excludes zero" in sentence for sentence in said)
    assert len(interval_words(0.01, discovered=True)) == len(said) + 1
    assert "all 12 rounds and all answers at once, except with probability 5 % (upper)" in band_words(0.05, 12)
