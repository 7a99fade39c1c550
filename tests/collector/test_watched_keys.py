"""A gateway's keys in a running collector: when their file is looked at, and what happens if it is not there."""

from pathlib import Path

import pytest

from tests.collector.sealed_reports import new_keys
from untrackable.collector.gateway import WatchedKeys
from untrackable.errors import GatewayKeysError
from untrackable.oblivious.gateway_keys import write_keys


def test_the_file_is_looked_at_once_a_second(tmp_path: Path) -> None:
    path, keys = new_keys(tmp_path)
    now = [100.0]
    watched = WatchedKeys(path, clock=lambda: now[0])
    first = watched.current()
    assert set(first.opening) == {0, 1, 2}
    write_keys(path, keys.without({0}))
    now[0] += 0.9
    assert watched.current() is first
    now[0] += 0.1
    assert set(watched.current().opening) == {1, 2}
    unchanged = watched.current()
    now[0] += 5.0
    assert watched.current() is unchanged


def test_keys_must_be_there_at_first(tmp_path: Path) -> None:
    with pytest.raises(GatewayKeysError, match="No such file"):
        WatchedKeys(tmp_path / "none")


def test_a_file_that_comes_back_is_read(tmp_path: Path) -> None:
    path, keys = new_keys(tmp_path)
    now = [0.0]
    watched = WatchedKeys(path, clock=lambda: now[0])
    path.unlink()
    now[0] += 1.0
    assert set(watched.current().opening) == {0, 1, 2}
    write_keys(path, keys.without({1}))
    now[0] += 1.0
    assert set(watched.current().opening) == {0, 2}
