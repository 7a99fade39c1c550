"""Answers that do not fit, on the command line: what the encoding declares happens, and nothing else."""

import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.commands import run
from untrackable.protocol.campaign import Campaign

PERSON = {
    "type": "record",
    "version": 1,
    "attributes": [
        {
            "name": "system",
            "encoding": {"type": "categories", "version": 1, "names": ["mac", "linux"], "unknown": "error"},
        },
        {
            "name": "age",
            "encoding": {
                "type": "integer-range", "version": 1, "low": 0, "high": 9, "below": "error", "above": "error"
            },
        },
    ],
    "tables": [["system", "age"]],
}  # fmt: skip


def campaign(folder: Path, *options: str) -> tuple[Path, str]:
    place = folder / "campaign.json"
    done = run("campaign", "new", place, "--question", "What?", "--rounds", "3", *options)
    assert done.exit_code == 0, done.output
    return place, Campaign.from_bytes(place.read_bytes()).id


def answered(folder: Path, options: tuple[str, ...], text: str) -> Result:
    place, pin = campaign(folder, *options)
    own = folder / "own"
    done = run("answer", place, "--pin", pin, "--folder", own, given=f"{text}\n")
    if done.exit_code:  # Nothing was joined, so nothing was spent.
        assert json.loads(run("policy", "show", "--folder", own, "--json").output) == {"policy": None}
    return done


@pytest.mark.parametrize(
    ("above", "text", "refusal"),
    [
        ("error", "9", "number must be at least 0 s and at most 4 s; the given one (not shown) is not"),
        ("error", "4.1s", "at most 4 s"),
        ("error", "3", None),
        ("clamp", "9", None),
        ("separate", "9", None),
        ("separate", "-1", "number must be at least 0 s; the given one (not shown) is not"),
        ("clamp", "nan", "value must be a number in s"),
        ("clamp", "", "value must be a number in s"),
        ("clamp", "9 KB", "value must be a number in s"),
    ],
)
def test_a_number_out_of_range(tmp_path: Path, above: str, text: str, refusal: str | None) -> None:
    done = answered(tmp_path, ("--buckets", "0s,1s,2s,4s", "--above", above), text)
    assert (done.exit_code == 0) == (refusal is None), done.output
    assert refusal is None or refusal in done.output


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("system=mac, age=4", None),
        ("system=mac", "the record lacks age"),
        ("system=mac, age=", "age: value must be an integer"),
        ("system=mac, age=10", "age: number must be at least 0 and at most 9"),
        ("system=beos, age=4", "system: "),
        ("system=mac, system=linux, age=4", "the record has system more than once"),
        ("system=mac, age=4, shoe=9", "an attribute must be one of system, age"),
    ],
)
def test_a_record_that_is_not_whole(tmp_path: Path, text: str, refusal: str | None) -> None:
    done = answered(tmp_path, ("--encoding", json.dumps(PERSON)), text)
    assert (done.exit_code == 0) == (refusal is None), done.output
    assert refusal is None or refusal in done.output
    assert "beos" not in done.output


@pytest.mark.parametrize(
    ("above", "said"),
    [
        (
            "error",
            "held.csv, line 2: number must be at least 0 s and at most 4 s; the given one (not shown) is not",
        ),
        ("clamp", "2 s – 4 s 50.00 %"),
        ("separate", "above 4 s 50.00 %"),
    ],
)
def test_simulated_people_out_of_range(tmp_path: Path, above: str, said: str) -> None:
    (tmp_path / "held.csv").write_text("value,count\n9,100\n1,100\n")
    place, _ = campaign(tmp_path, "--buckets", "0s,1s,2s,4s", "--above", above)
    out = tmp_path / "reports.parquet"
    done = run("simulate", place, "--values", tmp_path / "held.csv", "--out", out)
    assert said in done.output
    assert out.exists() == (done.exit_code == 0) == (above != "error")


@pytest.mark.parametrize("buckets", ["1,3,2", "1,2,2", "1s,500ms"])
def test_buckets_that_overlap(tmp_path: Path, buckets: str) -> None:
    place = tmp_path / "campaign.json"
    done = run("campaign", "new", place, "--question", "What?", "--rounds", "3", "--buckets", buckets)
    assert "a bucket must not overlap another one" in done.output
    assert done.exit_code
    assert not place.exists()
    plan = run("plan", "--people", "1000", "--rounds", "3", "--eps", "1", "--buckets", buckets)
    assert "a bucket must not overlap another one" in plan.output


def test_a_quantile_that_reports_cannot_tell(tmp_path: Path) -> None:
    """It is said, in words and as JSON, and no number is printed in its place."""
    (tmp_path / "held.csv").write_text("value,count\n3,20\n1,20\n")
    place, _ = campaign(tmp_path, "--buckets", "0s,1s,2s,4s", "--eps", "0.1")
    out = tmp_path / "reports.parquet"
    assert run("simulate", place, "--values", tmp_path / "held.csv", "--out", out).exit_code == 0
    shown = run("estimate", out, "--quantile", "0.9").output.splitlines()
    for name in ("mean", "median", "90th percentile"):
        (row,) = (line for line in shown if line.startswith(name) and "hold" not in line)
        assert row.split("  ", 1)[1].strip() == "these reports cannot tell"
    numbers = json.loads(run("estimate", out, "--json").output)["pooled"]["numbers"]
    assert not numbers["mean"]["tells"]
    assert [each["tells"] for each in numbers["quantiles"]] == [False, False]
