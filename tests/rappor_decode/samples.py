"""Parameters and files of google/rappor for the tests of its files."""

from pathlib import Path

from hypothesis import HealthCheck, settings

from untrackable import Rappor

SMALL = Rappor(bloom_bits=4, hashes=2, f=0.5, p=0.25, q=0.75, cohorts=2)
SIXTEEN = Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.5, q=0.75, cohorts=4)
FILES = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def put(folder: Path, text: str | bytes) -> Path:
    """A file with this content."""
    path = folder / "given.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
