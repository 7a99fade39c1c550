"""The paper reproduced: every number that it prints beside the one that we compute, and its two figures.

`reproduce` gives all rows, and the points of the percentile figure.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

import numpy as np
from scipy.special import xlog1py, xlogy

from untrackable import strict_json
from untrackable.arrays import FloatArray
from untrackable.brackets import Bracket
from untrackable.display.charts import BLUE, GREEN, INK, RED, Series, alt, legended, points
from untrackable.display.view import Chart, Table, View, make_charts, make_view
from untrackable.kernels.counting import walsh_hadamard
from untrackable.mechanisms.budget import largest_eps_report
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.kept_bits import Bitwise
from untrackable.mechanisms.rappor import Rappor
from untrackable.mechanisms.stored import InnerProduct
from untrackable.progress import Progress, no_progress
from untrackable.theory import accuracy, theorems
from untrackable.theory.experiment import (
    Experiment,
    QuantileInterval,
    Trackability,
    confidence_level,
    order_interval,
)
from untrackable.theory.symbols import cross_probability

Verdict = Literal["pass", "differs"]
"""Whether the printed statement is right."""
Kind = Literal["exact", "upper", "lower", "sampled", "bracket", "unresolved"]
"""The certainty of the computed number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperStatement:
    """One statement: the published text, ours, and the verdict.

    `kind` is the certainty of `ours`. `erratum` names the entry of docs/errata.md if the two differ. The two
    numbers are given if each side is a single number.
    """

    section: str
    statement: str
    published: str
    ours: str
    kind: Kind
    verdict: Verdict
    erratum: str = ""
    published_number: float | None = None
    ours_number: float | None = None


@dataclass(frozen=True, slots=True)
class PercentilePoint:
    """One quantile of τ: as plotted, computed exactly in both variants, and sampled as in the paper."""

    reports: int
    level: float
    plotted: tuple[float, float, float]
    signed: Bracket
    absolute: Bracket
    sampled: QuantileInterval

    @property
    def agrees(self) -> bool:
        """Whether the plotted confidence interval contains the exact signed quantile."""
        return self.plotted[1] <= self.signed.upper and self.signed.lower <= self.plotted[2]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Every statement of the paper with its verdict, and the points of the percentile figure."""

    rows: list[PaperStatement]
    points: list[PercentilePoint]


def reproduce(seed: int = 1, progress: Progress = no_progress) -> Reproduction:
    """Compute every number that the paper states. `seed` only affects the sampled percentiles."""
    progress("definition and bounds", None)
    rows = [
        _definition_row(),
        *_chaining_rows(),
        *_general_rows(),
        *bitwise_rows(),
    ]
    progress("inner products", None)
    rows += inner_product_rows()
    progress("worst cases of RAPPOR", None)
    rows += worst_cases()
    points = _percentile_points(seed, progress)
    rows += [*_percentile_rows(points), *confidence_rows()]
    return Reproduction(rows, points)


def published() -> dict[str, Any]:
    """The values that the paper prints. They are only compared with and never used in a computation."""
    text = resources.files("untrackable.paper").joinpath("published.json").read_text(encoding="utf-8")
    data: dict[str, Any] = strict_json.parse(text)
    return data


def _format_number(value: float) -> str:
    """A number with six significant digits."""
    return f"{value:.6g}"


def _format_bracket(bracket: Bracket) -> str:
    """A bracket as its middle ± half its width, or as one number if it is exact."""
    if bracket.certainty == "exact":
        return _format_number(bracket.upper)
    return f"{(bracket.lower + bracket.upper) / 2:.4f} ± {bracket.width / 2:.4f}"


def _statement(
    section: str, statement: str, published: str, ours: str, holds: bool, *, kind: Kind = "exact", **more: Any
) -> PaperStatement:
    """A statement whose verdict is whether it holds. `more` has the erratum, and the two numbers."""
    verdict: Verdict = "pass" if holds else "differs"
    return PaperStatement(
        section=section, statement=statement, published=published, ours=ours, kind=kind, verdict=verdict, **more
    )


def _numbers(
    section: str, statement: str, printed: float, ours: float, holds: bool, kind: Kind = "exact", erratum: str = ""
) -> PaperStatement:
    """A statement of which each side is a single number."""
    texts = _format_number(printed), _format_number(ours)
    numbers: dict[str, Any] = {"published_number": printed, "ours_number": ours, "erratum": erratum}
    return _statement(section, statement, *texts, holds, kind=kind, **numbers)


def _equal(section: str, statement: str, printed: float, exact: float) -> PaperStatement:
    return _numbers(section, statement, printed, exact, math.isclose(printed, exact, rel_tol=1e-9))


def _radius(section: str, statement: str, printed: float, sharp: float) -> PaperStatement:
    return _statement(
        section,
        statement,
        _format_number(printed),
        f"{sharp:.6g} ({printed / sharp:.2f} times smaller)",
        math.isclose(printed, sharp, rel_tol=0.01),
        published_number=printed,
        ours_number=sharp,
        kind="upper",
        erratum="E7",
    )


# --- definition, chaining, Bitwise, RNIP and the general theorems -----------------------------------------


def _definition_row() -> PaperStatement:
    """The printed definition for fresh randomised response and T = {00, 11}, whose projections are everything."""
    truth = math.e / (1 + math.e)
    gap = 1 - (truth**2 + (1 - truth) ** 2)
    return _statement(
        "Definition of untrackable",
        "δ that fresh randomised response (ε = 1) needs at γ = 0, T = {00, 11}",
        "0",
        f"{gap:.6f} with projections, 0 with the product measure",
        gap == 0,
        erratum="E1",
    )


def _chaining_rows() -> Iterator[PaperStatement]:
    """The tight bound on chaining, which randomised response attains, and its simpler corollary."""
    for one, other in ((1.0, 1.0), (0.5, 2.0)):
        printed = math.log((math.exp(one + other) + 1) / (math.exp(one) + math.exp(other)))
        chained = theorems.Channel(theorems.response_channel(one).law @ theorems.response_channel(other).law).eps(0)
        yield _numbers(
            "Chaining",
            f"tight bound, ε₁ = {one:g}, ε₂ = {other:g}: attained by randomised response",
            printed,
            chained,
            math.isclose(printed, chained, rel_tol=1e-9),
        )
        yield _numbers(
            "Chaining",
            f"corollary ½ε₁ε₂, ε₁ = {one:g}, ε₂ = {other:g}: above the tight bound",
            one * other / 2,
            chained,
            theorems.product_chaining(one, other) >= chained,
        )


def _general_rows() -> Iterator[PaperStatement]:
    """Theorems on permanent states, many people, undetectability and composition, evaluated for Bitwise."""
    mechanism = Bitwise(eps_state=0.5, eps_report=0.4)
    reports, people = 12, 5
    printed = theorems.many_people_permanent_printed_upper(people, reports, 0.4)
    sharp = theorems.many_people_permanent_upper(people, reports, 0.4)
    yield _numbers(
        "Many people",
        f"permanent state, ε = 0.4, {people} people, {reports} reports: ⌈log₂ n⌉⌊k/2⌋ε",
        printed,
        sharp,
        math.isclose(printed, sharp),
        kind="upper",
        erratum="E12",
    )
    gamma, eps = 0.1, 0.2
    delta = mechanism.tracking(reports=reports).delta(gamma).upper
    total, bound = theorems.undetectability_upper(gamma, delta, eps, mechanism.privacy().delta(eps).upper)
    exact = mechanism.detection(reports=reports).delta(total)
    yield _numbers(
        "Undetectability",
        f"δ at γ + ε = {total:g} from untrackable and everlasting, {reports} reports",
        bound,
        exact.upper,
        exact.upper <= bound,
    )
    one = mechanism.tracking(reports=reports, split=reports // 2)
    together = one + one + one
    advanced = theorems.advanced_composition(one.pure(), 0.0, 3, 0.1)
    yield _numbers(
        "Composition",
        "γ of three untrackable mechanisms together, advanced composition with δ′ = 0.1",
        advanced.eps,
        together.gamma(0.1).upper,
        together.gamma(0.1).upper <= advanced.eps,
    )


def bitwise_rows() -> Iterator[PaperStatement]:
    """Bitwise Everlasting Privacy at ε₁ = 0.1, ε₂ = 1 and ten reports."""
    eps_state, eps_report, reports = 0.1, 1.0, 10
    mechanism = Bitwise(eps_state=eps_state, eps_report=eps_report)
    where = f"ε₁ = {eps_state:g}, ε₂ = {eps_report:g}"
    one = mechanism.privacy(reports=1).pure()
    yield _equal("Bitwise", f"privacy of one report, {where}", theorems.tight_chaining(eps_state, eps_report), one)
    yield _equal("Bitwise", f"everlasting privacy, {where}", eps_state, mechanism.privacy().pure())
    gamma = mechanism.tracking(reports=reports).pure()
    for name, bound, holds, erratum in (
        ("at most ⌊k/2⌋ε₂", theorems.permanent_state_upper(reports, eps_report), True, ""),
        (
            "at least k/2·ε₂ - ε₁ - ln 2",
            theorems.bitwise_printed_lower(reports, eps_state, eps_report),
            False,
            "E6",
        ),
    ):
        yield _numbers(
            "Bitwise",
            f"untrackable for {reports} reports, {where}: {name}",
            bound,
            gamma,
            gamma <= bound if holds else gamma >= bound,
            erratum=erratum,
        )
    odd = Bitwise(eps_state=eps_state, eps_report=5.0).tracking(reports=3).pure()
    lower = theorems.bitwise_printed_lower(3, eps_state, 5.0)
    yield _numbers(
        "Bitwise",
        "the same lower bound for odd k: ε₁ = 0.1, ε₂ = 5, 3 reports",
        lower,
        odd,
        odd >= lower,
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
    return _statement(
        "Bitwise",
        "expectation of the printed estimator (sum of reports), 1,000 people who all hold 0",
        "1",
        f"{printed:.6g} (with the mean: {mean:.6g})",
        math.isclose(printed, 1.0),
        erratum="E5",
    )


def inner_product_rows() -> Iterator[PaperStatement]:
    """RNIP with 16 bits, 730 slots and everlasting (1, 1e-6)-privacy."""
    bits, slots, eps, delta, reports = 16, 730, 1.0, 1e-6, 20
    where = "d = 16, L = 730"
    printed = largest_eps_report(bits=bits, slots=slots, eps=eps, delta=delta, accounting="paper")
    spent = InnerProduct(bits=bits, slots=slots, eps_report=printed, width=1).privacy().delta(eps)
    yield _statement(
        "RNIP",
        f"ε′ = ε/(2√(2L ln 1/δ)) = {printed:.5f} is (1, 1e-6)-private, {where}",
        "δ ≤ 1e-06",
        f"δ = {spent.upper:.3g}" if spent.resolved else "δ not resolved",
        spent.upper <= delta,
    )
    exact = largest_eps_report(bits=bits, slots=slots, eps=eps, delta=delta, accounting="exact")
    yield _statement(
        "RNIP",
        f"largest ε′ for everlasting (1, 1e-6), {where}",
        f"{printed:.5f}",
        f"{exact:.5f} ({(exact / printed) ** 2:.1f} times fewer people)",
        math.isclose(exact, printed, rel_tol=0.01),
        published_number=printed,
        ours_number=exact,
        erratum="E11",
    )
    split = reports // 2
    cross = cross_probability(slots, reports, split)
    bound = reports**2 / slots + slots**2 / 2**bits
    yield _numbers(
        "RNIP",
        f"δ of tracking at γ = 0 for {reports} reports, k²/L + L²/2^d, {where}",
        bound,
        cross,
        math.isclose(cross, bound, rel_tol=0.5),
        kind="upper",
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
    yield from _selection()
    yield _xor()
    yield _zero_value()
    sums = np.array(
        [0, 5, -3, 2, 7, -1, 0, -4], dtype=np.int64
    )  # Any sums will do, as long as the vector 0 has none.
    yield _equal("RNIP", "the estimates sum to", 1.0, float(walsh_hadamard(sums).sum() * 3.7 + 8 / 8))


def _selection() -> Iterator[PaperStatement]:
    """The parameter selection, as printed and with the sharp radius: its first step, and all of it."""
    bits, radius, people, beta = 16, 0.05, 10**10, 0.05
    needed = accuracy.inner_product_eps_printed(bits, radius, people, beta)
    corollary = accuracy.inner_product_radius_printed_simple(bits, needed, people, beta)
    sharp = accuracy.inner_product_radius(bits, needed, people, beta)
    yield _statement(
        "RNIP",
        f"ε′ = {needed:.5f}, selected for α = {radius:g} (d = 16, n = 10¹⁰), reaches by the corollary",
        f"α = {radius:g}",
        f"α = {corollary:.4f}; by the sharp radius {sharp:.4f}",
        corollary <= radius * (1 + 1e-6),
        kind="upper",
        erratum="E8",
    )
    chosen, best = (
        accuracy.inner_product_selection(bits, 1.0, 1e-6, radius, people, beta, 10, printed=form)
        for form in (True, False)
    )
    yield _statement(
        "RNIP",
        "the same carried on to everlasting (1, 1e-6): ε′, L and δ = k²/L for 10 reports",
        f"{chosen.eps_report:.5f}, {chosen.slots}, {chosen.delta:.3f}",
        f"{best.eps_report:.5f}, {best.slots}, {best.delta:.3f}",
        chosen.slots == best.slots,
        kind="upper",
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
    return _numbers(
        "RNIP",
        "probability that the XOR of Ber(0.3) and Ber(0.2) is 1",
        printed,
        exact,
        math.isclose(printed, exact),
        erratum="E9",
    )


def _zero_value() -> PaperStatement:
    """The estimate of u = 0, which the lemma leaves out. It is as good as that of any other value."""
    bits, lie = 4, NoisyInnerProduct(bits=4, eps=0.5, width=1).flip.probability
    values = 1 << bits
    mean = 1 - 2 * lie  # This is the mean of (-1)^(⟨v,0⟩⊕b) for every vector v.
    estimate = (values - 1) / values / (1 - 2 * lie) * mean + 1 / values
    return _equal("RNIP", "expected estimate of u = 0 when everyone holds 0", 1.0, estimate)


# --- RAPPOR: worst cases, percentiles of τ, and their confidence levels -----------------------------------

DRAWS = 10_000
"""The number of samples of τ, as in the paper."""
_LEVELS = (0.5, 0.9)
"""The quantiles that the paper plots."""


def rappor_mechanism() -> Rappor:
    """RAPPOR with the parameters that the paper analyses."""
    return Rappor(**published()["rappor"])


def worst_cases() -> Iterator[PaperStatement]:
    """The figure of tight untrackability parameters, compared to the last printed digit."""
    data, rappor = published(), rappor_mechanism()
    for point in data["worst_case"]:
        gamma = rappor.tracking(reports=point["reports"]).pure()
        yield _statement(
            "RAPPOR, worst case",
            f"tight γ for {point['reports']} reports",
            repr(point["gamma"]),
            repr(gamma),
            math.isclose(gamma, point["gamma"], rel_tol=1e-9),
            published_number=point["gamma"],
            ours_number=gamma,
        )
    printed = _printed_worst_case(rappor, 2)
    yield _numbers(
        "RAPPOR, worst case",
        "the same for 2 reports from C₀ and C₁ as they are printed",
        data["worst_case"][0]["gamma"],
        printed,
        math.isclose(printed, data["worst_case"][0]["gamma"], rel_tol=1e-9),
        erratum="E2",
    )
    six, fifteen = (rappor.tracking(reports=k).pure() for k in (6, 15))
    remarks = data["remarks"]
    yield _statement(
        "RAPPOR, worst case",
        "no better than 50-untrackable after 6 reports",
        f"≥ {remarks['gamma_after_6_reports_at_least']}",
        _format_number(six),
        six >= remarks["gamma_after_6_reports_at_least"],
    )
    yield _statement(
        "RAPPOR, worst case",
        "almost 300 at 15 reports",
        f"≈ {remarks['gamma_at_15_reports_almost']}",
        _format_number(fifteen),
        0.95 * remarks["gamma_at_15_reports_almost"] < fifteen < remarks["gamma_at_15_reports_almost"],
    )
    yield from _composed(rappor, remarks)


def _composed(rappor: Rappor, remarks: dict[str, Any]) -> Iterator[PaperStatement]:
    """The coefficient of ⌊k/2⌋ by basic composition, and the far larger bound by advanced composition."""
    bit = max(abs(math.log(rappor.p / rappor.q)), abs(math.log((1 - rappor.p) / (1 - rappor.q))))
    coefficient = rappor.bloom_bits * bit
    printed = remarks["rappor_linear_coefficient"]
    yield _statement(
        "RAPPOR, worst case",
        "basic composition: coefficient of ⌊k/2⌋, 128·ln 2",
        str(printed),
        _format_number(coefficient),
        math.isclose(coefficient, printed, abs_tol=0.5),
        published_number=printed,
        ours_number=coefficient,
        kind="upper",
        erratum="E4",
    )
    for reports in (2, 15):
        one = theorems.permanent_state_upper(reports, bit)
        basic = theorems.basic_composition(one, 0.0, rappor.bloom_bits).eps
        advanced = theorems.advanced_composition(one, 0.0, rappor.bloom_bits, 1e-6).eps
        yield _statement(
            "RAPPOR, worst case",
            f"advanced composition is worse than basic for {reports} reports (δ′ = 1e-6)",
            "explodes in k",
            f"{advanced:.4g} > {basic:.4g}",
            advanced > basic,
            kind="upper",
        )


def _printed_worst_case(rappor: Rappor, reports: int) -> float:
    """γ_k with the weights, the `(1-½)f` and the exponents exactly as [NV] prints them."""
    best = 0.0
    half = rappor.f / 2
    places = rappor.bloom_bits - rappor.hashes
    for i in range(1, reports + 1):
        ones = [np.arange(n + 1.0) for n in (i, reports - i)]
        totals = [_printed(w, rappor, i, reports - i, *ones) for w in ((half, 1 - half), (half, half))]
        best = max(best, places * max(sum(float(t.max()) for t in totals), -sum(float(t.min()) for t in totals)))
    return best


def _printed(
    weights: tuple[float, float], rappor: Rappor, first: int, rest: int, x: FloatArray, y: FloatArray
) -> FloatArray:
    """The logarithm of a printed C(i, x, y), which is (w_q·q* + w_p·p*)(…)/(…)."""

    def mixed(n: int, ones: FloatArray) -> FloatArray:
        q = np.log(weights[0]) + xlogy(ones, rappor.q) + xlog1py(n - ones, -rappor.q)
        p = np.log(weights[1]) + xlogy(ones, rappor.p) + xlog1py(n - ones, -rappor.p)
        return np.asarray(np.logaddexp(q, p), dtype=np.float64)

    apart = np.add.outer(mixed(first, x), mixed(rest, y))
    return np.asarray(apart - mixed(first + rest, np.add.outer(x, y)), dtype=np.float64)


def _percentile_points(seed: int = 1, progress: Progress = no_progress) -> list[PercentilePoint]:
    """All 28 points of the percentile figure."""
    data, rappor = published()["percentiles"], rappor_mechanism()
    rng = np.random.default_rng(seed)
    points: list[PercentilePoint] = []
    counts = [at["reports"] for at in data["0.5"]]
    for row, reports in enumerate(counts):
        # The work grows with the square of the number of reports.
        progress("percentiles of τ", sum(k * k for k in counts[:row]) / sum(k * k for k in counts))
        trials = [
            e
            for i in range(1, reports // 2 + 1)
            if isinstance(e := rappor.tracking(reports=reports, split=i), Experiment)
        ]
        signed, absolute = Trackability(trials, "signed"), Trackability(trials, "absolute")
        samples = signed.sample(rng, DRAWS)
        for level in _LEVELS:
            at = data[str(level)][row]
            plotted = at["value"], at["value"] - at["minus"], at["value"] + at["plus"]
            points.append(
                PercentilePoint(
                    reports,
                    level,
                    plotted,
                    signed.quantile(level),
                    absolute.quantile(level),
                    order_interval(samples, level),
                )
            )
    return points


def _percentile_rows(points: list[PercentilePoint]) -> Iterator[PaperStatement]:
    """Each plotted point beside the exact signed quantile, the absolute one and the sampled one."""
    for point in points:
        value, low, high = point.plotted
        yield _statement(
            "RAPPOR, percentiles of τ",
            f"{'median' if point.level == 0.5 else '90th percentile'} for {point.reports} reports",
            f"{value:.4f} [{low:.4f}, {high:.4f}]",
            f"signed {_format_bracket(point.signed)}; absolute {_format_bracket(point.absolute)}; "
            f"sampled {point.sampled.sampled:.4f} [{point.sampled.lower:.4f}, {point.sampled.upper:.4f}]",
            point.agrees,
            kind=_kind(point.signed),
            erratum="" if point.agrees else "E3",
        )
    yield _variant_row(points)
    yield from _remarks(points)


def _variant_row(points: list[PercentilePoint]) -> PaperStatement:
    inside = sum(p.plotted[1] <= p.absolute.upper and p.absolute.lower <= p.plotted[2] for p in points)
    return _statement(
        "RAPPOR, percentiles of τ",
        "plotted intervals that contain the quantile of τ as it is defined, with absolute values",
        f"{len(points)} of {len(points)}",
        f"{inside} of {len(points)} ({sum(p.agrees for p in points)} contain the signed one)",
        inside == len(points),
        erratum="E3",
    )


def _remarks(points: list[PercentilePoint]) -> Iterator[PaperStatement]:
    remarks = published()["remarks"]
    exact = {(point.level, point.reports): point.signed for point in points}
    ten, seven = remarks["median_around_5_after_reports"], remarks["percentile_90_of_5_after_reports"]
    median, tail = exact[0.5, ten], exact[0.9, seven]
    yield _statement(
        "RAPPOR, percentiles of τ",
        f"median around 5 after {ten} reports",
        "≈ 5",
        _format_bracket(median),
        median.lower > 4.5 and median.upper < 5.5,
        kind=_kind(median),
    )
    yield _statement(
        "RAPPOR, percentiles of τ",
        f"90th percentile reaches 5 after {seven} reports",
        "≥ 5",
        f"{_format_bracket(tail)}; after {seven + 1}: {_format_bracket(exact[0.9, seven + 1])}",
        tail.lower >= 5,
        kind=_kind(tail),
        erratum="E13",
    )


def _kind(bracket: Bracket) -> Literal["exact", "bracket"]:
    return "exact" if bracket.certainty == "exact" else "bracket"


def confidence_rows() -> Iterator[PaperStatement]:
    """The printed confidence levels of two intervals between order statistics."""
    for printed in published()["confidence"]:
        level = confidence_level(printed["draws"], printed["quantile"], printed["lower"], printed["upper"])
        yield _statement(
            "RAPPOR, percentiles of τ",
            f"confidence of [ν_{printed['lower']}, ν_{printed['upper']}], quantile {printed['quantile']}",
            str(printed["level"]),
            f"{level:.11f}",
            abs(level - printed["level"]) < 1e-10,
            published_number=printed["level"],
            ours_number=level,
        )


# --- all numbers beside ours, and the two figures, with the published points and the computed curves -------


@make_view.register
def _(reproduction: Reproduction) -> View:
    """All numbers of the paper beside ours, and below them the percentiles point by point."""
    by_statement = {row.statement: row for row in reproduction.rows}
    percentiles = {
        row.statement for row in reproduction.rows if row.section.endswith("τ") and " for " in row.statement
    }
    statements = Table(
        ("section", "statement", "published", "ours", "is", "verdict"),
        [
            (row.section, row.statement, row.published, row.ours, row.kind, _verdict(row))
            for row in reproduction.rows
            if row.statement not in percentiles
        ],
        grouped=True,
    )
    rows = []
    for point in reproduction.points:
        name = "median" if point.level == 0.5 else "90th percentile"
        cells = (
            str(point.reports),
            f"{point.level:.0%}",
            f"{_five(point.plotted[1])} – {_five(point.plotted[2])}",
            _short(point.signed),
            _short(point.absolute),
            f"{_five(point.sampled.lower)} – {_five(point.sampled.upper)}",
        )
        rows.append((*cells, _verdict(by_statement[f"{name} for {point.reports} reports"])))
    points = Table(
        ("k", "at", "published", "signed", "absolute", "sampled", "verdict"),
        rows,
        "RAPPOR, percentiles of τ, point by point: k reports; published and sampled are 95 % intervals of 10,000 "
        "draws; signed and absolute are the true quantiles, known to the given ±; the verdict is on published "
        "against signed",
        spare=[5],
    )
    differing = sum(row.verdict == "differs" for row in reproduction.rows)
    title = f"{len(reproduction.rows) - differing} pass, {differing} differ"
    names = [field.name for field in dataclasses.fields(reproduction.rows[0])]
    return View(
        title=title,
        sentences=[f"{title}; each difference is explained in docs/errata.md under its number."],
        tables=[statements, points],
        data=lambda: {name: [getattr(row, name) for row in reproduction.rows] for name in names},
        json=lambda: {
            "rows": [dataclasses.asdict(row) for row in reproduction.rows],
            "percentiles": [dataclasses.asdict(point) for point in reproduction.points],
        },
    )


def _short(bracket: Bracket) -> str:
    middle = _five((bracket.lower + bracket.upper) / 2)
    return middle if bracket.certainty == "exact" else f"{middle} ±{math.ceil(500 * bracket.width) / 1000:.3f}"


def _five(number: float) -> str:
    """Five characters, whatever the size."""
    return f"{number:.3f}" if number < 9.9995 else f"{number:.2f}"


def _verdict(row: PaperStatement) -> str:
    return "pass" if row.verdict == "pass" else f"differs {row.erratum}"


_OURS, _PAPER, _OTHER = BLUE, RED, GREEN
"""The colours of computed curves, of published points, and of further computed curves."""
_CROSS = "M-.7,-.7L.7,.7M-.7,.7L.7,-.7"


@make_charts.register
def _(reproduction: Reproduction, top: int) -> list[Chart]:
    """Both figures: the worst case over splits, and two percentiles of τ."""
    tail = _percentile(reproduction.points, 0.9, "90th percentile")
    return [_worst_case(), _percentile(reproduction.points, 0.5, "median"), tail]


def _worst_case() -> Chart:
    mechanism = rappor_mechanism()
    rows = [
        {
            "reports": (k := point["reports"]),
            "pure": mechanism.tracking(reports=k).pure(),
            "published": point["gamma"],
            "gamma": mechanism.tracking(reports=k).gamma(1e-6).upper,
        }
        for point in published()["worst_case"]
    ]
    gamma, base = "γ, one person against two", points(rows).encode(x="reports:Q")
    layers = [
        base.mark_line(color=_OURS).encode(y=alt.Y("pure:Q", title=gamma)),
        base.mark_point(color=_PAPER, shape="square", size=70, opacity=1).encode(y="published:Q"),
        base.mark_line(color=_OTHER).encode(y="gamma:Q"),
    ]
    series = [
        Series("γ at δ = 0 (exact)", _OURS),
        Series("γ at δ = 0, as published", _PAPER, mark="square"),
        Series("γ at δ = 1e-6 (upper)", _OTHER),
    ]
    return Chart(name="worst", title="RAPPOR: worst case over splits", drawing=legended(layers, series, 300))


def _percentile(computed: list[PercentilePoint], level: float, name: str) -> Chart:
    mine = [point for point in computed if point.level == level]
    rows = [
        {
            "reports": point.reports,
            **{kind: (ends.lower + ends.upper) / 2 for kind, ends in _variants(point).items()},
            **dict(zip(("published", "low", "high"), point.plotted, strict=True)),
            "sampled": point.sampled.sampled,
        }
        for point in mine
    ]
    base = points(rows).encode(x="reports:Q")
    colours = {"absolute, as defined": _OTHER, "signed": _OURS}
    known = {kind: max(_variants(point)[kind].width for point in mine) / 2 for kind in colours}
    series = [
        *(Series(f"{kind} (exact to ±{known[kind]:.1g})", colour) for kind, colour in colours.items()),
        Series("as published, 95 % interval", _PAPER, mark="square"),
        Series("signed, 10,000 draws (sampled)", INK, mark=_CROSS),
    ]
    lines = [
        base.mark_line(color=colour).encode(y=alt.Y(f"{kind}:Q", title="trackability τ"))
        for kind, colour in colours.items()
    ]
    layers = [
        *lines,
        base.mark_rule(color=_PAPER).encode(y="low:Q", y2="high:Q"),
        base.mark_point(color=_PAPER, shape="square", size=110, opacity=1).encode(y="published:Q"),
        base.mark_point(color=INK, shape=_CROSS, size=50, opacity=1).encode(y="sampled:Q"),
    ]
    drawing = legended(layers, series, 300)
    return Chart(name=f"percentile-{level:g}", title=f"RAPPOR: {name} of τ", drawing=drawing)


def _variants(point: PercentilePoint) -> dict[str, Bracket]:
    return {"absolute, as defined": point.absolute, "signed": point.signed}
