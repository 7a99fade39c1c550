"""Commands that run with little memory, so that one that needs more than it should fails."""

import os
import resource
import subprocess
import sys

_MEMORY = 2 << 30
"""Bytes of address space: enough for all that is imported, and for what a command reads at a time."""
_PATIENCE = 300


def in_little_memory(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `untrackable` with these arguments, and stop it if it takes for ever."""
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "untrackable", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY)),
    )
