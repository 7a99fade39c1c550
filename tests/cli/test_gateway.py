"""`untrackable gateway`: keys are made, shown and revoked, and no command prints a private one."""

import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from untrackable import strict_json
from untrackable.cli import main
from untrackable.oblivious.gateway_keys import read_keys


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["gateway", *map(str, arguments)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "gateway.keys"
    assert run("new", path, "--keys", 3, "--every", 30).exit_code == 0
    return path


def test_new_keys(tmp_path: Path) -> None:
    path = tmp_path / "gateway.keys"
    made = run("new", path, "--keys", 2, "--every", 7, "--json")
    assert made.exit_code == 0, made.output
    keys = read_keys(path)
    assert strict_json.parse(made.stdout) == keys.public_list(1)
    assert [key.first_round for key in keys.keys] == [1, 8]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = run("new", path, "--keys", 1, "--json")
    assert strict_json.parse(again.stdout) == read_keys(path).public_list(2)
    assert read_keys(path).keys[:2] == keys.keys


def test_no_command_prints_a_secret(file: Path) -> None:
    secrets = [key.secret.hex() for key in read_keys(file).keys if key.secret is not None]
    said = [run("show", file), run("show", file, "--json"), run("new", file), run("revoke", file, 0)]
    assert all(result.exit_code == 0 for result in said)
    assert not any(secret in result.output for result in said for secret in secrets)


def test_show(file: Path) -> None:
    run("revoke", file, "0")
    shown = run("show", file).stdout.splitlines()
    assert shown[0] == "List 1"
    assert [line.split()[:5] for line in shown[1:]] == [
        ["key", str(id), "from", "round", str(first)] for id, first in enumerate((1, 31, 61))
    ]
    assert [line.endswith("revoked") for line in shown[1:]] == [True, False, False]
    assert strict_json.parse(run("show", file, "--json").stdout) == read_keys(file).public_list(1)
    assert run("show", file, "--list", 1).stdout.splitlines() == shown
    assert "no list 2" in run("show", file, "--list", 2).stderr


def test_revoke(file: Path) -> None:
    assert strict_json.parse(run("revoke", file, 2, "--json").stdout) == {"revoked": [2], "left": [0, 1]}
    assert run("revoke", file, "--before", 31).stdout == "Revoked: 0.\n"
    assert run("revoke", file, "--before", 31).stdout == "Revoked: none that was not revoked before.\n"
    assert [key.revoked for key in read_keys(file).keys] == [True, False, True]
    before = file.read_bytes()
    assert "no key 7" in run("revoke", file, 1, 7).stderr
    assert run("revoke", file).exit_code == 2
    assert file.read_bytes() == before


def test_a_wrong_file_is_an_error_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text("{}")
    assert "chmod 600" in run("show", path).stderr
    path.chmod(0o600)
    for arguments in (["show"], ["new"], ["revoke", "--before", 2]):
        result = run(arguments[0], path, *arguments[1:])
        assert result.exit_code == 1
        assert result.stderr.count("\n") == 1
        assert "not a file with a gateway's keys" in result.stderr
    assert path.read_text() == "{}"
    assert "No such file" in run("show", tmp_path / "missing").stderr
    assert "No such file" in run("new", tmp_path / "missing" / "keys").stderr
