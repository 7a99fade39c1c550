"""The release has what it should, in one version, and works from where it is installed."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import distribution
from untrackable import __version__

Release = tuple[distribution.Built, distribution.Built]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("release")
    return distribution.build(folder), distribution.build(folder, distribution.ROOT / "engine")


def test_the_release_has_what_the_checkout_has(release: Release, tmp_path: Path) -> None:
    distribution.check(*release)
    client, engine = release
    with zipfile.ZipFile(client.wheel) as opened:
        described = {Path(name).name: name for name in opened.namelist() if ".dist-info/" in name}
        assert {"METADATA", "LICENSE", "entry_points.txt"} <= set(described)
        assert f"Version: {__version__}\n" in opened.read(described["METADATA"]).decode()
        assert b"untrackable = untrackable.__main__:run" in opened.read(described["entry_points.txt"])
    incomplete = tmp_path / client.wheel.name
    with zipfile.ZipFile(client.wheel) as opened, zipfile.ZipFile(incomplete, "w") as made:
        for name in opened.namelist():
            if name != "untrackable/py.typed":
                made.writestr(name, opened.read(name))
    with pytest.raises(AssertionError, match=r"py\.typed"):
        distribution.check(client._replace(wheel=incomplete), engine)


def test_each_file_is_in_one_of_the_two_distributions(release: Release) -> None:
    client, engine = (distribution.wheel_files(built.wheel) for built in release)
    assert not client & engine
    assert client | engine == distribution.package_files()


def test_the_engine_is_built_from_its_own_archive(release: Release, tmp_path: Path) -> None:
    (_, engine), made = release, tmp_path / "made"
    made.mkdir()
    (tmp_path / "source").mkdir()
    subprocess.run(["tar", "-xzf", engine.archive, "-C", tmp_path / "source"], check=True)  # noqa: S603, S607
    [source] = (tmp_path / "source").iterdir()
    again = distribution.build(made, source)
    assert distribution.wheel_files(again.wheel) == distribution.wheel_files(engine.wheel)


def test_the_wheels_work_where_they_are_installed(release: Release, tmp_path: Path) -> None:
    """Their dependencies are those of this environment; `make dist` installs them too."""
    for built in release:
        with zipfile.ZipFile(built.wheel) as opened:
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
@pytest.mark.parametrize("requirement", distribution.TRIALS)
def test_an_extra_alone_is_enough(requirement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All packages that it does not bring are absent. `make dist` tries the same in empty environments."""
    brought = with_requirements(requirement)
    absent = [
        module
        for module, of in packages_distributions().items()
        if not {canonicalize_name(each) for each in of} & brought
    ]
    assert "pytest" in absent
    site, package = tmp_path / "site", tmp_path / "package"
    site.mkdir()
    (site / "sitecustomize.py").write_text(ABSENT)
    engine = "untrackable-engine" in brought
    for name in distribution.package_files() if engine else distribution.client_files():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(distribution.ROOT / "src" / name, package / name)
    environment = {"PYTHONPATH": f"{site}:{package}", "ABSENT": ",".join(absent)}
    said = distribution.said
    monkeypatch.setattr(distribution, "said", lambda command, folder: said(command, folder, **environment))
    (tmp_path / "work").mkdir()
    distribution.TRIALS[requirement](sys.executable, tmp_path / "work")


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
            for further in map(Requirement, required(each.name))
            if further.marker is None or any(further.marker.evaluate({"extra": name}) for name in extras)
        ]
    return found


def required(name: str) -> list[str]:
    """What a distribution requires: one of ours as it is here, another one as it is installed."""
    if name not in ("untrackable", "untrackable-engine"):
        return requires(name) or []
    project = read_project("engine" if name.endswith("engine") else ".")
    base: list[str] = project["dependencies"]
    extras = project.get("optional-dependencies", {}).items()
    return base + [f"{each}; extra == '{extra}'" for extra, listed in extras for each in listed]


def read_project(folder: str) -> dict[str, Any]:
    """What pyproject.toml says about a distribution."""
    text = (distribution.ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def test_every_extra_is_tried() -> None:
    extras = {f"untrackable[{name}]" for name in read_project(".")["optional-dependencies"]}
    assert {*distribution.TRIALS} == extras - {"untrackable[all]", "untrackable[cuda]"} | {
        "untrackable",
        "untrackable-engine",
    }


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
