"""RAPPOR files in a terminal."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.rappor_decode.collected import collected, zipf
from untrackable import Rappor
from untrackable.cli import main
from untrackable.rappor_decode.candidate_map import CandidateMap, write_map
from untrackable.rappor_decode.rappor_files import write_counts, write_params

NAMES = ["cat", "dog", "fish, $fried_", "[bold] 猫", "owl", "ant"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    params = Rappor(bloom_bits=32, hashes=2, f=0, p=0.25, q=0.75, cohorts=8)
    held = zipf(NAMES[:4], 20_000, np.random.default_rng(1))
    write_params(tmp_path / "params.csv", params)
    write_counts(tmp_path / "counts.csv", collected(params, held, 1))
    write_map(tmp_path / "map.csv", params, CandidateMap.of(params, NAMES))
    (tmp_path / "words.txt").write_text("\n".join(NAMES), encoding="utf-8")
    return [str(tmp_path / name) for name in ("params.csv", "counts.csv", "map.csv", "words.txt")]


def test_in_words(files: list[str]) -> None:
    run = CliRunner().invoke(main, ["rappor-decode", *files[:3]])
    assert run.exit_code == 0, run.output
    assert "4 of 6 candidates were found in 20,000 reports" in run.stdout
    assert "Everlasting eps is infinite: f = 0" in run.stdout
    assert "[bold]" in run.stdout
    assert "sampled" in run.stdout


def test_a_map_or_candidates_as_json_with_a_picture(files: list[str], tmp_path: Path) -> None:
    picture = tmp_path / "found.png"
    first = CliRunner().invoke(main, ["rappor-decode", *files[:3], "--json", "--fdr", "--complete"])
    again = ["rappor-decode", *files[:2], "--candidates", files[3], "--json", "--fdr", "--complete"]
    second = CliRunner().invoke(main, [*again, "--plot", str(picture)])
    data = json.loads(first.stdout)
    assert data == json.loads(second.stdout)
    assert data["correction"] == "fdr"
    assert data["everlasting_eps_exact"] == "inf"
    assert [one["name"] for one in data["candidates_sampled"] if one["found"]] == NAMES[:4]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_reports_are_counted_first(files: list[str], tmp_path: Path) -> None:
    params = Rappor(bloom_bits=32, hashes=2, f=0, p=0.25, q=0.75, cohorts=8)
    held = zipf(NAMES[:4], 3000, np.random.default_rng(1))
    rows = ["client,cohort,bloom,prr,irr"]
    for batch in params.simulate(held, rounds=1, seed=1):
        for report in batch.reports[:, 0]:
            number = int.from_bytes(report.tobytes(), "little")
            rows.append(f"0,{number >> 32},,,{number & (1 << 32) - 1:032b}")
    (tmp_path / "reports.csv").write_text("\n".join(rows))
    write_counts(tmp_path / "counts.csv", collected(params, held, 1))
    counted = CliRunner().invoke(main, ["rappor-decode", *files[:3], "--json"])
    arguments = [files[0], str(tmp_path / "reports.csv"), files[2], "--reports", "--json"]
    run = CliRunner().invoke(main, ["rappor-decode", *arguments])
    assert json.loads(run.stdout) == json.loads(counted.stdout)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (0, "k,h,m\n", "line 1: the header must be k,h,m,p,q,f"),
        (0, "k,h,m,p,q,f\n32,2,8,.25,.75,1\n", "f must be below 1"),
        (1, "1,2\n", "line 1: 2 columns instead of 33"),
        (2, "a,1\n", "line 1: 2 columns instead of 17"),
    ],
)
def test_malformed_files_are_one_line(files: list[str], file: int, text: str, message: str) -> None:
    Path(files[file]).write_text(text)
    run = CliRunner().invoke(main, ["rappor-decode", *files[:3], "--json"])
    assert run.exit_code == 1
    assert run.stdout == ""
    assert message in run.stderr
    assert run.stderr.count("\n") == 1


def test_bad_arguments(files: list[str], tmp_path: Path) -> None:
    for arguments, message in (
        (files[:2], "give either MAP or --candidates"),
        ([*files[:3], "--candidates", files[3]], "give either MAP or --candidates"),
        ([*files[:3], "--alpha", "0"], "0.0 is not in the range"),
        ([*files[:3], "--plot", str(tmp_path / "none" / "a.png")], "there is no folder"),
    ):
        run = CliRunner().invoke(main, ["rappor-decode", *arguments])
        assert run.exit_code == 2
        assert message in run.stderr
