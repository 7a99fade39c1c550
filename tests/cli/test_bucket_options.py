"""`--buckets` on the command line, from simulation to mean and quantiles."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import output, run

BUCKETS = ("--buckets", "50ms:20s:14:log")


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    held, out = tmp_path / "held.csv", tmp_path / "reports.parquet"
    held.write_text("value,count\n300ms,4000\n2s,4000\n90 s,500\n")
    output(
        "simulate",
        "deck",
        "bits=4",
        "slots=3",
        "eps_report=4",
        *BUCKETS,
        "--above",
        "clamp",
        "--values",
        held,
        "--out",
        out,
    )
    return out


def test_mean_and_quantiles_are_printed(reports: Path) -> None:
    shown = output("estimate", reports, "--quantile", "0.9", "--quantile", "0.25")
    for name in ("mean", "25th percentile", "median", "90th percentile", "95th percentile"):
        assert name in shown
    assert "between 280 ms and 420 ms" in shown
    assert "numbers above the range count" in shown
    numbers = json.loads(output("estimate", reports, "--json", "--quantile", "0.25"))["pooled"]["numbers"]
    assert [each["q"] for each in numbers["quantiles"]] == [0.25, 0.5, 0.95]
    assert numbers["unit"] == "ms"
    assert numbers["mean"]["lower"] < (0.3 * 8 + 2 * 8 + 20) / 17 * 1000 < numbers["mean"]["upper"]


def test_the_distribution_is_exported(reports: Path, tmp_path: Path) -> None:
    output("estimate", reports, "--export", tmp_path / "all.csv")
    head, *rows = (tmp_path / "all.csv").read_text().splitlines()
    columns = head.split(",")
    shares = [columns.index(name) for name in ("at_or_below", "at_or_below_lower", "at_or_below_upper")]
    assert rows[0].startswith("50 ms – 77 ms,")
    assert [rows[-1].split(",")[place] for place in shares] == ["1.0", "1.0", "1.0"]


def test_a_campaign_and_a_plan(tmp_path: Path) -> None:
    file = tmp_path / "campaign.json"
    output(
        "campaign", "new", file, "--question", "Start-up time?", *BUCKETS, "--above", "separate", "--rounds", "3"
    )
    encoding = json.loads(file.read_text())["encoding"]
    assert (encoding["unit"], encoding["edges"][:3], encoding["above"]) == ("ms", [50, 77, 120], "separate")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--below", "clamp"), "--below and --above need --buckets"),
        ((*BUCKETS, "--encoding", "{}"), "one of --buckets and --encoding"),
        (("--buckets", "20s:50ms:3"), "must be below the highest"),
        ((*BUCKETS, "--above", "maybe"), "maybe"),
    ],
)
def test_what_is_refused(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    refused = run("campaign", "new", tmp_path / "c.json", "--question", "?", "--rounds", "3", *options)
    assert refused.exit_code
    assert message in refused.output
    assert not (tmp_path / "c.json").exists()


def test_quantiles_of_what_has_none(tmp_path: Path) -> None:
    out = tmp_path / "reports.csv"
    output("simulate", "deck", "bits=2", "slots=3", "eps_report=4", "--people", "50", "--out", out)
    assert "--quantile is for numbers" in output("estimate", out, "--quantile", "0.9", code=1)
