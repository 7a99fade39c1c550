"""Recognition by closed forms is above what the engine finds, and close where reports reveal little."""

from fractions import Fraction

import pytest
from untrackable.theory.integer_losses import LossLaw

from untrackable import Bitwise, Deck, InnerProduct
from untrackable.mechanisms import Unary
from untrackable.mechanisms.attended_tracking import (
    advantage_by_bounds,
    attended_tracking,
    hidden,
    integer_recognition,
    most_reports,
    recognition,
    recognition_by_bounds,
)
from untrackable.mechanisms.interface import Mechanism
from untrackable.theory.attendance import Attendance, largest_participation

LINKED = [
    Bitwise(eps_state=1.0, eps_report=0.5),
    Bitwise(eps_state=3.0, eps_report=2.0),
    InnerProduct(bits=4, slots=3000, eps_report=0.3),
    Unary.for_budget("L-OSUE", values=4, eps=2.0, eps_report=0.5),
]
ATTENDING = [
    Attendance(Fraction(1, 2)),
    Attendance(Fraction(1, 3), (Fraction(4, 5), Fraction(1, 5)), 2),
]


@pytest.mark.parametrize("attendance", ATTENDING, ids=range(2))
@pytest.mark.parametrize("mechanism", LINKED, ids=range(4))
def test_bounds_are_above_the_engine(mechanism: Mechanism, attendance: Attendance) -> None:
    pair = attended_tracking(mechanism, attendance, 6)
    bound = recognition_by_bounds(mechanism, attendance, 6)
    assert bound.upper >= pair.power(1e-3).lower
    assert bound.lower <= pair.power(1e-3).upper
    assert advantage_by_bounds(mechanism, attendance, 6).upper >= pair.delta(0.0).lower
    assert recognition(mechanism, attendance, 6).upper <= min(bound.upper, pair.power(1e-3).upper)


def test_a_faint_trace_adds_little() -> None:
    """χ² says so, where the advantage alone would add much more."""
    faint, attendance = Bitwise(eps_state=1.0, eps_report=0.05), Attendance(Fraction(1, 10))
    alone = attendance.recognition(30).upper
    assert recognition_by_bounds(faint, attendance, 30).upper < 1.2 * alone
    assert faint.tracking_advantage_upper(most_reports(attendance, 30)) > 0.5 * alone


def test_reports_that_cannot_be_linked_add_nothing() -> None:
    deck, attendance = Deck(bits=3, slots=30, eps_report=0.1), Attendance(Fraction(1, 5))
    assert hidden(deck, attendance, 30)
    assert recognition_by_bounds(deck, attendance, 30) == attendance.recognition(30)
    found = integer_recognition(deck, attendance, 30, lambda reports, step: LossLaw.nothing())
    assert attendance.recognition(30).lower <= found <= 1.01 * attendance.recognition(30).upper
    assert integer_recognition(deck, attendance, None, lambda reports, step: LossLaw.nothing()) == 1.0
    one = Attendance(one_network=True)
    assert integer_recognition(deck, one, None, lambda reports, step: LossLaw.nothing()) == 1e-3


def test_more_reports_than_the_engine_takes_have_a_bound() -> None:
    """Without the bound, verification would say that everybody is recognised."""
    faint = Unary.of_steps("L-OSUE", values=16, eps=1.0, eps_second=0.02)
    attendance = Attendance(Fraction(1, 30))
    found = recognition(faint, attendance, 1000)
    assert attendance.recognition(1000).lower <= found.upper < 0.003


def test_the_largest_participation() -> None:
    share = largest_participation(365, 0.002)
    assert share == Fraction(1, 19)
    assert Attendance(share).recognition(365).upper <= 0.002
    assert Attendance(Fraction(1, 18)).recognition(365).upper > 0.002
    assert largest_participation(1, 0.002) == 1
    with pytest.raises(ValueError, match="recognition must be larger"):
        largest_participation(365, 0.001)
    with pytest.raises(ValueError, match="recognition must be above"):
        largest_participation(365, 0.0005)
