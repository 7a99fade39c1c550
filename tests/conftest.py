"""Settings for all tests."""

import os

from hypothesis import settings

# No timing in tests: how long an example takes depends on what else the machine does.
settings.register_profile("untimed", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("untimed")
