"""Finding changes: certain where something persists, hard where nothing does, within what the engine allows."""

import math

import numpy as np
import pytest

from untrackable import Bitwise, Deck, Memoized, NoisyInnerProduct, Rappor
from untrackable.auditing.attacks import find_changes
from untrackable.mechanisms import Unary
from untrackable.mechanisms.interface import Mechanism


def test_a_name_tag_that_changes_is_seen_at_once() -> None:
    result = find_changes(Memoized(NoisyInnerProduct(bits=30, eps=1)), people=200, reports=6)
    assert result.found.sampled == 1.0
    assert result.when.sampled == 1.0
    assert result.auc.sampled == 1.0


def test_cohorts_tell_when() -> None:
    rappor = Rappor(bloom_bits=16, hashes=1, f=0.9, p=0.45, q=0.55, cohorts=1 << 12)
    result = find_changes(rappor, people=100, reports=5)
    assert result.when.sampled > 0.95


def test_faint_cards_hide_a_change() -> None:
    result = find_changes(Deck(bits=4, slots=10, eps_report=1e-4), people=2000, reports=10)
    assert result.auc.lower < 0.5 < result.auc.upper
    assert result.auc_bound.upper < 0.51


@pytest.mark.parametrize(
    "mechanism",
    [
        Bitwise(eps_state=2, eps_report=1),
        Deck(bits=3, slots=6, eps_report=1.0),
        Unary.for_budget("L-OSUE", values=6, eps=3, eps_report=1),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_within_what_the_engine_allows(mechanism: Mechanism) -> None:
    """Eight crowds; beyond ten standard errors (Student, seven degrees of freedom) lies a probability of 2e-5."""
    runs = [find_changes(mechanism, people=300, reports=6, seed=2 * seed) for seed in range(8)]
    areas = np.array([run.auc.sampled for run in runs])
    assert areas.mean() <= runs[0].auc_bound.upper + 10 * areas.std(ddof=1) / math.sqrt(8)
    assert areas.mean() > 0.5 + 0.2 * (runs[0].auc_bound.upper - 0.5)
    assert np.mean([run.when.sampled for run in runs]) > 1 / 5


def test_refusals() -> None:
    with pytest.raises(ValueError, match="reports must be at least 2, got 1"):
        find_changes(Bitwise(eps_state=1, eps_report=1), reports=1)
