"""The collector's HTTP service: its addresses, its connections, and all reasons to refuse a request."""

from untrackable.extras import require

require("collector")
