"""`untrackable audit` and `untrackable compare`, as a person would use and misuse them."""

import json
from pathlib import Path

import pytest

from tests.auditing.test_turns_audit import turns_campaign
from tests.cli.commands import run
from untrackable.settings.catalogue import CATALOGUE, EVERY_ROUND

QUICK = ["deck", "bits=4", "slots=10", "eps_report=0.2", "--reports", "6", "--crowd", "50"]


def test_audit_in_words_and_numbers() -> None:
    result = run("audit", *QUICK, COLUMNS="120")
    assert result.exit_code == 0, result.output
    assert "An observer with 3 reports from each of two places cannot tell this person from 49 others" in (
        " ".join(result.output.split())
    )
    assert "gamma, worst case" in result.output
    assert "sampled" in result.output


def test_audit_as_json() -> None:
    result = run("audit", *QUICK, "--json")
    found = json.loads(result.stdout)
    assert found["tracking"]["advantage"] == {"lower": 0.0, "upper": 0.0, "certainty": "exact"}
    assert found["linked"]["top1"]["certainty"] == "sampled"
    assert found["everlasting_any"]["gamma"]["certainty"] == "exact"
    assert found["verdict"][0].startswith("An observer with 3 reports")


def test_attendance_in_words_and_as_json() -> None:
    arguments = ["audit", *QUICK, "--rounds", "10"]
    result = run(*arguments, COLUMNS="120")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "Attendance gives people away, whatever their reports say: if people answer all 10 rounds" in text
    assert "Matching 50 people by attendance, 10 rounds" in text
    found = json.loads(run(*arguments, "--json").stdout)
    assert found["attended"]["matched"]["alone"]["certainty"] == "sampled"
    assert found["attended"]["alone"]["certainty"] == "exact"


def test_a_campaign_with_turns(tmp_path: Path) -> None:
    """In words, as JSON, as a table, as a page and as a picture."""
    file = tmp_path / "campaign.json"
    file.write_bytes(turns_campaign(wipes=1).to_bytes())
    result = run("audit", str(file), "--people", "52,000", "--crowd", "1e3", COLUMNS="120")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "Each person answers once, in one of 52 rounds that their device draws in secret." in text
    assert "recognises a person among 1,000 with probability at most 0.002 (upper; a guess: 0.001)" in text
    assert "It excludes people and does not find them." in text
    assert "One round, 1,000 reports" in text
    found = json.loads(run("audit", str(file), "--json").stdout)
    assert found["recognised_upper"] == 0.002
    assert found["several_lower"] == {"2": 0.004, "3": 0.008, "4": 0.016}
    assert found["eps_upper"] == pytest.approx(4.0)
    assert found["turns"] == {"rounds": 52, "share": "1", "wipes": 1}
    for option, name in (("--html", "a.html"), ("--plot", "a.png"), ("--export", "a.csv")):
        made = tmp_path / name
        result = run("audit", str(file), option, str(made))
        assert result.exit_code == 0, result.output
        assert made.stat().st_size > 500


def test_people_who_differ_are_followed_too() -> None:
    result = run("audit", *QUICK, "--distribution", "4,2,1,1", "--json")
    found = json.loads(result.stdout)
    assert found["linked_apart"]["top1"]["lower"] <= found["linked_apart"]["top1_bound"]["upper"]
    assert found["linked_apart"]["top1_bound"]["certainty"] == "upper"
    assert found["in_crowd"]["eps"]["upper"] < found["everlasting"]["gamma"]["upper"]
    assert found["shift"] > 1
    assert found["linked_apart"]["auc"]["sampled"] != found["linked"]["auc"]["sampled"]
    for wrong in ("a,b", "-1,2", ""):
        result = run("audit", *QUICK, "--distribution", wrong)
        assert result.exit_code == 1
        assert "Traceback" not in result.output


def test_audit_without_simulation_and_with_a_page(tmp_path: Path) -> None:
    page = tmp_path / "deck.html"
    result = run("audit", *QUICK, "--no-attack", "--html", str(page))
    assert result.exit_code == 0, result.output
    assert "Linking" not in result.output
    assert "untrackable audit deck bits=4 slots=10 eps_report=0.2 --reports 6" in page.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [page]


def test_the_list_names_everything() -> None:
    result = run("audit")
    for name in CATALOGUE:
        assert name in result.output
    entries = json.loads(run("audit", "--list", "--json").stdout)
    assert {entry["name"] for entry in entries} == set(CATALOGUE)
    assert all(entry["cost"] for entry in entries)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "rapor"], "mechanism must be one of deck, "),
        (["audit", "deck", "bits=4"], "deck takes bits, slots, eps_report"),
        (["audit", "deck", "bits=4", "slots=9", "eps_report=-1"], "eps_report must be positive and finite, got -1"),
        (
            ["audit", *QUICK[:4], "--reports", "30"],
            "reports must be at most 10, because clients report in 10 rounds",
        ),
        (["audit", *QUICK, "--delta", "0"], "delta must be strictly between 0 and 1"),
        (["audit", *QUICK, "--delta", "x"], "'x' is not a valid float"),
        (["audit", "rappor", "--preset", "edge"], "preset of rappor must be one of: chrome, paper"),
        (["audit", "nowhere:thing"], "cannot import nowhere"),
        (
            ["audit", *QUICK, "--html", "/nowhere/at/all.html"],
            "cannot write /nowhere/at/all.html: there is no folder /nowhere/at",
        ),
        (["audit", *QUICK, "--rounds", "3"], "rounds must be between 6 and 100000, got 3"),
        (["compare", "--eps", "-2"], "eps must be positive and finite, got -2"),
        (["compare", "--values", "1"], "1 is not in the range"),
        (["compare", "--people", "0"], "0 is too small: at least 1"),
        (["audit", *QUICK, "--people", "1e-3"], "'1e-3' is not a whole number"),
        (["audit", *QUICK, "--crowd", "many"], "'many' is not a number such as 100000, 1e6 or 1,000,000"),
        (["demo", "--simulated", "1e3"], "1,000 is too small: at least 20,000"),
        (["simulate", "deck", "--people", "-1", "--out", "x.csv"], "-1 is too small: at least 0"),
        (["compare", "--html", "/nowhere/at/all.html"], "cannot write /nowhere/at/all.html"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output


def test_compare(tmp_path: Path) -> None:
    page = tmp_path / "all.html"
    result = run("compare", "--reports", "4", "--html", str(page), COLUMNS="160")
    assert result.exit_code == 0, result.output
    assert "With everybody in every round, reports cannot be linked with" in " ".join(result.output.split())
    assert "bitwise is left out: It " in result.output
    assert "rappor" in result.output
    assert page.stat().st_size < 1_500_000
    found = json.loads(run("compare", "--reports", "4", "--values", "2", "--json").stdout)
    assert {row["name"] for row in found["rows"]} == {"one turn", *EVERY_ROUND} - {"fixed-vector-fresh"}
    assert found["left_out"].keys() == {"fixed-vector-fresh"}


def test_pages_go_where_links_lead_and_devices_stay_devices(tmp_path: Path) -> None:
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    arguments = ["audit", *QUICK, "--no-attack", "--html"]
    assert run(*arguments, str(link)).exit_code == 2
    assert target.read_text(encoding="utf-8") == "old"
    assert run(*arguments, str(link), "--force").exit_code == 0
    assert link.is_symlink()
    assert "deck: can its reports be followed?" in target.read_text(encoding="utf-8")
    if Path("/dev/full").is_char_device():
        result = run(*arguments, "/dev/full")
        assert result.exit_code == 1
        assert "cannot write /dev/full: No space left" in result.output
        assert Path("/dev/full").is_char_device()


def test_the_command_on_the_page_makes_it_again(tmp_path: Path) -> None:
    page, again = tmp_path / "a.html", tmp_path / "b.html"
    run("audit", *QUICK, "--no-attack", "--html", str(page))
    text = page.read_text(encoding="utf-8")
    command = text.split("<pre>")[1].split("</pre>")[0]
    assert command.startswith("untrackable audit deck bits=4")
    result = run(*command.split()[1:], "--html", str(again))
    assert result.exit_code == 0, result.output
    assert again.read_text(encoding="utf-8") == text


def test_help_shows_its_examples_line_by_line() -> None:
    for name in ("audit", "compare"):
        text = run(name, "--help").output
        assert "\\b" not in text
        assert f"\n           untrackable {name}" in text or f"\n             untrackable {name}" in text


def test_what_is_too_large_is_refused_or_left_out() -> None:
    result = run("audit", "bitwise", "--reports", "100000", "--no-attack")
    assert result.exit_code == 1
    assert "the worst split of 100000 reports would take" in result.output
    result = run("audit", "l-sue", "values=16", "eps=1000", "eps_report=250")
    assert "eps must be at most 64" in result.output
    result = run("audit", *QUICK[:4], "--reports", "20")
    assert "reports must be at most 10, because clients report in 10 rounds" in result.output
