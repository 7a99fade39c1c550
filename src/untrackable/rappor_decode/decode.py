"""Finds which candidate strings people hold, and how many people hold each, from counts of RAPPOR reports.

A lasso makes a first choice, least squares estimates the chosen candidates, and a test says which are really there.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.sparse import csc_array
from scipy.stats import norm

from untrackable import checks
from untrackable.arrays import FloatArray
from untrackable.mechanisms.rappor import Rappor
from untrackable.progress import Progress, no_progress
from untrackable.rappor_decode.decode_result import Candidate, Correction, Decoded, Unusual
from untrackable.rappor_decode.files import CandidateMap, Counts
from untrackable.rappor_decode.regression import (
    Design,
    Fit,
    Indices,
    LassoChoice,
    WeightedDesign,
    design,
    independent,
    lasso_path,
    least_squares,
    model,
    p_value,
    solve,
)

_MOST = 500
"""The lasso chooses at most this many candidates."""
_SHARE_OF_ROWS = 0.8
"""It chooses at most this many candidates for each bit of a cohort. With more, a fit could explain anything."""
_ROUNDS = 10
"""Candidates that pass the test join the fit, which is then repeated at most this many times."""


def decode(
    params: Rappor,
    counts: Counts,
    candidates: CandidateMap | Sequence[str],
    *,
    alpha: float = 0.05,
    correction: Correction = "bonferroni",
    unlisted: bool = True,
    level: float = 0.95,
    progress: Progress = no_progress,
) -> Decoded:
    """Find the strings that people hold, from counts of reports with one report from each person.

    `alpha` bounds the probability that any string found is false. With `correction="fdr"`, it bounds the expected
    share of false ones. If `unlisted` is False, everyone holds one of the candidates. `level` is the confidence of
    each interval.
    """
    alpha, level = checks.open_probability("alpha", alpha), checks.open_probability("level", level)
    checks.choice("correction", correction, ("bonferroni", "fdr"))
    differing = 0
    if isinstance(candidates, CandidateMap):
        listed = candidates
        differing = len(listed.differing(params, progress=progress))
    else:
        listed = CandidateMap.of(params, candidates, progress=progress)
    layout = design(params, counts, listed)
    covered = layout.covers_everything()
    background = unlisted and not covered
    rows, tested = layout.matrix.shape
    most = max(1, min(_MOST, int(_SHARE_OF_ROWS * rows)))
    # At this penalty, the lasso chooses about one of the candidates that nobody holds.
    penalty = max(0.0, float(norm.isf(1 / tested)))
    level_shares = np.full(rows, float(layout.people @ layout.shares / layout.people.sum()))
    lasso = lasso_path(
        WeightedDesign(layout.matrix, 1 / layout.variances(level_shares), background),
        layout.shares,
        penalty=penalty,
        most=most,
        progress=progress,
    )
    rule = partial(accepted, alpha=alpha, correction=correction)
    outcome = _test(layout, lasso, level_shares, background, rule, penalty, most, progress)
    fit, p_values, passed = outcome.fit, outcome.p_values, outcome.passed
    allocated, allocated_error = fit.together(passed)
    return Decoded(
        params=params,
        reports=counts.total,
        listed=len(listed.names),
        tested=tested,
        candidates=_described(fit, p_values, passed, lasso.columns, layout, listed, level),
        alpha=alpha,
        correction=correction,
        level=level,
        penalty=lasso.penalty,
        unlisted=background,
        allocated=allocated,
        allocated_error=allocated_error,
        dispersion=fit.dispersion,
        explained=fit.explained,
        missing=fit.missing,
        everlasting_eps_exact=params.privacy().pure(),
        unusual=Unusual(
            differing=differing,
            repeated=listed.repeated,
            empty_cohorts=int(np.count_nonzero(counts.reports == 0)),
            same_bits=sum(len(group) for group in layout.members if len(group) > 1),
            covered=covered and unlisted,
            stopped_at=most if lasso.columns.size and lasso.penalty > penalty else None,
            indistinct=outcome.indistinct,
        ),
        p_values={
            listed.names[i]: float(p_values[group]) for group, members in enumerate(layout.members) for i in members
        },
    )


class _Tested(NamedTuple):
    """The fit of the candidates that passed the test, all p-values, and the number that look like mixtures."""

    fit: Fit
    p_values: FloatArray
    passed: NDArray[np.bool_]
    indistinct: int


def _test(
    layout: Design,
    lasso: LassoChoice,
    shares: FloatArray,
    background: bool,
    rule: Callable[[FloatArray], NDArray[np.bool_]],
    penalty: float,
    most: int,
    progress: Progress,
) -> _Tested:
    """Test all candidates.

    A candidate that the lasso left out may pass; it then joins the fit, and the fit is repeated. Candidates that
    pass in the end are tested once more, beside their rivals. The last fit is without those that failed.
    """
    chosen, start = lasso.columns, shares
    for number in range(_ROUNDS):
        progress("least squares", number / _ROUNDS)
        # The second fit uses weights from the first one.
        for _ in range(2):
            fit = least_squares(layout, chosen, shares, background=layout.evenly() if background else None)
            shares = layout.shares - fit.rest
        inside = np.isin(np.arange(fit.p_values.size), fit.columns)
        passing = rule(fit.p_values)
        new = np.flatnonzero(passing & ~inside)
        new = new[np.argsort(fit.p_values[new], kind="stable")][: most - fit.columns.size]
        if new.size == 0:
            break
        chosen = np.concatenate((fit.columns, new))
    p_values = fit.p_values.copy()
    for column in np.flatnonzero(passing & inside).tolist():
        p_values[column] = np.maximum(p_values[column], p_value_with_rivals(layout, fit, column, penalty))
    indistinct = fit.untestable | np.isnan(p_values)
    p_values[indistinct] = 1.0
    if background:
        seeming = np.flatnonzero(rule(p_values) & inside).tolist()
        for number, column in enumerate(seeming):
            progress("comparing with chance", number / len(seeming))
            p_values[column] = max(p_values[column], _by_chance(layout, lasso, start, column, most))
    passed = rule(p_values) & inside
    # Some people hold candidates that were not found. Their share must not go to the candidates that were.
    rest = layout.evenly() if background else layout.mean_of(np.flatnonzero(~passed))
    final = least_squares(layout, fit.columns[passed[fit.columns]], shares, background=rest)
    return _Tested(final, p_values, passed, int(np.count_nonzero(indistinct)))


def _by_chance(layout: Design, lasso: LassoChoice, shares: FloatArray, column: int, most: int) -> float:
    """The p-value of a candidate from its hashes, in a fit without the candidate."""
    stay = lasso.columns != column
    near = LassoChoice(lasso.columns[stay], lasso.coefficients[stay], lasso.penalty)
    weighted = WeightedDesign(layout.matrix, 1 / layout.variances(shares), background=True)
    chosen = lasso_path(weighted, layout.shares, penalty=lasso.penalty, most=most, near=near, without=column)
    for _ in range(2):
        fit = solve(layout, chosen.columns, shares, background=layout.evenly())
        shares = layout.shares - fit.rest
    scores = (fit.weights * fit.rest).reshape(-1, layout.bits)
    return hash_p_value(scores, layout.positions[column])


def accepted(p_values: FloatArray, alpha: float, correction: Correction) -> NDArray[np.bool_]:
    """Whether each candidate is accepted: p ≤ alpha/n, or Benjamini and Hochberg's step-up rule."""
    n = p_values.size
    if correction == "bonferroni":
        return p_values <= alpha / n
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= alpha * np.arange(1, n + 1) / n)
    return p_values <= (ordered[below[-1]] if below.size else -1.0)


def _described(
    fit: Fit,
    p_values: FloatArray,
    passed: NDArray[np.bool_],
    chosen: Indices,
    layout: Design,
    listed: CandidateMap,
    level: float,
) -> tuple[Candidate, ...]:
    """The candidates that were found, and those that the lasso chose, if they can be estimated."""
    width = float(norm.isf((1 - level) / 2))
    shown = np.union1d(fit.columns, chosen)
    shown = shown[~np.isnan(fit.proportions[shown])]
    described = []
    for column in shown[np.argsort(-fit.proportions[shown], kind="stable")].tolist():
        share, error = float(fit.proportions[column]), float(np.sqrt(fit.variances[column]))
        name, *alike = (listed.names[i] for i in layout.members[column])
        described.append(
            Candidate(
                name=name,
                alike=tuple(alike),
                count=share * layout.total,
                count_error=error * layout.total,
                proportion=share,
                standard_error=error,
                lower=min(1.0, max(0.0, share - width * error)),
                upper=min(1.0, max(0.0, share + width * error)),
                p_value=float(p_values[column]),
                found=bool(passed[column]),
            )
        )
    return tuple(described)


# --- how easily a string that nobody holds seems to be held, because other strings set its bits -----------

_SHIFT = 0.05
"""All roundings together raise the sum by at most this part of its standard deviation."""
_MOST_POINTS = 1 << 21
"""The largest number of points of the grid on which sums are rounded, which limits memory."""
_FFT_ERROR = 1e-11
"""An upper bound on the error that rounding in the transforms makes in a tail."""


def hash_p_value(scores: FloatArray, positions: NDArray[np.int64]) -> float:
    """P(T of random bits ≥ T of these bits). It is an upper bound, since all rounding makes it larger.

    The bits of a string are as good as random: hash i of cohort c is uniform over the bits, independently of all
    other strings. So if nobody holds a candidate, its bits are independent of the counts and of the other
    candidates, whatever people hold instead. The scores g are from a fit without the candidate. Its score T is the
    sum of g over its cohorts and hashes. It is then a sum of independent draws, one from row c of g for each hash
    of cohort c. The p-value is the probability that such a sum is at least T. It is computed, not sampled, and
    holds however many people hold unlisted strings.

    `scores[c, b]` is the score of bit b in cohort c. `positions[c, i]` is the bit that hash i sets there.
    """
    cohorts, bits = scores.shape
    hashes = positions.shape[1]
    lowest = scores.min(axis=1, keepdims=True)
    above = scores - lowest
    spread = float(np.sqrt(hashes * above.var(axis=1).sum()))
    reach = hashes * float(above.max(axis=1).sum())
    if spread == 0:
        return 1.0
    step = max(_SHIFT * spread / (cohorts * hashes), reach / _MOST_POINTS)
    reached = int(np.floor(np.take_along_axis(above, positions, axis=1).sum() / step * (1 - 1e-12)))
    rounded = np.ceil(above / step).astype(np.int64)
    law = _law_of_sum([_law_of_sum([np.bincount(row) / bits] * hashes) for row in rounded])
    return float(min(1.0, max(0.0, law[reached:].sum()) + _FFT_ERROR))


def _law_of_sum(laws: Sequence[FloatArray]) -> FloatArray:
    """The law of a sum of independent whole numbers from 0 on. Short laws are joined first: short transforms."""
    while len(laws) > 1:
        ordered = sorted(laws, key=len)
        pairs = zip(ordered[::2], ordered[1::2], strict=False)
        laws = [_joined(one, other) for one, other in pairs] + ordered[len(ordered) // 2 * 2 :]
    return laws[0]


def _joined(one: FloatArray, other: FloatArray) -> FloatArray:
    """The law of the sum of two independent whole numbers."""
    size = one.size + other.size - 1
    length = next_fast_len(size, real=True)
    transform = rfft(one, length)
    transform *= transform if other is one else rfft(other, length)
    return irfft(transform, length)[:size]


# --- the rivals of a candidate, which could explain the counts instead ------------------------------------

_RIVALS = 16
"""The largest number of rivals that are added to the model."""


def p_value_with_rivals(design: Design, fit: Fit, column: int, penalty: float) -> float:
    """The p-value of a candidate in the model once its rivals are added; NaN if they cannot be distinguished.

    When the candidate is taken out of the model, the residuals point to other candidates. Those that they point to
    by more than the penalty are the rivals.
    """
    lead = int(fit.background is not None)
    index = lead + int(np.flatnonzero(fit.columns == column)[0])
    columns = model(design, fit.columns, fit.background)
    step = fit.inverse[:, index] / fit.inverse[index, index]
    without = fit.rest + columns @ (step * fit.solution[index])
    asked = (design.matrix.T @ (fit.weights * without)) / np.sqrt(design.matrix.T @ fit.weights)
    asked[fit.columns] = -np.inf
    rivals = np.argsort(-asked, kind="stable")[:_RIVALS]
    rivals = rivals[asked[rivals] > penalty]
    if rivals.size == 0:
        return float(fit.p_values[column])
    if fit.untestable[rivals].any():
        return math.nan  # One of the rivals is a mixture of this candidate and others.
    added = design.matrix[:, rivals]
    heavy = csc_array(added.multiply(fit.weights[:, None]))
    shared = (columns.T @ heavy).toarray()
    through = fit.inverse @ shared
    gram = (added.T @ heavy).toarray() - shared.T @ through
    kept = independent(gram)
    through, gram = through[:, kept], gram[np.ix_(kept, kept)]
    moved = np.linalg.solve(gram, (heavy.T @ fit.rest)[kept])
    value = fit.solution[index] - through[index] @ moved
    wider = 1 + through[index] @ np.linalg.solve(gram, through[index]) / fit.inverse[index, index]
    bits = np.diff(design.matrix.indptr)[column]
    return float(p_value(value, fit.variances[column] * wider, fit.own[column] * wider, bits, fit.notable))


# --- how long each step takes: by the candidates, their hashes, and the reports ---------------------------

_BYTES_PER_SECOND = 30e6
"""The speed at which single reports are read."""
_OTHER_CELLS = 20
"""About the number of characters of a line that are not of the report."""


def decoding_seconds(params: Rappor, candidates: int, reports: int | Path) -> dict[str, float]:
    """The steps by their names, in their order, with seconds on one core.

    `reports` is their number, or the file that they are read from. Each string found is compared with chance. How
    many these are is a guess: four times the reports show strings of half the share, about twice as many.
    """
    steps = {}
    if isinstance(reports, Path):
        size = reports.stat().st_size if reports.exists() else 0
        steps["reading the reports"] = size / _BYTES_PER_SECOND
        reports = size // (params.bloom_bits + _OTHER_CELLS)
    hashes = candidates * params.cohorts * params.hashes / 1e6
    return {
        **steps,
        "hashing the candidates": 0.8 * hashes,
        "choosing candidates": 0.05 * hashes,
        "least squares": 0.25 * hashes,
        "comparing with chance": 0.4 * hashes * math.sqrt(reports / 1e6),
    }
