"""The package for Node.js as people get it: packed, and installed into an empty folder without a network."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.built import ROOT, SOURCES
from tests.browser.conftest import asking as asking  # a collector whose clock tests set
from tests.node.programs import Installed

PACKAGE = ROOT / "clients" / "node"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    npm = shutil.which("npm")
    assert npm, "there is no npm; make test installs it"
    assert (SOURCES / "node_modules").exists(), "run `npm ci` in clients/browser, as make test does"

    def run(*arguments: str, cwd: Path) -> str:
        done = subprocess.run([npm, *arguments], cwd=cwd, capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 0, done.stderr
        return done.stdout

    packed = run("pack", "--silent", "--pack-destination", str(folder), cwd=PACKAGE).split()[-1]
    (folder / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
    run("install", "--offline", "--no-audit", "--no-fund", "--silent", f"./{packed}", cwd=folder)
    for program in (Path(__file__).parent / "driver.mjs", *(PACKAGE / "example").iterdir()):
        shutil.copy(program, folder)
    return Installed(folder)


@pytest.fixture
def people(installed: Installed) -> Iterator[Installed]:
    """The same, whose processes end with the test."""
    yield installed
    installed.stop()
