"""Exports a round to a file: its reports while it is not closed, and its sums afterwards."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from untrackable.collector.rounds.acceptance import as_reports
from untrackable.collector.stores.records import Round
from untrackable.collector.stores.store import Store
from untrackable.errors import ReportFileError, StoreError
from untrackable.estimation.aggregators import Reports
from untrackable.protocol.campaign import Campaign
from untrackable.reports.header import Header
from untrackable.reports.writer import check_ending, write_reports

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
    known = store.round(Round(id, number))
    if known is None:
        raise StoreError(f"the store has no reports of round {number}")
    if known.state == "closed":
        return _sums(store, campaign, number, known.reports or 0, path)
    pieces = _pieces(store, campaign, number)
    written = write_reports(
        path,
        pieces,
        mechanism=campaign.mechanism,
        encoding=campaign.encoding,
        turns=campaign.turns,
        mode=_OWNER_ONLY,
    )
    return ExportedRound(path, "reports", written.reports, written.bytes)


def _pieces(store: Store, campaign: Campaign, number: int) -> Iterator[tuple[int, Reports]]:
    sums = campaign.mechanism.aggregator(number)
    size = -(-campaign.mechanism.report_bits // 8)
    for block in store.reports(Round(campaign.id, number), ordered=True):
        yield number, as_reports(np.frombuffer(block, dtype=np.uint8).reshape(-1, size), sums)


def _sums(store: Store, campaign: Campaign, number: int, reports: int, path: Path) -> ExportedRound:
    from untrackable.reports.sums_file import write_sums

    if check_ending(path) != ".parquet":
        raise ReportFileError(f"{path} must end in .parquet, because round {number} is closed and only has sums")
    sums = store.sums(Round(campaign.id, number))
    if sums is None:
        raise StoreError(f"the store has no sums of round {number}")
    header = Header(campaign.mechanism, campaign.encoding, campaign.turns)
    write_sums(path, header, campaign=campaign.id, round=number, reports=reports, sums=sums, mode=_OWNER_ONLY)
    return ExportedRound(path, "sums", reports, path.stat().st_size)
