"""Closing a round: its sums are computed once and kept, and its nonces and reports are dropped."""

import logging

import numpy as np

from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.metrics import Metrics
from untrackable.collector.rounds.acceptance import as_reports
from untrackable.collector.rounds.group_commit import place
from untrackable.collector.settings import Settings
from untrackable.collector.stores.records import Round, StoredRound
from untrackable.collector.stores.store import Store
from untrackable.errors import StoreUnavailable
from untrackable.estimation.aggregators import Aggregator
from untrackable.protocol.campaign import Campaign

_log = logging.getLogger("untrackable.collector")


def close_round(store: Store, campaign: Campaign, number: int, metrics: Metrics | None = None) -> StoredRound:
    """Close a round, or find it closed. Interrupted at any point and run again, it gives the same sums.

    First the round is stopped, so that nothing is added any more; then the sums are made from all of its reports;
    then, in one transaction, they are kept and the reports dropped. Where sums of a fixed size would not do, as for
    wide values, they are the reports themselves, without nonces and in no order.
    """
    round = Round(campaign.id, number)
    if store.stop(round) == "closing":
        sums = count(store, campaign, number)
        if store.finish(round, sums.n, sums.to_bytes()):
            if metrics is not None:
                metrics.add("rounds_closed")
            try:
                store.tidy()
            except StoreUnavailable as error:
                _log.warning("the store's log still has nonces of a closed round: %s", error)
    found = store.round(round)
    if found is None:  # cannot be: it was stopped
        raise Refused(Problem.NOT_FOUND, f"there is no round {number}")
    return found


def count(store: Store, campaign: Campaign, number: int) -> Aggregator:
    """The sums of the reports of a round that is not closed, a block at a time."""
    sums = campaign.mechanism.aggregator(number)
    size = -(-campaign.mechanism.report_bits // 8)
    for block in store.reports(Round(campaign.id, number)):
        sums.add(as_reports(np.frombuffer(block, dtype=np.uint8).reshape(-1, size), sums))
    return sums


def close_overdue(store: Store, now: float, settings: Settings, metrics: Metrics) -> int:
    """Close every round whose time and grace are over, and those whose closing was interrupted.

    One that cannot be closed keeps no other from being closed; the next call tries it again.
    """
    closed = 0
    for round in store.unclosed():
        try:
            closed += _close_if_overdue(store, round, now - settings.grace, metrics)
        except Exception as error:
            metrics.add("closings_failed")
            why = error if isinstance(error, StoreUnavailable) else place(error)
            _log.error("round %d of campaign %s was not closed: %s", round.number, round.campaign, why)
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
