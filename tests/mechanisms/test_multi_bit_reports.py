"""Answers of several bits: their law, their layout, their sums, and the width that is chosen."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from tests.mechanisms.exact_laws import agrees, histogram, tilted
from tests.mechanisms.test_likelihoods import assert_likelihoods
from untrackable import Deck, Fading, Fresh, InnerProduct, NoisyInnerProduct, Stored, framing
from untrackable.errors import FadedAway, MergeError, StateError, SumsError
from untrackable.estimation.aggregators import CandidateAggregator, Scope
from untrackable.kernels import counting
from untrackable.mechanisms import inner_product
from untrackable.mechanisms.inner_product import WideAggregator, WideCandidateAggregator, best_width
from untrackable.mechanisms.local import LARGEST_SLOTS
from untrackable.randomizers import randomness
from untrackable.randomizers.inner_product import LARGEST_WIDTH, joined, parted, smallest_eps
from untrackable.theory.accuracy import inner_product_scale

RNG = np.random.default_rng(1)
SCOPE = Scope(None, 0, pools=True)
SHAPES = [(2, 2), (3, 2), (3, 3)]
each_shape = pytest.mark.parametrize(("bits", "width"), SHAPES)


def as_report(outcome: Any, bits: int) -> int:
    """An outcome of the oracle, as an integer."""
    vectors, answer = outcome
    digits = "".join(f"{v:0{bits}b}" for v in reversed(vectors)) + "".join(str(b) for b in reversed(answer))
    return int(digits, 2)


def law_of(bits: int, width: int, eps: float, value: int) -> dict[int, float]:
    law = oracles.wide_inner_product(bits, width, eps)(value)
    return {as_report(outcome, bits): chance for outcome, chance in law.items()}


def sums_of(bits: int, width: int, eps: float = 2.0) -> Any:
    return NoisyInnerProduct(bits=bits, eps=eps, width=width).aggregator(SCOPE)


def some_reports(bits: int, width: int, count: int, seed: int = 1) -> list[int]:
    """Reports of one value, drawn as a client does, from recorded entropy."""
    rng = np.random.default_rng(seed)
    base = NoisyInnerProduct(bits=bits, eps=2.0, width=width)
    return [base.draw(5 % base.values, rng.bytes) for _ in range(count)]


def as_array(reports: list[int], bits: int, width: int) -> Any:
    size = inner_product.report_bytes(bits, width)
    if not size:
        return np.array(reports, dtype=np.uint64)
    return np.frombuffer(b"".join(r.to_bytes(size, "little") for r in reports), dtype=np.uint8).reshape(-1, size)


# --- the law ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bits", "width", "value"), [(2, 2, 0), (2, 2, 3), (3, 2, 5), (3, 3, 6)])
def test_the_law_of_reports(bits: int, width: int, value: int) -> None:
    """Clients and simulation; a law with a little more of some outcomes, and one of a nearby eps, are rejected."""
    law = law_of(bits, width, 2.0, value)
    order = {report: i for i, report in enumerate(law)}
    chances = np.array(list(law.values()))
    nearby = np.array(list(law_of(bits, width, 2.04, value).values()))
    base = NoisyInnerProduct(bits=bits, eps=2.0, width=width)
    values = np.full(2_000_000, value, dtype=np.uint64)
    simulated = base.simulate(values, np.random.default_rng(4)).tolist()
    counts = histogram([order[report] for report in simulated], chances)
    agrees(counts, chances, tilted(chances, 0.03))
    truth = np.array([chance == max(chances) for chance in chances])
    lies = np.array([counts[truth].sum(), counts[~truth].sum()])
    told, other = (np.array([law[truth].sum(), law[~truth].sum()]) for law in (chances, nearby))
    agrees(lies, told, other)
    if bits == 2:
        drawn = [order[base.draw(value, randomness.system)] for _ in range(60_000)]
        agrees(histogram(drawn, chances), chances, tilted(chances, 0.05))


@pytest.mark.parametrize(("bits", "width"), [(3, 3), (4, 4)])
def test_lists_of_vectors_are_uniform(bits: int, width: int) -> None:
    """The last vector, given how the first bits fall: as many vectors as bits is where most are redrawn."""
    vectors = inner_product.simulate_vectors(bits, width, 400_000, np.random.default_rng(5))
    lists = [
        vectors
        for vectors in itertools.product(range(1 << bits), repeat=2)
        if vectors[0] and vectors[1] and vectors[0] != vectors[1]
    ]
    order = {pair: i for i, pair in enumerate(lists)}
    for i, j in ((0, 1), (0, width - 1), (width - 2, width - 1)):
        pairs = [order[pair] for pair in zip(vectors[i].tolist(), vectors[j].tolist(), strict=True)]
        law = np.full(len(lists), 1 / len(lists))
        agrees(histogram(pairs, law), law, tilted(law, 0.03))
    drawn = [randomness.independent_vectors(bits, width, randomness.system) for _ in range(40_000)]
    law = np.full(len(lists), 1 / len(lists))
    agrees(histogram([order[v[-2], v[-1]] for v in drawn], law), law, tilted(law, 0.09))


@each_shape
def test_what_is_possible_and_how_likely(bits: int, width: int) -> None:
    base = NoisyInnerProduct(bits=bits, eps=1.3, width=width)
    for value in (0, 1, base.values - 1):
        law = law_of(bits, width, 1.3, value)
        found = base.log_likelihood(np.array(list(law), dtype=np.uint64), value)
        assert np.allclose(found, np.log(list(law.values())), rtol=1e-12)
    assert {r for r in range(-1, 4 << base.report_bits) if base.possible(r)} == set(law)


def test_likelihoods_of_streams() -> None:
    law = oracles.wide_inner_product(2, 2, 0.8)
    base = NoisyInnerProduct(bits=2, eps=0.8, width=2)

    def encode(outcome: Any) -> Any:
        return np.uint64(as_report(outcome, 2))

    stateless = oracles.stateless(lambda value, round: law(value), 4)
    assert_likelihoods(Fresh(base), stateless, (3, 3), encode, 2)
    assert_likelihoods(Stored(base, 2), oracles.stored(law, 2, 4), (2, 2), encode, 2)


@pytest.mark.parametrize(("bits", "width"), [(16, 6), (31, 2), (32, 2), (63, 8), (64, 2), (127, 3), (256, 8)])
def test_wide_arrays_are_the_integers_that_clients_send(bits: int, width: int) -> None:
    base = NoisyInnerProduct(bits=bits, eps=2.0, width=width)
    reports = some_reports(bits, width, 50)
    array = as_array(reports, bits, width)
    assert np.array_equal(base.aggregator(SCOPE)._array(reports), array)
    value = 5
    likely = base.log_likelihood(array, value)
    for report, found in zip(reports, likely, strict=True):
        assert base.possible(report)
        vectors, answer = parted(report, bits, width)
        told = sum(((v & value).bit_count() % 2) << i for i, v in enumerate(vectors)) == answer
        chance = base.flip.opposite().probability if told else base.flip.probability / ((1 << width) - 1)
        assert found == pytest.approx(math.log(chance) - math.log(base._lists()))
    if bits <= 63:
        values = np.arange(40, dtype=np.uint64).reshape(8, 5)
        made = base.simulate(values, np.random.default_rng(1))
        assert made.shape[:2] == (8, 5)
        sent = made.reshape(40, -1)
        for row in sent:
            assert base.possible(int.from_bytes(row.astype(made.dtype.newbyteorder("<")).tobytes(), "little"))


# --- sums and estimates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("bits", "width"), [(1, 1), *SHAPES])
@pytest.mark.parametrize("kind", ["dense", "candidates"])
def test_estimates_are_unbiased_and_as_variable_as_said(bits: int, width: int, kind: str) -> None:
    """Expectation and variance over the whole law of one report, of every value, value 0 among them."""
    eps = 1.7
    base = NoisyInnerProduct(bits=bits, eps=eps, width=width)
    chances = law_of(bits, width, eps, 0)
    found = {}
    for report in chances:
        if kind == "dense":
            found[report] = base.aggregator(SCOPE).add([report]).estimate().frequencies
        elif width > 1:
            listed = WideCandidateAggregator(SCOPE, bits=bits, width=width, flip=base.flip.probability)
            estimate = listed.add([report]).estimate(candidates=range(base.values))
            found[report] = estimate.frequencies
    for value in range(base.values) if found else ():
        law = law_of(bits, width, eps, value)
        mean = np.sum([chance * found[report] for report, chance in law.items()], axis=0)
        assert np.allclose(mean, np.eye(base.values)[value], atol=1e-12)
        square = np.sum([chance * found[report] ** 2 for report, chance in law.items()], axis=0)
        variance = (square - mean**2)[(value + 1) % base.values]
        assert math.sqrt(variance) == pytest.approx(base.accuracy(1, 0.05).standard_error, rel=1e-9)


@each_shape
def test_the_standard_error_and_the_p_values_are_those_of_a_count(bits: int, width: int) -> None:
    """A report supports x if its answer is that of x; frequency = span·(count/n - chance)."""
    base = NoisyInnerProduct(bits=bits, eps=1.0, width=width)
    reports = [r for seed in range(3) for r in some_reports(bits, width, 300, seed)]
    estimate = base.aggregator(SCOPE).add(reports).estimate()
    assert estimate.tail == "exact binomial"
    assert isinstance(estimate.chance, float)
    law = law_of(bits, width, 1.0, 0)
    for x in range(base.values):
        supports = {r for r in law if support(r, x, bits, width)}
        count = sum(r in supports for r in reports)
        if x:  # the law is that of someone who holds 0
            assert estimate.chance == pytest.approx(sum(law[r] for r in supports), rel=1e-12)
        shown = estimate.span[x] * (count / len(reports) - estimate.chance)
        assert estimate.frequencies[x] == pytest.approx(shown, rel=1e-9, abs=1e-12)
    held = np.clip(estimate.frequencies, 0, 1)
    truth, c = base.flip.opposite().probability, estimate.chance
    variance = held * truth * (1 - truth) + (1 - held) * c * (1 - c)
    assert np.allclose(estimate.standard_error, estimate.span * np.sqrt(variance / len(reports)), rtol=1e-9)
    assert estimate.frequencies.sum() == pytest.approx(1, abs=1e-9)


def support(report: int, value: int, bits: int, width: int) -> bool:
    vectors, answer = parted(report, bits, width)
    return all((v & value).bit_count() % 2 == answer >> i & 1 for i, v in enumerate(vectors))


@pytest.mark.parametrize(("bits", "width"), [(3, 2), (16, 3), (16, 6), (12, 8), (20, 4)])
def test_arrays_lists_merges_and_bytes_in_any_order(bits: int, width: int) -> None:
    reports = some_reports(bits, width, 60)
    whole = sums_of(bits, width).add(reports)
    assert isinstance(whole, WideAggregator)
    signs: dict[int, int] = {}
    for report in reports:
        vectors, answer = parted(report, bits, width)
        for c in range(1, 1 << width):
            position = 0
            for i, vector in enumerate(vectors):
                position ^= vector if c >> i & 1 else 0
            signs[position] = signs.get(position, 0) + (-1) ** (c & answer).bit_count()
    assert {int(v): int(whole.sums[v]) for v in np.flatnonzero(whole.sums)} == {v: s for v, s in signs.items() if s}
    array = as_array(reports, bits, width)
    one_by_one = sums_of(bits, width)
    for i in reversed(range(60)):
        one_by_one.add(array[i : i + 1])
    left, right = sums_of(bits, width).add(array[:7]), sums_of(bits, width).add(reports[7:])
    saved = left.to_bytes()
    assert whole.to_bytes() == one_by_one.to_bytes() == right.merge(left).to_bytes()
    assert sums_of(bits, width).add_saved(saved).add(array[7:]).to_bytes() == whole.to_bytes()


@pytest.mark.parametrize(("bits", "width"), [(3, 2), (16, 3), (16, 6), (27, 2), (31, 2), (40, 3), (256, 8)])
def test_impossible_reports_are_refused_with_nothing_added(bits: int, width: int) -> None:
    good = some_reports(bits, width, 3)
    sums = sums_of(bits, width).add(good)
    before = sums.to_bytes()
    total = width * (bits + 1)
    zero = joined([0, *range(1, width)], 0, bits)
    twice = joined([1, 1, *(1 << i for i in range(2, width))], 1, bits)
    for bad in ([-1], [1 << total], [*good, zero], [*good, twice], [*good, 1]):
        with pytest.raises(ValueError, match=rf"a report must be below 2\^{total}, and its {width} vectors"):
            sums.add(bad)
    for bad in ([*good, zero], [*good, twice]):
        with pytest.raises(ValueError, match="linearly independent"):
            sums.add(as_array(bad, bits, width))
    if inner_product.report_bytes(bits, width):
        size = inner_product.report_bytes(bits, width)
        with pytest.raises(ValueError, match=f"reports must be arrays of {size} bytes each"):
            sums.add(np.zeros((2, size + 1), dtype=np.uint8))
        if total % 8:
            with pytest.raises(ValueError, match="a report must be below"):
                sums.add(np.full((2, size), 255, dtype=np.uint8))
    else:
        with pytest.raises(ValueError, match="a report must be below"):
            sums.add(np.array([-5]))
    assert sums.to_bytes() == before


def test_what_was_added_before_an_impossible_report_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_SIGNS", 64)
    sums = sums_of(16, 3)
    bad = as_array([*some_reports(16, 3, 100), joined([1, 2, 3], 0, 16)], 16, 3)
    with pytest.raises(ValueError, match="linearly independent"):
        sums.add(bad)
    assert not sums.sums.any()
    assert sums.n == 0


@pytest.mark.parametrize(("bits", "width"), [(3, 2), (8, 3), (12, 5)])
def test_candidates_are_the_dense_estimate(bits: int, width: int) -> None:
    local = NoisyInnerProduct(bits=bits, eps=1.5, width=width)
    listed = WideCandidateAggregator(SCOPE, bits=bits, width=width, flip=local.flip.probability)
    reports = local.simulate(np.arange(4000, dtype=np.uint64) % np.uint64(2), np.random.default_rng(1))
    whole = local.aggregator(SCOPE).add(reports).estimate(0.01)
    part = listed.add(reports).estimate(0.01, candidates=range(1 << bits))
    for name in ("frequencies", "radius", "simultaneous_radius", "standard_error", "span"):
        assert np.allclose(getattr(whole, name), getattr(part, name), rtol=1e-12), name
    assert np.allclose(whole.p_values(), part.p_values())


@pytest.mark.parametrize(("bits", "width"), [(27, 2), (31, 2), (32, 2), (63, 3), (64, 2), (129, 4), (256, 8)])
def test_candidates_are_the_formula(bits: int, width: int) -> None:
    reports = some_reports(bits, width, 120)
    sums = sums_of(bits, width).add(as_array(reports[:60], bits, width)).add(reports[60:])
    assert isinstance(sums, CandidateAggregator)
    asked = [0, 5, (1 << bits) - 1, 1 << bits - 1]
    scale = inner_product_scale(bits, 2.0, width)
    estimate = sums.estimate(candidates=asked)
    for u, frequency in zip(asked, estimate.frequencies, strict=True):
        mean = sum((1 << width) * support(r, u, bits, width) - 1 for r in reports) / len(reports)
        assert math.isclose(frequency, scale * mean + 0.5**bits, rel_tol=1e-9, abs_tol=1e-12)
    backwards = sums_of(bits, width)
    for report in reversed(reports):
        backwards.merge(sums_of(bits, width).add([report]))
    assert backwards.to_bytes() == sums.to_bytes()
    assert sums_of(bits, width).add_saved(sums.to_bytes()).to_bytes() == sums.to_bytes()


def test_impossible_sums_are_refused() -> None:
    deck = Deck(bits=30, slots=2, eps_report=1.0, width=2)
    for vectors, answer in (((1, 1), 0), ((0, 1), 0), ((1 << 30, 1), 0), ((1, 2), 4)):
        payload = np.array([0, 1, *vectors, answer], dtype="<u8").tobytes()
        with pytest.raises(SumsError, match="cannot have made"):
            deck.restore_sums(framing.frame_sums(deck, payload))
    with pytest.raises(SumsError, match="should have 24 bytes"):
        deck.restore_sums(framing.frame_sums(deck, payload + bytes(8)))
    assert deck.restore_sums(framing.frame_sums(deck, np.array([0, 1, 1, 2, 3], dtype="<u8").tobytes())).n == 1


def test_widths_do_not_mix() -> None:
    two, three = (Deck(bits=8, slots=2, eps_report=1.0, width=width) for width in (2, 3))
    assert two != three
    with pytest.raises(MergeError):
        two.aggregator().merge(three.aggregator())
    with pytest.raises(SumsError, match="another mechanism"):
        two.restore_sums(three.aggregator().to_bytes())
    with pytest.raises(StateError, match="another mechanism"):
        two.restore(three.client(1).to_bytes())


@pytest.mark.parametrize("bits", [16, 30])
def test_populations_are_counted(bits: int) -> None:
    """Simulated, and clients; random, fails with probability 8·2e-9."""
    mechanism = InnerProduct(bits=bits, slots=2, eps_report=4.0)
    assert mechanism.width == 6
    held = [5, (1 << bits) - 1]
    values = np.array([held[i % 4 == 0] for i in range(40_000)])
    simulated: Any = mechanism.aggregator()
    for batch in mechanism.simulate(values, rounds=1, seed=1):
        simulated.add(batch.reports)
    clients: Any = mechanism.aggregator()
    clients.add(mechanism.client(held[i % 4 == 0]).report(1) for i in range(4000))
    for sums in (simulated, clients):
        if bits > 26:
            found = sums.estimate(candidates=[*held, 6, 0])
            frequencies, errors = found.frequencies, found.standard_error
        else:
            found = sums.estimate()
            frequencies, errors = (x[[*held, 6, 0]] for x in (found.frequencies, found.standard_error))
        assert np.all(np.abs(frequencies - [0.75, 0.25, 0, 0]) <= 6 * errors)
        assert [row.value for row in found.top(2) if row.stands_out] == held


def test_rounds_of_bytes_pool_where_they_may() -> None:
    fresh = Fresh(NoisyInnerProduct(bits=16, eps=4.0, width=6))
    (batch,) = fresh.simulate([1, 2, 3], rounds=4, seed=1)
    assert batch.reports.shape == (3, 4, 13)
    assert fresh.aggregator().add(batch.reports).n == 12
    stored = InnerProduct(bits=16, slots=3, eps_report=4.0, width=6)
    (batch,) = stored.simulate([1, 2, 3], rounds=4, seed=1)
    with pytest.raises(ValueError, match="of 4 rounds, which do not pool"):
        stored.aggregator().add(batch.reports)
    assert stored.aggregator().add(batch.reports[:, 2]).n == 3
    fading = Fading(bits=16, eps=30.0, delta=1e-3, width=4)
    (batch,) = fading.simulate([1, 2, 3], rounds=4, seed=1)
    assert batch.reports.shape == (3, 4, 9)
    assert fading.log_likelihood(batch.reports, 1, [1, 2, 3, 4]).shape == (3,)


def test_simulation_stays_within_memory() -> None:
    """Eight vectors of 63 bits for each of many rounds: batches get smaller."""
    mechanism = Fresh(NoisyInnerProduct(bits=63, eps=6.0))
    first = next(iter(mechanism.simulate(np.zeros(200_000, dtype=int), rounds=4, seed=1)))
    assert first.reports.nbytes < 2 << 23


# --- the width that is chosen ----------------------------------------------------------------------------------

# eps, standard error times √n of one bit, the best width and its error: what the project set out to reach
TABLE = [(1.0, 2.16, 2, 1.92), (2.0, 1.31, 3, 0.85), (4.0, 1.04, 6, 0.28)]


@pytest.mark.parametrize(("eps", "one", "width", "best"), TABLE)
def test_the_best_width(eps: float, one: float, width: int, best: float) -> None:
    chosen = NoisyInnerProduct(bits=16, eps=eps)
    assert chosen.width == width
    assert round(chosen.accuracy(1, 0.05).standard_error, 2) == best
    assert round(NoisyInnerProduct(bits=16, eps=eps, width=1).accuracy(1, 0.05).standard_error, 2) == one
    # Optimised local hashing, 2e^(eps/2)/(e^eps - 1), is what can be had with any number of answers.
    hashing = 2 * math.exp(eps / 2) / math.expm1(eps)
    assert hashing <= chosen.accuracy(1, 0.05).standard_error <= 1.01 * hashing


@settings(max_examples=60, deadline=None)
@given(bits=st.integers(1, 40), eps=st.floats(1e-3, 20))
def test_no_other_width_is_better(bits: int, eps: float) -> None:
    def error(width: int) -> float:
        return NoisyInnerProduct(bits=bits, eps=eps, width=width).accuracy(1, 0.05).standard_error

    chosen = NoisyInnerProduct(bits=bits, eps=eps)
    assert chosen.width == best_width(bits, eps)
    widths = range(1, min(bits, LARGEST_WIDTH) + 1)
    assert error(chosen.width) <= min(error(width) for width in widths) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("bits", "slots", "eps", "delta"),
    [
        (16, 730, 1.0, 1e-6),
        (16, 12, 4.0, 1e-6),
        (16, 1, 4.0, 0.0),
        (8, 20, 8.0, 1e-6),
        (2, 3, 6.0, 1e-3),
        (1, 4, 8.0, 0),
    ],
)
def test_the_width_of_a_budget(bits: int, slots: int, eps: float, delta: float) -> None:
    """The privacy factor depends on the width: each has its own eps_report, and none is better by more than 1 %."""
    chosen = Deck.for_budget(bits=bits, slots=slots, eps=eps, delta=delta)
    assert chosen.privacy().delta(eps).upper <= delta
    error = chosen.accuracy(1).standard_error
    others = [
        Deck.for_budget(bits=bits, slots=slots, eps=eps, delta=delta, width=width)
        for width in range(1, min(bits, LARGEST_WIDTH) + 1)
    ]
    errors = [other.accuracy(1).standard_error for other in others]
    assert error <= 1.01 * min(errors)
    assert all(e > 1.01 * min(errors) for e in errors[: chosen.width - 1])
    assert others[chosen.width - 1] == chosen
    stored = InnerProduct.for_budget(bits=bits, slots=slots, eps=eps, delta=delta)
    assert (stored.width, stored.eps_report) == (chosen.width, chosen.eps_report)
    for other in others:
        assert other.privacy().delta(eps).upper <= delta


def test_names_and_equality() -> None:
    chosen = NoisyInnerProduct(bits=16, eps=2.0)
    assert repr(chosen) == "NoisyInnerProduct(bits=16, eps=2.0, width=3)"
    assert chosen == NoisyInnerProduct(bits=16, eps=2.0, width=3) != NoisyInnerProduct(bits=16, eps=2.0, width=1)
    assert hash(chosen) == hash(NoisyInnerProduct(bits=16, eps=2.0, width=3))
    assert repr(NoisyInnerProduct(bits=16, eps=2.0, width=1)) == "NoisyInnerProduct(bits=16, eps=2.0, width=1)"
    assert repr(NoisyInnerProduct(bits=16, eps=0.1)) == "NoisyInnerProduct(bits=16, eps=0.1, width=1)"
    for narrow in (Deck(bits=3, slots=2, eps_report=2.0, width=1), InnerProduct(bits=3, slots=2, eps_report=0.1)):
        assert eval(repr(narrow)) == narrow  # noqa: S307
    assert repr(Deck(bits=16, slots=3, eps_report=2.0)).endswith("when_empty='stop', width=3)")
    assert repr(InnerProduct(bits=16, slots=3, eps_report=2.0)).endswith("eps_report=2.0, width=3)")
    assert repr(Fading(bits=4, eps=1.0, delta=1e-3, scale=0.1, width=2)).endswith("scale=0.1, width=2)")
    assert repr(Fading(bits=4, eps=1.0, delta=1e-3, scale=0.1)).endswith("scale=0.1, width=1)")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NoisyInnerProduct(bits=16, eps=1.0, width=9), "width must be between 1 and 8, got 9"),
        (lambda: NoisyInnerProduct(bits=3, eps=1.0, width=4), "width must be between 1 and 3, got 4"),
        (lambda: Deck(bits=16, slots=2, eps_report=1.0, width=0), "width must be between 1 and 8, got 0"),
        (lambda: Fading(bits=2, eps=1.0, delta=1e-3, width=3), "width must be between 1 and 2, got 3"),
        (lambda: Deck.for_budget(bits=2, slots=2, eps=1, delta=0, width=3), "width must be between 1 and 2, got 3"),
        (lambda: NoisyInnerProduct(bits=16, eps=1e-18, width=8), "eps must be at least 1.41e-17 for width 8"),
        (lambda: NoisyInnerProduct(bits=64, eps=2.0, width=2).simulate(np.zeros(1, np.uint64), RNG), "at most 63"),
    ],
)
def test_bad_widths(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(TypeError, match="width must be an integer, not float"):
        NoisyInnerProduct(bits=16, eps=1.0, width=2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", range(1, LARGEST_WIDTH + 1))
def test_the_smallest_eps_matters(width: int) -> None:
    """At it, the truth is still likelier than any other answer, by the very integers that are drawn."""
    symbols = 1 << width
    base = NoisyInnerProduct(bits=8, eps=smallest_eps(width) * 1.01, width=width)
    assert ((1 << 64) - base.flip.threshold) * (symbols - 1) > base.flip.threshold
    assert base.privacy_factor().loss.max() > 0
    assert base.accuracy(1, 0.05).standard_error > 1e15


def test_lies_are_rounded_towards_noise() -> None:
    for eps, width in itertools.product((0.1, 1.0, 4.0, 60.0), (2, 3, 8)):
        base = NoisyInnerProduct(bits=16, eps=eps, width=width)
        assert base.privacy_factor().loss.max() <= eps
        if eps < 10:
            assert base.privacy_factor().loss.max() == pytest.approx(eps, rel=1e-9)


# --- clients ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism",
    [
        Fresh(NoisyInnerProduct(bits=13, eps=2.0)),
        Deck(bits=13, slots=3, eps_report=2.0),
        InnerProduct(bits=70, slots=3, eps_report=4.0),
        Fading(bits=13, eps=9.0, delta=1e-3, width=3),
    ],
    ids=lambda m: type(m).__name__,
)
def test_clients_come_back(mechanism: Any) -> None:
    client = mechanism.client(4711)
    first = client.report(1)
    again = mechanism.restore(client.to_bytes())
    assert again.to_bytes() == client.to_bytes()
    if not isinstance(mechanism, Fresh | InnerProduct):
        assert again.report(1) == first
    base = mechanism.base(1) if isinstance(mechanism, Fading) else mechanism.base
    assert base.possible(first)
    assert mechanism.report_bits == base.width * (base.bits + 1) > base.bits + 1


def test_impossible_states_are_refused() -> None:
    deck = Deck(bits=4, slots=1, eps_report=1.0, width=2)
    good, bad = (joined(vectors, 3, 4) for vectors in ((1, 2), (3, 3)))
    assert deck.restore(framing.frame_state(deck, bytes([0]) + good.to_bytes(2, "big"))).report(1) == good
    with pytest.raises(StateError, match="cannot have made"):
        deck.restore(framing.frame_state(deck, bytes([0]) + bad.to_bytes(2, "big")))
    fading = Fading(bits=4, eps=1.0, delta=1e-3, width=2)
    for round, report, fine in ((7, good, True), (7, bad, False), (0, good, False), (7, 0, False)):
        sealed = framing.frame_state(fading, round.to_bytes(8, "big") + bytes([5]) + report.to_bytes(2, "big"))
        if fine:
            assert fading.restore(sealed).report(7) == good
        else:
            with pytest.raises(StateError, match="a round without a report"):
                fading.restore(sealed)


def test_fading_ends_where_an_answer_would_be_uniform() -> None:
    steep = Fading(bits=8, eps=1.0, delta=1e-3, power=4.0, scale=0.1, width=8)
    last = int((0.1 / smallest_eps(8)) ** 0.25)
    assert steep.client(3).report(last) > 0
    with pytest.raises(FadedAway):
        steep.client(3).report(last + 1)


def test_kept_slots_are_many() -> None:
    assert InnerProduct(bits=16, slots=LARGEST_SLOTS, eps_report=4.0).report_bits == 6 * 17


@pytest.mark.parametrize(
    ("bits", "slots", "eps", "delta"), [(8, 1, 1e-3, 5e-3), (8, 1, 0.01, 1e-3), (16, 5000, 3, 1e-3)]
)
def test_wide_answers_are_chosen_for_small_eps_too_where_delta_is_what_binds(
    bits: int, slots: int, eps: float, delta: float
) -> None:
    chosen = Deck.for_budget(bits=bits, slots=slots, eps=eps, delta=delta)
    wide = Deck.for_budget(bits=bits, slots=slots, eps=eps, delta=delta, width=8)
    assert chosen.width > 1
    assert chosen.accuracy(1).standard_error <= 1.01 * wide.accuracy(1).standard_error
