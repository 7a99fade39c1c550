"""A relay: it passes sealed reports on to gateways, and keeps nothing."""

from untrackable.extras import require

require("collector")
