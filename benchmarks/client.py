"""The client's accounting beside the engine's, and its start beside that of the engine."""

from collections.abc import Iterator
from functools import partial

from benchmarks.shared.clocks import command_seconds, timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.theory.experiment import Experiment
from untrackable.theory.integer_losses import composed

ENGINE = "the full engine"
COMPOSED = Comparison(work="Delta of several decks, by the client's accounting", peer=ENGINE, unit="times as fast")
ABOVE = Comparison(work="The delta that it finds", peer="the engine's lower end", unit="times as large (upper)")
STARTED = Comparison(work="Start of a client", peer="`import numpy`", unit="times as long")
STARTED_BESIDE_ENGINE = Comparison(work="Start of a client", peer=f"start of {ENGINE}", unit="times as long")
COMPARISONS = (COMPOSED, ABOVE, STARTED, STARTED_BESIDE_ENGINE)
_STARTS = {
    "numpy": "import numpy",
    "client": "import untrackable.client.client",
    "engine": "import untrackable.accounting.verification, scipy.special, scipy.optimize, scipy.sparse",
}


def measure(*, small: bool = False) -> Iterator[Row]:
    """Decks of different sizes are composed; starts are the shortest of five."""
    decks = [Deck.for_budget(bits=6, slots=100 + 10 * i, eps=0.3, delta=1e-7) for i in range(2 if small else 10)]
    _by_client(decks[:1], 0.1)
    for count in (1, len(decks)):
        eps, some = 0.3 * count**0.5, decks[:count]
        client, found = timed(partial(_by_client, some, eps))
        engine, bracket = timed(
            lambda d=some, e=eps: Experiment([(x.base.privacy_factor(), x.slots) for x in d]).delta(e)  # type: ignore[misc]
        )
        yield COMPOSED.row(engine / client, f"{count} deck{'s' * (count > 1)}")
        yield ABOVE.row(found / bracket.lower, f"{count} deck{'s' * (count > 1)}")
    seconds = {
        name: min(command_seconds("-c", script) for _ in range(1 if small else 5))
        for name, script in _STARTS.items()
    }
    yield STARTED.row(seconds["client"] / seconds["numpy"])
    yield STARTED_BESIDE_ENGINE.row(seconds["client"] / seconds["engine"])


def _by_client(decks: list[Deck], eps: float) -> float:
    return composed((deck.base.integer_loss() ** deck.slots for deck in decks), eps / 512).delta(eps)
