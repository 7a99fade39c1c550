"""A sleep that a test replaces for itself alone."""

import threading
import time
from collections.abc import Callable

import pytest


def replace_sleep(monkeypatch: pytest.MonkeyPatch, sleep: Callable[[float], None]) -> None:
    """Replace `time.sleep` in this thread; a library's threads, such as those of Spark, keep theirs."""
    real, here = time.sleep, threading.get_ident()
    monkeypatch.setattr("time.sleep", lambda seconds: (sleep if threading.get_ident() == here else real)(seconds))
