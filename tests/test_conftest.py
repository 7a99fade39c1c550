"""The settings of all tests: none of them waits for ever."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_a_test_that_waits_is_ended_and_shows_where(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    assert 0 < float(pytestconfig.getini("faulthandler_timeout")) <= 600
    waiting = tmp_path / "test_waiting.py"
    waiting.write_text("import threading\n\ndef test_it():\n    threading.Event().wait()\n")
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-o", "faulthandler_timeout=1"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(  # noqa: S603
        [*command, str(waiting)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "Timeout" in done.stderr
    assert "test_waiting.py" in done.stderr
