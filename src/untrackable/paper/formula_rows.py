"""The paper's formulas at concrete numbers: definition, chaining, Bitwise, RNIP and the general theorems."""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from untrackable.kernels.transform import walsh_hadamard
from untrackable.mechanisms.inner_product.budget_solver import largest_eps_report
from untrackable.mechanisms.inner_product.rnip import InnerProduct
from untrackable.mechanisms.kept.bitwise import Bitwise
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.paper.paper_statement import PaperStatement, format_number, verdict
from untrackable.theory import accuracy, chaining, composition, tracking_bounds
from untrackable.theory.collisions import cross_probability
from untrackable.theory.enumeration import FiniteMechanism, projection_gap


def definition_row() -> PaperStatement:
    """The printed definition for fresh randomised response and T = {00, 11}."""
    truth = math.e / (1 + math.e)
    fresh = FiniteMechanism([1], lambda value: {value: 1.0}, lambda state, round: {1: truth, 0: 1 - truth})
    gap = projection_gap(fresh.streams(1, [1, 2]), 1, {(0, 0), (1, 1)}, 0.0)
    return PaperStatement(
        section="Definition of untrackable",
        statement="δ that fresh randomised response (ε = 1) needs at γ = 0, T = {00, 11}",
        published="0",
        ours=f"{gap:.6f} with projections, 0 with the product measure",
        kind="exact",
        verdict=verdict(gap == 0),
        erratum="E1",
    )


def chaining_rows() -> Iterator[PaperStatement]:
    """The tight bound on chaining, which randomised response attains, and its simpler corollary."""
    for one, other in ((1.0, 1.0), (0.5, 2.0)):
        printed = math.log((math.exp(one + other) + 1) / (math.exp(one) + math.exp(other)))
        chained = chaining.Channel(chaining.response_channel(one).law @ chaining.response_channel(other).law).eps(0)
        yield PaperStatement(
            section="Chaining",
            statement=f"tight bound, ε₁ = {one:g}, ε₂ = {other:g}: attained by randomised response",
            published=format_number(printed),
            ours=format_number(chained),
            published_number=printed,
            ours_number=chained,
            kind="exact",
            verdict=verdict(math.isclose(printed, chained, rel_tol=1e-9)),
        )
        yield PaperStatement(
            section="Chaining",
            statement=f"corollary ½ε₁ε₂, ε₁ = {one:g}, ε₂ = {other:g}: above the tight bound",
            published=format_number(one * other / 2),
            ours=format_number(chained),
            published_number=one * other / 2,
            ours_number=chained,
            kind="exact",
            verdict=verdict(chaining.product(one, other) >= chained),
        )


def bitwise_rows() -> Iterator[PaperStatement]:
    """Bitwise Everlasting Privacy at ε₁ = 0.1, ε₂ = 1 and ten reports."""
    eps_state, eps_report, reports = 0.1, 1.0, 10
    mechanism = Bitwise(eps_state=eps_state, eps_report=eps_report)
    where = f"ε₁ = {eps_state:g}, ε₂ = {eps_report:g}"
    one = mechanism.privacy(reports=1).pure()
    yield _equal("Bitwise", f"privacy of one report, {where}", chaining.tight(eps_state, eps_report), one)
    yield _equal("Bitwise", f"everlasting privacy, {where}", eps_state, mechanism.privacy().pure())
    gamma = mechanism.tracking(reports=reports).pure()
    for name, bound, holds, erratum in (
        ("at most ⌊k/2⌋ε₂", tracking_bounds.permanent_state_upper(reports, eps_report), True, ""),
        (
            "at least k/2·ε₂ - ε₁ - ln 2",
            tracking_bounds.bitwise_printed_lower(reports, eps_state, eps_report),
            False,
            "E6",
        ),
    ):
        yield PaperStatement(
            section="Bitwise",
            statement=f"untrackable for {reports} reports, {where}: {name}",
            published=format_number(bound),
            ours=format_number(gamma),
            published_number=bound,
            ours_number=gamma,
            kind="exact",
            verdict=verdict(gamma <= bound if holds else gamma >= bound),
            erratum=erratum,
        )
    odd = Bitwise(eps_state=eps_state, eps_report=5.0).tracking(reports=3).pure()
    lower = tracking_bounds.bitwise_printed_lower(3, eps_state, 5.0)
    yield PaperStatement(
        section="Bitwise",
        statement="the same lower bound for odd k: ε₁ = 0.1, ε₂ = 5, 3 reports",
        published=format_number(lower),
        ours=format_number(odd),
        published_number=lower,
        ours_number=odd,
        kind="exact",
        verdict=verdict(odd >= lower),
        erratum="E6",
    )
    yield _bitwise_estimator(eps_state, eps_report)
    people, beta = 1_000_000, 0.05
    sharp = accuracy.bitwise_radius(eps_state, eps_report, people, beta)
    for name, printed in (
        ("appendix, √(2 ln(2/β)/n)", accuracy.bitwise_radius_printed(eps_state, eps_report, people, beta)),
        ("main text, √(32 ln(2/β)/n)", accuracy.bitwise_radius_printed_simple(eps_state, eps_report, people, beta)),
    ):
        yield _radius("Bitwise", f"error for n = 10⁶, β = 0.05, {where}: {name}", printed, sharp)


def _bitwise_estimator(eps_state: float, eps_report: float) -> PaperStatement:
    """The expectation of the printed estimator for 1,000 people who all hold 0. The true frequency of 0 is 1."""
    people = 1000
    state, report = 1 / (math.exp(eps_state) + 1), 1 / (math.exp(eps_report) + 1)
    ones = state + report - 2 * state * report
    factor = (math.exp(eps_state) + 1) * (math.exp(eps_report) + 1)
    scale = math.expm1(eps_state) * math.expm1(eps_report)
    printed, mean = (
        (math.exp(eps_state + eps_report) + 1 - factor * total) / scale for total in (people * ones, ones)
    )
    return PaperStatement(
        section="Bitwise",
        statement="expectation of the printed estimator (sum of reports), 1,000 people who all hold 0",
        published="1",
        ours=f"{printed:.6g} (with the mean: {mean:.6g})",
        kind="exact",
        verdict=verdict(math.isclose(printed, 1.0)),
        erratum="E5",
    )


def inner_product_rows() -> Iterator[PaperStatement]:
    """RNIP with 16 bits, 730 slots and everlasting (1, 1e-6)-privacy."""
    bits, slots, eps, delta, reports = 16, 730, 1.0, 1e-6, 20
    where = "d = 16, L = 730"
    printed = largest_eps_report(bits=bits, slots=slots, eps=eps, delta=delta, accounting="paper")
    spent = InnerProduct(bits=bits, slots=slots, eps_report=printed, width=1).privacy().delta(eps)
    yield PaperStatement(
        section="RNIP",
        statement=f"ε′ = ε/(2√(2L ln 1/δ)) = {printed:.5f} is (1, 1e-6)-private, {where}",
        published="δ ≤ 1e-06",
        ours=f"δ = {spent.upper:.3g}" if spent.resolved else "δ not resolved",
        kind="exact",
        verdict=verdict(spent.upper <= delta),
    )
    exact = largest_eps_report(bits=bits, slots=slots, eps=eps, delta=delta, accounting="exact")
    yield PaperStatement(
        section="RNIP",
        statement=f"largest ε′ for everlasting (1, 1e-6), {where}",
        published=f"{printed:.5f}",
        ours=f"{exact:.5f} ({(exact / printed) ** 2:.1f} times fewer people)",
        published_number=printed,
        ours_number=exact,
        kind="exact",
        verdict=verdict(math.isclose(exact, printed, rel_tol=0.01)),
        erratum="E11",
    )
    split = reports // 2
    cross = cross_probability(slots, reports, split)
    bound = reports**2 / slots + slots**2 / 2**bits
    yield PaperStatement(
        section="RNIP",
        statement=f"δ of tracking at γ = 0 for {reports} reports, k²/L + L²/2^d, {where}",
        published=format_number(bound),
        ours=format_number(cross),
        published_number=bound,
        ours_number=cross,
        kind="upper",
        verdict=verdict(math.isclose(cross, bound, rel_tol=0.5)),
        erratum="E10",
    )
    people, beta = 10**9, 0.05
    sharp = accuracy.inner_product_radius(bits, printed, people, beta)
    for name, radius in (
        ("theorem, √(2 ln(2^(d+1)/β)/n)", accuracy.inner_product_radius_printed(bits, printed, people, beta)),
        (
            "corollary, √(8 ln(2^(d+1)/β)/n)",
            accuracy.inner_product_radius_printed_simple(bits, printed, people, beta),
        ),
    ):
        yield _radius("RNIP", f"error for n = 10⁹, β = 0.05, ε′ = {printed:.5f}: {name}", radius, sharp)
    yield _selection()
    yield _selected()
    yield _xor()
    yield _zero_value()
    sums = np.array(
        [0, 5, -3, 2, 7, -1, 0, -4], dtype=np.int64
    )  # Any sums will do, as long as the vector 0 has none.
    yield _equal("RNIP", "the estimates sum to", 1.0, float(walsh_hadamard(sums).sum() * 3.7 + 8 / 8))


def _selection() -> PaperStatement:
    bits, radius, people, beta = 16, 0.05, 10**10, 0.05
    needed = accuracy.inner_product_eps_printed(bits, radius, people, beta)
    corollary = accuracy.inner_product_radius_printed_simple(bits, needed, people, beta)
    sharp = accuracy.inner_product_radius(bits, needed, people, beta)
    return PaperStatement(
        section="RNIP",
        statement=f"ε′ = {needed:.5f}, selected for α = {radius:g} (d = 16, n = 10¹⁰), reaches by the corollary",
        published=f"α = {radius:g}",
        ours=f"α = {corollary:.4f}; by the sharp radius {sharp:.4f}",
        kind="upper",
        verdict=verdict(corollary <= radius * (1 + 1e-6)),
        erratum="E8",
    )


def _selected() -> PaperStatement:
    """The complete parameter selection, as printed and with the sharp radius."""
    printed, sharp = (
        accuracy.inner_product_selection(16, 1.0, 1e-6, 0.05, 10**10, 0.05, 10, printed=form)
        for form in (True, False)
    )
    return PaperStatement(
        section="RNIP",
        statement="the same carried on to everlasting (1, 1e-6): ε′, L and δ = k²/L for 10 reports",
        published=f"{printed.eps_report:.5f}, {printed.slots}, {printed.delta:.3f}",
        ours=f"{sharp.eps_report:.5f}, {sharp.slots}, {sharp.delta:.3f}",
        kind="upper",
        verdict=verdict(printed.slots == sharp.slots),
        erratum="E8",
    )


def _xor() -> PaperStatement:
    one, other = 0.3, 0.2
    printed = 2 * one * other - one - other + 1
    exact = sum(
        (one if s else 1 - one) * (other if t else 1 - other)
        for s, t in itertools.product((0, 1), repeat=2)
        if s ^ t
    )
    return PaperStatement(
        section="RNIP",
        statement="probability that the XOR of Ber(0.3) and Ber(0.2) is 1",
        published=format_number(printed),
        ours=format_number(exact),
        published_number=printed,
        ours_number=exact,
        kind="exact",
        verdict=verdict(math.isclose(printed, exact)),
        erratum="E9",
    )


def _zero_value() -> PaperStatement:
    """The estimate of u = 0, which the lemma leaves out. It is as good as that of any other value."""
    bits, lie = 4, NoisyInnerProduct(bits=4, eps=0.5, width=1).flip.probability
    values = 1 << bits
    mean = 1 - 2 * lie  # This is the mean of (-1)^(⟨v,0⟩⊕b) for every vector v.
    estimate = (values - 1) / values / (1 - 2 * lie) * mean + 1 / values
    return _equal("RNIP", "expected estimate of u = 0 when everyone holds 0", 1.0, estimate)


def general_rows() -> Iterator[PaperStatement]:
    """Theorems on permanent states, many people, undetectability and composition, evaluated for Bitwise."""
    mechanism = Bitwise(eps_state=0.5, eps_report=0.4)
    reports, people = 12, 5
    printed = tracking_bounds.many_people_permanent_printed_upper(people, reports, 0.4)
    sharp = tracking_bounds.many_people_permanent_upper(people, reports, 0.4)
    yield PaperStatement(
        section="Many people",
        statement=f"permanent state, ε = 0.4, {people} people, {reports} reports: ⌈log₂ n⌉⌊k/2⌋ε",
        published=format_number(printed),
        ours=format_number(sharp),
        published_number=printed,
        ours_number=sharp,
        kind="upper",
        verdict=verdict(math.isclose(printed, sharp)),
        erratum="E12",
    )
    gamma, eps = 0.1, 0.2
    delta = mechanism.tracking(reports=reports).delta(gamma).upper
    total, bound = tracking_bounds.undetectability_upper(gamma, delta, eps, mechanism.privacy().delta(eps).upper)
    exact = mechanism.detection(reports=reports).delta(total)
    yield PaperStatement(
        section="Undetectability",
        statement=f"δ at γ + ε = {total:g} from untrackable and everlasting, {reports} reports",
        published=format_number(bound),
        ours=format_number(exact.upper),
        published_number=bound,
        ours_number=exact.upper,
        kind="exact",
        verdict=verdict(exact.upper <= bound),
    )
    one = mechanism.tracking(reports=reports, split=reports // 2)
    together = one + one + one
    advanced = composition.advanced(one.pure(), 0.0, 3, 0.1)
    yield PaperStatement(
        section="Composition",
        statement="γ of three untrackable mechanisms together, advanced composition with δ′ = 0.1",
        published=format_number(advanced.eps),
        ours=format_number(together.gamma(0.1).upper),
        published_number=advanced.eps,
        ours_number=together.gamma(0.1).upper,
        kind="exact",
        verdict=verdict(together.gamma(0.1).upper <= advanced.eps),
    )


def _equal(section: str, statement: str, printed: float, exact: float) -> PaperStatement:
    return PaperStatement(
        section=section,
        statement=statement,
        published=format_number(printed),
        ours=format_number(exact),
        published_number=printed,
        ours_number=exact,
        kind="exact",
        verdict=verdict(math.isclose(printed, exact, rel_tol=1e-9)),
    )


def _radius(section: str, statement: str, printed: float, sharp: float) -> PaperStatement:
    return PaperStatement(
        section=section,
        statement=statement,
        published=format_number(printed),
        ours=f"{sharp:.6g} ({printed / sharp:.2f} times smaller)",
        published_number=printed,
        ours_number=sharp,
        kind="upper",
        verdict=verdict(math.isclose(printed, sharp, rel_tol=0.01)),
        erratum="E7",
    )
