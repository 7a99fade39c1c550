"""How long decoding takes grows with the candidates, their hashes and the reports."""

from pathlib import Path

import numpy as np
import pytest

from tests.rappor_decode.collected import collected, zipf
from untrackable import Rappor
from untrackable.rappor_decode.decode import decode, decoding_seconds
from untrackable.rappor_decode.files import read_reports

PARAMS = Rappor(bloom_bits=32, hashes=2, f=0, p=0.25, q=0.75, cohorts=8)


def test_steps_are_those_that_decoding_shows() -> None:
    names, shown = ["cat", "dog", "fish", "owl"], []
    counts = collected(PARAMS, zipf(names, 20_000, np.random.default_rng(1)), 1)
    decode(PARAMS, counts, names, progress=lambda what, done: shown.append(what))
    assert list(dict.fromkeys(shown)) == list(decoding_seconds(PARAMS, len(names), counts.total))


def test_sizes_are_amounts_of_work() -> None:
    small, large = decoding_seconds(PARAMS, 1000, 10**6), decoding_seconds(PARAMS, 5000, 10**6)
    assert all(large[step] == pytest.approx(5 * small[step]) for step in small)
    more = decoding_seconds(PARAMS, 1000, 4 * 10**6)
    assert more["comparing with chance"] == pytest.approx(2 * small["comparing with chance"])
    assert more["least squares"] == small["least squares"]


def test_reading_single_reports_is_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("untrackable.rappor_decode.files._BATCH", 10)
    file, shown = tmp_path / "reports.csv", list[float]()
    file.write_text("client,cohort,bloom,prr,irr\n" + f"1,2,,,{'01' * 16}\n" * 100)
    assert "reading the reports" in decoding_seconds(PARAMS, 10, file)
    assert "reading the reports" in decoding_seconds(PARAMS, 10, tmp_path / "missing")
    read_reports(file, PARAMS, progress=lambda what, done: shown.append(done or 0.0))
    assert len(shown) == 10
    assert shown == sorted(shown)
    assert 0.95 < shown[-1] <= 1
