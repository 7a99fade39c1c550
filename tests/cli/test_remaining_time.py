from itertools import pairwise

import pytest

from untrackable.cli.remaining_time import RemainingTime, Seconds, roughly
from untrackable.demo.demo_run import steps_of


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_one_step_goes_on_as_it_began() -> None:
    clock = Clock()
    time = RemainingTime({}, clock)
    assert (time.left(), time.share()) == (None, None)
    time.update("reading", 0.0)
    clock.now += 5
    assert time.left() is None
    time.update("reading", 0.25)
    assert time.left() == pytest.approx(15)
    assert time.share() == pytest.approx(0.25)
    clock.now += 3
    assert time.left() == pytest.approx(12), "the share is old by now"
    time.update("reading", 0.5)
    assert time.left() == pytest.approx(6), "by the pace since the first share"


def test_what_is_loaded_first_does_not_count_for_the_pace() -> None:
    clock = Clock()
    time = RemainingTime({}, clock)
    time.update("reading", 0.0)
    clock.now += 5
    time.update("reading", 0.02)
    assert time.left() is None, "nobody knows whether it goes on like that"
    clock.now += 0.5
    time.update("reading", 0.07)
    assert time.left() == pytest.approx(9.3)


def test_a_pace_needs_some_work() -> None:
    clock = Clock()
    time = RemainingTime({}, clock)
    time.update("reading", 0.5)
    assert time.left() is None, "no time has passed"
    clock.now += 60
    time.update("reading", 0.001)
    assert time.left() is None, "nearly nothing is done"


def test_nothing_is_promised_after_the_end_of_the_last_step() -> None:
    clock = Clock()
    time = RemainingTime({}, clock)
    clock.now += 5
    time.update("reading", None)
    clock.now += 5
    time.update("reading", 1.0)
    clock.now += 1
    assert time.left() is None


def test_later_steps_have_the_pace_of_earlier_ones() -> None:
    clock = Clock()
    time = RemainingTime({"reading": 1.0, "searching": 3.0}, clock)
    time.update("reading", 0.0)
    clock.now += 5
    time.update("reading", 0.5)
    assert time.left() == pytest.approx(5 + 30)
    clock.now += 5
    time.update("searching", None)
    assert time.left() == pytest.approx(30)
    clock.now += 10
    assert time.left() == pytest.approx(20)
    time.update("searching", 0.1)
    assert time.left() == pytest.approx(90), "it is slower than expected"


def test_a_step_that_is_left_out_is_not_waited_for() -> None:
    clock = Clock()
    time = RemainingTime({"hashing": 5.0, "choosing": 1.0, "fitting": 1.0}, clock)
    time.update("choosing", None)
    clock.now += 4
    time.update("fitting", None)
    assert time.left() == pytest.approx(4)


def test_a_trial_is_in_seconds_whatever_the_pace() -> None:
    clock = Clock()
    time = RemainingTime({"guarantees": 1.0, "matching": Seconds(60), "changes": 1.0}, clock)
    time.update("guarantees", 0.0)
    clock.now += 2
    time.update("guarantees", 0.5)
    assert time.left() == pytest.approx(2 + 60 + 4)
    clock.now += 2
    time.update("simulating", 0.5)
    assert time.left() is None, "an unexpected step that has just begun"
    time.update("matching", 0.0)
    clock.now += 20
    assert time.left() == pytest.approx(40 + 4)
    clock.now += 60
    assert time.left() == pytest.approx(4), "longer than the trial said"


@pytest.mark.parametrize("slowness", [0.3, 4.0])
def test_the_demonstration_says_how_long_it_takes_after_its_first_step(slowness: float) -> None:
    """On any machine on which steps take as long in relation to each other: the first step shows how fast it is."""
    sizes, clock = steps_of(1000, 99_000), Clock()
    time, left = RemainingTime(sizes, clock), []
    for step, size in sizes.items():
        for part in range(11):
            time.update(step, part / 10 if step != next(iter(sizes)) else None)
            left.append(time.left())
            clock.now += slowness * size / 11
    known = [each for each in left if each is not None]
    assert known[0] == pytest.approx(slowness * (sum(sizes.values()) - next(iter(sizes.values()))))
    assert all(later < earlier * 1.1 for earlier, later in pairwise(known))
    assert len(known) == len(left) - 11, "only the first step does not know it"


def test_steps_of_the_demonstration_are_as_long_as_the_work_that_they_have() -> None:
    few, many = steps_of(100, 30_000), steps_of(1000, 1_000_000)
    assert len(few) == len(many) == 10
    for (step, short), (_, long) in zip(few.items(), many.items(), strict=True):
        assert short <= long, step
    assert sum(many.values()) > 2 * sum(few.values())


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "a few seconds"),
        (11, "about 20 seconds"),
        (90, "about 2 minutes"),
        (3000, "about 50 minutes"),
        (9000, "about 3 hours"),
    ],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert roughly(seconds) == words
