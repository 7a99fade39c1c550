"""Files that are replaced: on disk before they have their name, private, and never half-written."""

import os
import stat
from pathlib import Path

import pytest

from untrackable.whole_files import replace_private


def test_files_are_synced_before_they_replace_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    for name in ("write", "fsync", "replace"):
        real = getattr(os, name)

        def traced(*given: object, real: object = real, name: str = name) -> object:
            steps.append(name)
            return real(*given)  # type: ignore[operator]

        monkeypatch.setattr(os, name, traced)
    replace_private(tmp_path / "x", b"new")
    assert steps == ["write", "fsync", "replace", "fsync"]


def test_what_a_killed_process_left_is_replaced_and_nobody_else_reads_the_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"old")
    (tmp_path / "x.part").write_bytes(b"half")
    (tmp_path / "x.part").chmod(0o644)
    replace_private(tmp_path / "x", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"x": b"new"}
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_what_fails_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "x").write_bytes(b"old")
    monkeypatch.setattr(os, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_private(tmp_path / "x", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"x": b"old"}


def test_a_short_write_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data)[:1]))
    replace_private(tmp_path / "x", b"whole")
    assert (tmp_path / "x").read_bytes() == b"whole"
