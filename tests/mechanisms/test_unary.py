"""Memoised unary encodings: their presets, their samplers, their estimates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mechanisms.exact_laws import agrees, tilted
from untrackable.arrays import FloatArray
from untrackable.errors import StateError, ValueChangeRefused
from untrackable.mechanisms import Unary
from untrackable.mechanisms.kept_bits import Preset

PRESETS: list[Preset] = ["L-SUE", "L-OSUE", "L-OUE", "L-SOUE"]


@given(st.sampled_from(PRESETS), st.floats(0.2, 8.0), st.floats(0.05, 0.95), st.integers(2, 40))
def test_presets_keep_both_promises(name: Preset, eps: float, share: float, values: int) -> None:
    try:
        mechanism = Unary.for_budget(name, values=values, eps=eps, eps_report=share * eps)
    except ValueError as error:
        assert name in ("L-OUE", "L-SOUE")
        assert "all that" in str(error)  # noqa: PT017
        return
    assert mechanism.privacy().pure() == pytest.approx(eps, rel=1e-9)
    one = mechanism.privacy(reports=1).pure()
    assert one <= share * eps * (1 + 1e-12)
    assert one == pytest.approx(share * eps, rel=1e-6)


def test_published_steps() -> None:
    """Symmetric: e^(ε/2)/(e^(ε/2)+1); optimised: ½ and 1/(e^ε+1)."""
    symmetric = Unary.for_budget("L-SUE", values=5, eps=2.0, eps_report=1.0)
    assert symmetric.keep == pytest.approx(math.e / (math.e + 1))
    assert symmetric.add == pytest.approx(1 / (math.e + 1))
    assert symmetric.q + symmetric.p == pytest.approx(1)
    optimised = Unary.for_budget("L-OUE", values=5, eps=2.0, eps_report=1.0)
    assert (optimised.keep, optimised.q) == (0.5, 0.5)
    assert optimised.add == pytest.approx(1 / (math.exp(2) + 1))


def test_what_persists_gives_the_person_away() -> None:
    mechanism = Unary.for_budget("L-OSUE", values=100, eps=2.0, eps_report=1.0)
    assert mechanism.tracking(reports=10).advantage().lower > 0.99


def joint(mechanism: Unary, is_set: bool) -> FloatArray:
    """Two reports of one position: index 2·first + second."""
    one = mechanism.keep if is_set else mechanism.add
    told = ((1 - mechanism.p, mechanism.p), (1 - mechanism.q, mechanism.q))
    return np.array(
        [one * told[1][x] * told[1][y] + (1 - one) * told[0][x] * told[0][y] for x in (0, 1) for y in (0, 1)]
    )


@pytest.mark.parametrize("name", PRESETS)
def test_samplers_follow_their_law(name: Preset) -> None:
    """Clients and simulation, the joint law of two reports of a set and a clear position; rates as in laws.py."""
    mechanism = Unary.for_budget(name, values=2, eps=2.0, eps_report=1.0)
    pairs = []
    for _ in range(30_000):
        client = mechanism.client(1)
        pairs.append((client.report(1), client.report(2)))
    drawn = np.array(pairs)
    (batch,) = mechanism.simulate(np.ones(400_000, dtype=int), rounds=2, seed=5)
    simulated = batch.reports[:, :, 0].astype(np.int64)
    for sample, tilt in ((drawn, 0.06), (simulated, 0.015)):
        for position in (0, 1):
            bits = sample >> position & 1
            counts = np.bincount(2 * bits[:, 0] + bits[:, 1], minlength=4)
            law = joint(mechanism, is_set=position == 1)
            agrees(counts, law, tilted(law, tilt))


@pytest.mark.parametrize("name", PRESETS)
def test_estimates(name: Preset) -> None:
    mechanism = Unary.for_budget(name, values=7, eps=3.0, eps_report=1.0)
    truth = np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05, 0.0])
    values = np.repeat(np.arange(7), np.rint(truth * 200_000).astype(int))
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(values, rounds=1, seed=2):
        sums.add(batch.reports)
    found = sums.estimate()
    assert np.all(np.abs(found.frequencies - truth) < 6 * found.standard_error)
    assert np.all(np.abs(found.frequencies - truth) < found.simultaneous_radius)
    again = mechanism.aggregator().add([mechanism.client(3).report(1) for _ in range(10)])
    assert again.merge(mechanism.aggregator().add([0])).n == 11


def test_states_and_refusals() -> None:
    mechanism = Unary.for_budget("L-SUE", values=9, eps=2.0, eps_report=1.0)
    client = mechanism.client(4)
    state = client.to_bytes()
    assert mechanism.restore(state).to_bytes() == state
    with pytest.raises(ValueChangeRefused):
        client.report(1, 5)
    with pytest.raises(StateError):
        Unary.for_budget("L-OUE", values=9, eps=2.0, eps_report=1.0).restore(state)
    with pytest.raises(ValueError, match="value must be between 0 and 8") as caught:
        mechanism.client(48879)
    assert "48879" not in str(caught.value)
    with pytest.raises(ValueError, match=r"eps_report must be below eps, 1\.0, got 2\.0"):
        Unary.for_budget("L-SUE", values=9, eps=1.0, eps_report=2.0)
    with pytest.raises(ValueError, match="keep must be above add"):
        Unary(values=3, keep=0.2, add=0.3, q=0.7, p=0.2)
    with pytest.raises(ValueError, match="name must be one of L-SUE"):
        Unary.for_budget("L-UE", values=9, eps=2.0, eps_report=1.0)  # type: ignore[arg-type]
