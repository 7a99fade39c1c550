"""Builds the release, looks at what is in it, and tries it: `make dist`.

    python -m tests.distribution dist

makes a wheel and a source archive in `dist`, compares their contents with the checkout, installs the wheel into an
empty environment with the locked dependencies, and runs the demo and a small round trip from there.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

from untrackable import __version__

ROOT = Path(__file__).parent.parent
_TOP = ("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "pyproject.toml")
_SOURCE_FOLDERS = ("src", "clients", "tests", "docs", "benchmarks")
_NOT_SHIPPED = ("__pycache__", "node_modules", "dist", ".hypothesis")


def said(command: list[str], folder: Path, **environment: str) -> str:
    """All that a command prints. It must succeed."""
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def build(folder: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """The wheel and the source archive of a checkout, made without any network."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder.resolve())]
    said(command, source)
    (wheel,), (archive,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, archive


def wheel_files(wheel: Path) -> set[str]:
    """The files in a wheel, without what describes it."""
    with zipfile.ZipFile(wheel) as opened:
        return {name for name in opened.namelist() if ".dist-info/" not in name}


def archive_files(archive: Path) -> set[str]:
    """The files in a source archive."""
    with tarfile.open(archive) as opened:
        return {name.partition("/")[2] for name in opened.getnames()}


def package_files() -> set[str]:
    """What the wheel must have: every file of the package."""
    return {str(file.relative_to(ROOT / "src")) for file in _files(ROOT / "src" / "untrackable")}


def source_files() -> set[str]:
    """What the source archive must have: enough to build the release and to test it."""
    return {str(file.relative_to(ROOT)) for folder in _SOURCE_FOLDERS for file in _files(ROOT / folder)} | {*_TOP}


def check(wheel: Path, archive: Path) -> None:
    """Compare the release with the checkout. What is missing or should not be there is an error."""
    assert wheel.name == f"untrackable-{__version__}-py3-none-any.whl", wheel.name
    assert archive.name == f"untrackable-{__version__}.tar.gz", archive.name
    assert wheel_files(wheel) == package_files(), wheel_files(wheel) ^ package_files()
    missing = source_files() - archive_files(archive)
    assert not missing, missing
    surplus = archive_files(archive) - source_files() - {"PKG-INFO", ".gitignore"}
    assert not surplus, surplus


def try_out(run: list[str], folder: Path) -> None:
    """A question, its reports and their estimate. `run` is the command that starts the installed program."""
    assert __version__ in said([*run, "--version"], folder)
    question = ("--question", "Which?", "--category", "a", "--category", "b", "--rounds", "30")
    said([*run, "campaign", "new", "asked.json", *question], folder)
    assert "Which?" in said([*run, "campaign", "show", "asked.json"], folder)
    made = ("simulate", "deck", "bits=2", "slots=30", "eps_report=1", "--people", "2000", "--out", "reports.csv")
    said([*run, *made], folder)
    assert "2,000" in said([*run, "estimate", "reports.csv"], folder)


def _files(folder: Path) -> list[Path]:
    return [
        file
        for file in folder.rglob("*")
        if file.is_file() and not any(part in _NOT_SHIPPED for part in file.parts)
    ]


def main(folder: Path) -> None:
    """Build, check, install and try the release."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    wheel, archive = build(folder)
    check(wheel, archive)
    _tell(f"{wheel.name} and {archive.name} have what they should; installing the wheel into an empty environment")
    with tempfile.TemporaryDirectory() as name:
        empty = Path(name)
        venv.create(empty / "environment", with_pip=True)
        python, program = (str(empty / "environment" / "bin" / each) for each in ("python", "untrackable"))
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        said([*install, "--require-hashes", "-r", str(ROOT / "requirements.lock")], empty)
        said([*install, "--no-deps", str(wheel.resolve())], empty)
        _tell("trying it out")
        try_out([program], empty)
        _tell(said([program, "demo", "--once"], empty))
    _tell(f"{folder} has a release of version {__version__} that can be installed")


def _tell(words: str) -> None:
    sys.stderr.write(f"{words}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
