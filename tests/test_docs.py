"""README and docs: their Python runs, their numbers are right, their links lead somewhere, their tests exist."""

import pkgutil
import re
from pathlib import Path

import click
import pytest

from benchmarks.shared import pages
from tests import documented_numbers, documented_output

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
GENERATED = ("api.md", "commands.md", "http-api.md")
"""Pages that are written by the code they describe."""
WRITTEN = [page for page in PAGES if page.name not in (*GENERATED, "CHANGELOG.md")]
BLOCKS = [
    block.text
    for page in PAGES
    for block in documented_numbers.blocks(page.read_text(encoding="utf-8"))
    if block.language == "python"
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_says_what_its_code_prints_and_computes(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    documented_numbers.check_page(page.read_text(encoding="utf-8"), documented_numbers.numbers_of(page))


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_numbers_that_look_like_results_say_where_they_come_from(page: Path) -> None:
    text = pages.by_hand(page.read_text(encoding="utf-8"))
    assert documented_numbers.unexplained(text, documented_numbers.numbers_of(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_no_comments_but_those_of_outputs_and_measurements(page: Path) -> None:
    comments = re.findall(r"^ *<!-- *(.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [text for text in comments if not re.match("printed by: |measured: |end of ", text)] == []


def test_every_file_of_numbers_belongs_to_a_page() -> None:
    names = {path.stem for path in documented_numbers.FOLDER.iterdir()}
    assert names
    assert names <= {page.stem for page in PAGES}


def test_there_are_blocks_to_run() -> None:
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_erratum_names_a_test_that_exists() -> None:
    rows = re.findall(
        r"^\| (E\d+) \|.*\| ([^|]+) \|$", (ROOT / "docs" / "errata.md").read_text(encoding="utf-8"), re.M
    )
    assert [number for number, _ in rows] == [f"E{i}" for i in range(1, len(rows) + 1)]
    for number, tests in rows:
        names = re.findall(r"`([^`]+)`", tests)
        assert names, number
        for name in names:
            assert list(ROOT.glob(name if "/" in name else f"tests/**/{name}")), name


def test_the_paper_map_names_things_that_exist() -> None:
    text = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`((?:theory|mechanisms)\.[A-Za-z_.]+)`", text))
    assert len(names) > 20
    for name in names:
        pkgutil.resolve_name(f"untrackable.{name}")


SHOWN = [
    pytest.param(command, shown, id=f"{page.name}-{command}", marks=pytest.mark.xdist_group(command))
    for page in PAGES
    for command, shown in documented_output.shown_outputs(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("command", "shown"), SHOWN)
def test_commands_print_what_a_page_shows(command: str, shown: str) -> None:
    assert documented_output.shows(shown, documented_output.printed_by(command))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_a_page_names_exist(page: Path) -> None:
    for command in documented_output.named_commands(page.read_text(encoding="utf-8")):
        documented_output.check_command(command)


def test_a_command_that_does_not_exist_is_refused() -> None:
    text = "a\n\n    untrackable plan --people 5 \\\n        --values 2  # why\n    untrackable audit … --x\n"
    assert documented_output.named_commands(text) == ["plan --people 5         --values 2"]
    documented_output.check_command("manage close 5d41402a 7")
    for wrong in ("send https://collect.example --every 9:00", "manage shut 5d41402a 7", "plan --persons 5"):
        with pytest.raises((documented_output.OutputError, click.UsageError)):
            documented_output.check_command(wrong)


def test_there_is_output_to_compare() -> None:
    assert SHOWN
    said = [claim for block in BLOCKS for claim in documented_output.claims(block).values()]
    assert len(said) >= 40


BLOCK = """
from untrackable.brackets import Bracket

number = Bracket(2.0, 2.0)
print(number)  # {said}
for value in range(2):
    print(
        value
    )  # {value}
"""


@pytest.mark.parametrize("said", ["2 (exact)", "2 (exact) — four cards of 0.5", "2 (…", "2… (exact)", "…"])
def test_a_right_comment_is_taken(said: str) -> None:
    documented_output.run(BLOCK.format(said=said, value="…"))


@pytest.mark.parametrize(
    "said",
    [
        "3 (exact)",
        "2.1 (exact)",
        "2 (upper)",
        "2",
        "2 (exact): four cards",
        "(exact)",
        "2.0… (exact)",
        "3… (exact)",
        "20…",
    ],
)
def test_a_wrong_comment_is_refused(said: str) -> None:
    with pytest.raises(documented_output.OutputError, match=r"line 5 prints '2 \(exact\)'"):
        documented_output.run(BLOCK.format(said=said, value="…"))


def test_every_turn_of_a_loop_is_compared() -> None:
    with pytest.raises(documented_output.OutputError, match="line 7 prints '1'"):
        documented_output.run(BLOCK.format(said="2 (exact)", value="0"))


def test_a_wrong_digit_behind_many_right_ones_is_refused() -> None:
    for said, right in (("0.97…", True), ("0.971…", True), ("0.98…", False), ("0.972…", False), ("0.97", False)):
        assert documented_output.agrees(said, "0.97123") == right, said
    assert documented_output.agrees("['a', …] 0.5…", "['a', 'b', 'c'] 0.51")
    assert not documented_output.agrees("['a', …] 0.5…", "['a', 'b', 'c'] 0.61")
    assert not documented_output.agrees("0.5…", "0.5 (exact)")  # more digits, and nothing else


def test_a_print_that_is_never_reached_is_refused() -> None:
    with pytest.raises(documented_output.OutputError, match="never reached"):
        documented_output.run("for value in ():\n    print(value)  # 1\n")


def test_shown_output_is_compared_whatever_its_line_breaks() -> None:
    printed = "An observer recognises\nthis person with probability 0.875 (sampled).\nmore"
    assert documented_output.shows(
        "    An observer recognises this person\n    with probability 0.875 (…).\n", printed
    )
    assert not documented_output.shows("    An observer recognises this person with probability 0.89\n", printed)
    (shown,) = documented_output.shown_outputs("a\n\n<!-- printed by: untrackable x -->\n\n    b\n    c\n\nd\n")
    assert shown == ("untrackable x", "    b\n    c\n")
