import pytest

from untrackable.cli.remaining_time import RemainingTime, Seconds, roughly


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
    assert time.left() == pytest.approx(8)


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
