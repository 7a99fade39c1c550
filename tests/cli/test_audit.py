"""`audit`, `compare`, `audit-client` and `audit-file`, as a person would use and misuse them."""

import json
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.auditing.test_turns_audit import turns_campaign
from tests.cli.commands import run
from untrackable.cli.audit import audit_client, audit_file
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
    outcome = json.loads(result.stdout)
    assert outcome["tracking"]["advantage"] == {"lower": 0.0, "upper": 0.0, "certainty": "exact"}
    assert outcome["linked"]["top1"]["certainty"] == "sampled"
    assert outcome["everlasting_any"]["gamma"]["certainty"] == "exact"
    assert outcome["verdict"][0].startswith("An observer with 3 reports")


def test_attendance_in_words_and_as_json() -> None:
    arguments = ["audit", *QUICK, "--rounds", "10"]
    result = run(*arguments, COLUMNS="120")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "Attendance gives people away, whatever their reports say: if people answer all 10 rounds" in text
    assert "Matching 50 people by attendance, 10 rounds" in text
    outcome = json.loads(run(*arguments, "--json").stdout)
    assert outcome["attended"]["matched"]["alone"]["certainty"] == "sampled"
    assert outcome["attended"]["alone"]["certainty"] == "exact"


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
    outcome = json.loads(run("audit", str(file), "--json").stdout)
    assert outcome["recognised_upper"] == 0.002
    assert outcome["several_lower"] == {"2": 0.004, "3": 0.008, "4": 0.016}
    assert outcome["eps_upper"] == pytest.approx(4.0)
    assert outcome["turns"] == {"rounds": 52, "share": "1", "wipes": 1}
    for option, name in (("--html", "a.html"), ("--plot", "a.png"), ("--export", "a.csv")):
        made = tmp_path / name
        result = run("audit", str(file), option, str(made))
        assert result.exit_code == 0, result.output
        assert made.stat().st_size > 500


def test_people_who_differ_are_followed_too() -> None:
    result = run("audit", *QUICK, "--distribution", "4,2,1,1", "--json")
    outcome = json.loads(result.stdout)
    assert outcome["linked_apart"]["top1"]["lower"] <= outcome["linked_apart"]["top1_bound"]["upper"]
    assert outcome["linked_apart"]["top1_bound"]["certainty"] == "upper"
    assert outcome["in_crowd"]["eps"]["upper"] < outcome["everlasting"]["gamma"]["upper"]
    assert outcome["shift"] > 1
    assert outcome["linked_apart"]["auc"]["sampled"] != outcome["linked"]["auc"]["sampled"]
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
        (["audit", "nowhere:thing"], "there is no module nowhere"),
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
    outcome = json.loads(run("compare", "--reports", "4", "--values", "2", "--json").stdout)
    assert {row["name"] for row in outcome["rows"]} == {"one turn", *EVERY_ROUND} - {"fixed-vector-fresh", "rarely"}
    assert outcome["left_out"].keys() == {"fixed-vector-fresh", "rarely"}
    assert "followed with certainty" in outcome["left_out"]["rarely"]


def test_compare_with_the_floor(tmp_path: Path) -> None:
    page, picture = tmp_path / "floor.html", tmp_path / "floor.svg"
    result = run("compare", "--floor", "--html", str(page), "--plot", str(picture), COLUMNS="120")
    assert result.exit_code == 0, result.output
    assert "at least 0.02276 for ever" in " ".join(result.output.split())
    assert "untrackable compare --floor" in page.read_text(encoding="utf-8")
    assert "Tracking against people, 365 rounds" in picture.read_text(encoding="utf-8")
    refused = run("compare", "--floor", "--values", "4")
    assert refused.exit_code == 2
    assert "--values has no meaning with --floor, which is about yes/no questions" in refused.output


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


HIDDEN = "9d41c0de"

MODULE = """
import random
print("noise on standard output")
coin = random.SystemRandom()

def honest(value):
    kept = value ^ (coin.random() < 0.25)
    return lambda: kept

def followed(value):
    kept = coin.getrandbits(20)
    return lambda: kept

def fresh(value):
    return lambda: coin.getrandbits(4)

def naked(value):
    return lambda: value

def failing(value):
    raise RuntimeError(f"9d41c0de {value}")

def floating(value):
    return lambda: 0.5

class Nested:
    @staticmethod
    def make(value):
        return lambda: str(value)

thing = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "module_under_audit"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "module_that_fails.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


CLIENT = ["--value", "0", "--value", "1", "--reports", "3", "--clients", "64"]


@pytest.mark.parametrize("command", [audit_client, audit_file])
def test_help_has_an_example(command: click.Command) -> None:
    text = CliRunner().invoke(command, ["--help"]).output
    assert f"Example: untrackable {command.name}" in text
    assert "--json" in text


def test_client_in_words(module: str) -> None:
    done = run("audit-client", f"{module}:naked", *CLIENT, "--claimed-eps", "1")
    assert done.exit_code == 0
    assert "CLAIM REFUTED: for all 3 reports" in done.stdout
    assert "noise" not in done.stdout
    assert "noise on standard output" in done.stderr


def test_client_as_json(module: str) -> None:
    done = run("audit-client", f"{module}:honest", *CLIENT, "--claimed-eps", "9", "--json")
    data = json.loads(done.stdout)
    assert data["refuted"] is False
    assert data["reports"] == 3
    assert data["clients_per_value"] == 64
    assert data["eps_lower"] <= 9


def test_check_is_an_exit_status(module: str) -> None:
    """The honest client has eps = ln 3 = 1.0986, so it fails with probability at most 1e-9."""
    options = ["--value", "0", "--value", "1", "--reports", "2", "--clients", "400", "--level", "0.999999999"]
    options += ["--claimed-eps", "1.1", "--claimed-advantage", "0.38", "--check"]
    for factory, status in (("naked", 1), ("honest", 0)):
        done = run("audit-client", f"{module}:{factory}", *options)
        assert done.exit_code == status
        assert done.stderr.count("the check failed: eps of both reports is larger than claimed") == status


def test_check_fails_clients_that_can_be_followed(module: str) -> None:
    """By 20 kept bits, whatever the value. A client without anything kept passes, with probability 1 - 1e-6."""
    options = [
        "--value",
        "0",
        "--value",
        "1",
        "--reports",
        "4",
        "--clients",
        "200",
        "--level",
        "0.999999",
        "--check",
    ]
    done = run("audit-client", f"{module}:followed", *options)
    assert done.exit_code == 1
    assert "clients can be followed: the tracking advantage is certainly above 0.1" in done.stderr
    assert "CLIENTS CAN BE FOLLOWED" in done.stdout
    done = run("audit-client", f"{module}:followed", *options, "--claimed-gamma", "0.2", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["check"]["failures"] == ["gamma"]
    assert "the check failed: gamma is larger than claimed" in done.stderr
    without = run("audit-client", f"{module}:followed", *options[:-1])
    assert without.exit_code == 0
    for more in ([], ["--claimed-advantage", "0"]):
        done = run("audit-client", f"{module}:fresh", *options, *more, "--json")
        assert done.exit_code == 0
        assert json.loads(done.stdout)["check"] | {"false_alarm_upper": 0} == {
            "passed": True,
            "failures": [],
            "tracking_limit": 0.1,
            "false_alarm_upper": 0,
        }


def test_values_may_be_text(module: str) -> None:
    for text in ([], ["--text"]):
        done = run("audit-client", f"{module}:Nested.make", *CLIENT, *text)
        assert done.exit_code == 0
    done = run("audit-client", f"{module}:honest", *CLIENT, "--text")
    assert "the factory raised TypeError" in done.stderr


@pytest.mark.parametrize(
    ("where", "status", "message"),
    [
        ("{}", 2, "must be MODULE:FACTORY"),
        ("{}.py:honest", 2, "give the name of the module, not of its file"),
        ("{}:nothing", 1, "has no nothing"),
        ("{}:thing", 1, "must be callable, but it is of type int"),
        ("{}:failing", 1, "the factory raised RuntimeError"),
        ("{}:floating", 1, "not float"),
        ("no_such_module:honest", 1, "there is no module no_such_module"),
        ("module_that_fails:honest", 1, "importing module_that_fails raised ZeroDivisionError"),
    ],
)
def test_clients_that_cannot_be_audited(module: str, where: str, status: int, message: str) -> None:
    done = run("audit-client", where.format(module), *CLIENT)
    assert done.exit_code == status
    assert message in done.stderr
    assert done.stdout == ""
    assert HIDDEN not in done.stderr


def test_client_needs_two_values(module: str) -> None:
    done = run("audit-client", f"{module}:honest", "--value", "1", "--value", "1", "--reports", "3")
    assert done.exit_code == 2
    assert "at least two different values" in done.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "reports.csv"
    rows = [f"u{HIDDEN}{i % 200},{place},{i % 200 * 2654435761 % 65536:04x}" for place in "ab" for i in range(400)]
    path.write_text("\n".join(["user,place,report", *rows[:10], f"{HIDDEN},a", *rows[10:]]))
    return path


def test_file_in_words(file: Path) -> None:
    done = run("audit-file", str(file))
    assert done.exit_code == 0
    assert "People in this file can be followed" in done.stdout
    assert "801 rows, 1 malformed" in done.stdout
    assert "line 12: 2 columns instead of 3" in done.stdout
    first = "Reports with place a were compared with those with place b. Used were 800 of 801 rows, on average 4"
    assert done.stdout.index(first) < done.stdout.index("taken for one person")
    assert "about the file as it is" in done.stdout
    assert HIDDEN not in done.output


def test_file_as_json(file: Path) -> None:
    done = run("audit-file", str(file), "--json", "--people", "100", "--level", "0.9", "--format", "hex")
    data = json.loads(done.stdout)
    assert data["advantage_lower"] > 0.5
    assert data["malformed_rows"] == 1
    assert data["malformed_examples"] == [{"line": 12, "reason": "2 columns instead of 3"}]
    assert data["people"] == 100
    assert data["pseudonyms_are_a_sample"] is True
    assert data["windows"] == ["a", "b"]
    assert HIDDEN not in done.stdout


def test_check_of_a_file_is_an_exit_status(file: Path) -> None:
    for more, limit in (([], "0.1, the limit without a claim"), (["--claimed-advantage", "0.3"], "0.3, the claim")):
        done = run("audit-file", str(file), "--check", *more)
        assert done.exit_code == 1
        assert (
            f"the check failed: people can be followed by their reports: the advantage is certainly above {limit}"
            in (done.stderr)
        )
    done = run("audit-file", str(file), "--check", "--claimed-advantage", "1", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["check"] == {
        "passed": True,
        "failures": [],
        "tracking_limit": 1.0,
        "false_alarm_upper": pytest.approx(0.01),
    }


def test_reports_are_dealt_if_no_window_is_to_be_used(file: Path, tmp_path: Path) -> None:
    done = run("audit-file", str(file), "--window-column", "none", "--plot", str(tmp_path / "a.svg"), "--json")
    data = json.loads(done.stdout)
    assert (data["windows"], data["columns"]["window"], data["reports"]) == (None, None, 800)
    assert data["verdict"].startswith("Each person's reports were dealt at random into two halves, and the halves")
    assert "halves of one person" in (tmp_path / "a.svg").read_text()
    done = run("audit-file", str(file), "--window-column", "none", "--windows", "a,b")
    assert "no column of windows is to be used" in done.stderr


def test_file_by_the_law_of_a_mechanism(file: Path) -> None:
    """These reports never change, which this RAPPOR's law makes of one person for almost everyone."""
    law = "rappor bloom_bits=16 hashes=1 f=0.75 p=0.1 q=0.9"
    done = run("audit-file", str(file), "--mechanism", law, "--value", "x", "--json")
    data = json.loads(done.stdout)
    assert data["tracking"]["similarity"] == "the mechanism's likelihood ratio"
    assert data["tracking"]["same"]["trials"] == 100
    assert data["advantage_lower"] > 0.3


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--mechanism", "nothing", "--value", "x"], 1, "mechanism must be one of"),
        (["--windows", "a"], 2, "two windows with a comma"),
        (["--windows", "a,z"], 1, "there are no rows in the window 'z'"),
        (["--pseudonym-column", "who"], 1, "no column of pseudonyms called who: its columns are"),
        (["--report-column", "user", "--format", "integer"], 1, "no row can be used"),
        (["--format", "octal"], 2, "'octal' is not one of"),
        (["--level", "1"], 2, "--level"),
        (["--value", "x"], 2, "--value needs --mechanism"),
        (["--preset", "x"], 2, "--preset needs --mechanism"),
        (["--mechanism", "Rappor"], 2, "--mechanism needs --value"),
    ],
)
def test_bad_file_arguments(file: Path, arguments: list[str], status: int, message: str) -> None:
    done = run("audit-file", str(file), *arguments)
    assert done.exit_code == status
    assert message in done.stderr
    assert done.stdout == ""
    assert HIDDEN not in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"PAR1 and nothing more", "damaged or truncated within its 21 bytes"),
        (b"ARROW1 and nothing more", "damaged or truncated within its 23 bytes"),
        (bytes(range(256)), "must be Parquet, Arrow or CSV"),
    ],
)
def test_bad_files(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "reports"
    path.write_bytes(content)
    done = run("audit-file", str(path))
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
