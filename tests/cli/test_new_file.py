"""Commands never replace a file without --force, and Ctrl-C ends with 130."""

import signal
import subprocess
import sys
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


def test_ctrl_c_ends_with_130(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "untrackable", "simulate", "deck", "bits=2", "slots=900", "eps_report=1"]
    running = subprocess.Popen(  # noqa: S603
        [*command, "--people", "900000000", "--rounds", "900", "--out", str(tmp_path / "x.csv")],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(tmp_path.iterdir()):
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Stopped." in said
    assert "Traceback" not in said
    assert not (tmp_path / "x.csv").exists()
