"""The attack on turns: an observer of two places matches everybody at once. It expects two right matches at most.

People keep a place for a month at a time, which reveals most. The same attack finds nearly everybody who answers
every round, and many of those who answer by a coin.
"""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tests.client.samples import HOME, SERVER, WORK, Clock, campaign, client, turns_campaign
from tests.collector.servers import OCTETS, collecting
from untrackable.client.sending import Address, Ready, Reply
from untrackable.collector.settings import open_store
from untrackable.mechanisms.deck import Deck
from untrackable.protocol.campaign import Campaign
from untrackable.theory.turns import right_matches

Seen = NDArray[np.bool_]
"""Whether each person (row) was seen in each round (column) at one place."""
ALARM = 1e-6
"""How often a test of people who answer once fails by chance, at most."""


def places(people: int, rounds: int, stay: int, rng: np.random.Generator) -> Seen:
    """Whether each person is at the first place in each round. They choose anew, at random, after each stay."""
    chosen = rng.random((people, -(-rounds // stay))) < 0.5
    return np.repeat(chosen, stay, axis=1)[:, :rounds]


def in_stays(seen: Seen, stay: int) -> NDArray[np.float32]:
    """Whether each person was seen in each stay."""
    return np.logical_or.reduceat(seen, np.arange(0, seen.shape[1], stay), axis=1).astype(np.float32)


def possible(first: Seen, second: Seen, stay: int, answers: int | None) -> Seen:
    """Which views of the first place may be of the same person as which views of the second.

    Nobody is seen at both places during a stay. If the observer knows the number of answers, it has to be right.
    All possible pairs are then equally likely, but for factors of each view alone, which no matching changes.
    """
    fits = in_stays(first, stay) @ in_stays(second, stay).T == 0
    total = first.sum(axis=1)[:, None] + second.sum(axis=1)
    return np.asarray(fits if answers is None else fits & (total == answers))


def right(fits: Seen, rng: np.random.Generator) -> int:
    """Match everybody at once, and count the right matches.

    The likeliest matchings are those of possible pairs alone. The probability of each pair is approached by scaling
    rows and columns to one (Sinkhorn), and the matching with the largest sum of these is taken, ties at random.
    """
    order = rng.permutation(len(fits))
    likely = np.where(fits[:, order], 1.0, 1e-12)
    for _ in range(30):
        likely /= likely.sum(axis=1, keepdims=True)
        likely /= likely.sum(axis=0, keepdims=True)
    likely += rng.random(likely.shape) * 1e-9
    _, columns = linear_sum_assignment(likely, maximize=True)
    return int((order[columns] == np.arange(len(fits))).sum())


def most_by_chance(populations: int) -> int:
    """With populations of people who answer once, more right matches in all have a probability of at most ALARM.

    In each, those seen at one place and those seen at the other are matched as if by a random permutation each. The
    m-th factorial moment of the fixed points of one is 1 or 0, and that of a Poisson variable is 1, so their
    generating function at z ≥ 1 is at most e^(z-1), and Chernoff's bound for Poisson variables holds.
    """
    mean, most = 2 * populations, 2 * populations
    while math.exp(most - mean - most * math.log(most / mean)) > ALARM:
        most += 1
    return most


Law = Callable[[int, int, np.random.Generator], Seen]
"""In which rounds each person answers."""


def turns(number: int) -> Law:
    """Each person answers in so many rounds, drawn at random."""

    def draw(people: int, rounds: int, rng: np.random.Generator) -> Seen:
        return rng.permuted(np.tile(np.arange(rounds) < number, (people, 1)), axis=1)

    return draw


def coin(share: float) -> Law:
    """Each round is answered with this probability."""
    return lambda people, rounds, rng: rng.random((people, rounds)) < share


def matches(law: Law, answers: int | None, people: int, rounds: int, stay: int, populations: int) -> int:
    """The right matches in several populations together."""
    total = 0
    for seed in range(populations):
        rng = np.random.default_rng([seed, people, rounds])
        answered, here = law(people, rounds, rng), places(people, rounds, stay, rng)
        total += right(possible(answered & here, answered & ~here, stay, answers), rng)
    return total


@pytest.mark.parametrize(("rounds", "stay"), [(12, 1), (52, 4), (365, 30)], ids=["months", "weeks", "days"])
def test_two_right_matches_are_expected_of_people_who_answer_once(rounds: int, stay: int) -> None:
    """200 populations of 100 people: a false alarm has a probability of 1e-6. Two turns are rejected."""
    assert matches(turns(1), 1, 100, rounds, stay, 200) <= most_by_chance(200)
    assert matches(turns(2), 2, 100, rounds, stay, 200) > most_by_chance(200)


def test_the_attack_is_as_good_as_is_possible() -> None:
    """Its mean is that of the theory: 2. The total of 400 small populations has a standard deviation of √800.

    It is more than six of these off with a probability of less than 1e-6.
    """
    assert right_matches(40, 17, 23).all_at_once == 2
    assert abs(matches(turns(1), 1, 40, 12, 1, 400) - 800) < 6 * math.sqrt(2 * 400)


def test_the_same_attack_finds_those_who_answer_by_a_coin_or_every_round() -> None:
    """A year of days, places kept for a month: many times two of 300, and nearly everybody."""
    assert matches(coin(1 / 20), None, 300, 365, 30, 3) > 3 * 10 * 2
    assert matches(coin(1.0), 52, 300, 52, 4, 3) > 3 * 270
    assert matches(coin(1.0), 12, 300, 12, 1, 3) > 3 * 250


ROUNDS, STAY = 12, 2


def seen_by_observers(folder: Path, asked: Campaign, people: int) -> tuple[Seen, Seen]:
    """Where real clients are seen that answer a real collector from two networks. No report is read."""
    clock, rng = Clock(), np.random.default_rng(1)
    here = places(people, ROUNDS, STAY, rng)
    views = np.zeros((2, people, ROUNDS), dtype=np.bool_)
    members = [client(folder / str(number), asked, clock) for number in range(people)]
    for member in members:
        member.answer(1)
    with collecting(open_store(f"sqlite:///{folder}/collector.db")) as collector:
        collector.create(asked)
        for round in range(1, ROUNDS + 1):
            for number, member in enumerate(members):
                at_first = bool(here[number, round - 1])

                def post(
                    address: Address, body: bytes, ready: Ready, who: int = number, at: int = int(not at_first)
                ) -> Reply:
                    views[at, who, round - 1] = True  # noqa: B023
                    collector.clock.now = clock.now
                    return Reply(collector.http.post(address.path, content=body, headers=OCTETS).status_code)

                clock.late_in(round)
                place = HOME if at_first else WORK
                outcome = member.send(SERVER, post=post, look=lambda *_, at=place: at, sleep=clock.sleep)
                assert outcome.name in ("NOTHING", "ACCEPTED")
    return views[0], views[1]


def test_real_clients_who_have_one_turn_are_not_found(tmp_path: Path) -> None:
    """Everybody answers once. More right matches than allowed have a probability of at most 1e-6."""
    first, second = seen_by_observers(tmp_path, turns_campaign(rounds=ROUNDS), 200)
    assert ((first | second).sum(axis=1) == 1).all()
    assert right(possible(first, second, STAY, 1), np.random.default_rng(2)) <= most_by_chance(1)


def test_real_clients_who_answer_every_round_are_found(tmp_path: Path) -> None:
    """Sixty people, six stays: about one is found of all who share their places."""
    deck = Deck(bits=2, slots=ROUNDS, eps_report=0.05)
    first, second = seen_by_observers(tmp_path, campaign(deck, rounds=ROUNDS), 60)
    assert (first ^ second).all()
    assert right(possible(first, second, STAY, ROUNDS), np.random.default_rng(2)) > 10 * 2
