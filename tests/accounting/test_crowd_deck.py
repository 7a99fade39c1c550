"""Decks for a crowd whose declared numbers both engines confirm."""

from fractions import Fraction

import pytest

from untrackable import Deck
from untrackable.accounting.crowd_deck import alone_eps, crowd_deck
from untrackable.protocol.crowd_declaration import CrowdGuarantee

CROWD = CrowdGuarantee(eps=1.0, delta=1e-6, people=2_000)


@pytest.mark.parametrize("alone", [None, (3.0, 1e-6)])
def test_both_engines_confirm_the_deck(alone: tuple[float, float] | None) -> None:
    deck = crowd_deck(bits=3, rounds=10, crowd=CROWD, participation=Fraction(1), share=0.1, alone=alone)
    law = deck.integer_crowd(people=CROWD.people)
    assert law is not None
    assert law.delta(1.0) <= 1e-6
    assert deck.crowd(people=CROWD.people).delta(1.0).upper <= 1e-6
    if alone is None:
        best = Deck.for_crowd(bits=3, slots=10, people=CROWD.people, eps=1.0, delta=1e-6, share=0.1)
        assert best.eps_report * 0.97 <= deck.eps_report <= best.eps_report
    else:
        assert deck.privacy().delta(3.0).upper <= 1e-6


def test_what_one_person_spends_alone_is_rounded_up() -> None:
    deck = Deck(bits=3, slots=10, eps_report=2.0, width=3)
    found = alone_eps(deck, rounds=10, delta=1e-6, participation=Fraction(1))
    law = deck.integer_privacy(10, values="any", step=1.0)
    assert law is not None
    assert law.delta(found) <= 1e-6
    assert deck.privacy(reports=10).delta(found).upper <= 1e-6
    assert deck.privacy(reports=10).gamma(1e-6).upper >= found * 0.99
    assert found == float(f"{found:.3g}")
