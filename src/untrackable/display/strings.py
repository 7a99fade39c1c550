"""Strings that were discovered, or decoded from data that RAPPOR collected: in words, as views and as charts."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from untrackable import strict_json
from untrackable.discovery.discovery import Discovered, FoundString
from untrackable.display import view
from untrackable.display.charts import Bar, BarWords, share_bars
from untrackable.display.estimate import UNKNOWN_IF_DISCOVERED
from untrackable.display.numbers import CANNOT_TELL, NOT_TOLD, STRING_ORDER, percent
from untrackable.rappor_decode.decode_result import Candidate, Decoded

_NOTABLE = 1.2
"""From this dispersion on, a note says that bits vary more than noise explains."""


def verdict(decoded: Decoded) -> list[str]:
    """How many strings were found, how many people hold them, and how private the data are."""
    false = (
        f"At most a share of {decoded.alpha:g} of them is expected to be false (Benjamini–Hochberg, approximate)."
        if decoded.correction == "fdr"
        else f"The probability that any of them is false is at most {decoded.alpha:g} (Bonferroni, approximate)."
    )
    count = f"{len(decoded.found):,} of {decoded.listed:,} candidates were found in {decoded.reports:,} reports."
    sentences = [f"{count} {false}"]
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


def notes(decoded: Decoded) -> Iterator[str]:
    """What was unusual, in the data or in the search."""
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


def string_notes(strings: Sequence[Candidate | FoundString]) -> list[str]:
    """Why some shares of strings are not shown, and what is not certain about the order of their estimates."""
    overlap = any(one.lower <= other.upper for one, other in pairwise(strings))
    return [NOT_TOLD] * any(one.share is None for one in strings) + [STRING_ORDER] * overlap


@view.make_view.register
def _(decoded: Decoded) -> view.View:
    sentences, remarks = verdict(decoded), list(notes(decoded))
    rows = [
        (
            " = ".join((one.name, *one.alike)),
            f"{one.count:,.0f}",
            f"{one.count_error:,.0f}",
            CANNOT_TELL if one.share is None else f"{one.share:.4f}",
            f"{one.lower:.4f} … {one.upper:.4f}",
            f"{one.p_value:.2g}" if one.p_value > 0 else "< 1e-300",
            "yes" if one.found else "no",
        )
        for one in decoded.candidates
    ]
    table = view.Table(
        ("string", "count", "± s.e.", "proportion", f"{100 * decoded.level:g} % interval", "p-value", "found"),
        rows,
        caption="All numbers are sampled. Intervals and p-values are for each string alone",
    )
    return view.View(
        title=f"{len(decoded.found):,} of {decoded.listed:,} candidates found in {decoded.reports:,} reports",
        sentences=sentences,
        tables=[table],
        data=lambda: _decoded_data(decoded),
        notes=remarks,
        json=lambda: {**decoded.as_dict(), "verdict": sentences, "notes": remarks},
    )


def _decoded_data(decoded: Decoded) -> view.Columns:
    kinds: dict[str, view.Kind] = {"name": "string", "alike": "texts", "found": "bool"}
    fields = {
        name: view.Column(kinds.get(name, "float64"), [getattr(one, name) for one in decoded.candidates])
        for name in Candidate.__slots__
    }
    told = view.truths(one.share is not None for one in decoded.candidates)
    shares = view.floats(one.share for one in decoded.candidates)
    return {**fields, "proportion": shares, "tells": told, "unclamped": fields["proportion"]}


@view.make_view.register
def _(discovered: Discovered) -> view.View:
    count, n = len(discovered.strings), discovered.n
    told = (
        f"{n:,} reports; {count} strings that people hold (the probability that any is false is at most "
        f"{discovered.alpha:g}, upper); looked at {discovered.tried:,} prefixes in {discovered.passes} passes"
    )
    # Leads are in the order of what all levels say about them, but a reader sees only the columns of the table.
    leads = sorted(discovered.leads, key=lambda lead: (lead.p_value, -lead.frequency / (lead.standard_error or 1)))
    rows = [
        (
            each.string or "(empty)",
            CANNOT_TELL if each.share is None else f"{100 * each.share:.2f} %",
            "" if each.share is None else f"{100 * each.standard_error:.2f} %",
            f"{percent(each.lower, 'down').removesuffix(' %')} … {percent(each.upper, 'up')}",
            f"{each.p_value:.1g}",
            "" if each.p_value <= discovered.alpha else "may be noise",
        )
        for each in (*discovered.strings, *leads)
    ]
    return view.View(
        title=f"{count:,} string{'' if count == 1 else 's'} found in {n:,} reports",
        sentences=[told],
        tables=[view.Table(("string", "share", "std. error", "all within", "p-value", ""), rows)],
        data=lambda: _discovered_data(discovered),
        notes=[
            "std. error: estimated; all within: holds for all strings at once (upper)",
            "p-value: adjusted for all possible strings (upper)",
            *string_notes(discovered.strings),
            _findable(discovered),
            UNKNOWN_IF_DISCOVERED,
        ],
        json=lambda: strict_json.parse(discovered.to_json()),
    )


def _findable(discovered: Discovered) -> str:
    """The smallest share at which a string is probably found."""
    of = f"a string of {discovered.longest} symbols"
    if discovered.findable is None:
        return (
            f"{of} cannot be found with these settings, even if everyone holds it: there are too few buckets for "
            "the number of possible strings; use more bucket_bits, or look at the whole string more often"
        )
    return (
        f"{of} held by fewer than {100 * discovered.findable:.2g} % of people is more likely missed than found "
        "(estimated); shorter strings need less"
    )


def _discovered_data(discovered: Discovered) -> view.Columns:
    strings = [*discovered.strings, *discovered.leads]
    return {
        "string": view.texts(each.string for each in strings),
        "frequency": view.floats(each.share for each in strings),
        "tells": view.truths(each.share is not None for each in strings),
        "unclamped": view.floats(each.frequency for each in strings),
        **{name: view.floats(getattr(each, name) for each in strings) for name in FoundString._fields[2:]},
        "certain": view.truths(place < len(discovered.strings) for place in range(len(strings))),
    }


@view.make_charts.register
def _(decoded: Decoded, top: int) -> list[view.Chart]:
    """The shares of the strings that were chosen, with their intervals."""
    shown = decoded.candidates[:top]
    left_out = len(decoded.candidates) - len(shown)
    more = f"; the {len(shown)} largest estimates of {len(decoded.candidates):,} are drawn" if left_out else ""
    words = BarWords(
        f"{len(decoded.found):,} of {decoded.listed:,} candidates found in {decoded.reports:,} reports{more}",
        "found: it passed the test (approximate)",
        "not found: it may be noise",
        f"estimate (sampled), and a {100 * decoded.level:g} % interval of each alone (approximate)",
    )
    bars = [Bar(one.name, one.share, one.lower, one.upper, one.found) for one in shown]
    return [share_bars("strings", bars, words)]


@view.make_charts.register
def _(discovered: Discovered, top: int) -> list[view.Chart]:
    """The shares of the strings that people hold, and then of leads, with intervals for all strings at once."""
    shown = discovered.best(top)
    certain, leads = len(discovered.strings), len(discovered.leads)
    left_out = certain + leads - len(shown)
    more = f", and {leads:,} lead{'' if leads == 1 else 's'}" if leads else ""
    more += f"; {left_out:,} more are not drawn" if left_out else ""
    words = BarWords(
        f"{certain:,} string{'' if certain == 1 else 's'} found in {discovered.n:,} reports{more}",
        f"held by somebody, all of them, except with probability {discovered.alpha:g} (upper)",
        "a lead: it may be noise",
        f"estimate (sampled), and an interval for all strings at once, except with probability "
        f"{discovered.alpha:g} (upper; strings that share a bucket by chance add a little)",
    )
    bars = [Bar(each.string, each.share, each.lower, each.upper, i < certain) for i, each in enumerate(shown)]
    return [share_bars("strings", bars, words)]
