"""Closing a round: its sums are computed once and stored, and its nonces and reports are deleted."""

import logging

import numpy as np

from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.metrics import Metrics
from untrackable.collector.rounds.acceptance import as_reports
from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import Round, StoredRound
from untrackable.collector.stores.store import Store
from untrackable.errors import StoreUnavailable
from untrackable.estimation.aggregators import Aggregator
from untrackable.protocol.campaign import Campaign
from untrackable.serving.error_location import error_location

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
    found = store.round(round)
    if found is None:  # This cannot happen, because stopping a round creates it.
        raise Refused(Problem.NOT_FOUND, f"there is no round {number}")
    return found


def sum_reports(store: Store, campaign: Campaign, number: int) -> Aggregator:
    """Add up the reports of a round that is not closed, one block at a time."""
    sums = campaign.mechanism.aggregator(number)
    size = -(-campaign.mechanism.report_bits // 8)
    for block in store.reports(Round(campaign.id, number)):
        sums.add(as_reports(np.frombuffer(block, dtype=np.uint8).reshape(-1, size), sums))
    return sums


def close_overdue(store: Store, now: float, settings: Settings, metrics: Metrics) -> int:
    """Close every round whose time and grace are over, and finish interrupted closings. Returns their number.

    If one round cannot be closed, the others still are, and the next call tries it again.
    """
    closed = 0
    for round in store.unclosed():
        try:
            closed += _close_if_overdue(store, round, now - settings.grace, metrics)
        except Exception as error:
            metrics.add("closings_failed")
            why = error if isinstance(error, StoreUnavailable) else error_location(error)
            _log.error("Round %d of campaign %s could not be closed: %s", round.number, round.campaign, why)
    return closed


def _close_if_overdue(store: Store, round: Round, now: float, metrics: Metrics) -> bool:
    stored, known = store.campaign(round.campaign), store.round(round)
    if stored is None or known is None or known.state == "closed":
        return False
    campaign = Campaign.from_bytes(stored.document)
    if known.state == "open" and campaign.begins(round.number + 1) > now:
        return False
    close_round(store, campaign, round.number, metrics)
    return True
