"""Finds which candidate strings people hold, and how many people hold each.

A lasso makes a first choice, least squares estimates the chosen candidates, and a test says which are really there.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from untrackable import checks
from untrackable.estimation.aggregators import FloatArray
from untrackable.mechanisms.kept.rappor import Rappor
from untrackable.progress import Progress, no_progress
from untrackable.rappor_decode.candidate_map import CandidateMap
from untrackable.rappor_decode.decode_result import Candidate, Correction, Decoded, Unusual
from untrackable.rappor_decode.design import Design, design
from untrackable.rappor_decode.hash_chance import hash_p_value
from untrackable.rappor_decode.lasso import Indices, LassoChoice, WeightedDesign, lasso_path
from untrackable.rappor_decode.rappor_files import Counts
from untrackable.rappor_decode.regression import Fit, least_squares, solve
from untrackable.rappor_decode.rivals import p_value_with_rivals

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
    laid = design(params, counts, listed)
    covered = laid.covers_everything()
    background = unlisted and not covered
    rows, tested = laid.matrix.shape
    most = max(1, min(_MOST, int(_SHARE_OF_ROWS * rows)))
    # At this penalty, the lasso chooses about one of the candidates that nobody holds.
    penalty = max(0.0, float(norm.isf(1 / tested)))
    level_shares = np.full(rows, float(laid.people @ laid.shares / laid.people.sum()))
    lasso = lasso_path(
        WeightedDesign(laid.matrix, 1 / laid.variances(level_shares), background),
        laid.shares,
        penalty=penalty,
        most=most,
        progress=progress,
    )
    rule = partial(accepted, alpha=alpha, correction=correction)
    outcome = _test(laid, lasso, level_shares, background, rule, penalty, most, progress)
    fit, p_values, found = outcome.fit, outcome.p_values, outcome.found
    allocated, allocated_error = fit.together(found)
    return Decoded(
        params=params,
        reports=counts.total,
        listed=len(listed.names),
        tested=tested,
        candidates=_described(fit, p_values, found, lasso.columns, laid, listed, level),
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
            same_bits=sum(len(group) for group in laid.members if len(group) > 1),
            covered=covered and unlisted,
            stopped_at=most if lasso.columns.size and lasso.penalty > penalty else None,
            indistinct=outcome.indistinct,
        ),
        p_values={
            listed.names[i]: float(p_values[group]) for group, members in enumerate(laid.members) for i in members
        },
    )


class _Tested(NamedTuple):
    """The fit of the candidates found, all p-values, which were found, and how many look like mixtures."""

    fit: Fit
    p_values: FloatArray
    found: NDArray[np.bool_]
    indistinct: int


def _test(
    laid: Design,
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
            fit = least_squares(laid, chosen, shares, background=laid.evenly() if background else None)
            shares = laid.shares - fit.rest
        inside = np.isin(np.arange(fit.p_values.size), fit.columns)
        passing = rule(fit.p_values)
        new = np.flatnonzero(passing & ~inside)
        new = new[np.argsort(fit.p_values[new], kind="stable")][: most - fit.columns.size]
        if new.size == 0:
            break
        chosen = np.concatenate((fit.columns, new))
    p_values = fit.p_values.copy()
    for column in np.flatnonzero(passing & inside).tolist():
        p_values[column] = np.maximum(p_values[column], p_value_with_rivals(laid, fit, column, penalty))
    indistinct = fit.untestable | np.isnan(p_values)
    p_values[indistinct] = 1.0
    if background:
        seeming = np.flatnonzero(rule(p_values) & inside).tolist()
        for number, column in enumerate(seeming):
            progress("comparing with chance", number / len(seeming))
            p_values[column] = max(p_values[column], _by_chance(laid, lasso, start, column, most))
    found = rule(p_values) & inside
    # Some people hold candidates that were not found. Their share must not go to the candidates that were.
    rest = laid.evenly() if background else laid.mean_of(np.flatnonzero(~found))
    final = least_squares(laid, fit.columns[found[fit.columns]], shares, background=rest)
    return _Tested(final, p_values, found, int(np.count_nonzero(indistinct)))


def _by_chance(laid: Design, lasso: LassoChoice, shares: FloatArray, column: int, most: int) -> float:
    """The p-value of a candidate from its hashes, in a fit without the candidate."""
    stay = lasso.columns != column
    near = LassoChoice(lasso.columns[stay], lasso.coefficients[stay], lasso.penalty)
    weighted = WeightedDesign(laid.matrix, 1 / laid.variances(shares), background=True)
    chosen = lasso_path(weighted, laid.shares, penalty=lasso.penalty, most=most, near=near, without=column)
    for _ in range(2):
        fit = solve(laid, chosen.columns, shares, background=laid.evenly())
        shares = laid.shares - fit.rest
    scores = (fit.weights * fit.rest).reshape(-1, laid.bits)
    return hash_p_value(scores, laid.positions[column])


def accepted(p_values: FloatArray, alpha: float, correction: Correction) -> NDArray[np.bool_]:
    """Which candidates are accepted: p ≤ alpha/n, or Benjamini and Hochberg's step-up rule."""
    n = p_values.size
    if correction == "bonferroni":
        result: NDArray[np.bool_] = p_values <= alpha / n
        return result
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= alpha * np.arange(1, n + 1) / n)
    return p_values <= (ordered[below[-1]] if below.size else -1.0)


def _described(
    fit: Fit,
    p_values: FloatArray,
    found: NDArray[np.bool_],
    chosen: Indices,
    laid: Design,
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
        name, *alike = (listed.names[i] for i in laid.members[column])
        described.append(
            Candidate(
                name=name,
                alike=tuple(alike),
                count=share * laid.total,
                count_error=error * laid.total,
                proportion=share,
                standard_error=error,
                lower=min(1.0, max(0.0, share - width * error)),
                upper=min(1.0, max(0.0, share + width * error)),
                p_value=float(p_values[column]),
                found=bool(found[column]),
            )
        )
    return tuple(described)
