"""Decoded RAPPOR data in plain words, and as a table with one row for each candidate."""

import math
from collections.abc import Iterable

from untrackable.display.percentages import CANNOT_TELL, string_notes
from untrackable.rappor_decode.decode_result import Decoded

_NOTABLE = 1.2
"""From this dispersion on, a note says that bits vary more than noise explains."""


def verdict(decoded: Decoded) -> list[str]:
    """How many strings were found, how many people hold them, and how private the data are."""
    false = (
        f"At most a share of {decoded.alpha:g} of them is expected to be false (Benjamini–Hochberg, approximate)."
        if decoded.correction == "fdr"
        else f"The probability that any of them is false is at most {decoded.alpha:g} (Bonferroni, approximate)."
    )
    found = f"{len(decoded.found):,} of {decoded.listed:,} candidates were found in {decoded.reports:,} reports."
    sentences = [f"{found} {false}"]
    if decoded.found:
        sentences.append(
            f"{decoded.allocated:.1%} ± {decoded.allocated_error:.1%} of the people hold a string that was found "
            "(sampled; one standard error). The others hold rarer candidates or strings that are not listed."
        )
    if math.isinf(decoded.everlasting_eps_exact):
        sentences.append(
            "Everlasting eps is infinite: f = 0, so the average of a client's reports reveals its Bloom filter."
        )
    else:
        sentences.append(f"Everlasting eps of these parameters: {decoded.everlasting_eps_exact:.3g} (exact).")
    return sentences


def notes(decoded: Decoded) -> list[str]:
    """What was unusual, in the data or in the search."""
    return list(_notes(decoded))


def _notes(decoded: Decoded) -> Iterable[str]:
    unusual = decoded.unusual
    if unusual.differing:
        yield (
            f"The map differs from the hashing of the published clients for {unusual.differing:,} of "
            f"{decoded.listed:,} candidates. It may be of an older version, of basic RAPPOR, or damaged. It was "
            "used as it is."
        )
    if unusual.repeated:
        yield f"Candidates that were listed again, and count once: {unusual.repeated:,}."
    if unusual.empty_cohorts:
        yield f"{unusual.empty_cohorts:,} of {decoded.params.cohorts:,} cohorts have no reports."
    if unusual.same_bits:
        yield f"{unusual.same_bits:,} candidates set the same bits as another in every cohort, and count as one."
    if unusual.covered:
        yield "The candidates cover all bits evenly, so the share of unlisted strings cannot be estimated."
    if unusual.stopped_at is not None:
        yield (
            f"More than {unusual.stopped_at:,} candidates seem to be held, so the search stopped early, at a "
            f"penalty of {decoded.penalty:.3g} standard errors."
        )
    if unusual.indistinct:
        yield f"Candidates that look like mixtures of others, and count as not found: {unusual.indistinct:,}."
    yield from (f"{note[:1].upper()}{note[1:]}." for note in string_notes(decoded.candidates))
    if decoded.dispersion > _NOTABLE:
        yield (
            f"Bits vary {decoded.dispersion:.3g} times as much as noise does (sampled). Either strings that were "
            "not found are common, or people reported more than once."
        )


def columns(decoded: Decoded) -> list[str]:
    """Headings of the table."""
    return ["string", "count", "± s.e.", "proportion", f"{100 * decoded.level:g} % interval", "p-value", "found"]


def cells(decoded: Decoded) -> list[list[str]]:
    """A row for each candidate that was chosen."""
    return [
        [
            " = ".join((one.name, *one.alike)),
            f"{one.count:,.0f}",
            f"{one.count_error:,.0f}",
            CANNOT_TELL if one.share is None else f"{one.share:.4f}",
            f"{one.lower:.4f} … {one.upper:.4f}",
            f"{one.p_value:.2g}" if one.p_value > 0 else "< 1e-300",
            "yes" if one.found else "no",
        ]
        for one in decoded.candidates
    ]
