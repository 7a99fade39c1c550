"""The paper's statements about RAPPOR: worst cases, percentiles of τ, and their confidence levels."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import xlog1py, xlogy

from untrackable.brackets import Bracket
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.paper.paper_statement import PaperStatement, format_bracket, format_number, published, verdict
from untrackable.progress import Progress, no_progress
from untrackable.theory import composition, tracking_bounds
from untrackable.theory.experiment import Experiment
from untrackable.theory.factor import FloatArray
from untrackable.theory.percentiles import QuantileInterval, Trackability, confidence_level, order_interval

DRAWS = 10_000
"""The number of samples of τ, as in the paper."""
_LEVELS = (0.5, 0.9)
"""The quantiles that the paper plots."""


def mechanism() -> Rappor:
    """RAPPOR with the parameters that the paper analyses."""
    return Rappor(**published()["rappor"])


def worst_cases() -> Iterator[PaperStatement]:
    """The figure of tight untrackability parameters, compared to the last printed digit."""
    data, rappor = published(), mechanism()
    for point in data["worst_case"]:
        gamma = rappor.tracking(reports=point["reports"]).pure()
        yield PaperStatement(
            section="RAPPOR, worst case",
            statement=f"tight γ for {point['reports']} reports",
            published=repr(point["gamma"]),
            ours=repr(gamma),
            published_number=point["gamma"],
            ours_number=gamma,
            kind="exact",
            verdict=verdict(math.isclose(gamma, point["gamma"], rel_tol=1e-9)),
        )
    printed = _printed_worst_case(rappor, 2)
    yield PaperStatement(
        section="RAPPOR, worst case",
        statement="the same for 2 reports from C₀ and C₁ as they are printed",
        published=format_number(data["worst_case"][0]["gamma"]),
        ours=format_number(printed),
        published_number=data["worst_case"][0]["gamma"],
        ours_number=printed,
        kind="exact",
        verdict=verdict(math.isclose(printed, data["worst_case"][0]["gamma"], rel_tol=1e-9)),
        erratum="E2",
    )
    six, fifteen = (rappor.tracking(reports=k).pure() for k in (6, 15))
    remarks = data["remarks"]
    yield PaperStatement(
        section="RAPPOR, worst case",
        statement="no better than 50-untrackable after 6 reports",
        published=f"≥ {remarks['gamma_after_6_reports_at_least']}",
        ours=format_number(six),
        kind="exact",
        verdict=verdict(six >= remarks["gamma_after_6_reports_at_least"]),
    )
    yield PaperStatement(
        section="RAPPOR, worst case",
        statement="almost 300 at 15 reports",
        published=f"≈ {remarks['gamma_at_15_reports_almost']}",
        ours=format_number(fifteen),
        kind="exact",
        verdict=verdict(
            0.95 * remarks["gamma_at_15_reports_almost"] < fifteen < remarks["gamma_at_15_reports_almost"]
        ),
    )
    yield from _composed(rappor, remarks)


def _composed(rappor: Rappor, remarks: dict[str, Any]) -> Iterator[PaperStatement]:
    """The coefficient of ⌊k/2⌋ by basic composition, and the far larger bound by advanced composition."""
    bit = max(abs(math.log(rappor.p / rappor.q)), abs(math.log((1 - rappor.p) / (1 - rappor.q))))
    coefficient = rappor.bloom_bits * bit
    printed = remarks["rappor_linear_coefficient"]
    yield PaperStatement(
        section="RAPPOR, worst case",
        statement="basic composition: coefficient of ⌊k/2⌋, 128·ln 2",
        published=str(printed),
        ours=format_number(coefficient),
        published_number=printed,
        ours_number=coefficient,
        kind="upper",
        verdict=verdict(math.isclose(coefficient, printed, abs_tol=0.5)),
        erratum="E4",
    )
    for reports in (2, 15):
        one = tracking_bounds.permanent_state_upper(reports, bit)
        basic = composition.basic(one, 0.0, rappor.bloom_bits).eps
        advanced = composition.advanced(one, 0.0, rappor.bloom_bits, 1e-6).eps
        yield PaperStatement(
            section="RAPPOR, worst case",
            statement=f"advanced composition is worse than basic for {reports} reports (δ′ = 1e-6)",
            published="explodes in k",
            ours=f"{advanced:.4g} > {basic:.4g}",
            kind="upper",
            verdict=verdict(advanced > basic),
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


def percentile_points(seed: int = 1, progress: Progress = no_progress) -> list[PercentilePoint]:
    """All 28 points of the percentile figure."""
    data, rappor = published()["percentiles"], mechanism()
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


def percentile_rows(points: list[PercentilePoint]) -> Iterator[PaperStatement]:
    """Each plotted point beside the exact signed quantile, the absolute one and the sampled one."""
    for point in points:
        value, low, high = point.plotted
        yield PaperStatement(
            section="RAPPOR, percentiles of τ",
            statement=f"{'median' if point.level == 0.5 else '90th percentile'} for {point.reports} reports",
            published=f"{value:.4f} [{low:.4f}, {high:.4f}]",
            ours=(
                f"signed {format_bracket(point.signed)}; absolute {format_bracket(point.absolute)}; "
                f"sampled {point.sampled.sampled:.4f} [{point.sampled.lower:.4f}, {point.sampled.upper:.4f}]"
            ),
            kind=_kind(point.signed),
            verdict=verdict(point.agrees),
            erratum="" if point.agrees else "E3",
        )
    yield _variant_row(points)
    yield from _remarks(points)


def _variant_row(points: list[PercentilePoint]) -> PaperStatement:
    inside = sum(p.plotted[1] <= p.absolute.upper and p.absolute.lower <= p.plotted[2] for p in points)
    return PaperStatement(
        section="RAPPOR, percentiles of τ",
        statement="plotted intervals that contain the quantile of τ as it is defined, with absolute values",
        published=f"{len(points)} of {len(points)}",
        ours=f"{inside} of {len(points)} ({sum(p.agrees for p in points)} contain the signed one)",
        kind="exact",
        verdict=verdict(inside == len(points)),
        erratum="E3",
    )


def _remarks(points: list[PercentilePoint]) -> Iterator[PaperStatement]:
    remarks = published()["remarks"]
    exact = {(point.level, point.reports): point.signed for point in points}
    ten, seven = remarks["median_around_5_after_reports"], remarks["percentile_90_of_5_after_reports"]
    median, tail = exact[0.5, ten], exact[0.9, seven]
    yield PaperStatement(
        section="RAPPOR, percentiles of τ",
        statement=f"median around 5 after {ten} reports",
        published="≈ 5",
        ours=format_bracket(median),
        kind=_kind(median),
        verdict=verdict(median.lower > 4.5 and median.upper < 5.5),
    )
    yield PaperStatement(
        section="RAPPOR, percentiles of τ",
        statement=f"90th percentile reaches 5 after {seven} reports",
        published="≥ 5",
        ours=f"{format_bracket(tail)}; after {seven + 1}: {format_bracket(exact[0.9, seven + 1])}",
        kind=_kind(tail),
        verdict=verdict(tail.lower >= 5),
        erratum="E13",
    )


def _kind(bracket: Bracket) -> Literal["exact", "bracket"]:
    return "exact" if bracket.certainty == "exact" else "bracket"


def confidence_rows() -> Iterator[PaperStatement]:
    """The printed confidence levels of two intervals between order statistics."""
    for printed in published()["confidence"]:
        level = confidence_level(printed["draws"], printed["quantile"], printed["lower"], printed["upper"])
        yield PaperStatement(
            section="RAPPOR, percentiles of τ",
            statement=f"confidence of [ν_{printed['lower']}, ν_{printed['upper']}], quantile {printed['quantile']}",
            published=str(printed["level"]),
            ours=f"{level:.11f}",
            published_number=printed["level"],
            ours_number=level,
            kind="exact",
            verdict=verdict(abs(level - printed["level"]) < 1e-10),
        )
