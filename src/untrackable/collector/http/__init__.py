"""The HTTP service: addresses, connections, and every way in which a request is refused."""

from untrackable.extras import require

require("collector")
