"""Commands never replace a file without --force."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.cli.commands_page import commands
from untrackable.cli import main
from untrackable.cli.new_file import NewFile


def test_a_file_that_exists_is_replaced_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("mine")
    arguments = ["simulate", "deck", "bits=2", "slots=3", "eps_report=1", "--people", "9", "--out", str(file)]
    refused = CliRunner().invoke(main, arguments)
    assert refused.exit_code == 2
    assert "exists already; choose another name, or give --force to replace it" in " ".join(refused.output.split())
    assert file.read_text() == "mine"
    assert CliRunner().invoke(main, [*arguments, "--force"]).exit_code == 0
    assert file.read_text() != "mine"
    assert CliRunner().invoke(main, [*arguments[:-1], "/dev/null", "--force"]).exit_code in (0, 1)


def test_every_command_that_writes_a_file_says_so() -> None:
    found = commands(main)
    writing = {name: command for name, command in found.items() if any("--force" in p.opts for p in command.params)}
    for name in ("audit", "compare", "demo", "estimate", "export", "plan", "rappor-decode", "simulate"):
        assert name in writing
    for command in writing.values():
        assert any(isinstance(parameter.type, NewFile) for parameter in command.params)
    for name, command in found.items():
        for parameter in command.params:
            unsafe = type(parameter.type) is click.Path and not parameter.type.exists and parameter.type.file_okay
            if unsafe and parameter.name in ("plot", "html", "out", "export"):
                pytest.fail(f"{name} {parameter.name} replaces files")
