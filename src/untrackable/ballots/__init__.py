"""The issuer of ballots: it signs one blinded ballot for each person who is entitled, and cannot recognise it."""

from untrackable.extras import require

require("collector")
