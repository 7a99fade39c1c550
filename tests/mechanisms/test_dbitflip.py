"""dBitFlipPM: its samplers, its estimates, its states, and an independent client."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.mechanisms.exact_laws import agrees, arranged, tilted
from tests.mechanisms.test_likelihoods import assert_likelihoods, bits_as_bytes
from tests.mechanisms.test_vectors import WHOLE, Tape, flip, integers, seal, toward
from tests.theory.test_dbitflip_factorisation import definition
from untrackable.errors import MergeError, StateError, ValueChangeRefused
from untrackable.mechanisms.dbitflip import DBitFlip

VECTORS = Path(__file__).parents[1] / "vectors"


def as_bits(report: int, width: int) -> tuple[int, ...]:
    return tuple(report >> i & 1 for i in range(width))


@pytest.mark.parametrize(("sampled", "gamma"), [(1, 0.2), (2, 0.0), (2, 0.25), (3, 0.1)])
def test_samplers_follow_their_law(sampled: int, gamma: float) -> None:
    """Clients and simulation: set and bits of two reports of one client; rates as in laws.py."""
    mechanism = DBitFlip(buckets=3, sampled=sampled, eps=1.5, output_flip=gamma)
    width = mechanism.report_bits
    where, law = arranged(definition(3, sampled, 1.5, gamma).streams(1, [1, 2]))
    drawn = np.zeros(law.size, dtype=np.int64)
    for _ in range(30_000):
        client = mechanism.client(1)
        drawn[where[as_bits(client.report(1), width), as_bits(client.report(2), width)]] += 1
    simulated = np.zeros(law.size, dtype=np.int64)
    batches = list(mechanism.simulate(np.ones(300_000, dtype=int), rounds=2, seed=7))
    reports = np.concatenate([batch.reports[:, :, 0] for batch in batches])
    pairs, counts = np.unique(reports, axis=0, return_counts=True)
    for (one, other), count in zip(pairs.tolist(), counts, strict=True):
        simulated[where[as_bits(one, width), as_bits(other, width)]] += count
    agrees(drawn, law, tilted(law, 0.1))
    agrees(simulated, law, tilted(law, 0.03))


@pytest.mark.parametrize(("buckets", "sampled"), [(5, 2), (6, 3)])
def test_sets_are_uniform(buckets: int, sampled: int) -> None:
    mechanism = DBitFlip(buckets=buckets, sampled=sampled, eps=1.0)
    masks = [m for m in range(1 << buckets) if m.bit_count() == sampled]
    where = {mask: i for i, mask in enumerate(masks)}
    law = np.full(len(masks), 1 / len(masks))
    drawn = np.bincount([where[mechanism.client(0).report(1) >> sampled] for _ in range(20_000)])
    (batch,) = mechanism.simulate(np.zeros(200_000, dtype=int), rounds=1, seed=3)
    reports = batch.reports[:, 0].astype(np.int64) @ (1 << 8 * np.arange(batch.reports.shape[2]))
    simulated = np.bincount([where[mask] for mask in (reports >> sampled).tolist()])
    agrees(drawn, law, tilted(law, 0.1))
    agrees(simulated, law, tilted(law, 0.03))


@pytest.mark.parametrize(("sampled", "gamma"), [(1, 0.2), (2, 0.1), (2, 0.0), (3, 0.25)])
def test_likelihoods(sampled: int, gamma: float) -> None:
    mechanism = DBitFlip(buckets=3, sampled=sampled, eps=1.5, output_flip=gamma)
    assert_likelihoods(mechanism, definition(3, sampled, 1.5, gamma), (2, 2), bits_as_bytes, 3)


def test_scores_of_different_sets_and_of_streams_that_change_theirs() -> None:
    mechanism = DBitFlip(buckets=3, sampled=1, eps=1.0, output_flip=0.1)
    one, other = (np.array([[[1 << bucket << 1]]], dtype=np.uint8) for bucket in (0, 1))
    assert mechanism.link_scores(one, other, 0)[0, 0] == -math.inf
    assert mechanism.link_scores(one, one, 0)[0, 0] > math.log(3)
    both = np.concatenate((one, other), axis=1)
    assert mechanism.log_likelihood(both, 0, [1, 2])[0] == -math.inf


@pytest.mark.parametrize(("sampled", "gamma"), [(1, 0.0), (3, 0.2), (8, 0.1)])
def test_estimates(sampled: int, gamma: float) -> None:
    mechanism = DBitFlip(buckets=8, sampled=sampled, eps=3.0, output_flip=gamma)
    truth = np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05, 0.0, 0.0])
    values = np.repeat(np.arange(8), np.rint(truth * 200_000).astype(int))
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(values, rounds=1, seed=2):
        sums.add(batch.reports)
    found = sums.estimate()
    assert np.all(np.abs(found.frequencies - truth) < 6 * found.standard_error)
    assert np.all(np.abs(found.frequencies - truth) < found.simultaneous_radius)
    expected = mechanism.accuracy(200_000)
    # Hoeffding's is promised, and Bernstein's shown where it is smaller.
    bernstein = found.spread.of(np.eye(8)[0]).radius(found.n, found.beta)
    np.testing.assert_allclose(found.radius, np.minimum(expected.radius, bernstein), rtol=1e-9)
    assert found.standard_error[-1] == pytest.approx(expected.standard_error, rel=0.1)
    again = mechanism.aggregator().add([mechanism.client(3).report(1) for _ in range(10)])
    assert again.merge(mechanism.aggregator().add([mechanism.client(0).report(1)])).n == 11


def test_the_estimator_is_the_published_one() -> None:
    """k/(n·d)·Σ (b·(e^(ε/2)+1) - 1)/(e^(ε/2)-1), by hand."""
    mechanism = DBitFlip(buckets=4, sampled=2, eps=2.0)
    reports = [mechanism.client(i % 4).report(1) for i in range(50)]
    found = mechanism.aggregator().add(reports).estimate().frequencies
    for bucket in range(4):
        total = 0.0
        for report in reports:
            mask = report >> 2
            if mask >> bucket & 1:
                bit = report >> (mask & ((1 << bucket) - 1)).bit_count() & 1
                total += (bit * (math.e + 1) - 1) / (math.e - 1)
        assert found[bucket] == pytest.approx(4 / (50 * 2) * total, rel=1e-12, abs=1e-12)


def test_variance_is_exact_over_sets_and_noise() -> None:
    """One client's contribution, enumerated over sets, kept bits and output perturbation."""
    mechanism = DBitFlip(buckets=3, sampled=2, eps=1.5, output_flip=0.1)
    law = definition(3, 2, 1.5, 0.1).streams(1, [1])
    moments = np.zeros((3, 2))
    for (report,), chance in law.items():
        assert isinstance(report, tuple)
        number = sum(bit << i for i, bit in enumerate(report))
        adds = mechanism.aggregator().add([number]).estimate().frequencies
        moments += chance * np.stack((adds, adds**2), axis=1)
    assert moments[:, 0] == pytest.approx([0, 1, 0], abs=1e-12)
    assert math.sqrt(moments[0, 1]) == pytest.approx(mechanism.accuracy(1).standard_error, rel=1e-12)
    one = mechanism.aggregator().add([mechanism.client(1).report(1)])
    one.counts[:], one.samples[:], one.n = [0, 10, 0], [10, 10, 10], 15  # an estimate clipped to 1
    found = one.estimate()
    assert found.frequencies[1] > 1
    assert found.standard_error[1] == pytest.approx(math.sqrt((moments[1, 1] - 1) / 15), rel=1e-9)


def test_states_and_refusals() -> None:
    mechanism = DBitFlip(buckets=9, sampled=3, eps=2.0, output_flip=0.1)
    client = mechanism.client(4)
    state = client.to_bytes()
    assert mechanism.restore(state).to_bytes() == state
    assert client.report(1) >> 3 == client.report(2) >> 3
    with pytest.raises(ValueChangeRefused):
        client.report(1, 5)
    for damaged in (state[:-1], state[:-1] + bytes([state[-1] ^ 1]), b""):
        with pytest.raises(StateError):
            mechanism.restore(damaged)
    with pytest.raises(StateError):
        DBitFlip(buckets=9, sampled=3, eps=2.0).restore(state)
    with pytest.raises(StateError, match="does not have 3 elements"):
        mechanism.unpack_state((0b000001111 << 3).to_bytes(2, "big"))
    with pytest.raises(ValueError, match="value must be between 0 and 8") as caught:
        mechanism.client(48879)
    assert "48879" not in str(caught.value)
    with pytest.raises(ValueError, match="a report must be about 3 buckets"):
        mechanism.aggregator().add([0b1111 << 3])
    with pytest.raises(MergeError):
        mechanism.aggregator().merge(DBitFlip(buckets=9, sampled=3, eps=1.0).aggregator())
    with pytest.raises(ValueError, match="do not pool"):
        mechanism.aggregator().add(next(mechanism.simulate([1, 2], rounds=2, seed=1)).reports)
    with pytest.raises(ValueError, match="there are no reports"):
        mechanism.aggregator().estimate()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"buckets": 1}, ValueError, "buckets must be between 2 and 4096, got 1"),
        ({"buckets": 2.5}, TypeError, "buckets must be an integer, not float"),
        ({"sampled": 9}, ValueError, "sampled must be between 1 and 8, got 9"),
        ({"eps": 0}, ValueError, "eps must be positive and finite, got 0"),
        ({"eps": 3e-19}, ValueError, "eps must be at least 4.4e-19"),
        ({"output_flip": 0.5}, ValueError, "output_flip must be below 0.5"),
        ({"output_flip": -0.1}, ValueError, "output_flip must be between 0 and 1"),
    ],
)
def test_bad_parameters(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        DBitFlip(**{"buckets": 8, "sampled": 2, "eps": 1.0, **given})


def test_presets() -> None:
    for name in DBitFlip.presets:
        mechanism = DBitFlip.preset(name)
        assert (mechanism.buckets, mechanism.sampled) == (32, 4)
        assert mechanism.privacy().pure() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="preset must be one of"):
        DBitFlip.preset("none")


def test_an_independent_client_reproduces_the_vectors() -> None:
    """Floyd's algorithm for the set, a word for each position, and one for each position of each report."""
    content = json.loads((VECTORS / "dbitflip.json").read_text(encoding="utf-8"))
    assert len(content["groups"]) >= 4
    for group in content["groups"]:
        given = group["parameters"]
        kept_lie, told_lie = flip(given["eps"] / 2), toward(given["output_flip"], 0.5)
        assert group["thresholds"] == {"state_flip": str(kept_lie), "report_flip": str(told_lie)}
        for case in group["cases"]:
            tape = Tape(bytes.fromhex(case["entropy"]))
            chosen: set[int] = set()
            for last in range(given["buckets"] - given["sampled"], given["buckets"]):
                drawn = tape.below(last + 1)
                chosen.add(last if drawn in chosen else drawn)
            kept = [int(b == int(case["value"])) ^ tape.happens(kept_lie) for b in sorted(chosen)]
            mask = sum(1 << b for b in chosen)
            width = given["sampled"] + given["buckets"]
            state = mask << len(kept) | sum(bit << i for i, bit in enumerate(kept))
            assert seal(group["mechanism"], integers([state], width)).hex() == case["state"] == case["state_after"]
            for report in case["reports"]:
                told = 0
                for i, bit in enumerate(kept):
                    told |= tape.happens(WHOLE - told_lie if bit else told_lie) << i
                assert report == str(mask << len(kept) | told)
            assert tape.at == len(tape.data)
