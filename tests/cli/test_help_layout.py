"""Help as people read it: one line for each command and option at 80 columns, grouped by job, and fast."""

import inspect
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from tests.cli.commands_page import PAGE, commands, commands_page
from untrackable.cli import JOBS, main

COMMANDS = commands(main)


def shown(name: str) -> list[str]:
    """The lines of a command's help on a terminal of 80 columns."""
    done = CliRunner(env={"COLUMNS": "80"}).invoke(main, [*name.split(), "--help"])
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_and_nothing_is_cut_off(name: str) -> None:
    lines = shown(name)
    assert all(len(line) <= 80 for line in lines)
    assert not any(line.endswith("...") and "Usage:" not in line for line in lines)
    options = lines[lines.index("Options:") + 1 :]
    assert all(line.startswith("  -") for line in options), "an option's help takes more than its line"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_first_sentence_json_and_an_example(name: str) -> None:
    command = COMMANDS[name]
    first, *others = inspect.cleandoc(command.help or "").splitlines()
    assert len(first) <= 70
    assert first.endswith((".", "?"))
    assert others[0] == ""
    assert f"Example: untrackable {name}" in "\n".join(shown(name))
    if not isinstance(command, click.Group):
        assert any("--json" in parameter.opts for parameter in command.params)
    for option in command.params:
        assert not isinstance(option, click.Option) or (option.help or "").endswith((".", "?")), option.opts


def test_the_list_has_one_line_for_each_command_under_its_job() -> None:
    lines = shown("")
    for job, names in JOBS.items():
        start = lines.index(f"{job}:") + 1
        for line, name in zip(lines[start : start + len(names)], names, strict=True):
            assert line.split(maxsplit=1) == [name, inspect.cleandoc(COMMANDS[name].help or "").splitlines()[0]]
    assert next(line for line in lines if line.endswith(":")) == "Try it:"


def test_the_page_of_commands_is_what_help_says() -> None:
    """`python -m tests.cli.commands_page` writes it."""
    assert PAGE.read_text(encoding="utf-8") == commands_page(), "run python -m tests.cli.commands_page"


def test_people_may_still_be_called_users() -> None:
    for name in ("audit", "compare"):
        (option,) = [each for each in COMMANDS[name].params if each.name == "people"]
        assert option.opts == ["--people", "--users"]
        assert "--users" not in "\n".join(shown(name))


def test_help_loads_nothing_heavy_and_a_command_only_itself() -> None:
    script = """
import sys
from click.testing import CliRunner
from untrackable.cli import main
CliRunner().invoke(main, ["keys", "--help"], catch_exceptions=False)
assert "untrackable.cli.audit" not in sys.modules
assert CliRunner().invoke(main, ["--help"], catch_exceptions=False).exit_code == 0
assert "untrackable.cli.audit" in sys.modules
heavy = {"numpy", "scipy", "rich", "altair", "pyarrow", "numba"} & set(sys.modules)
sys.exit(f"loaded {heavy}" if heavy else 0)
"""
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603
