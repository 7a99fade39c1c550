"""The result of decoding, in words, as a table and as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from untrackable.mechanisms.kept.rappor import Rappor

Correction = Literal["bonferroni", "fdr"]
"""The correction of p-values for their number: Bonferroni, or Benjamini and Hochberg for false discoveries."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate that was chosen: its estimates are sampled, and raw, so that they may be negative.

    `alike` are candidates with the same bits in every cohort: they were decoded as one. The interval is for this
    candidate alone, cut to 0 … 1.
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


@dataclass(frozen=True, slots=True)
class Decoded:
    """The `candidates` that were chosen, the most frequent first; `found` are those that passed the test.

    `allocated` is the share of people who hold a string that was found; `dispersion` by how much bits vary more
    than noise does (1 if they do not), which the errors include. Of the variance between bits `explained` is due to
    those found, `missing` to something that is neither them nor noise. `p_values` are of all listed candidates.
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
    notes: tuple[str, ...]
    p_values: Mapping[str, float] = field(repr=False)

    @property
    def found(self) -> tuple[Candidate, ...]:
        """The candidates that passed the test."""
        return tuple(candidate for candidate in self.candidates if candidate.found)

    def verdict(self) -> list[str]:
        """The answer in words."""
        rule = (
            f"of which a share of {self.alpha:g} is expected to be false at most (Benjamini–Hochberg, approximate)"
            if self.correction == "fdr"
            else f"a false one among them with probability {self.alpha:g} at most (Bonferroni, approximate)"
        )
        said = [f"{len(self.found):,} of {self.listed:,} candidates found in {self.reports:,} reports, {rule}."]
        if self.found:
            said.append(
                f"They account for {self.allocated:.1%} ± {self.allocated_error:.1%} of the people (sampled; one "
                f"standard error); the others hold rarer candidates or strings that are not listed."
            )
        if self.everlasting_eps_exact == np.inf:
            said.append(
                "Everlasting eps is infinite: f = 0, so that a client's reports, averaged, tell its Bloom filter."
            )
        else:
            said.append(f"Everlasting eps of these parameters: {self.everlasting_eps_exact:.3g} (exact).")
        return said

    def columns(self) -> list[str]:
        """Titles of the table."""
        return ["string", "count", "± s.e.", "proportion", f"{100 * self.level:g} % interval", "p-value", "found"]

    def table(self) -> list[list[str]]:
        """A row for each candidate that was chosen."""
        return [
            [
                " = ".join((one.name, *one.alike)),
                f"{one.count:,.0f}",
                f"{one.count_error:,.0f}",
                f"{one.proportion:.4f}",
                f"{one.lower:.4f} … {one.upper:.4f}",
                f"{one.p_value:.2g}" if one.p_value > 0 else "< 1e-300",
                "yes" if one.found else "no",
            ]
            for one in self.candidates
        ]

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
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
            "verdict": self.verdict(),
            "notes": list(self.notes),
        }
