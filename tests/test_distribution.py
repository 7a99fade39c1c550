"""The release has what it should, in one version, and works from where it is installed."""

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest

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
        assert b"untrackable = untrackable.cli:run" in opened.read(described["entry_points.txt"])
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


def test_there_is_one_version() -> None:
    package = json.loads((distribution.ROOT / "clients" / "browser" / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == __version__
    changes = (distribution.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changes, re.M)[0] == __version__
    assert (
        distribution.said([sys.executable, "-m", "hatchling", "version"], distribution.ROOT).strip() == __version__
    )
