"""Visitors of a fresh collector."""

from collections.abc import Callable, Iterator

import pytest

from tests.collector.dashboard.visitors import Visitor, visiting
from untrackable.collector.stores.store_address import open_store


@pytest.fixture
def visitor(new_url: Callable[[str], str]) -> Iterator[Visitor]:
    with visiting(open_store(new_url("sqlite"))) as found:
        yield found
