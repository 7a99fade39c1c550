"""The release has what it should, in one version, and works from where it is installed."""

import json
import re
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import distribution
from untrackable import __version__


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return distribution.build(tmp_path_factory.mktemp("release"))


def test_the_release_has_what_the_checkout_has(release: tuple[Path, Path], tmp_path: Path) -> None:
    distribution.check(*release)
    wheel, archive = release
    with zipfile.ZipFile(wheel) as opened:
        described = {Path(name).name: name for name in opened.namelist() if ".dist-info/" in name}
        assert {"METADATA", "LICENSE", "entry_points.txt"} <= set(described)
        assert f"Version: {__version__}\n" in opened.read(described["METADATA"]).decode()
        assert b"untrackable = untrackable.__main__:run" in opened.read(described["entry_points.txt"])
    incomplete = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as opened, zipfile.ZipFile(incomplete, "w") as made:
        for name in opened.namelist():
            if name != "untrackable/py.typed":
                made.writestr(name, opened.read(name))
    with pytest.raises(AssertionError, match=r"py\.typed"):
        distribution.check(incomplete, archive)


def test_the_wheel_works_where_it_is_installed(release: tuple[Path, Path], tmp_path: Path) -> None:
    """Its dependencies are those of this environment; `make dist` installs them too."""
    with zipfile.ZipFile(release[0]) as opened:
        opened.extractall(tmp_path / "installed")
    starting = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r}); import untrackable.cli; "
        f"assert untrackable.__file__.startswith({str(tmp_path)!r}); untrackable.cli.run()"
    )
    distribution.try_out([sys.executable, "-c", starting], tmp_path)


ABSENT = """
import os, sys

class Others:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        absent = name.split(".")[0] in os.environ["ABSENT"].split(",")
        return None if absent else self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Others, sys.meta_path)
"""
"""Python runs it as `sitecustomize` in every process, so also in those of Spark and of servers."""


@pytest.mark.slow
@pytest.mark.parametrize("name", distribution.TRIALS, ids=lambda name: name or "base")
def test_an_extra_alone_is_enough(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All packages that it does not bring are absent. `make dist` tries the same in empty environments."""
    brought = with_requirements(f"untrackable[{name}]")
    absent = [
        module
        for module, of in packages_distributions().items()
        if not {canonicalize_name(each) for each in of} & brought
    ]
    assert "pytest" in absent
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(ABSENT)
    environment = {"PYTHONPATH": str(tmp_path / "site"), "ABSENT": ",".join(absent)}
    said = distribution.said
    monkeypatch.setattr(distribution, "said", lambda command, folder: said(command, folder, **environment))
    distribution.TRIALS[name](sys.executable, tmp_path)


def with_requirements(asked: str) -> set[str]:
    """The distributions that pip installs for a requirement."""
    found: set[str] = set()
    waiting, seen = [Requirement(asked)], set[str]()
    while waiting:
        each = waiting.pop()
        if str(each) in seen:
            continue
        seen.add(str(each))
        found.add(canonicalize_name(each.name))
        extras = each.extras or {""}
        waiting += [
            further
            for further in map(Requirement, requires(each.name) or ())
            if further.marker is None or any(further.marker.evaluate({"extra": name}) for name in extras)
        ]
    return found


def test_every_extra_is_tried() -> None:
    project = tomllib.loads((distribution.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*distribution.TRIALS} == {*project["optional-dependencies"]} - {"all", "cuda"} | {""}


def test_versions_are_locked_and_have_no_digests() -> None:
    versions = distribution.locked_versions().splitlines()
    assert {Requirement(line).name for line in versions} >= {"numpy", "pandas", "pyspark"}


def test_there_is_one_version() -> None:
    for client in ("browser", "node"):
        package = json.loads((distribution.ROOT / "clients" / client / "package.json").read_text(encoding="utf-8"))
        assert package["version"] == __version__
    changes = (distribution.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changes, re.M)[0] == __version__
    assert (
        distribution.said([sys.executable, "-m", "hatchling", "version"], distribution.ROOT).strip() == __version__
    )
