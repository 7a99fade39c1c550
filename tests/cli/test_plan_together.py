"""`untrackable plan --together`: a file of questions becomes campaigns that one client accepts, or an error."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from untrackable.cli import main
from untrackable.cli.question_file import read_questions
from untrackable.encodings.categories import Categories
from untrackable.encodings.choices import Choices
from untrackable.protocol.campaign import Campaign, Directory
from untrackable.theory.crowd_counts import fewest_likely_reports

FILE = """
people = 60_000
rounds = 1
every = "1w"
first = "2100-01-01"

[questions.smoking]
question = "Do you smoke?"
categories = ["no", "yes"]
error = 0.06

[questions.start-up]
question = "How long does it take to start?"
buckets = "0:8:4"
above = "clamp"
"""

TYPES = {"export": "csv", "plot": "svg", "html": "html"}


def run(*words: str) -> Result:
    result = CliRunner().invoke(main, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("set")
    (folder / "questions.toml").write_text(FILE, encoding="utf-8")
    found = run("plan", "--together", f"{folder / 'questions.toml'}", "--campaigns", f"{folder / 'out'}")
    return folder, found


def test_it_says_how_the_budget_is_divided_and_writes_the_campaigns(made: tuple[Path, Result]) -> None:
    folder, found = made
    assert found.exit_code == 0, found.output
    text = " ".join(found.output.split())
    for part in (
        "Both questions fit into one budget of eps 1 and delta 1e-06",
        "This is for answers that stay the same (",
        "as a client's ledger adds them up",
        "What was asked for has what it needs (smoking).",
        "recognised among 1,000 by all questions together",
        "Nobody has to be trusted",
        "if people can give all answers at once: one campaign with a record",
        "Every client accepts all of them with its default policy",
        "at delta 5e-07",
        "smoking: 60,000 people; any one value, except with probability 0.05",
    ):
        assert part in text, part
    campaigns = [
        Campaign.from_bytes((folder / "out" / name).read_bytes()) for name in ("smoking.json", "start-up.json")
    ]
    assert [campaign.question for campaign in campaigns] == ["Do you smoke?", "How long does it take to start?"]
    assert {campaign.first_round for campaign in campaigns} == {4_102_444_800}
    assert {campaign.round_seconds for campaign in campaigns} == {7 * 86_400}
    directory = Directory.from_bytes((folder / "out" / "directory.json").read_bytes())
    assert set(directory.ids) == {campaign.id for campaign in campaigns}
    assert directory.digest in found.output


def test_one_person_answers_all_of_them(made: tuple[Path, Result], tmp_path: Path) -> None:
    """The budget is shown before each answer; a third question does not fit any more."""
    folder = made[0] / "out"
    pin = Directory.from_bytes((folder / "directory.json").read_bytes()).digest
    person = str(tmp_path / "person")
    for name, answer in (("start-up", "3\n"), ("smoking", "no\n")):
        asked = str(folder / f"{name}.json")
        offer = run("policy", "show", "--campaign", asked, "--folder", person)
        assert "It would be accepted." in offer.output
        done = CliRunner().invoke(
            main,
            ["answer", asked, "--pin", pin, "--directory", str(folder / "directory.json"), "--folder", person],
            input=answer,
        )
        assert done.exit_code == 0, done.output
    shown = run("policy", "show", "--folder", person)
    assert "eps 1 of 1" in shown.output
    assert "No eps is left that a further campaign could have for certain" in shown.output
    already = run("policy", "show", "--campaign", str(folder / "smoking.json"), "--folder", person)
    assert "You take part in this campaign already" in already.output
    further = tmp_path / "further.json"
    words = ("--question", "Else?", "--category", "a", "--category", "b", "--rounds", "1", "--first", "2100-01-01")
    assert run("campaign", "new", str(further), *words).exit_code == 0
    told = run("policy", "show", "--campaign", str(further), "--folder", person)
    assert "It would be refused: this campaign does not fit your privacy budget" in told.output
    found = json.loads(run("policy", "show", "--campaign", str(further), "--folder", person, "--json").output)
    assert found["accepted"] is found["joined"] is False
    assert found["spent_with_it_upper"]["eps"] > 1 >= found["spent_upper"]["eps"]


def test_json_has_everything(made: tuple[Path, Result], tmp_path: Path) -> None:
    found = run("plan", "--together", str(made[0] / "questions.toml"), "--json")
    assert found.exit_code == 0
    told = json.loads(found.output)
    assert set(told["questions"]) == set(told["record"]["errors_upper"]) == {"smoking", "start-up"}
    smoking = told["questions"]["smoking"]
    assert smoking["error_upper"] <= smoking["wanted_error"] == 0.06
    assert smoking["needed_eps_upper"] == smoking["eps"]
    assert told["spent_eps_upper"] <= told["eps"] == told["policy"]["crowd_eps"] == 1
    plan, record = tmp_path / "plan.json", tmp_path / "record.json"
    plan.write_text(found.output, encoding="utf-8")
    record.write_text(json.dumps(told["record"]), encoding="utf-8")
    for number, words in enumerate(((str(plan), "--part", "smoking"), (str(record),))):
        made_of = ("campaign", "new", str(tmp_path / f"{number}.json"), "--question", "Do you smoke?", "--plan")
        assert run(*made_of, *words).exit_code == 0


def test_it_is_written_as_a_table_a_picture_and_a_page(made: tuple[Path, Result], tmp_path: Path) -> None:
    files = {name: tmp_path / f"set.{ending}" for name, ending in TYPES.items()}
    words = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    found = run("plan", "--together", str(made[0] / "questions.toml"), *words)
    assert found.exit_code == 0, found.output
    told = "".join(found.output.split())
    assert all(f"wrote{path}" in told for path in files.values())
    with files["export"].open(newline="") as file:
        smoking, start_up = csv.DictReader(file)
    assert (smoking["question"], start_up["question"]) == ("smoking", "start-up")
    assert float(smoking["error_upper"]) <= float(smoking["wanted_error"]) == 0.06
    assert "2 questions in one budget of eps 1" in files["plot"].read_text(encoding="utf-8")
    page = files["html"].read_text(encoding="utf-8")
    assert "How do several questions share one budget?" in page
    assert "plan --together" in page
    again = run("plan", "--together", str(made[0] / "questions.toml"), "--plot", str(files["plot"]))
    assert again.exit_code == 2
    assert "exists already" in again.output


def test_campaigns_that_exist_are_not_replaced(made: tuple[Path, Result]) -> None:
    folder = made[0]
    before = {path: path.read_bytes() for path in (folder / "out").iterdir()}
    again = run("plan", "--together", str(folder / "questions.toml"), "--campaigns", str(folder / "out"))
    assert again.exit_code == 1
    assert "exists already; choose another folder, or give --force" in again.output
    assert {path: path.read_bytes() for path in (folder / "out").iterdir()} == before
    forced = run(
        "plan", "--together", str(folder / "questions.toml"), "--campaigns", str(folder / "out"), "--force"
    )
    assert forced.exit_code == 0


def test_a_larger_budget_has_to_be_allowed_by_people(tmp_path: Path) -> None:
    file = tmp_path / "questions.toml"
    file.write_text(f"eps = 2\n{FILE}", encoding="utf-8")
    found = run("plan", "--together", str(file))
    assert "untrackable policy set --eps 2 --crowd-eps 2" in " ".join(found.output.split())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("people = 60_000", "people =", "is not a TOML file"),
        ("people = 60_000", "", "question smoking: people is missing"),
        ("people = 60_000", "person = 3", "person is not known; known are eps, delta"),
        ("people = 60_000", 'people = "many"', "question smoking: people must be an integer"),
        ("people = 60_000", "people = 60_000\nplaces = 2", "places must be a text in quotes"),
        ("people = 60_000", "people = 60_000\none_value = 2", "one_value must be true or false"),
        ("people = 60_000", 'people = 60_000\nobserver = "crowd"', "observer is not known"),
        ("people = 60_000", "people = 60_000\ncrowd_eps = 1", "need the public keys of the collector's gateway"),
        ("people = 60_000", 'people = 60_000\ngateway = "g.json"', "gateway is for questions that rely on a crowd"),
        ("people = 60_000", 'people = 9\ncrowd_eps = 1\ngateway = "g.json"', "g.json: "),
        ('every = "1w"', 'every = "weekly"', "every must be a whole number and a unit"),
        ('every = "1w"', "every = 7", "every must be a text in quotes"),
        ('first = "2100-01-01"', 'first = "2020-01-01"', "the first round would have ended"),
        ("[questions.smoking]", '[questions."a/b"]', "a name has letters, digits, - and _ only"),
        ("[questions.smoking]", "[questions.directory]", "a question cannot have the name directory"),
        ('question = "Do you smoke?"', "", "question smoking: its text is missing"),
        ("error = 0.06", "errors = 0.06", "question smoking: errors is not known; known are question"),
        ("error = 0.06", "eps = 0.06", "question smoking: eps is for all questions together"),
        ("error = 0.06", 'every = "1d"', "question smoking: every is for all questions together"),
        ("error = 0.06", "values = 2", "question smoking: categories and values contradict each other"),
        ("error = 0.06", 'above = "clamp"', "question smoking: above is for buckets"),
        ("error = 0.06", 'want = "median"', "question smoking: want must be one of"),
        ("error = 0.06", "error = 0.0001", "question smoking: even if it had all of eps"),
        ('categories = ["no", "yes"]', 'categories = "no"', "question smoking: categories must be a list of texts"),
        ('categories = ["no", "yes"]', 'encoding = {type = "x"}', "question smoking: type must be one of"),
        ('buckets = "0:8:4"', "buckets = 4", "question start-up: buckets must be a text"),
        ("[questions.start-up]", "[other]", "other is not known"),
    ],
)
def test_bad_files_are_refused_in_one_line(old: str, new: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "questions.toml"
    assert old in FILE
    file.write_text(FILE.replace(old, new, 1), encoding="utf-8")
    found = run("plan", "--together", str(file), "--campaigns", str(tmp_path / "out"))
    assert found.exit_code == 1
    assert words in found.output
    assert found.output.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_one_question_none_or_the_same_twice_is_refused(tmp_path: Path) -> None:
    file, (start, smoking, _) = tmp_path / "questions.toml", FILE.split("[questions.")
    one = f"[questions.{smoking}"
    for text, words in (
        (start + one, "at least two questions"),
        (start, "has no questions"),
        (start + one + one.replace("smoking", "again"), "two questions are the same"),
    ):
        file.write_text(text, encoding="utf-8")
        found = run("plan", "--together", str(file))
        assert found.exit_code == 1
        assert words in found.output


def test_options_beside_the_file_are_refused(made: tuple[Path, Result]) -> None:
    file = str(made[0] / "questions.toml")
    for words, told in (
        (("--together", file, "--people", "9"), "--people does not go with --together"),
        (("--together", file, "--one-value"), "--one-value does not go with --together"),
        (("--campaigns", "x", "--values", "2"), "--campaigns goes with --together"),
    ):
        found = run("plan", *words)
        assert found.exit_code == 2
        assert told in found.output


def test_answers_are_described_as_in_other_commands(tmp_path: Path) -> None:
    file = tmp_path / "questions.toml"
    several = FILE.replace('buckets = "0:8:4"\nabove = "clamp"', 'choices = ["a", "b"]\none_value = true')
    file.write_text(several, encoding="utf-8")
    found = read_questions(file)
    assert found.questions == {
        "smoking": {"encoding": Categories(names=["no", "yes"]), "error": 0.06},
        "start-up": {"encoding": Choices(names=["a", "b"]), "simultaneous": False},
    }
    assert found.shared == {"people": 60_000, "rounds": 1}
    assert (found.every, found.first) == ("1w", "2100-01-01")


def test_the_page_shows_the_file_that_it_plans() -> None:
    docs = Path(__file__).parent.parent.parent / "docs"
    lines = (docs / "questions.toml").read_text(encoding="utf-8").splitlines()
    shown = "".join(f"    {line}\n" if line else "\n" for line in lines)
    assert shown in (docs / "planning.md").read_text(encoding="utf-8")


def test_questions_may_rely_on_a_crowd(tmp_path: Path) -> None:
    file, keys = tmp_path / "questions.toml", tmp_path / "gateway.json"
    keys.write_text(run("gateway", "new", str(tmp_path / "gateway.keys"), "--json").output, encoding="utf-8")
    asked = "people = 2_000\ncrowd_eps = 1\neps = 64\nrecognition = 1.0\ngateway = 'gateway.json'\n"
    for name, rounds in (("one", 1), ("two", 2)):
        asked += f"[questions.{name}]\nquestion = 'Is it {name}?'\nvalues = 2\nrounds = {rounds}\n"
    file.write_text(asked, encoding="utf-8")
    found = run("plan", "--together", str(file), "--campaigns", str(tmp_path / "out"))
    assert found.exit_code == 0, found.output
    text = " ".join(found.output.split())
    assert "budget of eps 1 and delta 1e-06 in a crowd" in text
    assert "One thing has to be trusted: that the relay" in text
    assert "hardly any protection" not in text
    assert text.count("Up to 5 % of 2,000 people may be missing from a round.") == 1
    assert "policy set --eps 8.8 --recognition 1 --relay https://…" in text
    for name in ("one", "two"):
        campaign = Campaign.from_bytes((tmp_path / "out" / f"{name}.json").read_bytes())
        assert campaign.guarantee.crowd is not None
        assert campaign.guarantee.crowd.eps < 1
        assert campaign.guarantee.crowd.people == fewest_likely_reports(2000, Fraction(19, 20))
        assert campaign.gateway is not None
    file.write_text(f"margin = 0.3\n{asked}", encoding="utf-8")
    assert "Up to 30 % of 2,000 people" in " ".join(run("plan", "--together", str(file)).output.split())
