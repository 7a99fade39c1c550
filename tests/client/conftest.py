import os

import pytest


@pytest.fixture(autouse=True)
def _no_waiting_for_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are killed here, not machines: nothing depends on what the disk has, and syncing it is slow."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
