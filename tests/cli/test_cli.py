import io
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from rich.console import Console

from tests.cli.commands import run
from tests.cli.commands_page import PAGE, commands
from untrackable.cli import main
from untrackable.cli.terminal import print_sentences


@pytest.mark.parametrize("name", sorted(commands(main)))
def test_every_command_is_documented(name: str) -> None:
    """In the list of commands, to which the README leads."""
    assert f"`untrackable {name}`" in PAGE.read_text(encoding="utf-8")
    assert "docs/commands.md" in (Path(__file__).parent.parent.parent / "README.md").read_text(encoding="utf-8")


def test_help_and_version() -> None:
    assert "Example:" in run("--help").output
    assert "0.2.0" in run("--version").output
    assert isinstance(main, click.Group)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["paper", "--seed", "-1"], "-1 is not in the range"),
        (["demo", "--seed", "x"], "not a valid integer"),
        (["nothing"], "No such command"),
        (["demo", "--plot", "."], "is a directory"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize("name", ["missing/demo.png", "demo", "demo.txt"])
def test_a_picture_that_cannot_be_written_is_refused_at_once(name: str, tmp_path: Path) -> None:
    done = run("demo", "--plot", str(tmp_path / name))
    assert done.exit_code == 2
    assert "--plot" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_an_error_in_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "untrackable", "--help"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603
    assert ended.returncode == 1
    assert ended.stderr == "Error: cannot write the output: No space left on device\n"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["audit", "--list"], ["audit", "deck"], ["audit", "deck", "--json"]]
)
def test_a_reader_that_goes_away_ends_it_without_a_word(arguments: list[str]) -> None:
    """As `| head` does: the status is that of a broken pipe, and there is neither an error nor a traceback."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "untrackable", *arguments]
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_sentences_are_wrapped_on_a_terminal_and_whole_in_a_pipe() -> None:
    sentence = "interval: " + "of all [values] at once " * 6
    for terminal in (True, False):
        console = Console(file=io.StringIO(), width=40, force_terminal=terminal, highlight=False)
        print_sentences(console, [sentence.strip(), "short"], indent="  ")
        lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
        assert " ".join(line.strip() for line in lines[:-1]) == sentence.strip()
        assert lines[-1] == "  short"
        assert len(lines) == (6 if terminal else 2)
        assert all(line.startswith("    ") and len(line) <= 40 for line in lines[1:-1])
