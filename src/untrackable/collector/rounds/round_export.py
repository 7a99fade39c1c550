"""A round as a Parquet file: its reports while it is not closed, its sums afterwards."""

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

What = Literal["reports", "sums"]
_FOR_ITS_OWNER = 0o600
"""As the store is."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and of how many reports."""

    path: Path
    what: What
    reports: int
    bytes: int


def export_round(store: Store, id: str, number: int, path: Path) -> Exported:
    """Write a round. Reports go without nonces and in no order that tells anything, as every file of reports does.

    Sums are one row: campaign, round, reports, and the bytes that `Mechanism.restore_sums` takes; the file says how
    the reports were made, too.
    """
    stored = store.campaign(id)
    if stored is None:
        raise StoreError(f"there is no campaign {id}")
    campaign = Campaign.from_bytes(stored.document)
    known = store.round(Round(id, number))
    if known is None:
        raise StoreError(f"there are no reports of round {number}")
    if known.state == "closed":
        return _sums(store, campaign, number, known.reports or 0, path)
    pieces = _pieces(store, campaign, number)
    written = write_reports(
        path, pieces, mechanism=campaign.mechanism, encoding=campaign.encoding, mode=_FOR_ITS_OWNER
    )
    return Exported(path, "reports", written.reports, written.bytes)


def _pieces(store: Store, campaign: Campaign, number: int) -> Iterator[tuple[int, Reports]]:
    sums = campaign.mechanism.aggregator(number)
    size = -(-campaign.mechanism.report_bits // 8)
    for block in store.reports(Round(campaign.id, number), ordered=True):
        yield number, as_reports(np.frombuffer(block, dtype=np.uint8).reshape(-1, size), sums)


def _sums(store: Store, campaign: Campaign, number: int, reports: int, path: Path) -> Exported:
    from untrackable.reports.sums_file import write_sums

    if check_ending(path) != ".parquet":
        raise ReportFileError(f"{path} must end in .parquet, as round {number} is closed and has sums only")
    sums = store.sums(Round(campaign.id, number))
    if sums is None:
        raise StoreError(f"there are no sums of round {number}")
    header = Header(campaign.mechanism, campaign.encoding)
    write_sums(path, header, campaign=campaign.id, round=number, reports=reports, sums=sums, mode=_FOR_ITS_OWNER)
    return Exported(path, "sums", reports, path.stat().st_size)
