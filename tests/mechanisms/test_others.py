"""The protocols that [NV] discusses: samplers, likelihoods, estimates, states, refusals."""

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pytest

from tests import oracles_discussed
from tests.enumeration import FiniteMechanism
from tests.mechanisms.exact_laws import agrees, arranged, histogram, tilted
from tests.mechanisms.test_likelihoods import assert_likelihoods, pair_as_report
from tests.promised_radii import CLOSE, widest_radius
from untrackable.errors import MergeError, RoundPassed, StateError, ValueChangeRefused
from untrackable.mechanisms.changing_bit import OneChange, Votes, intervals
from untrackable.mechanisms.fixed_vector import Assigned, BitNoise, FixedVector, public_vector, public_vectors
from untrackable.mechanisms.interface import Mechanism

NOISES: list[BitNoise] = ["fixed", "fresh"]
ONE = OneChange(rounds=4, changes=2, eps=1.2)
VOTES = Votes(eps_vote=0.8, eps_estimate=1.3, votes=2, estimates=1, updates=(1, 3))
VOTES_ORACLE = oracles_discussed.votes(0.8, 1.3, 2, 1, (1, 3), 4)


def change_as_report(report: Any) -> Any:
    round, level, sign = report
    return np.uint64(4 * ((round - 1) * 3 + level) + {-1: 0, 1: 1, 0: 2}[sign])


def vote_as_report(report: Any) -> Any:
    return np.uint64(report[0] + 2 * (report[1] or 0))


def follows(
    mechanism: Mechanism,
    oracle: FiniteMechanism,
    value: Hashable,
    encode: Callable[[Any], Any],
    held: Sequence[int],
    tilts: tuple[float, float],
) -> None:
    """Clients and simulation that hold these values at rounds 1, 2, …; rates as in exact_laws.py."""
    rounds = list(range(1, len(held) + 1))
    law = oracle.streams(value, rounds)
    positions, chances = arranged({tuple(int(encode(r)) for r in stream): chance for stream, chance in law.items()})
    drawn = []
    for _ in range(20_000):
        client = mechanism.client(held[0])
        drawn.append(positions[tuple(_reports(client, held))])
    agrees(histogram(drawn, chances), chances, tilted(chances, tilts[0]))
    values = np.array([held[0]] * 300_000) if len(set(held)) == 1 else np.tile(held, (300_000, 1))
    rows = np.concatenate([batch.reports for batch in mechanism.simulate(values, rounds=rounds, seed=3)])
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    found = np.zeros(len(positions), dtype=np.int64)
    for row, count in zip(distinct.tolist(), counts, strict=True):
        found[positions[tuple(row)]] = count
    agrees(found, chances, tilted(chances, tilts[1]))


def _reports(client: Any, held: Sequence[int]) -> list[int]:
    """A value is given where it changes."""
    changes = [None, *(b if a != b else None for a, b in itertools.pairwise(held))]
    return [client.report(t, change) for t, change in enumerate(changes, 1)]


@pytest.mark.parametrize("noise", NOISES)
def test_questions_follow_their_law(noise: BitNoise) -> None:
    vector = FixedVector(bits=2, eps=0.9, noise=noise)
    make = oracles_discussed.answered_once if noise == "fixed" else oracles_discussed.questioned
    numbered = make([0, 1, 2, 3], 2, 0.9)  # the question 0 is never asked
    oracle = FiniteMechanism(
        numbered.values,
        lambda value: {s: p * 4 / 3 for s, p in numbered.state(value).items() if _asked(s) > 0},
        numbered.report,
    )
    follows(vector, oracle, 3, pair_as_report, [3, 3], (0.08, 0.02))
    assigned = Assigned(bits=2, eps=0.9, people=4, noise=noise)
    given = make([assigned.base.vector(i) for i in range(4)], 2, 0.9)
    follows(assigned, given, 2, pair_as_report, [2, 2], (0.08, 0.02))


def _asked(state: Any) -> int:
    return int(state[0])


def test_changes_follow_their_law() -> None:
    oracle = oracles_discussed.one_change(4, 2, 1.2)
    for held in ((0, 1, 1, 0), (1, 1, 1, 1), (1, 0, 1, 0)):
        follows(ONE, oracle, held, change_as_report, held, (0.12, 0.03))


def test_votes_follow_their_law() -> None:
    for held in ((0, 1, 1, 0), (1, 1, 1, 1)):
        follows(VOTES, VOTES_ORACLE, held, vote_as_report, held, (0.15, 0.04))


def test_simulated_rounds_may_be_named_in_any_order() -> None:
    """Values hold in between: at rounds 4 and 2, the bit changes at 4 only."""
    values = np.tile([1, 0], (200_000, 1))  # 1 at round 4, 0 at round 2
    (batch,) = OneChange(rounds=4, changes=1, eps=30.0).simulate(values, rounds=[4, 2], seed=1)
    codes, levels = batch.reports & np.uint64(3), batch.reports >> np.uint64(2)
    assert np.all(codes[:, 0] == 1)  # the only change is told at every level
    assert set(np.unique(levels[:, 0] % 3)) == {0, 1, 2}
    assert abs(np.mean(codes[:, 1][levels[:, 1] % 3 < 2]) - 0.5) < 0.01
    sure = Votes(eps_vote=30.0, eps_estimate=30.0, votes=9, estimates=9, updates=(1, 3))
    (batch,) = sure.simulate(values, rounds=[4, 2], seed=1)
    assert np.all(batch.reports == [1, 0])


@pytest.mark.parametrize("noise", NOISES)
def test_likelihoods_of_questions(noise: BitNoise) -> None:
    make = oracles_discussed.answered_once if noise == "fixed" else oracles_discussed.questioned
    assigned = Assigned(bits=2, eps=0.8, people=5, noise=noise)
    vectors = [assigned.base.vector(i) for i in range(5)]
    assert_likelihoods(assigned, make(vectors, 2, 0.8), (3, 3), pair_as_report, 3)
    fixed = FixedVector(bits=1, eps=0.8, noise=noise)

    def only_vector(report: Any) -> Any:
        return np.uint64(2 + report[1])

    assert_likelihoods(fixed, make([1], 1, 0.8), (1, 1), only_vector, 3)


@pytest.mark.parametrize("noise", NOISES)
def test_impossible_reports(noise: BitNoise) -> None:
    mechanism = FixedVector(bits=4, eps=1.0, noise=noise)
    rows = np.array([[10, 10], [10, 12]], dtype=np.uint64)
    assert np.isfinite(mechanism.log_likelihood(rows, 3, [1, 2])).tolist() == [True, False]
    assert np.isfinite(mechanism.link_scores(rows[:1], rows[:, :1], 3)).tolist() == [[True, True]]
    changes = np.array(
        [[2 + 4 * 2, 0 + 4 * 5], [0 + 4 * 0, 2 + 4 * 3]], dtype=np.uint64
    )  # level 2; silent at level 0
    assert np.isfinite(ONE.log_likelihood(changes, 1, [1, 2])).tolist() == [False, False]
    votes = np.array([[3, 0], [3, 2]], dtype=np.uint64)
    assert np.isfinite(VOTES.log_likelihood(votes, 1, [1, 2])).tolist() == [True, False]


def test_likelihoods_of_changes_and_votes() -> None:
    oracle = oracles_discussed.one_change(4, 2, 1.2)
    for held in ((0, 1, 1, 0), (1, 0, 1, 0), (0, 0, 0, 0)):
        assert_likelihoods(ONE, oracle, (held, held), change_as_report, 4)
        assert_likelihoods(VOTES, VOTES_ORACLE, (held, held), vote_as_report, 4)
    assert_likelihoods(ONE, oracle, (1, (1, 1, 1, 1)), change_as_report, 4)


def test_every_vector_is_given_to_equally_many() -> None:
    for bits in range(1, 12):
        vectors = public_vectors(np.arange(3 * (2**bits - 1), dtype=np.uint64), bits)
        counts = np.bincount(vectors.astype(np.int64), minlength=2**bits)
        assert vectors[:9].tolist() == [public_vector(number, bits) for number in range(len(vectors[:9]))]
        assert counts[0] == 0
        assert np.all(counts[1:] == 3)
    wide = public_vectors(np.arange(100_000, dtype=np.uint64), 63)
    assert np.unique(wide).size == wide.size
    assert wide[::1000].tolist() == [public_vector(number, 63) for number in range(0, 100_000, 1000)]
    shares = [(wide >> np.uint64(i) & np.uint64(1)).mean() for i in range(63)]
    assert max(abs(np.array(shares) - 0.5)) < 0.02


TRUTH = np.array([0.4, 0.3, 0.15, 0.1, 0.05, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "mechanism",
    [
        *(FixedVector(bits=3, eps=1.5, noise=noise) for noise in NOISES),
        Assigned(bits=3, eps=1.5, people=7000),
        Assigned(bits=3, eps=1.5, people=10, noise="fresh"),  # three vectors count double, and must not
    ],
    ids=repr,
)
def test_estimates_of_questions(mechanism: Mechanism) -> None:
    values = np.repeat(np.arange(8), np.rint(TRUTH * 400_000).astype(int))
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(values, rounds=1, seed=2):
        sums.add(batch.reports)
    found = sums.estimate()
    assert np.all(np.abs(found.frequencies - TRUTH) < 6 * found.standard_error)
    assert np.all(np.abs(found.frequencies - TRUTH) < found.simultaneous_radius)
    assert found.frequencies.sum() == pytest.approx(1)
    told = mechanism.accuracy(400_000)
    assert widest_radius(found) == pytest.approx(told.radius, rel=CLOSE)
    if found.chance is None:  # Hoeffding's is promised, and Bernstein's shown where it is smaller.
        bernstein = np.broadcast_to(found.spread.of(np.eye(8)[0]).radius(found.n, found.beta), 8)
        np.testing.assert_allclose(found.radius, np.minimum(told.radius, bernstein), rtol=1e-9)
    assert np.all(found.radius <= told.radius * (1 + 1e-12))
    assert told.standard_error == pytest.approx(found.standard_error[-1], rel=1e-3)
    again = mechanism.aggregator().add([mechanism.client(3).report(1) for _ in range(10)])
    assert again.merge(mechanism.aggregator().add([])).n == 10
    with pytest.raises(MergeError):
        again.merge(mechanism.aggregator(2))
    with pytest.raises(ValueError, match="a report must be between"):
        again.add([1 << 40])


def test_estimates_of_changes() -> None:
    """Half of them turn to 1 at round 3, and half of these back at round 6."""
    mechanism = OneChange(rounds=8, changes=2, eps=3.0)
    people = 400_000
    rows = np.zeros((people, 8), dtype=int)
    rows[: people // 2, 2:] = 1
    rows[: people // 4, 5:] = 0
    reports = np.concatenate([batch.reports for batch in mechanism.simulate(rows, rounds=8, seed=4)])
    for round, truth in ((1, 0.0), (3, 0.5), (5, 0.5), (7, 0.25), (8, 0.25)):
        sums = mechanism.aggregator(round).add(reports[:150_000, :round])
        sums.merge(mechanism.aggregator(round).add(reports[150_000:]))
        found = sums.estimate()
        assert found.n == people
        assert abs(found.frequencies[1] - truth) < min(6 * found.standard_error[1], found.simultaneous_radius[1])
        told = mechanism.accuracy(people, round=round)
        assert told.radius == pytest.approx(found.radius[1])
        assert told.standard_error == pytest.approx(found.standard_error[1], rel=0.01)
    with pytest.raises(
        ValueError, match=r"the same people must report at rounds \[4, 6, 7\], got \[0, 0, 400000\]"
    ):
        mechanism.aggregator(7).add(reports[:, 6:7]).estimate()
    with pytest.raises(ValueError, match="no reports"):
        mechanism.aggregator(7).estimate()
    with pytest.raises(ValueError, match="a report must be between 0 and 126"):
        mechanism.aggregator(7).add([127])
    with pytest.raises(ValueError, match="minus, plus or silent"):
        mechanism.aggregator(7).add([3])
    with pytest.raises(MergeError):
        mechanism.aggregator(7).merge(mechanism.aggregator(8))


def test_intervals_make_up_the_rounds() -> None:
    for round in range(1, 70):
        covered = [t for level, end in intervals(round) for t in range(end - 2**level + 1, end + 1)]
        assert covered == list(range(1, round + 1))
        assert all(end % 2**level == 0 for level, end in intervals(round))


def test_estimates_of_votes() -> None:
    values = np.repeat([0, 1], [280_000, 120_000])
    reports = np.concatenate([batch.reports for batch in VOTES.simulate(values, rounds=3, seed=4)])
    found = VOTES.aggregator(1).add(reports[:, 0]).estimate()
    assert abs(found.frequencies[1] - 0.3) < min(6 * found.standard_error[1], found.simultaneous_radius[1])
    promised = VOTES.accuracy(400_000).radius
    assert widest_radius(found) == pytest.approx(promised, rel=CLOSE)
    assert np.all(found.radius <= promised)
    for round in (2, 3):  # no update, and one at which nobody tells any more
        with pytest.raises(ValueError, match="one of the first 1 updates"):
            VOTES.aggregator(round)
    with pytest.raises(ValueError, match="a report must be between 0 and 3"):
        VOTES.aggregator(1).add([4])


MECHANISMS: list[Mechanism] = [
    *(FixedVector(bits=9, eps=1.0, noise=noise) for noise in NOISES),
    *(Assigned(bits=9, eps=1.0, people=1000, noise=noise) for noise in NOISES),
    OneChange(rounds=8, changes=3, eps=1.0),
    VOTES,
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_states(mechanism: Mechanism) -> None:
    client = mechanism.client(1)
    state = client.to_bytes()
    assert mechanism.restore(state).to_bytes() == state
    report = client.report(1)
    assert 0 <= report < 1 << mechanism.report_bits
    after = client.to_bytes()
    assert mechanism.restore(after).to_bytes() == after
    for damaged in (state[:-1], state[:-9] + bytes([state[-9] ^ 1]) + state[-8:], b""):
        with pytest.raises(StateError):
            mechanism.restore(damaged)
    for other in MECHANISMS:
        if other != mechanism:
            with pytest.raises(StateError):
                other.restore(state)


@pytest.mark.parametrize(
    ("mechanism", "payload"),
    [
        (MECHANISMS[1], bytes(4)),  # the zero vector
        (MECHANISMS[3], (1000).to_bytes(2, "big") + bytes(2)),  # a number too many
        (MECHANISMS[4], b"".join(n.to_bytes(8, "big") for n in (4, 0, 0, 0, 0, 0, 0, 0))),  # level
        (MECHANISMS[4], b"".join(n.to_bytes(8, "big") for n in (0, 0, 1, 1, 1, 0, 0, 0))),  # a change not noticed
        (MECHANISMS[4], b"".join(n.to_bytes(8, "big") for n in (1, 0, 0, 0, 0, 0, 1, 4))),  # not silent
        (VOTES, b"".join(n.to_bytes(8, "big") for n in (0, 0, 0, 2, 1, 0))),  # more yes votes than rounds
        (VOTES, b"".join(n.to_bytes(8, "big") for n in (0, 0, 0, 0, 2, 2))),  # an estimate without an update
        (VOTES, b"".join(n.to_bytes(8, "big") for n in (0, 0, 0, 0, 0, 1))),  # a report without a round
        (VOTES, bytes(8)),
    ],
)
def test_impossible_states(mechanism: Mechanism, payload: bytes) -> None:
    with pytest.raises(StateError):
        mechanism.unpack_state(payload)


def test_rounds_go_forward_and_answers_stay() -> None:
    for mechanism in (OneChange(rounds=8, changes=3, eps=1.0), VOTES):
        for _ in range(20):
            client = mechanism.client(0)
            answer = client.report(4, 1)
            assert {client.report(4) for _ in range(5)} == {answer}
            with pytest.raises(RoundPassed):
                client.report(3)
    with pytest.raises(ValueError, match="round must be between 1 and 8, got 9"):
        OneChange(rounds=8, changes=3, eps=1.0).client(0).report(9)


def test_missed_updates_count_with_the_value_held_then() -> None:
    sure = Votes(eps_vote=50.0, eps_estimate=50.0, votes=9, estimates=9, updates=(1, 5))
    client = sure.client(1)
    assert client.report(1) == 3
    assert client.report(3) == 0
    assert client.report(4, 0) == 1  # no longer what it was
    assert client.report(7) == 0  # the update of round 5 found it as it is
    assert client.report(8, 1) == 1


def test_changing_a_value() -> None:
    with pytest.raises(ValueChangeRefused):
        FixedVector(bits=9, eps=1.0).client(1).report(1, 2)
    client = FixedVector(bits=9, eps=50.0, noise="fresh").client(1)
    vector = client.report(1) >> 1
    for value in (511, 0, 5):
        report = client.report(2, value)
        assert (report >> 1, report & 1) == (vector, (vector & value).bit_count() & 1)


def test_refusals() -> None:
    for make, message in (
        (lambda: FixedVector(bits=0, eps=1.0), "bits must be between 1 and 256, got 0"),
        (lambda: FixedVector(bits=3, eps=1.0, noise="none"), "noise must be one of fixed, fresh, got 'none'"),  # type: ignore[arg-type]
        (lambda: Assigned(bits=64, eps=1.0, people=9), "bits must be between 1 and 63, got 64"),
        (lambda: Assigned(bits=6, eps=1.0, people=0), "people must be between 1 and"),
        (lambda: Assigned(bits=6, eps=1.0, people=9).aggregator(), "people must be at least 63"),
        (lambda: Assigned(bits=6, eps=1.0, people=9).accuracy(10), "people must be at least 63"),
        (lambda: OneChange(rounds=6, changes=1, eps=1.0), "rounds must be a power of two, got 6"),
        (lambda: OneChange(rounds=8, changes=9, eps=1.0), "changes must be between 1 and 8, got 9"),
        (lambda: OneChange(rounds=8, changes=1, eps=0.0), "eps must be positive"),
        (lambda: Votes.for_budget(eps=1.0, changes=1, updates=[]), "rounds must be distinct and at least one"),
        (lambda: Votes.for_budget(eps=1.0, changes=0, updates=[1]), "changes must be at least 1, got 0"),
        (lambda: VOTES.simulate([1], rounds=[1 << 20], seed=1), "round must be between 1 and 65536"),
        (
            lambda: FixedVector(bits=70, eps=1.0, noise="fresh").simulate([1], rounds=1, seed=1),
            "bits must be at most",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    for mechanism in MECHANISMS:
        with pytest.raises(ValueError, match="not shown") as caught:
            mechanism.client(48879)
        assert "48879" not in str(caught.value)
        with pytest.raises(TypeError):
            mechanism.client("1")
