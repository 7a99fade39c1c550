"""Settings for all tests."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from _pytest.nodeid import coerce_node_id
from hypothesis import settings

# No timing in tests: how long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("untimed")

# Clients send nothing where these are set.
for name in ("CI", "DO_NOT_TRACK"):
    os.environ.pop(name, None)

# The workers of the tests use all cores: threads of linear algebra would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Tests kill processes, which lose nothing that they wrote, and never machines. So nobody needs to wait for a disk.
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30  # noqa: S108
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM:
    os.environ["TMPDIR"] = str(_MEMORY)
    tempfile.tempdir = None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep tests of one group on one worker: xdist names them in a place that this version of pytest ignores."""
    if getattr(config.option, "loadgroup", False):
        for item in items:
            item._id = coerce_node_id(getattr(item, "_nodeid", item.nodeid))
