"""The result of decoding: the candidates that were chosen, with estimates and p-values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from untrackable.estimation.intervals import shown_share
from untrackable.mechanisms.rappor import Rappor
from untrackable.notebook_view import NotebookTable

Correction = Literal["bonferroni", "fdr"]
"""How p-values are corrected for their number: Bonferroni, or Benjamini and Hochberg for false discoveries."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate that was chosen. Its estimates are sampled and not cut off, so they may be negative.

    `alike` are other candidates with the same bits in every cohort, decoded together with this one. The interval is
    for this candidate alone. It is cut to 0 … 1.
    """

    name: str
    alike: tuple[str, ...]
    count: float
    count_error: float
    proportion: float
    standard_error: float
    lower: float
    upper: float
    p_value: float
    found: bool

    @property
    def share(self) -> float | None:
        """The proportion as it is shown: within [0, 1], and None if the reports do not tell it."""
        return shown_share(self.proportion, self.lower, self.upper)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusual:
    """Unusual things about the candidates and the data: none, if all fields have their defaults.

    `differing`: candidates whose bits in the map are not those that the published clients set. `repeated`:
    candidates that were listed again. `empty_cohorts`: cohorts without reports. `same_bits`: candidates that set
    the same bits as another. `covered`: the share of unlisted strings was asked for, but cannot be estimated.
    `stopped_at`: the search stopped early, since it would have chosen more candidates than this. `indistinct`:
    candidates that look like mixtures of others.
    """

    differing: int = 0
    repeated: int = 0
    empty_cohorts: int = 0
    same_bits: int = 0
    covered: bool = False
    stopped_at: int | None = None
    indistinct: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Decoded(NotebookTable):
    """The `candidates` that were chosen, the largest estimates first. `found` are those that passed the test.

    `allocated` is the share of people who hold a string that was found. `dispersion` is the variance of the bits
    over that of noise, at least 1; the errors take it into account. `explained` is the part of the variance between
    bits that the strings found explain; `missing` is the part that neither they nor noise explain. `p_values` has
    all listed candidates.
    """

    params: Rappor
    reports: int
    listed: int
    tested: int
    candidates: tuple[Candidate, ...]
    alpha: float
    correction: Correction
    level: float
    penalty: float
    unlisted: bool
    allocated: float
    allocated_error: float
    dispersion: float
    explained: float
    missing: float
    everlasting_eps_exact: float
    unusual: Unusual
    p_values: Mapping[str, float] = field(repr=False)

    @property
    def found(self) -> tuple[Candidate, ...]:
        """The candidates that passed the test."""
        return tuple(candidate for candidate in self.candidates if candidate.found)

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON data, without the p-values of candidates that were not chosen."""
        p = self.params
        return {
            "params": {"k": p.bloom_bits, "h": p.hashes, "m": p.cohorts, "p": p.p, "q": p.q, "f": p.f},
            "reports": self.reports,
            "listed": self.listed,
            "tested": self.tested,
            "alpha": self.alpha,
            "correction": self.correction,
            "level": self.level,
            "lasso_penalty_standard_errors": self.penalty,
            "unlisted_strings_allowed": self.unlisted,
            "candidates_sampled": [
                {name: getattr(one, name) for name in Candidate.__slots__} for one in self.candidates
            ],
            "allocated_sampled": self.allocated,
            "allocated_standard_error": self.allocated_error,
            "unallocated_sampled": 1 - self.allocated,
            "dispersion_sampled": self.dispersion,
            "variance_explained_sampled": self.explained,
            "variance_missing_sampled": self.missing,
            "everlasting_eps_exact": self.everlasting_eps_exact,
        }
