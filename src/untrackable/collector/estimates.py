"""What the collector answers: the most frequent values of closed rounds, from their stored sums.

Rounds with too few reports are not published. A campaign that relies on a crowd needs many.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from untrackable.answers.answer import (
    Answer,
    CandidatesNeeded,
    NumberSummary,
    Question,
    add_up,
    merged_sums,
    number_summary,
    pooled_estimate,
)
from untrackable.answers.trend import NumberTrend, number_trends, trend
from untrackable.collector.problems import Problem
from untrackable.collector.settings import Settings
from untrackable.collector.store import Round, Store, StoredRound
from untrackable.encodings.strings import DiscoveredStrings, HashedStrings
from untrackable.estimation.aggregators import Aggregator
from untrackable.estimation.estimate import Estimate, Invented, Ranked, share_heard
from untrackable.estimation.rounds import ActivePeople, active_people
from untrackable.protocol.campaign import Campaign
from untrackable.serving.problems import Refused

if TYPE_CHECKING:
    from untrackable.discovery.discovery import FoundString


def fewest_reports(campaign: Campaign, settings: Settings) -> int:
    """The smallest number of reports of a round that is published."""
    return max(settings.minimum_reports, campaign.fewest_reports)


def is_small(campaign: Campaign, round: StoredRound, settings: Settings) -> bool:
    """Whether a closed round has too few reports to be published."""
    return round.reports is not None and round.reports < fewest_reports(campaign, settings)


def reports_missing(campaign: Campaign, round: StoredRound, now: float) -> int | None:
    """How many more reports it would have taken for the declared crowd; None if there were enough of them.

    It is None too if the round is not over. It gives the size of a withheld round away, so it is for those alone
    who run the campaign or have a key.
    """
    if round.reports is None or round.reports >= campaign.fewest_reports or now < campaign.begins(round.number + 1):
        return None
    return campaign.fewest_reports - round.reports


MOST_CANDIDATES = 1000
DEFAULT_TOP, MOST_TOP = 50, 1000
"""The default and the largest number of values in an estimate."""
_MOST_NUMBERS = 1 << 24
"""The largest number of frequencies held at once, to pool rounds whose sums do not add up."""


class FrequentValues(NamedTuple):
    """The most frequent values of some rounds as rows of JSON, the largest first; and of how many they are.

    `chance` is the probability with which somebody answers a given round, and `numbers` has mean and quantiles if
    people answer with numbers. `invented` says how many invented reports would move a share by its interval.
    Intervals fail with probability at most `beta`, for all values at once.
    """

    rounds: tuple[int, ...]
    reports: int
    chance: Fraction
    people: ActivePeople
    beta: float
    rows: list[dict[str, Any]]
    numbers: NumberSummary | None = None
    invented: Invented | None = None

    def to_json(self) -> dict[str, Any]:
        """All of it, as the API says it."""
        return {
            "rounds": list(self.rounds),
            "reports": self.reports,
            "chance": str(self.chance),
            "people": self.people.to_json(),
            "beta": self.beta,
            "intervals": "upper, for all values at once",
            "values": self.rows,
            **({} if self.numbers is None else {"numbers": self.numbers.to_json()}),
            **({} if self.invented is None else {"invented": self.invented.to_json()}),
        }


class StoredSums(Mapping[int, Aggregator]):
    """The sums of closed rounds by round. Each is read from the store when it is asked for, and not kept."""

    def __init__(
        self, store: Store, campaign: Campaign, rounds: Sequence[int], question: Question | None = None
    ) -> None:
        self._store, self._campaign, self._rounds, self._question = store, campaign, tuple(rounds), question

    def __getitem__(self, number: int) -> Aggregator:
        data = self._store.sums(Round(self._campaign.id, number))
        if data is None:
            raise Refused(Problem.ROUND_NOT_CLOSED, f"there are no sums of round {number}")
        sums = self._campaign.mechanism.restore_sums(data, number)
        return sums if self._question is None else self._question.prepare(sums)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rounds)

    def __len__(self) -> int:
        return len(self._rounds)


class Query(NamedTuple):
    """What is asked of closed rounds: of strings to look for if there are any, or of a table, and how many values.

    Intervals fail with probability at most `beta`.
    """

    rounds: tuple[int, ...]
    candidates: tuple[str, ...] = ()
    table: str | None = None
    beta: float = 0.05
    top: int = DEFAULT_TOP


def frequent_values(store: Store, campaign: Campaign, settings: Settings, query: Query) -> FrequentValues:
    """The most frequent values of one round, or of several pooled: of a list, or discovered if there is none.

    This is refused if a round is not closed or has too few reports.
    """
    rounds, beta = query.rounds, query.beta
    reports = [_checked_reports(store, campaign, number, settings) for number in rounds]
    encoding, withheld = campaign.encoding, _withheld(store, campaign, settings, rounds)
    fewest = fewest_reports(campaign, settings)
    people = active_people(reports, campaign.turns, beta, missing=withheld, fewest=fewest)
    if isinstance(encoding, DiscoveredStrings):
        if query.candidates:
            raise Refused(
                Problem.MALFORMED_REQUEST, "candidates are for campaigns that ask for strings by their hash"
            )
        return _discovered(store, campaign, encoding, query, people)
    question = _question(campaign, query)
    estimate = _estimate(question, StoredSums(store, campaign, rounds, question), beta)
    numbers = number_summary(question.encoding, estimate)
    rows = _rows(question, estimate, campaign.answers.values, query.top)
    invented = estimate.invented() if rows else None
    return FrequentValues(rounds, estimate.n, campaign.chance, people, estimate.beta, rows, numbers, invented)


def trend_of_values(
    store: Store, campaign: Campaign, query: Query, values: Sequence[Any]
) -> tuple[NumberTrend, ...]:
    """How the shares of values, or of cells of a table, develop over rounds that have enough reports.

    Each look of a path is a round of its own.

    Strings that nobody listed are refused: each round would have to find them again.
    """
    if isinstance(campaign.encoding, DiscoveredStrings):
        raise Refused(Problem.MALFORMED_REQUEST, "strings that nobody listed have no trend")
    question = _question(campaign, query)
    try:
        return trend(question, StoredSums(store, campaign, query.rounds, question), values, beta=query.beta)
    except CandidatesNeeded as error:
        raise Refused(Problem.CANDIDATES_NEEDED, f"{error}: name the strings to look for") from None


def trend_of_numbers(
    store: Store, campaign: Campaign, rounds: Sequence[int], *, beta: float = 0.05
) -> tuple[NumberTrend, ...]:
    """Mean and quantiles over rounds that have enough reports; none if people do not answer with numbers."""
    if not campaign.answers.ordered or campaign.encoding.values * len(rounds) > _MOST_NUMBERS:
        return ()
    question = Question(campaign.mechanism, campaign.encoding, turns=campaign.turns)
    sums = StoredSums(store, campaign, rounds, question)
    alone: dict[int, Estimate] = {}
    for number in rounds:
        alone |= question.estimates(number, sums[number], beta)
    return number_trends(Answer(question=question, rounds=alone, pooled=None), beta=beta)


def rounds_with_enough_reports(store: Store, campaign: Campaign, settings: Settings) -> tuple[int, ...]:
    """The closed rounds that have enough reports, in order."""
    return tuple(
        each.number
        for each in store.rounds(campaign.id)
        if each.reports is not None and not is_small(campaign, each, settings)
    )


def _withheld(store: Store, campaign: Campaign, settings: Settings, rounds: Sequence[int]) -> int:
    """How many rounds are missing among these because they have too few reports, or none.

    If these are all that have enough, those before the first and after the last one are missing, too.
    """
    if len(rounds) < 2:
        return 0
    ends = (min(rounds), max(rounds))
    if tuple(rounds) == rounds_with_enough_reports(store, campaign, settings):
        closed = [each.number for each in store.rounds(campaign.id) if each.reports is not None]
        ends = (min(closed), max(closed))
    return ends[1] - ends[0] + 1 - len(rounds)


def _checked_reports(store: Store, campaign: Campaign, number: int, settings: Settings) -> int:
    """How many reports a round has, if it is closed and has enough of them."""
    stored = store.round(Round(campaign.id, number))
    if stored is not None and stored.state == "closed" and stored.reports is None:
        raise Refused(Problem.NOT_FOUND, f"the sums of round {number} were deleted")
    if stored is None or stored.reports is None:
        raise Refused(Problem.ROUND_NOT_CLOSED, f"round {number} is not closed: there are no sums of it yet")
    if is_small(campaign, stored, settings):
        # The words say nothing about how many reports it has.
        few = f"round {number} has fewer than {fewest_reports(campaign, settings)} reports"
        raise Refused(Problem.WITHHELD, f"{few}, so no estimate is given")
    return stored.reports


def _question(campaign: Campaign, query: Query) -> Question:
    """What is asked of the sums. Values that the encoding does not use are among those that are tested."""
    candidates = query.candidates
    if len(candidates) > MOST_CANDIDATES:
        raise Refused(Problem.MALFORMED_REQUEST, f"candidates must be at most {MOST_CANDIDATES}")
    if candidates and not isinstance(campaign.encoding, HashedStrings):
        raise Refused(Problem.MALFORMED_REQUEST, "candidates are for campaigns that ask for any string")
    if len(set(candidates)) < len(candidates):
        raise Refused(Problem.MALFORMED_REQUEST, "each candidate must be given only once")
    try:
        question = Question(
            campaign.mechanism,
            campaign.encoding,
            candidates or None,
            most_listed=MOST_CANDIDATES,
            unused_values=True,
            turns=campaign.turns,
            table=query.table,
        )
    except ValueError as error:
        raise Refused(Problem.MALFORMED_REQUEST, str(error)) from None
    if shared := next((group for group in question.groups if len(group) > 1), None):
        raise Refused(Problem.MALFORMED_REQUEST, f"these candidates share a bucket: {', '.join(shared)}")
    return question


def _estimate(question: Question, sums: StoredSums, beta: float) -> Estimate:
    try:
        question.prepare(question.mechanism.aggregator(min(sums)))  # This refuses what cannot be answered, first.
        _check_size(question, sums)
        pooled = pooled_estimate(question, sums, beta)
        if pooled.estimate is None:
            raise Refused(Problem.MALFORMED_REQUEST, pooled.note)
        return question.named(pooled.estimate)
    except CandidatesNeeded as error:
        raise Refused(Problem.CANDIDATES_NEEDED, f"{error}: name the strings to look for") from None
    except ValueError as error:
        raise Refused(Problem.MALFORMED_REQUEST, str(error)) from None


def _check_size(question: Question, sums: StoredSums) -> None:
    """Refuse rounds that take too much memory: of those whose sums do not add up, each has its own estimate."""
    if question.size * len(sums) > _MOST_NUMBERS and not add_up(question.mechanism, sums):
        most = _MOST_NUMBERS // question.size
        raise ValueError(f"rounds must be at most {most} to be pooled for this campaign")


def _discovered(
    store: Store, campaign: Campaign, encoding: DiscoveredStrings, query: Query, people: ActivePeople
) -> FrequentValues:
    """The most frequent strings that people hold, each of them except with probability beta. Nobody listed them."""
    from untrackable.discovery.discovery import discover

    rounds = query.rounds
    if not add_up(campaign.mechanism, rounds):
        raise Refused(Problem.MALFORMED_REQUEST, "rounds must be one, as sums of this campaign's do not add up")
    sums = merged_sums(StoredSums(store, campaign, rounds), campaign.mechanism.aggregator(rounds[0]))
    discovered = discover(encoding, sums, alpha=query.beta, leads=0, heard=share_heard(campaign.turns, len(rounds)))
    rows = [
        _row(each.string, each.string, each, each.share, each.frequency, each.lower > 0)
        for each in discovered.strings[: query.top]
    ]
    return FrequentValues(rounds, discovered.n, campaign.chance, people, query.beta, rows)


def _rows(question: Question, estimate: Estimate, used: int, top: int) -> list[dict[str, Any]]:
    """The values with the largest estimates, with their labels. Only the first `used` are values of the encoding.

    There are none if reports tell nothing about single values, but only their mean, or if nothing was asked.
    """
    if used == 1:
        return []
    unused = max(0, estimate.frequencies.size - used) if estimate.values is None else 0
    ranked = [r for r in estimate.top(top + unused) if not isinstance(r.value, int) or r.value < used]
    least = min(sorted((each.unclamped for each in ranked), reverse=True)[:top], default=0.0)
    chosen = [each for each in ranked if each.unclamped >= least][:top]
    return [
        _row(each.value, question.label(each.value), each, each.frequency, each.unclamped, each.stands_out)
        for each in chosen
        if math.isfinite(each.standard_error)
    ]


def _row(
    value: Any, label: str, found: "Ranked | FoundString", share: float | None, unclamped: float, stands_out: bool
) -> dict[str, Any]:
    """A value of an answer. `share` is None if the reports do not tell it."""
    return {
        "value": value if isinstance(value, int) and value.bit_length() <= 53 else str(value),
        "label": label,
        "frequency": share,
        "tells": share is not None,
        "unclamped": unclamped,
        "standard_error": found.standard_error,
        "lower": found.lower,
        "upper": found.upper,
        "stands_out": stands_out,
    }
