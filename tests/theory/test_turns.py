"""Turns against their definitions: everything a person sends, everything two observers see, enumerated."""

import functools
import itertools
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tests.theory.enumerated_crowd import delta_of, multisets, parts_of
from untrackable.arrays import FloatArray
from untrackable.theory.crowd import crowd_deltas
from untrackable.theory.factor import Factor, response_factor
from untrackable.theory.turns import (
    Turns,
    recognition_upper,
    right_matches,
    several_turns_lower,
    survey_variance,
)

Path = tuple[int, ...]
"""The place at which a person is in each round; an observer sees places 1 and 2."""
Outcome = tuple[int, int, int] | None
"""The place, the round and the report of somebody's turn, or nothing."""
Law = dict[Outcome, float]


def response(eps: float) -> list[tuple[float, float]]:
    """Randomised response of a bit: the probabilities of both reports for each value."""
    lie = 1 / (1 + math.exp(eps))
    return [(1 - lie, lie), (lie, 1 - lie)]


def outcomes(path: Path, turns: Turns, reports: Sequence[Sequence[float]]) -> Law:
    """The law of what one person is seen to send who is at these places; `reports` has the law in each round."""
    law: Law = defaultdict(float)
    law[None] = float(1 - turns.share)
    for t, place in enumerate(path):
        for report, mass in enumerate(reports[t]):
            law[(place, t, report) if place in (1, 2) else None] += float(turns.chance) * mass
    return law


# --- Privacy of everything that somebody sends


@pytest.mark.parametrize("rounds", range(1, 6))
@pytest.mark.parametrize("eps", [0.3, 1.0, 4.0])
def test_everything_sent_has_the_eps_of_one_report(rounds: int, eps: float) -> None:
    """For all pairs of sequences of values, all sets of rounds in which a person is active, and shares."""
    laws, largest = response(eps), 0.0
    for share in (Fraction(1), Fraction(2, 3)):
        turns = Turns(rounds=rounds, share=share)
        for active in itertools.product((0, 1), repeat=rounds):
            sent = [
                outcomes(active, turns, [laws[v] for v in values])
                for values in itertools.product((0, 1), repeat=rounds)
            ]
            for here, there in itertools.combinations(sent, 2):
                ratios = [abs(math.log(here[o] / there[o])) for o in {*here, *there} if here[o] or there[o]]
                largest = max(largest, *ratios)
        assert largest <= turns.eps_upper(eps) * (1 + 1e-12)
    assert largest == pytest.approx(eps)


@pytest.mark.parametrize("wipes", [0, 1, 2])
def test_wipes_give_as_many_more_answers(wipes: int) -> None:
    """A client that forgets draws anew: the worst is an answer before each wipe and one after the last."""
    turns, (truth, lie) = Turns(rounds=4, wipes=wipes), response(1.5)[0]
    worst = math.log(truth / lie) * (wipes + 1)
    assert turns.eps_upper(1.5) == pytest.approx(worst)


@pytest.mark.parametrize(("often", "seldom", "share"), [(0.9, 0.3, 1.0), (0.5, 0.4, 1.0), (1.0, 0.5, 0.5)])
def test_activity_that_depends_on_the_value_costs_its_ratio(often: float, seldom: float, share: float) -> None:
    eps, laws = 1.0, response(1.0)
    sent = [[share * active * mass for mass in laws[v]] for v, active in ((0, often), (1, seldom))]
    nothing = [1 - share * often, 1 - share * seldom]
    loss = max(abs(math.log(a / b)) for a, b in [*zip(*sent, strict=True), nothing])
    least = min(seldom / often, nothing[0] / nothing[1])
    bound = Turns(rounds=1).eps_upper(eps, activity=least)
    assert loss <= bound * (1 + 1e-12)
    if least == seldom / often:
        assert loss == pytest.approx(bound)


def test_somebody_who_always_answers_cannot_be_somebody_who_sent_nothing() -> None:
    with pytest.raises(ValueError, match="activity must be above 0"):
        Turns(rounds=3).eps_upper(1.0, activity=0.0)


@pytest.mark.parametrize("eps", [1.0, 2.0, 4.0])
def test_wiped_in_every_round_by_enumeration(eps: float) -> None:
    turns, laws = Turns(rounds=3), response(eps)
    chance = float(turns.chance)
    worlds = [[1 - chance, chance * law[0], chance * law[1]] for law in laws]
    for gamma in (0.0, 0.5, eps, 2 * eps):
        exact = 0.0
        for stream in itertools.product(range(3), repeat=3):
            p, q = (math.prod(world[o] for o in stream) for world in worlds)
            exact += max(0.0, p - math.exp(gamma) * q)
        bound = turns.wiped_every_round(response_factor(eps)).delta(gamma)
        assert bound.upper == pytest.approx(exact, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("eps", "stated"), [(1.0, 6.9), (2.0, 15.6), (4.0, 32.0)])
def test_wiped_in_every_week_of_a_year(eps: float, stated: float) -> None:
    """A report of more values says less; randomised response of a bit is the worst that has this eps."""
    weeks, e = Turns(rounds=52), math.exp(eps)
    worst = weeks.wiped_every_round(response_factor(eps)).gamma(1e-6)
    wide = Factor([e / (e + 15), 1 / (e + 15), 14 / (e + 15)], [1 / (e + 15), e / (e + 15), 14 / (e + 15)])
    assert worst.upper == pytest.approx(stated, rel=0.01)
    assert weeks.wiped_every_round(wide).gamma(1e-6).upper < worst.lower


# --- Exclusion


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 3)])
def test_exclusion_by_enumeration(share: Fraction) -> None:
    """Any joint law of movement; two people who move by the same law, of whom each is looked for at one place."""
    rng = np.random.default_rng(3)
    for rounds, places in itertools.product(range(1, 6), (2, 3)):
        turns = Turns(rounds=rounds, share=share)
        for _ in range(8):
            law = random_paths(rng, rounds, places)
            seen: Law = defaultdict(float)
            for path, weight in law:
                for outcome, chance in outcomes(path, turns, [(1.0,)] * rounds).items():
                    seen[outcome] += weight * chance
            at = [sum(Fraction(w) * path.count(place) for path, w in law) / rounds for place in (1, 2)]
            shown: list[Law] = [{o: p for o, p in seen.items() if o and o[0] == place} for place in (1, 2)]
            for one in shown:
                one[None] = 1 - sum(one.values())
            advantage = 0.0
            for x, y in itertools.product(*shown):
                together = seen[x or y] if not (x and y) else 0.0
                advantage += max(0.0, together - shown[0][x] * shown[1][y])
            assert turns.exclusion(*at).advantage().upper == pytest.approx(advantage, abs=1e-9)
            assert advantage == pytest.approx(float(2 * share**2 * at[0] * at[1]))


def test_half_the_rounds_at_each_place() -> None:
    assert Turns(rounds=52).exclusion("1/2", "1/2").advantage().upper == pytest.approx(0.5)
    with pytest.raises(ValueError, match="at most 1 in all"):
        Turns(rounds=52).exclusion("1/2", "2/3")


# --- Recognition


def random_paths(rng: np.random.Generator, rounds: int, places: int) -> list[tuple[Path, float]]:
    """A random joint law of movement: some paths, of which many stay where they are for long."""
    count = int(rng.integers(1, 5))
    weights = rng.multinomial(60, np.ones(count) / count) / 64
    weights[0] = 1 - weights[1:].sum()
    paths = []
    for _ in range(count):
        stays = rng.integers(1, rounds + 1)
        steps = np.repeat(rng.integers(0, places + 1, size=rounds), stays)[:rounds]
        paths.append(tuple(int(step) for step in steps))
    return list(zip(paths, weights.tolist(), strict=True))


def crowds(rng: np.random.Generator, people: int, rounds: int, places: int) -> list[tuple[list[Path], float]]:
    """A random exchangeable law of movement of several people, who may move together."""
    some = [[random_paths(rng, rounds, places)[0][0] for _ in range(people)] for _ in range(2)]
    weights = rng.dirichlet(np.ones(len(some)))
    orders = list(itertools.permutations(range(people)))
    return [
        ([group[i] for i in order], float(weight) / len(orders))
        for group, weight in zip(some, weights, strict=True)
        for order in orders
    ]


def seen_by_both(
    laws: Sequence[Law],
) -> Iterator[tuple[tuple[Outcome, ...], float]]:
    for combination in itertools.product(*(law.items() for law in laws)):
        chance = math.prod(p for _, p in combination)
        if chance:
            yield tuple(outcome for outcome, _ in combination), chance


def views(outcome: Outcome) -> tuple[Hashable, Hashable]:
    """What the observers of the first and of the second place see of somebody."""
    return (outcome if outcome and outcome[0] == 1 else None), (outcome if outcome and outcome[0] == 2 else None)


Joint = dict[tuple[Outcome, ...], float]
Seen = tuple[tuple[Hashable, ...], tuple[Hashable, ...]]


def posteriors(joint: Joint) -> Iterator[tuple[Seen, FloatArray]]:
    """For all that both observers can see: how probable it is, and is that person i shows view j at the second."""
    found: dict[Seen, dict[tuple[int, Hashable], float]] = defaultdict(lambda: defaultdict(float))
    for people, chance in joint.items():
        first, second = zip(*map(views, people), strict=True)
        seen = first, tuple(sorted(second, key=repr))
        for i, view in enumerate(second):
            found[seen][i, view] += chance
    for seen, chances in found.items():
        often = Counter(seen[1])
        yield seen, np.array([[chances[i, view] / often[view] for view in seen[1]] for i in range(len(seen[0]))])


def joint_law(movements: list[tuple[list[Path], float]], turns: Turns, reports: Sequence[float]) -> Joint:
    joint: Joint = defaultdict(float)
    for paths, weight in movements:
        for people, chance in seen_by_both([outcomes(path, turns, [reports] * turns.rounds) for path in paths]):
            joint[people] += weight * chance
    return joint


CASES = [(2, 5, 2), (2, 5, 3), (3, 4, 2), (3, 3, 3), (4, 2, 2), (4, 2, 3), (4, 3, 2)]


@pytest.mark.parametrize(("people", "rounds", "places"), CASES)
def test_at_most_two_are_matched_however_people_move(people: int, rounds: int, places: int) -> None:
    rng = np.random.default_rng(people * 100 + rounds * 10 + places)
    for share, reports in ((Fraction(1), (1.0,)), (Fraction(3, 4), (0.6, 0.4))):
        turns = Turns(rounds=rounds, share=share)
        joint = joint_law(crowds(rng, people, rounds, places), turns, reports if people < 4 else (1.0,))
        singly = at_once = expected_singly = expected = 0.0
        for (first, second), chances in posteriors(joint):
            mass = chances.sum() / people
            formula = right_matches(people, sum(v is not None for v in first), sum(v is not None for v in second))
            singly += chances.max(axis=1).sum()
            rows, columns = linear_sum_assignment(chances, maximize=True)
            at_once += chances[rows, columns].sum()
            expected_singly += mass * float(formula.one_by_one)
            expected += mass * float(formula.all_at_once)
        assert singly == pytest.approx(expected_singly)
        assert at_once == pytest.approx(expected)
        assert max(singly, at_once) <= 2 + 1e-9
        assert singly / people <= recognition_upper(people) + 1e-9


def test_two_is_reached() -> None:
    """Everybody is seen at one of two places."""
    for people in range(2, 40):
        for first in range(1, people):
            matched = right_matches(people, first, people - first)
            assert matched.one_by_one == matched.all_at_once == 2
        assert right_matches(people, people, 0).all_at_once == 1
    for people in range(1, 25):
        for first in range(people + 1):
            for second in range(people + 1 - first):
                matched = right_matches(people, first, second)
                assert 1 <= matched.all_at_once <= 2
                assert matched.all_at_once <= matched.one_by_one <= 2


@pytest.mark.parametrize("known_answer", [False, True])
def test_who_knows_the_targets_habits_or_answer(known_answer: bool) -> None:
    rng = np.random.default_rng(11 + known_answer)
    eps, closest = 1.3, 0.0
    laws = response(eps)
    for people, rounds in ((2, 1), (2, 3), (3, 2), (4, 1), *(() if known_answer else ((4, 2),))):
        for share in (Fraction(1), Fraction(1, 2)):
            turns = Turns(rounds=rounds, share=share)
            for _ in range(12):
                target, others = rng.dirichlet(np.ones(3), size=(2, rounds))
                if rng.random() < 0.3:
                    others = target
                others = others * 0.98 + np.array([0.0, 0.01, 0.01])
                mixed = tuple(0.2 * a + 0.8 * b for a, b in zip(*laws, strict=True)) if known_answer else (1.0,)
                own = laws[0] if known_answer else (1.0,)
                first = by_round(target, turns, own)
                joint = dict(seen_by_both([first] + [by_round(others, turns, mixed)] * (people - 1)))
                success = sum(chances[0].max() for _, chances in posteriors(joint))
                bound = recognition_upper(
                    people, turns, target=target[:, 2], others=others[:, 2], eps_report=eps * known_answer
                )
                assert success <= bound + 1e-9
                closest = max(closest, success / bound)
    assert closest > 0.9


def by_round(places: FloatArray, turns: Turns, reports: Sequence[float]) -> Law:
    """What somebody is seen to send who is at each place with these probabilities, given by round."""
    law: Law = defaultdict(float)
    law[None] = float(1 - turns.share)
    for t, row in enumerate(places):
        for place, here in enumerate(row):
            for report, mass in enumerate(reports):
                law[(place, t, report) if place else None] += float(turns.chance) * here * mass
    return law


def test_numbers_that_documents_give() -> None:
    weeks = Turns(rounds=52)
    habits = recognition_upper(1000, weeks, target=[0.9] * 52, others=[0.1] * 52)
    assert habits == pytest.approx((9 + 1 / 9) / 1000)
    assert recognition_upper(1000) == 0.002
    assert recognition_upper(1000, eps_report=2.0) == pytest.approx((1 + math.e**2) / 1000)
    assert recognition_upper(3, eps_report=9.0) == 1
    assert recognition_upper(1000, weeks, target=[0.5] * 52, others=[0.0] * 52) == 1


# --- Several turns


def leaked_matches(views: Sequence[Sequence[float]]) -> float:
    """N times the probability of recognising somebody among N people, for large N: Σ_x max_y P(x|y) (exact).

    `views[x][y]` is the probability that a person shows view x at the first place and view y at the second. The
    result is the exponential of what is known elsewhere as the maximal leakage.
    """
    likely = [math.fsum(column) for column in zip(*views, strict=True)]
    return math.fsum(
        max((chance / whole for chance, whole in zip(row, likely, strict=True) if whole), default=0.0)
        for row in views
    )


def leaked(paths: Sequence[tuple[Path, float]], campaigns: Sequence[range]) -> float:
    """What turns in several campaigns leak, each in its own range of rounds."""
    joint: dict[tuple[Hashable, Hashable], float] = defaultdict(float)
    for path, weight in paths:
        for rounds in itertools.product(*campaigns):
            seen = [tuple((c, t) for c, t in enumerate(rounds) if path[t] == place) for place in (1, 2)]
            joint[seen[0], seen[1]] += weight / math.prod(map(len, campaigns))
    firsts, seconds = (sorted({pair[i] for pair in joint}, key=repr) for i in (0, 1))
    return leaked_matches([[joint[x, y] for y in seconds] for x in firsts])


def test_one_turn_leaks_at_most_two() -> None:
    rng = np.random.default_rng(8)
    for rounds in range(1, 6):
        for places in (2, 3):
            for _ in range(30):
                assert leaked(random_paths(rng, rounds, places), [range(rounds)]) <= 2 + 1e-9


@pytest.mark.parametrize("campaigns", [1, 2, 3, 4])
def test_campaigns_over_the_same_rounds(campaigns: int) -> None:
    """Half of the people are at the first place and then at the second, the others the other way round."""
    paths = [((1, 1, 2, 2), 0.5), ((2, 2, 1, 1), 0.5)]
    found = leaked(paths, [range(4)] * campaigns)
    assert found == pytest.approx(2 if campaigns == 1 else several_turns_lower(campaigns, overlapping=True))


@pytest.mark.parametrize("campaigns", [1, 2, 3])
def test_campaigns_one_after_the_other_double_what_exclusion_leaks(campaigns: int) -> None:
    """Everybody is at one place throughout a campaign, drawn anew for each."""
    paths = [
        (functools.reduce(operator.add, [(place,) * 2 for place in places]), 0.5**campaigns)
        for places in itertools.product((1, 2), repeat=campaigns)
    ]
    found = leaked(paths, [range(2 * c, 2 * c + 2) for c in range(campaigns)])
    assert found == pytest.approx(several_turns_lower(campaigns, overlapping=False))


@pytest.mark.parametrize("rounds", [3, 4, 6])
def test_two_turns_one_after_the_other_can_leak_as_much_as_there_are_rounds(rounds: int) -> None:
    """Person c is at the second place in round c, and then always but for round c of the next campaign."""
    paths = []
    for c in range(rounds):
        first = tuple(2 if t == c else 0 for t in range(rounds))
        then = tuple(1 if t == c else 2 for t in range(rounds))
        paths.append((first + then, 1 / rounds))
    assert leaked(paths, [range(rounds), range(rounds, 2 * rounds)]) >= rounds


# --- Crowds

GAMMAS = (0.0, 0.1, 0.3, 0.7, 1.2)


def three_values(eps: float) -> list[tuple[float, ...]]:
    whole = math.exp(eps) + 2
    return [tuple((math.exp(eps) if i == v else 1.0) / whole for i in range(3)) for v in range(3)]


Shown = tuple[tuple[int, ...], ...]
"""The sorted reports of each round so far."""


def adaptive_worlds(
    seed: int, people: int, rounds: int, laws: Sequence[Sequence[float]]
) -> tuple[list[dict[Shown, float]], list[dict[int, float]]]:
    """What the collector sees if others choose their rounds and answers by all that was published before.

    The person has one turn; each of the others answers once at most. They agree on who goes, and may wait for what
    others sent. Returned are both worlds, and in each the law of the number of reports in the person's round.
    """

    @functools.cache
    def others_of(shown: Shown, left: int) -> tuple[tuple[float, tuple[int, ...]], ...]:
        """How the others go on: with some probability, these values are sent now."""
        rng = np.random.default_rng([seed, len(shown), left, *(r + 1 for seen in shown for r in (*seen, 7))])
        ways = [tuple(int(v) for v in rng.integers(0, len(laws), size=rng.integers(0, left + 1))) for _ in range(2)]
        return tuple(zip(rng.dirichlet(np.ones(2)).tolist(), ways, strict=True))

    worlds, sizes = [], []
    for value in (0, 1):
        total: dict[Shown, float] = defaultdict(float)
        size: dict[int, float] = defaultdict(float)
        for turn in range(rounds):
            stack: list[tuple[Shown, int, float]] = [((), people - 1, 1 / rounds)]
            while stack:
                shown, left, chance = stack.pop()
                if len(shown) == rounds:
                    total[shown] += chance
                    continue
                for weight, values in others_of(shown, left):
                    mine = [laws[value]] if len(shown) == turn else []
                    if mine:
                        size[1 + len(values)] += chance * weight
                    for seen, mass in multisets([*mine, *(laws[v] for v in values)]).items():
                        stack.append(((*shown, seen), left - len(values), chance * weight * mass))
        worlds.append(dict(total))
        sizes.append(dict(size))
    return worlds, sizes


@pytest.mark.parametrize(("people", "rounds"), [(2, 2), (3, 2), (4, 2), (3, 3), (4, 3)])
@pytest.mark.parametrize("laws", [response(1.5), three_values(1.0)], ids=["bit", "three"])
def test_the_crowd_of_a_round_hides_whatever_others_do(
    people: int, rounds: int, laws: list[tuple[float, ...]]
) -> None:
    """The bound of a round with as many reports holds, averaged over the numbers of reports that occur."""
    parts, gammas, closest = parts_of(laws), np.array(GAMMAS), 0.0
    alone = np.array([sum(max(0.0, p - math.exp(g) * q) for p, q in zip(*laws[:2], strict=True)) for g in GAMMAS])
    in_crowd = {n: crowd_deltas(parts, n, gammas) for n in range(2, people + 1)} | {1: alone}
    for seed in range(8):
        (one, two), sizes = adaptive_worlds(seed, people, rounds, laws)
        assert sum(one.values()) == pytest.approx(1)
        assert sizes[0] == pytest.approx(sizes[1])
        bound = sum(chance * in_crowd[n] for n, chance in sizes[0].items())
        found = np.array([max(delta_of(one, two, gamma), delta_of(two, one, gamma)) for gamma in GAMMAS])
        assert np.all(found <= bound * (1 + 1e-9))
        closest = max(closest, found[0] / bound[0])
    assert closest > 0.6


@pytest.mark.parametrize(("people", "rounds"), [(2, 2), (3, 2), (4, 2), (3, 3)])
@pytest.mark.parametrize("eps", [1.0, 2.0])
def test_for_somebody_active_throughout_all_people_are_one_crowd(people: int, rounds: int, eps: float) -> None:
    """Everybody's turn is uniform; others hold any values, which may differ by round."""
    laws = response(eps)
    bound = crowd_deltas(parts_of(laws), people, np.array(GAMMAS))
    paths = list(itertools.product((0, 1), repeat=rounds))
    reports = [tuple(laws[path[i // 2]][i % 2] / rounds for i in range(2 * rounds)) for path in paths]
    closest = 0.0
    for others in itertools.combinations_with_replacement(range(len(paths)), people - 1):
        for mine, other in itertools.permutations(range(len(paths)), 2):
            here, there = (multisets([reports[v], *(reports[o] for o in others)]) for v in (mine, other))
            for gamma, most in zip(GAMMAS, bound, strict=True):
                found = delta_of(here, there, gamma)
                assert found <= most * (1 + 1e-9)
                closest = max(closest, found / most)
    assert closest > 0.5


# --- Estimates


@pytest.mark.parametrize(("people", "holders", "chance"), [(4, 1, 0.3), (5, 2, 0.5), (6, 6, 0.25)])
def test_the_variance_of_a_survey_by_enumeration(people: int, holders: int, chance: float) -> None:
    """All sets of m people, and all their reports: the variance of the mean of reports with added noise."""
    truth, lie = response(1.0)[0]
    noise, share = truth * lie / (truth - lie) ** 2, holders / people
    for reports in range(1, people + 1):
        total = squares = weight = 0.0
        for some in itertools.combinations(range(people), reports):
            for answers in itertools.product((0, 1), repeat=reports):
                mass = math.prod(
                    truth if (i < holders) == bool(a) else lie for i, a in zip(some, answers, strict=True)
                )
                estimate = (sum(answers) / reports - lie) / (truth - lie)
                weight, total, squares = weight + mass, total + mass * estimate, squares + mass * estimate**2
        mean = total / weight
        assert squares / weight - mean**2 == pytest.approx(survey_variance(noise, share, reports, people), rel=1e-9)


def yes_no(eps: float, answers: int = 2) -> float:
    """The variance of one report on one of several bits that are reported at once."""
    truth, lie = (x / (math.exp(eps) + answers - 1) for x in (math.exp(eps), 1.0))
    yes, no = truth + (answers / 2 - 1) * lie, answers / 2 * lie
    return yes * no / (yes - no) ** 2


@pytest.mark.parametrize(
    ("eps", "questions", "draw", "joint", "divide"),
    [(1, 2, 2.32, 2.75, 4.15), (2, 2, 0.84, 0.64, 1.15), (4, 2, 0.52, 0.27, 0.41), (4, 3, 0.79, 0.31, 0.72)],
)
def test_three_ways_to_ask_several_questions(
    eps: float, questions: int, draw: float, joint: float, divide: float
) -> None:
    people, rounds = 120_000, 12
    each = people / rounds
    found = (
        survey_variance(yes_no(eps), 0.5, each / questions, people),
        survey_variance(yes_no(eps, 2**questions), 0.5, each, people),
        survey_variance(yes_no(eps / questions), 0.5, each, people),
    )
    assert [v * each for v in found] == pytest.approx([draw, joint, divide], abs=0.006)


@pytest.mark.parametrize(
    ("eps", "blocks", "error"), [(2, 1, 0.0070), (2, 2, 0.0061), (4, 1, 0.0055), (4, 4, 0.0032)]
)
def test_the_path_over_several_rounds(eps: float, blocks: int, error: float) -> None:
    people = 100_000
    found = survey_variance(yes_no(eps, 2**blocks), 0.5, people * blocks / 12, people)
    assert math.sqrt(found) == pytest.approx(error, abs=0.00006)


def test_bad_input_is_refused_by_name() -> None:
    for wrong, words in (
        (lambda: Turns(rounds=0), "rounds must be at least 1"),
        (lambda: Turns(rounds=2, share=Fraction(0)), "share must be above 0"),
        (lambda: Turns(rounds=2, wipes=-1), "wipes must be at least 0"),
        (lambda: right_matches(3, 2, 2), "seen_second must be between 0 and 1"),
        (lambda: recognition_upper(9, Turns(rounds=2), target=[0.5], others=[0.5]), "of 1 rounds"),
        (lambda: survey_variance(1.0, 0.5, 5, 4), "at most people"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
