"""A relay: it passes sealed reports on to gateways, at once or when a round is over. It keeps nothing else."""

from untrackable.extras import require

require("collector")
