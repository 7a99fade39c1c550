"""The floor beside mechanisms: nothing that is computed lies below it."""

import math

import numpy as np
import pytest

from tests import oracles
from untrackable import InnerProduct
from untrackable.auditing.floor import ERROR, FLOOR, RARELY, TURN, FloorComparison, compare_with_floor
from untrackable.auditing.floor import _of_stored_bits as of_stored_bits
from untrackable.display.view import charts_of, view_of
from untrackable.mechanisms import Bitwise
from untrackable.theory.floor import tracking_lower


@pytest.fixture(scope="module")
def compared() -> FloorComparison:
    return compare_with_floor(rounds=(6, 40, None))


def test_no_mechanism_is_below_the_floor(compared: FloorComparison) -> None:
    others = [point for point in compared.points if point.name != FLOOR]
    assert {p.name for p in others if p.rounds is None} == {
        RARELY,
        "memoised",
        "Bitwise",
        "RAPPOR",
        "LOLOHA",
        "RNIP",
    }
    assert {p.name for p in others if p.rounds == 40} >= {"Deck", "Fading", TURN}
    for point in others:
        variance = point.people * ERROR**2
        floor = tracking_lower(variance, eps=1.0, delta=1e-6, reports=point.rounds)
        assert floor <= point.tracking.upper * (1 + 1e-9)
        if point.name in ("Deck", "Fading"):
            assert point.tracking.upper == floor == 0


def test_rarely_is_near_the_floor_and_all_others_are_not(compared: FloorComparison) -> None:
    for people in (10**6, 10**8):
        floor, rarely = (compared.least(name, None, people) for name in (FLOOR, RARELY))
        assert floor is not None
        assert rarely is not None
        assert floor.certainty == "lower"
        assert floor.lower < rarely.lower < 1.04 * floor.lower
        for name in ("Bitwise", "RAPPOR", "LOLOHA", "RNIP"):
            found = compared.least(name, None, people)
            assert found is not None
            assert found.lower > 0.39
    assert compared.least("Deck", None, 10**9) is None
    assert compared.least("Deck", 40, 10**4) is None
    assert compared.least(FLOOR, None, 9_000) is None


def test_a_turn_needs_fewer_people_than_a_deck_and_shows_silence(compared: FloorComparison) -> None:
    turn, deck = (next(p for p in compared.points if (p.name, p.rounds) == (n, 40)) for n in (TURN, "Deck"))
    assert 10 * turn.people < deck.people
    assert turn.tracking.upper == pytest.approx(0.5)
    noise = math.exp(1) / (math.exp(1) - 1) ** 2
    assert turn.people == pytest.approx(40 * (noise + 0.25 * 39 / 40) / ERROR**2)


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("rounds", [2, 5])
def test_stored_bits_by_enumeration(slots: int, rounds: int) -> None:
    """All reports of a client that draws one of its stored bits in each round."""
    mechanism = InnerProduct(bits=1, slots=slots, eps_report=0.7, width=1)
    oracle = oracles.stored(oracles.bit_response(0.7), slots, 2)
    numbers = range(1, rounds + 1)
    worlds = oracle.tracking(0, numbers, numbers[: rounds // 2])
    found = of_stored_bits(mechanism, rounds)
    assert found.lower <= np.abs(worlds.p - worlds.q).sum() / 2 <= found.upper
    assert found.width < 1e-11


def test_stored_bits_for_ever_are_the_limit_of_many_rounds() -> None:
    mechanism = InnerProduct(bits=1, slots=4, eps_report=1.0, width=1)
    many, ever = (of_stored_bits(mechanism, rounds) for rounds in (400, None))
    assert many.upper <= ever.lower + 1e-9
    assert many.lower == pytest.approx(ever.upper, rel=0.01)
    kept = [math.comb(4, m) * 0.7310586**m * 0.2689414 ** (4 - m) for m in range(5)]
    assert ever.lower == pytest.approx(1 - np.square(kept).sum(), rel=1e-6)


def test_for_ever_is_the_limit_of_many_rounds() -> None:
    (ever,) = {p.tracking.lower for p in compare_with_floor(rounds=[None]).points if p.name == "Bitwise"}
    many = Bitwise(eps_state=1.0, eps_report=2.0).tracking(reports=200, split=100).advantage()
    assert many.upper == pytest.approx(ever, rel=1e-6)


def test_words_tables_and_charts(compared: FloorComparison) -> None:
    view = view_of(compared)
    text = " ".join(view.sentences)
    assert "is at least 0.02276 for ever, not known to be above 0 in 6 rounds" in text
    assert "those who answer are followed with certainty, so no plan proposes it" in text
    assert "tells who somebody is not, and finds nobody" in text
    assert [table.headings[0] for table in view.tables] == ["6 rounds", "40 rounds", "for ever"]
    cells = {row[0]: row[1:] for row in view.tables[-1].rows}
    assert cells[FLOOR] == ("≥ 0.1815", "≥ 0.02276", "≥ 0.002327", "≥ 2.26e-04")
    assert cells["RAPPOR"][0] == "0.7191"
    table = compared.to_arrow()
    assert table.num_rows == len(compared.points)
    assert set(table["tracking_certainty"].to_pylist()) >= {"lower", "exact"}
    charts = charts_of(compared)
    assert [chart.name for chart in charts] == ["floor-6", "floor-40", "floor-for-ever"]
    drawn = charts[1].drawing.to_dict()
    rows = [row for values in drawn["datasets"].values() for row in values if "line" in row]
    assert {row["line"] for row in rows} == {p.name for p in compared.points}
    assert {row["place"] for row in rows if row["line"] == "Deck"} == {min(row["place"] for row in rows)}


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="rounds must be between 2 and"):
        compare_with_floor(rounds=[1])
    with pytest.raises(ValueError, match="eps must be positive"):
        compare_with_floor(eps=0.0)
