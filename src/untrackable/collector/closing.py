"""The end of rounds and campaigns: closing, deleting and exporting them, and the words that say so.

A round is closed once: its sums are computed and stored, and its nonces and reports are deleted. Nothing opens it
again, so a clock that jumps must not close rounds too early.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from untrackable.collector.metrics import Metrics
from untrackable.collector.problems import Problem
from untrackable.collector.settings import Settings
from untrackable.collector.store import Round, Store, StoredCampaign, StoredRound
from untrackable.collector.writer import as_reports
from untrackable.errors import CampaignError, ReportFileError, StoreError, StoreUnavailable
from untrackable.estimation.aggregators import Aggregator, Reports
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.wire import LAST_ROUND
from untrackable.reports.files import Header, check_ending, write_reports
from untrackable.reports.sums import write_sums
from untrackable.serving.problems import Refused, error_location

_log = logging.getLogger("untrackable.collector")


def close_round(store: Store, campaign: Campaign, number: int, metrics: Metrics | None = None) -> StoredRound:
    """Close a round that may be closed already. If it is interrupted and run again, it gives the same sums.

    First the round stops taking reports. Then the sums are made from all of its reports. Then one transaction
    stores the sums and deletes the reports; those of a large round are deleted afterwards, piece by piece. If
    values are too wide for sums of a fixed size, the sums contain the reports themselves, without nonces and
    without their order.
    """
    round = Round(campaign.id, number)
    if store.stop(round) == "closing":
        sums = sum_reports(store, campaign, number)
        if store.finish(round, sums.n, sums.to_bytes()):
            if metrics is not None:
                metrics.add("rounds_closed")
                metrics.add("small_rounds_closed", int(sums.n < campaign.fewest_reports))
            try:
                store.tidy()
            except StoreUnavailable as error:
                _log.warning("The store's own log still contains nonces of a closed round: %s", error)
    closed = store.round(round)
    if closed is None:  # This cannot happen, because stopping a round creates it.
        raise Refused(Problem.NOT_FOUND, f"there is no round {number}")
    return closed


def sum_reports(store: Store, campaign: Campaign, number: int) -> Aggregator:
    """Add up the reports of a round that is not closed, one block at a time."""
    sums = campaign.mechanism.aggregator(number)
    for reports in _reports(store, campaign, number):
        sums.add(reports)
    return sums


def _reports(store: Store, campaign: Campaign, number: int, *, ordered: bool = False) -> Iterator[Reports]:
    sums = campaign.mechanism.aggregator(number)
    size = -(-campaign.mechanism.report_bits // 8)
    for block in store.reports(Round(campaign.id, number), ordered=ordered):
        yield as_reports(np.frombuffer(block, dtype=np.uint8).reshape(-1, size), sums)


def close_overdue(store: Store, now: float, settings: Settings, metrics: Metrics) -> int:
    """Close every round whose reports had time to arrive, and finish interrupted closings. Returns their number.

    If one round cannot be closed, the others still are, and the next call tries it again.
    """
    closed = 0
    for round in store.unclosed():
        try:
            closed += _close_if_overdue(store, round, now, settings, metrics)
        except Exception as error:
            metrics.add("closings_failed")
            why = error if isinstance(error, StoreUnavailable) else error_location(error)
            _log.error("Round %d of campaign %s could not be closed: %s", round.number, round.campaign, why)
    return closed


def _close_if_overdue(store: Store, round: Round, now: float, settings: Settings, metrics: Metrics) -> bool:
    stored, stored_round = store.campaign(round.campaign), store.round(round)
    if stored is None or stored_round is None or stored_round.state == "closed":
        return False
    campaign = Campaign.from_bytes(stored.document)
    if stored_round.state == "open" and settings.last_arrival(campaign, round.number) > now:
        return False
    close_round(store, campaign, round.number, metrics)
    return True


def end_campaign(store: Store, campaign: Campaign, now: float, settings: Settings) -> int | None:
    """Let the latest round that takes reports now be the last one. Returns it, or None without such a campaign.

    The document of a campaign never changes, so the store has the end. It is 0 if no round takes reports yet.
    """
    now += settings.early
    latest = campaign.round_at(now)
    if latest is None:  # The first round has not begun, or the last one is over.
        latest = 0 if now < campaign.first_round else campaign.rounds or LAST_ROUND
    return store.end_campaign(campaign.id, latest)


def delete_campaign(store: Store, campaign: Campaign) -> None:
    """Delete a campaign, its reports and its sums. If it is interrupted, it can be run again.

    First no new round may begin. Then each round is closed without its reports. Then the rest is deleted.
    """
    if store.end_campaign(campaign.id, 0) is None:
        return
    for each in store.rounds(campaign.id):
        round = Round(campaign.id, each.number)
        if store.stop(round) == "closing":
            empty = campaign.mechanism.aggregator(each.number)
            store.finish(round, empty.n, empty.to_bytes())
    store.delete_campaign(campaign.id)
    store.tidy()


def overdue_rounds(store: Store, now: float, settings: Settings) -> list[Round]:
    """The rounds that are not closed although their reports had time to arrive."""
    overdue = []
    campaigns: dict[str, StoredCampaign | None] = {}
    for round in store.unclosed():
        if round.campaign not in campaigns:
            campaigns[round.campaign] = store.campaign(round.campaign)
        stored = campaigns[round.campaign]
        if stored is not None and _last_arrival(stored, round.number, settings) <= now:
            overdue.append(round)
    return overdue


def _last_arrival(stored: StoredCampaign, number: int, settings: Settings) -> float:
    """When the last reports of a round arrive. A damaged campaign cannot be closed, so its rounds are over."""
    try:
        return settings.last_arrival(Campaign.from_bytes(stored.document), number)
    except CampaignError:
        return 0.0


_DAY = 86_400.0


def drop_old_sums(store: Store, now: float, settings: Settings) -> int:
    """Delete the sums of rounds whose last reports arrived `settings.keep_sums` days ago. Returns their number.

    With a relay that holds reports, the last ones arrive long after the end of a round. The rounds stay closed, so
    that nobody can report to them again.
    """
    if settings.keep_sums is None:
        return 0
    dropped = 0
    for stored in store.campaigns():
        try:
            campaign = Campaign.from_bytes(stored.document)
        except CampaignError:  # It is damaged. Starting the collector again says so.
            continue
        for each in store.rounds(stored.id):
            over = settings.last_arrival(campaign, each.number) + _DAY * settings.keep_sums <= now
            if over and each.state == "closed" and each.reports is not None:
                dropped += store.drop_sums(Round(stored.id, each.number))
    return dropped


def closed_words(campaign: Campaign, closed: StoredRound) -> str:
    """That a round is closed, and whether its campaign promises a larger crowd."""
    had = "and its sums are deleted" if closed.reports is None else f"with {counted(closed.reports)}"
    few = closed.reports is not None and closed.reports < campaign.fewest_reports
    hidden = f" It is not published: its campaign promises a crowd that sends {campaign.fewest_reports:,}."
    return f"Round {closed.number} is closed, {had}.{hidden if few else ''}"


def ending_words(last_round: int | None) -> str:
    """When a campaign ends that somebody has ended."""
    return f"ends after round {last_round:,}" if last_round else "ends before its first round"


def publishing_words(published: bool) -> str:
    """Whether everybody may read a campaign's estimates."""
    return f"is {'' if published else 'no longer '}published"


def counted(reports: int) -> str:
    """A number of reports in words."""
    return "1 report" if reports == 1 else f"{reports:,} reports"


Content = Literal["reports", "sums"]
"""What an exported file contains."""
_OWNER_ONLY = 0o600
"""The permissions of exported files: only their owner may read them, as with the store."""


@dataclass(frozen=True, slots=True)
class ExportedRound:
    """A written file: its content, and the number of reports in it."""

    path: Path
    what: Content
    reports: int
    bytes: int


def export_round(store: Store, id: str, number: int, path: Path) -> ExportedRound:
    """Write a round to a file. Reports are written without nonces, in an order that reveals nothing.

    Sums are one row: campaign, round, number of reports, and the bytes for `Mechanism.restore_sums`. The file also
    describes the mechanism, the encoding and the turns.
    """
    stored = store.campaign(id)
    if stored is None:
        raise StoreError(f"the store has no campaign {id}")
    campaign = Campaign.from_bytes(stored.document)
    stored_round = store.round(Round(id, number))
    if stored_round is None:
        raise StoreError(f"the store has no reports of round {number}")
    if stored_round.state == "closed":
        return _sums(store, campaign, number, stored_round.reports or 0, path)
    written = write_reports(
        path,
        ((number, reports) for reports in _reports(store, campaign, number, ordered=True)),
        mechanism=campaign.mechanism,
        encoding=campaign.encoding,
        turns=campaign.turns,
        mode=_OWNER_ONLY,
    )
    return ExportedRound(path, "reports", written.reports, written.bytes)


def _sums(store: Store, campaign: Campaign, number: int, reports: int, path: Path) -> ExportedRound:
    if check_ending(path) != ".parquet":
        raise ReportFileError(f"{path} must end in .parquet, because round {number} is closed and only has sums")
    sums = store.sums(Round(campaign.id, number))
    if sums is None:
        raise StoreError(f"the store has no sums of round {number}")
    header = Header(campaign.mechanism, campaign.encoding, campaign.turns)
    write_sums(path, header, campaign=campaign.id, round=number, reports=reports, sums=sums, mode=_OWNER_ONLY)
    return ExportedRound(path, "sums", reports, path.stat().st_size)
