"""Which report is set exactly for a crowd: the most promising ones, as long as they can be better."""

from untrackable.mechanisms.loudest_in_crowd import best_in_crowd


def chosen(guessed: list[float], solved: dict[float, float]) -> tuple[float, list[float]]:
    """The best of reports that are their errors, and those that were solved."""
    asked: list[float] = []

    def solve(guess: float) -> float:
        asked.append(guess)
        return solved[guess]

    return best_in_crowd(guessed, solve, lambda error: error), asked


def test_the_best_of_the_two_nearest_is_chosen() -> None:
    assert chosen([3.0, 1.0, 2.0], {1.0: 2.5, 2.0: 2.2}) == (2.2, [1.0, 2.0])
    assert chosen([3.0, 1.0, 2.0], {1.0: 2.1, 2.0: 2.2}) == (2.1, [1.0, 2.0])


def test_what_cannot_be_better_is_not_solved() -> None:
    assert chosen([2.0, 1.0], {1.0: 1.5}) == (1.5, [1.0])
    assert chosen([1.0], {1.0: 1.5}) == (1.5, [1.0])
