"""About how long each step of decoding takes: by the candidates, their hashes, and the reports."""

import math
from pathlib import Path

from untrackable.mechanisms.kept.rappor import Rappor

_BYTES_PER_SECOND = 30e6
"""How fast single reports are read."""
_OTHER_CELLS = 20
"""About how many characters of a line are not of the report."""


def decoding_seconds(params: Rappor, candidates: int, reports: int | Path) -> dict[str, float]:
    """The steps by their names, in their order, with seconds on one core.

    `reports` is their number, or the file that they are read from. Each string found is compared with chance. How
    many these are is a guess: four times the reports show strings of half the share, about twice as many.
    """
    steps = {}
    if isinstance(reports, Path):
        size = reports.stat().st_size if reports.exists() else 0
        steps["reading the reports"] = size / _BYTES_PER_SECOND
        reports = size // (params.bloom_bits + _OTHER_CELLS)
    hashes = candidates * params.cohorts * params.hashes / 1e6
    return {
        **steps,
        "hashing the candidates": 0.8 * hashes,
        "choosing candidates": 0.05 * hashes,
        "least squares": 0.25 * hashes,
        "comparing with chance": 0.4 * hashes * math.sqrt(reports / 1e6),
    }
