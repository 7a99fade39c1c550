"""From the sums of closed rounds to estimates, with the words that people used for their answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import Round
from untrackable.collector.stores.store import Store
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.estimation.aggregators import Aggregator, Estimate
from untrackable.estimation.candidate_sums import CandidateAggregator
from untrackable.estimation.estimate import Ranked
from untrackable.estimation.rounds import Rounds
from untrackable.mechanisms.kept.rappor import RapporAggregator
from untrackable.protocol.campaign import Campaign

MOST_CANDIDATES = 1000
_MOST_NUMBERS = 1 << 24
"""Frequencies that are held at once to pool rounds whose sums do not add up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to estimate: which rounds, of which candidates if they must be named, and how sure to be."""

    rounds: tuple[int, ...]
    candidates: tuple[str, ...] = ()
    beta: float = 0.05


class Answer(NamedTuple):
    """How many reports there were, with which probability the intervals may fail, and the most frequent values."""

    reports: int
    beta: float
    values: list[dict[str, Any]]


def answer(store: Store, campaign: Campaign, question: Question, settings: Settings, top: int) -> Answer:
    """The most frequent values, of a list or, where there is none, as they are discovered."""
    if isinstance(campaign.encoding, DiscoveredStrings):
        return _discovered(store, campaign, campaign.encoding, question, settings, top)
    found = estimate(store, campaign, question, settings)
    return Answer(found.n, found.beta, labelled(campaign, found, top))


def _discovered(
    store: Store,
    campaign: Campaign,
    encoding: DiscoveredStrings,
    question: Question,
    settings: Settings,
    top: int,
) -> Answer:
    """Strings that people hold, except with probability beta: nobody has listed them."""
    from untrackable.discovery.discover import discover

    for number in question.rounds:
        _check_closed(store, campaign, number, settings)
    if question.candidates:
        raise Refused(Problem.MALFORMED_REQUEST, "candidates are for campaigns that ask for strings by their hash")
    sums = _added(store, campaign, question.rounds)
    if sums is None:
        raise Refused(Problem.MALFORMED_REQUEST, "rounds must be one, as sums of this campaign's do not add up")
    found = discover(encoding, sums, alpha=question.beta, leads=0)
    rows = [
        {
            "value": each.string,
            "label": each.string,
            "frequency": each.frequency,
            "standard_error": each.standard_error,
            "lower": each.lower,
            "upper": each.upper,
            "stands_out": True,
        }
        for each in found.strings[:top]
    ]
    return Answer(found.n, question.beta, rows)


def estimate(store: Store, campaign: Campaign, question: Question, settings: Settings) -> Estimate:
    """The frequencies of one round, or pooled over several; refused if one is not closed or has few reports."""
    for number in question.rounds:
        _check_closed(store, campaign, number, settings)
    asked = _values_asked(campaign, question.candidates)
    hashed = isinstance(campaign.encoding, HashedStrings) and bool(question.candidates)
    beta = question.beta / 3 if hashed else question.beta
    try:
        found = _pooled(store, campaign, question.rounds, asked, beta)
        if hashed and isinstance(campaign.encoding, HashedStrings):
            of = None if found.values is None else asked
            return campaign.encoding.candidates(found, question.candidates, of=of)
    except ValueError as error:
        raise Refused(Problem.MALFORMED_REQUEST, str(error)) from None
    return found


def labelled(campaign: Campaign, found: Estimate, top: int) -> list[dict[str, Any]]:
    """The most frequent values, with their labels; values that the encoding does not have are left out."""
    encoding = campaign.encoding
    unused = max(0, found.frequencies.size - encoding.values) if found.values is None else 0
    ranked = [r for r in found.top(top + unused) if not isinstance(r.value, int) or r.value < encoding.values][:top]
    return [_row(campaign, each) for each in ranked]


def _row(campaign: Campaign, ranked: Ranked) -> dict[str, Any]:
    value = ranked.value
    label = (
        campaign.encoding.label(value)
        if isinstance(value, int)
        else ", ".join([value] if isinstance(value, str) else value)
    )
    return {
        "value": value if isinstance(value, int) and value.bit_length() <= 53 else str(value),
        "label": label,
        "frequency": ranked.frequency,
        "standard_error": ranked.standard_error,
        "lower": ranked.lower,
        "upper": ranked.upper,
        "stands_out": ranked.stands_out,
    }


def enough(store: Store, campaign: Campaign, settings: Settings) -> tuple[int, ...]:
    """The closed rounds that have enough reports, in order."""
    return tuple(
        each.number for each in store.rounds(campaign.id) if (each.reports or 0) >= settings.minimum_reports
    )


def _check_closed(store: Store, campaign: Campaign, number: int, settings: Settings) -> None:
    known = store.round(Round(campaign.id, number))
    if known is None or known.reports is None:
        raise Refused(Problem.ROUND_NOT_CLOSED, f"round {number} is not closed: there are no sums of it yet")
    if known.reports < settings.minimum_reports:
        few = f"round {number} has fewer than {settings.minimum_reports} reports, so no estimate is given"
        raise Refused(Problem.WITHHELD, few)


def _values_asked(campaign: Campaign, candidates: Sequence[str]) -> list[int] | None:
    """The encoded values to estimate where not all of them are; None for all."""
    encoding = campaign.encoding
    if candidates:
        if len(candidates) > MOST_CANDIDATES:
            raise Refused(Problem.MALFORMED_REQUEST, f"candidates must be at most {MOST_CANDIDATES}")
        if not isinstance(encoding, HashedStrings):
            raise Refused(Problem.MALFORMED_REQUEST, "candidates are for campaigns that ask for any string")
        try:
            grouped = encoding.grouped(candidates)
        except ValueError as error:
            raise Refused(Problem.MALFORMED_REQUEST, str(error)) from None
        if shared := next((group for group in grouped if len(group) > 1), None):
            raise Refused(Problem.MALFORMED_REQUEST, f"these candidates share a bucket: {', '.join(shared)}")
        return [encoding.encode(string) for string in candidates]
    if _needs_candidates(campaign.mechanism.aggregator(1)):
        if encoding.values > MOST_CANDIDATES:
            raise Refused(
                Problem.CANDIDATES_NEEDED, f"there are {encoding.values} values: name the strings to look for"
            )
        return list(range(encoding.values))
    return None


def _needs_candidates(sums: Aggregator) -> bool:
    return isinstance(sums, (CandidateAggregator, RapporAggregator))


def _pooled(
    store: Store, campaign: Campaign, rounds: Sequence[int], asked: list[int] | None, beta: float
) -> Estimate:
    together = _added(store, campaign, rounds)
    if together is not None:
        return _estimate(together, asked, beta, campaign)
    mechanism = campaign.mechanism
    size = len(asked) if asked else campaign.encoding.values
    if size * len(rounds) > _MOST_NUMBERS:
        raise ValueError(f"rounds must be at most {_MOST_NUMBERS // size} to be pooled for this campaign")
    alone = {
        number: _estimate(mechanism.restore_sums(_sums(store, campaign, number), number), asked, beta, campaign)
        for number in rounds
    }
    return Rounds(mechanism, alone).pooled(beta=beta)


def _added(store: Store, campaign: Campaign, rounds: Sequence[int]) -> Aggregator | None:
    """The sums of all rounds together, if they add up; that is less work, and takes the room of one."""
    empty = [campaign.mechanism.aggregator(number) for number in (rounds[0], rounds[-1])]
    first = empty[0]
    if len(rounds) > 1 and not all(sums.source == first.source and sums.source.pools for sums in empty):
        return None
    for number in rounds:
        first.add_saved(_sums(store, campaign, number))
    return first


def _sums(store: Store, campaign: Campaign, number: int) -> bytes:
    found = store.sums(Round(campaign.id, number))
    if found is None:
        raise Refused(Problem.ROUND_NOT_CLOSED, f"there are no sums of round {number}")
    return found


def _estimate(sums: Aggregator, asked: list[int] | None, beta: float, campaign: Campaign) -> Estimate:
    if isinstance(sums, CandidateAggregator):
        return sums.estimate(beta, candidates=asked)
    if isinstance(sums, RapporAggregator):
        return sums.estimate(asked or range(campaign.encoding.values), beta)
    found: Estimate = sums.estimate(beta)  # type: ignore[attr-defined]
    return found
