"""The demonstration: it collects reports from a population, and then tries to follow people by them."""

from untrackable.extras import require

require("collector")
