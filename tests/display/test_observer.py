"""Who is followed, in words."""

from untrackable.auditing.attacks import Followed
from untrackable.brackets import Bracket
from untrackable.display.observer import followed_rows, followed_words
from untrackable.theory.accuracy import Matched


def point(reports: int, hits: int, *, different: bool = False, bound: float | None = None) -> Followed:
    matched = Matched(300, hits / 300, max(0.0, hits / 300 - 0.02), hits / 300 + 0.02, 0.95)
    return Followed("x", different, reports, matched, None if bound is None else Bracket(0.0, bound))


def test_the_attack_with_the_most_reports_is_told() -> None:
    own = [point(1, 1), point(2, 1, bound=0.00334), point(8, 9, different=True)]
    first, second = followed_words(own, [point(8, 150)])
    assert "With this campaign, an attack that has 2 reports from each of two places matches 0.33 % of 300" in first
    assert "(sampled; at most 0.34 % is possible, upper; a guess: 0.33 %)" in first
    assert "With RAPPOR, an attack that has 8 reports from each of two places matches 50.00 % of 300" in second
    assert "1 report from" in followed_words([point(1, 1)], own)[0]


def test_rows_have_intervals_and_bounds() -> None:
    result = followed_rows([point(1, 1, bound=0.01), point(2, 75, different=True)])
    assert result[(1, False)] == ("0.33 % (0.00 to 2.34 %)", "≤ 1.00 %")
    assert result[(2, True)] == ("25.00 % (23.00 to 27.00 %)", "")
