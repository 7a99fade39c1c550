"""Attendance and answering by chance in whole numbers: never below the engine, and close to it."""

from fractions import Fraction

import pytest

from tests.theory.test_attendance import MODELS, Shares, best_power, hockey_stick, worlds
from tests.theory.test_factorisations import GAMMAS
from untrackable import Bitwise, Deck, Fading, InnerProduct
from untrackable.mechanisms.attended_tracking import attended_tracking
from untrackable.mechanisms.interface import Mechanism, Values
from untrackable.theory.attendance import HALF_AND_HALF, Attendance
from untrackable.theory.integer_attendance import attendance_law, recognition_upper
from untrackable.theory.integer_losses import LossLaw, composed

STEP = 2.0**-8
KNOWN = [
    (365, "1/20", 1),
    (365, "1/20", 7),
    (365, "1/20", 30),
    (365, "1/20", 37),
    (365, "1/10", 1),
    (365, "1/50", 7),
    (3, "1", 1),
    (10, "1", 1),
    (30, "1/3", 2),
]
EXTREME = [
    (365, "1/1000000000000000000", 1),
    (10**6, "1/1000000", 1),
    (10**6, "1/2000", 1),
    (10**9, "1/100000", 1),
    (10**6, "1/100000", 1000),
    (5, "999999999999999999/1000000000000000000", 1),
    (1, "1/7", 1),
]


def law_of(attending: Attendance, rounds: int) -> LossLaw:
    return attendance_law(attending.blocks(rounds), attending.places)


@pytest.mark.parametrize(("rounds", "participation", "places", "persistence"), MODELS)
def test_it_is_never_below_enumeration(
    rounds: int, participation: Fraction, places: Shares, persistence: int
) -> None:
    one, several = worlds(rounds, participation, places, persistence)
    law = law_of(Attendance(participation, places, persistence), rounds)
    for gamma in GAMMAS:
        truth = hockey_stick(one, several, gamma)
        assert truth * (1 - 1e-12) <= law.delta(gamma) <= truth * 1.02 + 1e-3
    for people in (2, 10, 1000):
        truth = best_power(one, several, 1 / people)
        assert truth * (1 - 1e-12) <= recognition_upper(law, people) <= 1.03 * truth + 1e-3


@pytest.mark.parametrize(("rounds", "participation", "persistence"), KNOWN)
@pytest.mark.parametrize("people", [2, 1000, 10**6])
def test_it_is_close_to_the_engine(rounds: int, participation: str, persistence: int, people: int) -> None:
    attending = Attendance(Fraction(participation), persistence=persistence)
    engine = attending.recognition(rounds, people)
    found = recognition_upper(law_of(attending, rounds), people)
    assert engine.lower * (1 - 1e-9) <= found <= 1.01 * engine.upper
    for gamma in (0.0, 0.3, 2.0):
        exact = attending.experiment(rounds).delta(gamma, "forward")
        assert exact.lower * (1 - 1e-9) <= law_of(attending, rounds).delta(gamma) <= 1.05 * exact.upper + 1e-4


@pytest.mark.parametrize(("rounds", "participation", "persistence"), EXTREME)
@pytest.mark.parametrize("places", [HALF_AND_HALF, (Fraction(1, 2), Fraction(1, 10**15)), (Fraction(1, 4),) * 4])
def test_extremes(rounds: int, participation: str, persistence: int, places: Shares) -> None:
    attending = Attendance(Fraction(participation), places, persistence)
    engine = attending.recognition(rounds)
    found = recognition_upper(law_of(attending, rounds), 1000)
    assert engine.lower * (1 - 1e-9) <= found <= 1.02 * engine.upper


def test_nothing_and_everything() -> None:
    assert recognition_upper(law_of(Attendance(Fraction(0)), 365), 1000) == pytest.approx(1 / 1000)
    assert recognition_upper(law_of(Attendance(Fraction(1, 2), one_network=True), 365), 1000) == pytest.approx(1e-3)
    assert recognition_upper(LossLaw.everything(), 1000) == 1.0
    assert recognition_upper(law_of(Attendance(Fraction(1)), 365), 1000) == 1.0


@pytest.mark.parametrize(
    "mechanism",
    [Bitwise(eps_state=1.0, eps_report=0.2), InnerProduct(bits=4, slots=20_000, eps_report=0.1, width=1)],
)
@pytest.mark.parametrize(("participation", "rounds"), [("1/20", 60), ("1/5", 12)])
def test_attendance_with_reports(mechanism: Mechanism, participation: str, rounds: int) -> None:
    """The law of attendance, composed with that of tracking, is never below the exact composition."""
    attending = Attendance(Fraction(participation))
    reports = mechanism.integer_tracking(rounds, values=1, step=STEP)
    assert reports is not None
    together = composed((law_of(attending, rounds), reports), STEP)
    exact = attending.experiment(rounds) + mechanism.tracking(reports=rounds, split=rounds // 2)
    for gamma in (0.0, 0.5, 2.0):
        assert together.delta(gamma) >= exact.delta(gamma, "forward").upper * (1 - 1e-9)
    bound = attended_tracking(mechanism, attending, rounds).power(1 / 1000)
    assert recognition_upper(together, 1000) >= exact.power(1 / 1000).lower
    assert recognition_upper(together, 1000) >= law_and_alone(attending, rounds)
    assert bound.upper >= law_and_alone(attending, rounds) * 0.99


def law_and_alone(attending: Attendance, rounds: int) -> float:
    return attending.recognition(rounds).lower


# --- privacy of rounds that are answered by chance --------------------------------------------------------------

MECHANISMS: list[Mechanism] = [
    Deck(bits=4, slots=60, eps_report=0.1, width=1),
    Deck(bits=4, slots=60, eps_report=0.2, width=3),
    Deck(bits=4, slots=20, eps_report=0.1, width=1, when_empty="replay"),
    Fading(bits=4, eps=1.0, delta=1e-6),
    InnerProduct(bits=4, slots=50, eps_report=0.1, width=1),
    Bitwise(eps_state=1.0, eps_report=0.3),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("participation", ["1", "1/2", "1/20", "1/1000000000000000000"])
@pytest.mark.parametrize("values", ["fixed", "any"])
def test_integer_privacy_is_never_below_the_engine(
    mechanism: Mechanism, participation: str, values: Values
) -> None:
    share = Fraction(participation)
    for rounds in (None, 1, 30, 60):
        private = mechanism.privacy(reports=rounds, values=values, participation=share)
        for eps in (0.05, 0.5, 1.0):
            law = mechanism.integer_privacy(rounds, values=values, step=eps / 512, participation=share)
            assert law is not None
            engine = private.delta(eps)
            if engine.certainty == "exact" or not isinstance(mechanism, Fading):
                assert law.delta(eps) >= engine.lower * (1 - 1e-9)
            if isinstance(mechanism, Deck) and mechanism.when_empty == "stop":
                assert law.delta(eps) == pytest.approx(engine.upper, rel=1e-6, abs=1e-15)


def test_a_deck_that_spends_its_budget_by_chance_is_confirmed() -> None:
    deck = Deck.for_budget(bits=10, slots=365, eps=1.0, delta=1e-6, width=1, participation="1/20")
    assert deck.eps_report == pytest.approx(0.0737, rel=1e-3)
    law = deck.integer_privacy(365, values="any", step=1 / 512, participation=Fraction(1, 20))
    assert law is not None
    assert 0.999e-6 < law.delta(1.0) <= 1e-6
    all_sent = deck.integer_privacy(365, values="any", step=1 / 512)
    assert all_sent is not None
    assert all_sent.delta(1.0) > 0.01
