"""From files of reports to the strings that many people hold."""

from collections.abc import Sequence
from pathlib import Path

from untrackable.discovery.discover import BEAM, discover
from untrackable.discovery.discovered import Discovered
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.encodings.encoding import Encoding
from untrackable.errors import EncodingError
from untrackable.estimation.aggregators import Aggregator
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports.reader import Piece, ReportFile, read_reports
from untrackable.reports.storage_layout import StorageLayout
from untrackable.reports.summing import Told, distinct, first_refused


def discover_files(
    paths: Sequence[str | Path],
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    round: int | None = None,
    rounds: Sequence[int] | None = None,
    alpha: float = 0.05,
    leads: int = 10,
    beam: int = BEAM,
    progress: Told | None = None,
) -> Discovered:
    """The frequent strings of all reports in these files, of all rounds or of these; other arguments as elsewhere.

    Where a client's rounds do not pool, as with stored executions, one round has to be chosen.
    """
    if not paths:
        raise ValueError("paths must be at least one file")
    distinct(paths)
    chosen = None if rounds is None else frozenset(rounds)
    sums: dict[int, Aggregator] = {}
    for number, path in enumerate(paths):
        file = read_reports(path, mechanism=mechanism, encoding=encoding, round=round)
        mechanism, encoding = file.mechanism, file.encoding or encoding
        for piece in file.pieces():
            if chosen is None or piece.round in chosen:
                _add(sums, file, piece)
            if progress is not None:
                progress("reading", (number + piece.done) / len(paths))
    if not isinstance(encoding, DiscoveredStrings):
        raise EncodingError("the encoding of these reports is not of strings to be discovered")
    if not sums:
        raise ValueError("there are no reports of these rounds")
    levels = encoding.levels

    def searching(passes: int, level: int, done: float) -> None:
        if progress is not None:
            progress("searching", (level - 1 + done) / levels)

    found = next(iter(sums.values()))
    return discover(encoding, found, alpha=alpha, leads=leads, beam=beam, progress=searching)


def _add(sums: dict[int, Aggregator], file: ReportFile, piece: Piece) -> None:
    """Count reports in the one aggregate that all rounds share."""
    if piece.round not in sums:
        try:
            made = file.mechanism.aggregator(piece.round)
        except ValueError as error:
            raise file.refused(int(piece.rows[0]), error) from None
        shared = next(iter(sums.values()), made)
        if shared.source != made.source:
            raise ValueError("rounds of this mechanism do not pool: choose one of them")
        sums[piece.round] = shared
    layout = StorageLayout(file.mechanism.report_bits)
    found = sums[piece.round]
    try:
        found.add(layout.for_sums(piece.reports, in_bytes=found.in_bytes))
    except ValueError as error:
        wrong = first_refused(file.mechanism, piece.round, layout, piece.reports)
        raise file.refused(int(piece.rows[wrong]), error) from None
