"""When a process that stays sends: at the round's moment, or some time after one that passed unseen."""

from pathlib import Path

import pytest

from tests.client.samples import DAY, HOME, NOWHERE, START, Clock, Server, campaign, client, round_of, send
from untrackable.client.client import GRACE, LONGEST, Client, SendTimes
from untrackable.client.sending import Address, Outcome, Ready, Reply


class Staying:
    """A process that stays, by a clock of the tests."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.server, self.place = clock, Server(), HOME
        self.send_times = SendTimes(clock)
        self.times: list[float] = []

    def tend(self, member: Client) -> tuple[str, float | None]:
        def go() -> Outcome:
            found = Outcome[send(member, self.server, self.clock, self.place)]
            if found is Outcome.ACCEPTED:
                self.times.append(self.clock.now)
            return found

        outcome, due = self.send_times.tend(member, go)
        return outcome.name, due


def joined(folder: Path, clock: Clock, number: int = 0) -> Client:
    someone = client(folder / str(number), campaign(question=f"Number {number}?"), clock)
    someone.answer(1)
    return someone


def test_at_the_moment_of_each_round(tmp_path: Path) -> None:
    clock = Clock()
    someone, staying = joined(tmp_path, clock), Staying(clock)
    for round in range(1, 31):
        due = someone.due()
        assert staying.tend(someone) == ("NOTHING", due)
        clock.now = (due or 0) + 0.5
        assert staying.tend(someone)[0] == "ACCEPTED"
        assert round_of(staying.server.bodies[-1]) == round
    assert staying.tend(someone) == ("NOTHING", None)


@pytest.mark.parametrize("asleep", [False, True])
def test_a_moment_that_passed_unseen_is_not_made_up_for_at_once(asleep: bool, tmp_path: Path) -> None:
    """Switched on, or woken up, at the same time: every campaign has a delay of its own, uniform over an hour."""
    delays = []
    for number in range(40):
        clock = Clock()
        someone, staying = joined(tmp_path, clock, number), Staying(clock)
        if asleep:
            assert staying.tend(someone) == ("NOTHING", someone.due())
        clock.now = on = START + DAY * 0.951 - LONGEST  # every moment but those of the last hour has passed
        if (someone.due() or 0) > on - 2 * GRACE:  # Those of the last minute are not late yet.
            continue
        outcome, due = staying.tend(someone)
        assert outcome == "NOTHING"
        assert due is not None
        assert on <= due <= on + LONGEST
        assert staying.tend(someone) == ("NOTHING", due)  # it stays
        clock.now = due + 0.5
        assert staying.tend(someone)[0] == "ACCEPTED"
        delays.append((due - on) / LONGEST)
    # Each is late with probability 0.955; of twenty uniform ones, all are in the same outer quarter with 2·4^-20.
    assert len(delays) >= 20
    assert min(delays) < 0.75
    assert max(delays) > 0.25
    assert len(set(delays)) == len(delays)


def test_without_a_network_it_looks_again_at_random_moments(tmp_path: Path) -> None:
    clock = Clock()
    someone, staying = joined(tmp_path, clock), Staying(clock)
    staying.tend(someone)
    clock.now, staying.place = someone.due() or 0, NOWHERE
    looked, waits = 0, set()
    while clock.now < START + DAY * 0.94 and looked < 3:
        outcome, due = staying.tend(someone)
        assert outcome == "OFFLINE"
        assert due is not None
        assert clock.now <= due <= clock.now + LONGEST
        waits.add(due - clock.now)
        clock.now, looked = due + 0.1, looked + 1
    assert len(waits) == looked
    staying.place = "back"
    assert staying.tend(someone)[0] == "ACCEPTED"


def test_a_report_that_was_tried_is_not_tried_again_by_another_process(tmp_path: Path) -> None:
    clock = Clock()
    someone, staying = joined(tmp_path, clock), Staying(clock)
    clock.now = (someone.due() or 0) + 5

    def killed(address: Address, body: bytes, ready: Ready) -> Reply:
        assert ready("", address.host)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        someone.send("http://127.0.0.1:9", post=killed, look=lambda host, port: HOME, sleep=clock.sleep)
    clock.now += 60
    outcome, due = staying.tend(someone)
    assert outcome == "NOTHING"
    assert due is not None
    assert due > START + DAY


def test_at_the_end_of_a_round_it_is_still_sent_within_it(tmp_path: Path) -> None:
    for number in range(10):
        clock = Clock()
        someone, staying = joined(tmp_path, clock, number), Staying(clock)
        clock.now = START + DAY * 0.96
        outcome, due = staying.tend(someone)
        assert outcome == "NOTHING"
        assert due is not None
        assert clock.now <= due <= START + DAY * 0.98
        clock.now = due
        assert staying.tend(someone)[0] == "ACCEPTED"


def test_a_clock_that_was_ahead_is_forgotten(tmp_path: Path) -> None:
    clock = Clock(START + 20 * DAY)
    someone, staying = joined(tmp_path, clock), Staying(clock)
    clock.now += 5 * DAY
    staying.tend(someone)
    clock.now -= 4 * DAY
    assert staying.tend(someone)[1] == someone.due()
