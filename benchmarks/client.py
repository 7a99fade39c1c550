"""The client's accounting against the engine's, and its start against that of the engine; ratios in one run."""

import subprocess
import sys
import time

from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.theory.experiment import Experiment
from untrackable.theory.integer_losses import composed

STARTS = 5


def compositions() -> None:
    """Delta of several different decks: how long it takes, and how far it is above the engine's lower end."""
    decks = [Deck.for_budget(bits=6, slots=100 + 10 * i, eps=0.3, delta=1e-7) for i in range(10)]
    print("decks  client s  engine s  engine/client  client over lower end  engine over lower end")
    for count in (1, 2, 5, 10):
        eps = 0.3 * count**0.5
        before = time.perf_counter()
        found = composed((deck.base.integer_loss() ** deck.slots for deck in decks[:count]), eps / 512).delta(eps)
        client = time.perf_counter() - before
        before = time.perf_counter()
        bracket = Experiment([(deck.base.privacy_factor(), deck.slots) for deck in decks[:count]]).delta(eps)
        engine = time.perf_counter() - before
        over = [end / bracket.lower - 1 if bracket.lower else 0.0 for end in (found, bracket.upper)]
        print(f"{count:5d} {client:9.4f} {engine:9.4f} {engine / client:14.1f} {over[0]:22.1e} {over[1]:22.1e}")


def starts() -> None:
    """Importing what a client needs, against NumPy alone and against the engine's verification with SciPy."""
    seconds = {}
    for what, script in {
        "numpy": "import numpy",
        "client": "import untrackable.client.client",
        "engine": "import untrackable.accounting.verification, scipy.special, scipy.optimize, scipy.sparse",
    }.items():
        runs = []
        for _ in range(STARTS):
            before = time.perf_counter()
            subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603
            runs.append(time.perf_counter() - before)
        seconds[what] = min(runs)
    print(f"start: client {seconds['client']:.3f} s, {seconds['client'] / seconds['numpy']:.2f} × numpy, ", end="")
    print(f"{seconds['client'] / seconds['engine']:.2f} × engine")


if __name__ == "__main__":
    compositions()
    starts()
