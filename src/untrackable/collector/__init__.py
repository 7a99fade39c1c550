"""The collector: a server that accepts reports over HTTP, keeps all that it acknowledged, and records no sender."""

from untrackable.extras import require

require("collector")
