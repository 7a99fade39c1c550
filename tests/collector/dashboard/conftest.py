"""A fresh collector, and a visitor of one."""

from collections.abc import Callable, Iterator

import pytest

from tests.collector.dashboard.visitors import Visitor, visiting
from tests.collector.servers import Collector, collecting
from untrackable.collector.settings import open_store


@pytest.fixture
def visitor(new_url: Callable[[str], str]) -> Iterator[Visitor]:
    with visiting(open_store(new_url("sqlite"))) as visitor:
        yield visitor


@pytest.fixture
def collector(new_url: Callable[[str], str]) -> Iterator[Collector]:
    """A collector on SQLite. Pages do not depend on the kind of store."""
    with collecting(open_store(new_url("sqlite"))) as running:
        yield running
