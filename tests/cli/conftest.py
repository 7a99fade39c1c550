"""Commands in these tests say nothing about how long they take: that depends on the machine."""

import pytest

from untrackable.cli import terminal


@pytest.fixture(autouse=True)
def no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """No work is so long that it is announced."""
    monkeypatch.setattr(terminal, "_LONG", float("inf"))
