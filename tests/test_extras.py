"""Without an extra, the command line says which one to install; what needs none works without any."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from untrackable import __version__
from untrackable.errors import ExtraMissing, UntrackableError
from untrackable.extras import EXTRAS, extra, require
from untrackable.protocol.campaign import Campaign

SCRIPT = """
import sys

absent = set(sys.argv.pop(1).split(","))

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())

from untrackable.__main__ import run

run()
"""
BEYOND_THE_BASE = {module for name in EXTRAS.keys() - {"all"} for module in EXTRAS[name][1]} | {"numba", "PIL"}
"""What `untrackable-engine` does not bring by itself."""
NEW = ["--question", "Which?", "--category", "a", "--category", "b", "--rounds", "30", "--every", "1d"]


def without(absent: set[str], *arguments: str, folder: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """The `untrackable` command in a folder, where these packages cannot be imported."""
    command = [sys.executable, "-c", SCRIPT, ",".join(absent), *arguments]
    return subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, cwd=folder, timeout=300, check=False, input=given
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has files that commands are to read, made without any extra; reports.parquet only looks like one."""
    folder = tmp_path_factory.mktemp("base")
    made = ["simulate", "deck", "bits=2", "slots=3", "eps_report=1", "--people", "500", "--out", "reports.npz"]
    assert without(BEYOND_THE_BASE, *made, folder=folder).returncode == 0
    assert without(BEYOND_THE_BASE, "campaign", "new", "campaign.json", *NEW, folder=folder).returncode == 0
    (folder / "reports.parquet").write_bytes(b"PAR1 and more")
    (folder / "reports.csv").write_text("person,report\n1,0\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("all", "--help"),
        ("all", "answer campaign.json"),
        ("collector", "serve"),
        ("collector", "demo --once"),
        ("collector", "keys new --role reader"),
        ("cuda", "estimate reports.npz --engine cuda"),
        ("files", "audit-file reports.csv"),
        ("files", "estimate reports.csv"),
        ("files", "estimate reports.parquet"),
        ("files", "estimate reports.npz --export out.parquet"),
        ("files", "simulate deck bits=2 slots=3 eps_report=1 --out other.parquet"),
        ("plots", "audit deck bits=2 slots=9 eps_report=0.1 --html page.html"),
        ("plots", "compare --html page.html"),
        ("plots", "demo --once --plot picture.png"),
        ("plots", "estimate reports.npz --plot picture.png"),
        ("plots", "paper --plot picture.png"),
        ("plots", "plan --values 2 --rounds 30 --eps 1 --error 0.01 --html page.html"),
        ("plots", "rappor-decode params.csv counts.csv --candidates words.txt --plot picture.png"),
        ("postgres", "serve --port 0 --store postgresql://nobody@localhost/nothing"),
    ],
)
def test_a_missing_extra_is_named_in_one_line(name: str, arguments: str, folder: Path) -> None:
    """Each of them alone is missing, so that the right one is named."""
    run = without(set(EXTRAS[name][1]), *arguments.split(), folder=folder)
    assert run.returncode == 1
    assert run.stdout == ""
    what, _ = EXTRAS[name]
    assert run.stderr == f"Error: {what} packages that are not installed: pip install 'untrackable[{name}]'\n"
    assert not [path for path in folder.iterdir() if path.suffix in (".html", ".png") or path.is_dir()]


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "--version",
        "audit deck bits=2 slots=9 eps_report=0.1 --reports 5 --no-attack",
        "audit --list",
        "campaign show campaign.json",
        "campaign verify campaign.json",
        "estimate reports.npz --export estimate.csv",
        "plan --values 2 --rounds 30 --eps 1 --error 0.01",
        "serve --help",
    ],
)
def test_what_needs_only_the_base_works_without_any_extra(arguments: str, folder: Path) -> None:
    run = without(BEYOND_THE_BASE, *arguments.split(), folder=folder)
    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_a_person_answers_and_sends_with_the_base_alone(folder: Path) -> None:
    asked = Campaign.from_bytes((folder / "campaign.json").read_bytes())
    answer = ["answer", "campaign.json", "--pin", asked.id, "--folder", "mine"]
    answered = without(BEYOND_THE_BASE, *answer, folder=folder, given="a\n")
    assert answered.returncode == 0, answered.stderr
    sent = without(BEYOND_THE_BASE, "send", "http://127.0.0.1:9", "--folder", "mine", folder=folder)
    assert sent.returncode == 0, sent.stderr


def test_extras_are_those_that_are_declared() -> None:
    """Every module that is asked for comes with the extra that is named, and `all` brings every other extra."""
    extras = project("pyproject.toml")["optional-dependencies"]
    declared = {
        name: tuple(sorted(_module(requirement) for requirement in requirements if not _is_own(requirement)))
        for name, requirements in extras.items()
    }
    # These are large, and only useful with a GPU or a cluster: `all` leaves them out.
    for name in ("cuda", "spark"):
        assert declared.pop(name) == EXTRAS[name][1]
    assert declared.pop("all") == ()
    [everything] = extras["all"]
    assert everything == f"untrackable[{','.join(sorted(declared))}]"
    assert declared.pop("fast") == ("numba",)  # NumPy does the same without it
    assert declared == {name: modules for name, (_, modules) in EXTRAS.items() if name in declared}
    assert EXTRAS.keys() == declared.keys() | {"all", "cuda", "spark"}


def test_the_client_needs_nothing_and_every_extra_but_one_brings_the_engine() -> None:
    client, engine = project("pyproject.toml"), project("engine/pyproject.toml")
    assert client["dependencies"] == []
    assert [_module(each) for each in engine["dependencies"]] == [*EXTRAS["all"][1], "untrackable"]
    for name, requirements in client["optional-dependencies"].items():
        own = [requirement for requirement in requirements if _is_own(requirement)]
        assert bool(own) == (name != "crowd"), name
        assert all("[" in each or each == f"untrackable-engine=={__version__}" for each in own)
    assert engine["dependencies"][-1] == f"untrackable=={__version__}"


def project(path: str) -> dict[str, Any]:
    """What a file says about its distribution."""
    text = (Path(__file__).parent.parent / path).read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)["project"]
    return found


def _is_own(requirement: str) -> bool:
    """Whether an extra asks for another one, or for the engine."""
    return requirement.startswith("untrackable")


def _module(requirement: str) -> str:
    found = re.match(r"[a-z0-9-]+", requirement)
    assert found is not None
    return {"cupy-cuda13x": "cupy", "vl-convert-python": "vl_convert"}.get(found[0], found[0])


def test_what_is_installed_is_not_refused() -> None:
    for name in EXTRAS.keys() - {"cuda"}:
        require(name)


def test_other_failures_stay_what_they_are() -> None:
    def within() -> None:
        with extra("plots"):
            raise ModuleNotFoundError("No module named 'untrackable.nothing'", name="untrackable.nothing")

    with pytest.raises(ModuleNotFoundError, match="nothing") as failure:
        within()
    assert not isinstance(failure.value, UntrackableError)
    assert issubclass(ExtraMissing, ImportError)
