"""Which candidate strings people hold, and how many people hold each: lasso, least squares, p-values."""

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
from untrackable.rappor_decode.decode_result import Candidate, Correction, Decoded
from untrackable.rappor_decode.design import Design, design
from untrackable.rappor_decode.hash_chance import hash_p_value
from untrackable.rappor_decode.lasso import Indices, LassoChoice, WeightedDesign, lasso_path
from untrackable.rappor_decode.rappor_files import Counts
from untrackable.rappor_decode.regression import Fit, least_squares
from untrackable.rappor_decode.rivals import p_value_with_rivals

_MOST = 500
_SHARE_OF_ROWS = 0.8
_ROUNDS = 10
_NOTABLE = 1.2


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
    """Decode counts of reports, one of each person, into the strings that people hold.

    `alpha` bounds the probability of a false string, or with `correction="fdr"` the expected share of them. Unless
    `unlisted`, everyone holds one of the candidates. `level` is the confidence of each interval.
    """
    alpha, level = checks.open_probability("alpha", alpha), checks.open_probability("level", level)
    checks.choice("correction", correction, ("bonferroni", "fdr"))
    notes: list[str] = []
    if isinstance(candidates, CandidateMap):
        listed = candidates
        _compare(listed, params, notes, progress)
    else:
        listed = CandidateMap.of(params, candidates, progress=progress)
    laid = design(params, counts, listed)
    _note(laid, listed, counts, notes)
    background = unlisted
    if laid.covers_everything():
        background = False
        if unlisted:
            notes.append("the candidates cover all bits evenly, so no share of unlisted strings can be estimated")
    rows, tested = laid.matrix.shape
    most = max(1, min(_MOST, int(_SHARE_OF_ROWS * rows)))
    # Of the candidates that nobody holds, about one is chosen.
    penalty = max(0.0, float(norm.isf(1 / tested)))
    level_shares = np.full(rows, float(laid.people @ laid.shares / laid.people.sum()))
    lasso = lasso_path(
        WeightedDesign(laid.matrix, 1 / laid.variances(level_shares), background),
        laid.shares,
        penalty=penalty,
        most=most,
        progress=progress,
    )
    if lasso.columns.size and lasso.penalty > penalty:
        notes.append(f"more than {most} candidates seemed to be there: the penalty stayed at {lasso.penalty:.3g}")
    rule = partial(accepted, alpha=alpha, correction=correction)
    outcome = _test(laid, lasso, level_shares, background, rule, penalty, most, progress)
    fit, p_values, found = outcome.fit, outcome.p_values, outcome.found
    if outcome.hidden:
        notes.append(
            f"{outcome.hidden:,} candidates cannot be told from mixtures of others, and count as not found"
        )
    if fit.dispersion > _NOTABLE:
        notes.append(
            f"bits vary {fit.dispersion:.3g} times as much as noise does (sampled): strings that were not found "
            "are common, or people reported more than once"
        )
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
        notes=tuple(notes),
        p_values={
            listed.names[i]: float(p_values[group]) for group, members in enumerate(laid.members) for i in members
        },
    )


class _Tested(NamedTuple):
    """The fit with the candidates found, all p-values, which were found, and how many cannot be told apart."""

    fit: Fit
    p_values: FloatArray
    found: NDArray[np.bool_]
    hidden: int


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
    """Test all candidates. Those that pass although the lasso left them out join the fit, which is then repeated.

    Candidates that pass in the end are tested once more beside their rivals, and estimated without the failed ones.
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
    hidden = fit.untestable | np.isnan(p_values)
    p_values[hidden] = 1.0
    if background:
        seeming = np.flatnonzero(rule(p_values) & inside).tolist()
        for number, column in enumerate(seeming):
            progress("comparing with chance", number / len(seeming))
            p_values[column] = max(p_values[column], _by_chance(laid, lasso, start, column, most))
    found = rule(p_values) & inside
    # Candidates that were not found still hold a share between them, which must not go to those that were.
    rest = laid.evenly() if background else laid.mean_of(np.flatnonzero(~found))
    final = least_squares(laid, fit.columns[found[fit.columns]], shares, background=rest)
    return _Tested(final, p_values, found, int(np.count_nonzero(hidden)))


def _by_chance(laid: Design, lasso: LassoChoice, shares: FloatArray, column: int, most: int) -> float:
    """The p-value of a candidate from its hashes, in a fit that was made as if it were not listed."""
    others = laid.without(column)
    stay = lasso.columns != column
    columns = lasso.columns[stay]
    near = LassoChoice(columns - (columns > column), lasso.coefficients[stay], lasso.penalty)
    weighted = WeightedDesign(others.matrix, 1 / laid.variances(shares), background=True)
    chosen = lasso_path(weighted, laid.shares, penalty=lasso.penalty, most=most, near=near)
    for _ in range(2):
        fit = least_squares(others, chosen.columns, shares, background=others.evenly())
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
    """Those found, and those chosen as well if they can be estimated."""
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


def _compare(listed: CandidateMap, params: Rappor, notes: list[str], progress: Progress) -> None:
    """Note if the map is not what the clients' hashing gives; it is used as it is."""
    differing = listed.differing(params, progress=progress)
    if differing:
        notes.append(
            f"the map differs from the hashing of the published clients for {len(differing):,} of "
            f"{len(listed.names):,} candidates (an older version, basic RAPPOR, or damage); it is used as it is"
        )


def _note(laid: Design, listed: CandidateMap, counts: Counts, notes: list[str]) -> None:
    if listed.repeated:
        notes.append(f"{listed.repeated:,} candidates are listed again, and count once")
    empty = int(np.count_nonzero(counts.reports == 0))
    if empty:
        notes.append(f"{empty:,} of {counts.reports.size:,} cohorts have no reports")
    same = sum(len(group) for group in laid.members if len(group) > 1)
    if same:
        notes.append(f"{same:,} candidates set the same bits as another in every cohort, and are decoded as one")
