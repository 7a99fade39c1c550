"""Attendance: the experiment against enumeration of places and coins, the worst persistence, and the attack."""

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.theory.test_factorisations import DIRECTIONS, GAMMAS
from untrackable.theory.attendance import HALF_AND_HALF, Attendance, answering_once, attendance, seen_laws

Law = dict[Hashable, Fraction]
Shares = tuple[Fraction, ...]

THIRDS = (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
UNEVEN = (Fraction(4, 5), Fraction(1, 5))
ELSEWHERE = (Fraction(1, 2), Fraction(1, 4))
MODELS: list[tuple[int, Fraction, Shares, int]] = [
    (1, Fraction(1), HALF_AND_HALF, 1),
    (3, Fraction(1), HALF_AND_HALF, 1),
    (3, Fraction(1, 3), HALF_AND_HALF, 1),
    (3, Fraction(2, 5), UNEVEN, 1),
    (3, Fraction(1, 2), ELSEWHERE, 1),
    (2, Fraction(1, 2), THIRDS, 1),
    (3, Fraction(1, 4), (Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)), 1),
    (4, Fraction(1, 3), HALF_AND_HALF, 2),
    (5, Fraction(1, 4), ELSEWHERE, 2),
    (4, Fraction(1, 2), UNEVEN, 3),
    (3, Fraction(1, 2), THIRDS, 2),
    (3, Fraction(1, 2), (Fraction(1, 2), Fraction(0)), 1),
    (4, Fraction(1, 5), HALF_AND_HALF, 9),
]
"""Rounds, participation, shares and persistence: also shorter last stays, an empty place, time spent elsewhere."""


def one_person(rounds: int, participation: Fraction, places: Shares, persistence: int) -> Law:
    """The law of what is seen of one person: the place of an answer, or None, in every round.

    It goes through every sequence of places and every sequence of coins.
    """
    where = [*enumerate(places), (None, 1 - sum(places))]
    stays = math.ceil(rounds / persistence)
    law: Law = {}
    for visits in itertools.product(where, repeat=stays):
        for coins in itertools.product((False, True), repeat=rounds):
            seen = tuple(visits[t // persistence][0] if coin else None for t, coin in enumerate(coins))
            chance = math.prod((share for _, share in visits), start=Fraction(1))
            for coin in coins:
                chance *= participation if coin else 1 - participation
            law[seen] = law.get(seen, Fraction(0)) + chance
    return law


def worlds(rounds: int, participation: Fraction, places: Shares, persistence: int) -> tuple[Law, Law]:
    """The sets of places with an answer in every round: by one person, and by a different one at every place."""
    single = one_person(rounds, participation, places, persistence)
    one: Law = {}
    for seen, chance in single.items():
        assert isinstance(seen, tuple)
        shown = tuple(frozenset([place]) - {None} for place in seen)
        one[shown] = one.get(shown, Fraction(0)) + chance
    several: Law = {(frozenset(),) * rounds: Fraction(1)}
    for place in range(len(places)):
        here: Law = {}
        for seen, chance in single.items():
            assert isinstance(seen, tuple)
            shown = tuple(frozenset([place]) if at == place else frozenset() for at in seen)
            here[shown] = here.get(shown, Fraction(0)) + chance
        joined: Law = {}
        for (a, p), (b, q) in itertools.product(several.items(), here.items()):
            assert isinstance(a, tuple)
            assert isinstance(b, tuple)
            both = tuple(x | y for x, y in zip(a, b, strict=True))
            joined[both] = joined.get(both, Fraction(0)) + p * q
        several = joined
    return one, several


def hockey_stick(p: Law, q: Law, gamma: float) -> float:
    """The largest P(T) - e^γ·Q(T) over all T."""
    return math.fsum(max(0.0, float(p.get(o, 0)) - math.exp(gamma) * float(q.get(o, 0))) for o in {**p, **q})


def best_power(p: Law, q: Law, fpr: float) -> float:
    """Neyman and Pearson: the most likely outcomes first, until Q has given `fpr`."""
    outcomes = [(p.get(o, Fraction(0)), q.get(o, Fraction(0))) for o in {**p, **q}]
    outcomes.sort(key=lambda masses: math.inf if masses[1] == 0 else masses[0] / masses[1], reverse=True)
    power, left = 0.0, fpr
    for here, there in outcomes:
        share = min(1.0, left / float(there)) if there else 1.0
        power, left = power + share * float(here), left - share * float(there)
    return power


@pytest.mark.parametrize(("rounds", "participation", "places", "persistence"), MODELS)
def test_attendance_is_what_enumeration_says(
    rounds: int, participation: Fraction, places: Shares, persistence: int
) -> None:
    found = attendance(rounds, participation, places, persistence)
    one, several = worlds(rounds, participation, places, persistence)
    assert found.certainty == "exact"
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        first, second = (one, several) if direction == "forward" else (several, one)
        expected = hockey_stick(first, second, gamma)
        assert found.delta(gamma, direction).upper == pytest.approx(expected, rel=1e-9, abs=1e-13)
        assert found.delta(gamma, direction).lower == pytest.approx(expected, rel=1e-9, abs=1e-13)
    assert found.advantage().upper == pytest.approx(hockey_stick(one, several, 0.0), rel=1e-9, abs=1e-13)
    for people in (2, 10, 1000):
        power = found.power(1 / people)
        expected = best_power(one, several, 1 / people)
        assert power.lower - 1e-6 <= expected <= power.upper + 1e-9
        assert power.upper == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("rounds", "participation", "places", "persistence"), MODELS)
def test_the_table_of_one_stay_is_exact(
    rounds: int, participation: Fraction, places: Shares, persistence: int
) -> None:
    """The masses of a stay are exact fractions, equal to those of the enumeration."""
    length = min(rounds, persistence)
    one, several = worlds(length, participation, places, persistence)

    def pooled(law: Law) -> list[Fraction]:
        alone, nowhere, apart = [Fraction(0)] * len(places), Fraction(0), Fraction(0)
        for seen, chance in law.items():
            assert isinstance(seen, tuple)
            at = frozenset().union(*seen)
            if not at:
                nowhere += chance
            elif len(at) == 1:
                alone[next(iter(at))] += chance
            else:
                apart += chance
        return [*alone, nowhere, apart]

    expected = [(p, q) for p, q in zip(pooled(one), pooled(several), strict=True) if p or q]
    chance = answering_once(participation, length)
    assert list(zip(*seen_laws(chance, places), strict=True)) == expected


def test_nothing_is_revealed_without_answers_or_without_a_second_place() -> None:
    assert attendance(100, 0).advantage().upper == 0
    assert attendance(100, "1/2", (1, 0)).advantage().upper == 0
    assert Attendance(Fraction("1/2"), one_network=True).experiment(100).advantage().upper == 0
    assert Attendance(Fraction("1/2"), one_network=True).recognition(100).upper == 1 / 1000
    assert Attendance(Fraction(0)).worst_persistence(100)[1].upper == 1 / 1000


def test_everybody_who_answers_every_round_is_recognised() -> None:
    """Half and half, k rounds: several people are never at two places at once with probability 2^-k."""
    assert attendance(3).power(1 / 1000).upper == pytest.approx(8 / 1000)
    assert attendance(10).power(1 / 1000).upper == pytest.approx(1.0)
    assert attendance(10).advantage().upper == pytest.approx(1 - 2**-10)


@pytest.mark.parametrize(("persistence", "recognition"), [(1, 0.00185), (7, 0.0201), (30, 0.1793), (37, 0.2056)])
def test_known_numbers(persistence: int, recognition: float) -> None:
    found = Attendance(Fraction("1/20"), persistence=persistence).recognition(365)
    assert 0.99 * recognition < found.lower <= found.upper < 1.01 * recognition


def test_half_and_half_reveals_most_of_two_places() -> None:
    shares = [HALF_AND_HALF, UNEVEN, ELSEWHERE, (Fraction(1, 2), Fraction(2, 5))]
    found = [Attendance(Fraction("1/5"), places).recognition(60).upper for places in shares]
    assert max(found) == found[0]


def test_answering_more_often_reveals_more() -> None:
    """Whoever sees a client that answers often can leave out rounds and see one that answers seldom."""
    shares = [Fraction(n, 40) for n in range(1, 41)]
    for gamma, direction in itertools.product(GAMMAS, DIRECTIONS):
        deltas = [attendance(6, share, ELSEWHERE, 2).delta(gamma, direction).upper for share in shares]
        assert all(a <= b * (1 + 1e-9) + 1e-13 for a, b in itertools.pairwise(deltas))


@pytest.mark.parametrize("rounds", [1, 2, 7, 12, 24, 37])
@pytest.mark.parametrize("participation", ["1", "1/2", "1/5", "1/20", "1/300"])
def test_the_worst_persistence_is_that_of_all_lengths(rounds: int, participation: str) -> None:
    attending = Attendance(Fraction(participation))
    stay, found = attending.worst_persistence(rounds)
    tried = [attending.with_persistence(length).recognition(rounds).upper for length in range(1, rounds + 1)]
    assert found.upper >= max(tried) * (1 - 1e-9)
    assert found.upper == attending.with_persistence(stay).recognition(rounds).upper


def test_the_worst_persistence_of_very_many_rounds_is_found() -> None:
    stay, found = Attendance(Fraction("1/1000")).worst_persistence(10**9)
    assert 1 <= stay <= 10**9
    assert found.upper == 1.0
    stay, found = Attendance(Fraction("1/200")).worst_persistence(1500)
    assert 100 < stay < 400
    for length in (100, 150, 200, 300, 500):
        beside = Attendance(Fraction("1/200"), persistence=length).recognition(1500).upper
        assert found.upper >= beside * (1 - 1e-6)


# --- exact fractions --------------------------------------------------------------------------------------------


def test_answering_once() -> None:
    assert answering_once(Fraction(1, 20), 1) == Fraction(1, 20)
    assert answering_once(Fraction(1, 2), 3) == Fraction(7, 8)
    assert answering_once(Fraction(1), 5) == 1
    assert answering_once(Fraction(0), 5) == 0


@pytest.mark.parametrize("participation", [Fraction(1, 10**18), Fraction(123456789, 10**12), Fraction(1, 3)])
def test_long_stays_round_up_in_a_far_digit(participation: Fraction) -> None:
    """Exact fractions of long stays would have millions of digits."""
    for rounds in (1000, 10**6, 10**9):
        found = answering_once(participation, rounds)
        exact = -math.expm1(rounds * math.log1p(-float(participation)))
        assert float(found) == pytest.approx(exact, rel=1e-9)
        assert found.denominator.bit_length() < 10_000
    short = answering_once(participation, 140)
    assert short >= 1 - (1 - participation) ** 140
    assert short - (1 - (1 - participation) ** 140) < Fraction(1, 2**400)


def test_extreme_probabilities_are_computed() -> None:
    assert attendance(365, Fraction(1, 10**18)).power(1e-3).upper == pytest.approx(1e-3, rel=1e-3)
    assert attendance(3, 1 - Fraction(1, 10**18)).power(1e-3).upper == pytest.approx(8e-3, rel=1e-3)
    assert attendance(30, "1/2", (Fraction(1, 10**18), Fraction(1, 2))).advantage().upper < 1e-12


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"participation": "-1/2"}, ValueError, "participation must be between 0 and 1"),
        ({"participation": "3/2"}, ValueError, "participation must be between 0 and 1"),
        ({"participation": 1.5}, ValueError, "participation must be between 0 and 1"),
        ({"participation": math.nan}, ValueError, "participation must be a fraction such as 1/20"),
        ({"participation": math.inf}, ValueError, "participation must be a fraction such as 1/20"),
        ({"participation": "often"}, ValueError, "participation must be a fraction such as 1/20"),
        ({"participation": "1/0"}, ValueError, "participation must be a fraction such as 1/20"),
        ({"participation": True}, TypeError, "participation must be a fraction, not bool"),
        ({"participation": None}, TypeError, "participation must be a fraction, not NoneType"),
        ({"participation": Fraction(1, 10**19)}, ValueError, "participation must have a denominator of at most"),
        ({"participation": "1e-99999999"}, ValueError, "participation must"),
        ({"places": ("1/2", "-1/2")}, ValueError, "a share of places must be between 0 and 1"),
        ({"places": ("1/2", "3/4")}, ValueError, "shares of at most 1 in all, got 5/4"),
        ({"places": ("1",)}, ValueError, "places must be 2 to 64 shares, got 1"),
        ({"places": ("1/65",) * 65}, ValueError, "places must be 2 to 64 shares, got 65"),
        ({"places": "1/2"}, TypeError, "places must be a sequence of fractions, not str"),
        ({"places": 0.5}, TypeError, "places must be a sequence of fractions, not float"),
        ({"places": ("home", "office")}, ValueError, "a share of places must be a fraction such as 1/20"),
        ({"persistence": 0}, ValueError, "persistence must be at least 1"),
        ({"persistence": 1.5}, TypeError, "persistence must be an integer"),
        ({"one_network": 1}, TypeError, "one_network must be True or False"),
    ],
)
def test_bad_input_is_refused(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Attendance(**given)


@pytest.mark.parametrize("rounds", [0, -1, 2.5, "10"])
def test_bad_rounds_are_refused(rounds: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="rounds must be"):
        attendance(rounds)


# --- the attack -------------------------------------------------------------------------------------------------


def attended(
    rng: np.random.Generator, people: int, rounds: int, participation: float, shares: Sequence[float], stay: int
) -> Iterator[np.ndarray[Any, np.dtype[np.bool_]]]:
    """Who answers which round at each place, one array of people and rounds for each place."""
    stays = math.ceil(rounds / stay)
    drawn = rng.random((people, stays)).repeat(stay, axis=1)[:, :rounds]
    answers = rng.random((people, rounds)) < participation
    ends = np.cumsum([0.0, *shares])
    for low, high in itertools.pairwise(ends):
        yield answers & (low <= drawn) & (drawn < high)


def matched(
    first: Any, second: Any, participation: float, shares: Iterable[float], stay: int
) -> np.ndarray[Any, Any]:
    """ln(one person/two people) for every pair of rows. Answers at both places in one stay rule out one person."""
    rounds = first.shape[1]
    starts = np.arange(0, rounds, stay)
    first, second = (np.add.reduceat(side, starts, axis=1) > 0 for side in (first, second))
    lengths = np.diff([*starts, rounds])
    total = np.zeros((first.shape[0], second.shape[0]))
    a, b = shares
    for length in np.unique(lengths):
        c = -math.expm1(length * math.log1p(-participation))
        x, y = (side[:, lengths == length].astype(float) for side in (first, second))
        here, there, neither = -math.log(1 - c * b), -math.log(1 - c * a), math.log(1 - c * (a + b))
        neither -= math.log(1 - c * a) + math.log(1 - c * b)
        both = x @ y.T
        left, right = x.sum(axis=1)[:, None] - both, y.sum(axis=1)[None, :] - both
        total += left * here + right * there + (x.shape[1] - left - right - both) * neither
        total[both > 0] = -math.inf
    return total


@pytest.mark.parametrize(
    ("rounds", "participation", "shares", "stay"),
    [(60, "1/5", ("1/2", "1/2"), 1), (90, "1/5", ("3/5", "1/5"), 1), (100, "1/10", ("1/2", "1/2"), 7)],
)
def test_matching_people_stays_below_the_bound(
    rounds: int, participation: str, shares: tuple[str, str], stay: int
) -> None:
    """Somebody seen at one place is looked for among M people at the other, by the likelihood ratio."""
    people, repeats = 100, 20
    attending = Attendance(Fraction(participation), (Fraction(shares[0]), Fraction(shares[1])), stay)
    bound = attending.recognition(rounds, people).upper
    rng = np.random.default_rng(18)
    chance, parts = float(Fraction(participation)), [float(Fraction(share)) for share in shares]
    hits, experiment = 0, attending.experiment(rounds)
    drawn: list[float] = []
    for _ in range(repeats):
        home, office = attended(rng, people, rounds, chance, parts, stay)
        scores = matched(home, office, chance, parts, stay)
        drawn.extend(np.diag(scores))
        hits += int(np.sum(scores.argmax(axis=1) == np.arange(people)))
    rate, trials = hits / (people * repeats), people * repeats
    # The people of one repetition share their crowd, so the error counts as twice that of independent people.
    error = 2 * math.sqrt(bound * (1 - bound) / trials)
    assert 2 / people < rate <= bound + 5 * error
    # The score of the right person has the law that the engine computes.
    for level in (0.1, 0.5, 0.9):
        bracket = experiment.loss_quantiles([level], "P")[0]
        below = np.mean(np.array(drawn) < bracket.lower - 1e-9)
        upto = np.mean(np.array(drawn) <= bracket.upper + 1e-9)
        assert below <= level + 5 * math.sqrt(0.25 / trials)
        assert upto >= level - 5 * math.sqrt(0.25 / trials)


def test_the_scores_of_the_attack_are_the_losses_of_the_engine() -> None:
    """All pairs of rows of three rounds: the score is ln(one/two) of the enumerated laws."""
    chance, shares = Fraction(1, 3), (Fraction(1, 2), Fraction(1, 4))
    one, several = worlds(3, chance, shares, 1)
    rows = np.array(list(itertools.product((False, True), repeat=3)))
    scores = matched(rows, rows, float(chance), [float(share) for share in shares], 1)
    for (i, x), (j, y) in itertools.product(enumerate(rows), enumerate(rows)):
        shown = tuple(frozenset([*([0] if a else []), *([1] if b else [])]) for a, b in zip(x, y, strict=True))
        p, q = one.get(shown, Fraction(0)), several[shown]
        expected = math.log(p / q) if p else -math.inf
        assert scores[i, j] == pytest.approx(expected, abs=1e-12)
