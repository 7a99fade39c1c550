"""How much longer a program runs that lets a person take part: without a turn, and with one on a bad network."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from benchmarks.shared.measurements import Comparison, Row
from untrackable import Campaign, Client, Fresh, Guarantee, IntegerRange, NoisyInnerProduct, Policy
from untrackable.client import quiet
from untrackable.theory.turns import Turns

QUIET = Comparison(work="A run without a turn", peer="an empty program", unit="times as long", at_most=1.5)
DELAYED = Comparison(work="A run with a turn", peer="a run without", unit="milliseconds longer", at_most=20.0)
COMPARISONS = (QUIET, DELAYED)
_HOUR = 3600
_PROGRAM = """
import sys
from untrackable import take_part
print(take_part({document!r}, {server!r}, 2, folder={folder!r}))
sender = sys.modules.get("untrackable.client.sender")
print(*(sender._started if sender else ()))
"""


def measure(*, small: bool = False) -> Iterator[Row]:
    """Programs are run in turns; the shortest of many runs counts, from start to end by the clock."""
    times = 2 if small else 25
    with tempfile.TemporaryDirectory() as made, _networks() as networks:
        folder = Path(made)
        (folder / "empty.py").write_text("")
        asked, person = _joined(folder / "c")
        programs = {"": folder / "empty.py"}
        for name, server in {"idle": "http://127.0.0.1:9", **networks}.items():
            programs[name] = folder / f"program{len(programs)}.py"
            text = _PROGRAM.format(document=asked.to_bytes(), server=server, folder=str(person))
            programs[name].write_text(text)
        taken: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(times):
            for name, program in programs.items():
                when = time.time() - 1.0 if name in networks else float("inf")
                quiet.note(person, {asked.id: when}, quiet.place_of(person))
                taken[name].append(_run(program, "handed" if name in networks else "nothing" if name else ""))
    least = {name: min(found) for name, found in taken.items()}
    yield QUIET.row(least["idle"] / least[""])
    for name in networks:
        yield DELAYED.row(1000 * max(0.0, least[name] - least["idle"]), name)


def _run(program: Path, expected: str) -> float:
    begun = time.perf_counter()
    run = subprocess.run([sys.executable, str(program)], check=True, capture_output=True, text=True)  # noqa: S603
    seconds = time.perf_counter() - begun
    said, _, senders = run.stdout.partition("\n")
    if not said.startswith(expected):
        raise AssertionError(f"the program said {said!r}")
    for process in senders.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)
    return seconds


@contextlib.contextmanager
def _networks() -> Iterator[dict[str, str]]:
    """Servers that refuse connections, that never answer because nobody takes connections, and without a name."""
    with socket.socket() as deaf, contextlib.ExitStack() as waiting:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for _ in range(4):
            filling = waiting.enter_context(socket.socket())
            filling.setblocking(False)
            filling.connect_ex(deaf.getsockname())
        yield {
            "connection refused": "http://127.0.0.1:9",
            "never answered": f"http://127.0.0.1:{deaf.getsockname()[1]}",
            "no network": "https://collect.invalid",
        }


def _joined(folder: Path) -> tuple[Campaign, Path]:
    asked = Campaign(
        question="How many?",
        encoding=IntegerRange(low=0, high=3),
        randomizer=Fresh(NoisyInnerProduct(bits=2, eps=1.0)),
        first_round=int(time.time()) + _HOUR,
        round_seconds=24 * _HOUR,
        rounds=3,
        guarantee=Guarantee(eps=1.0),
        turns=Turns(rounds=3, share=Fraction(1)),
    )
    Client(asked, None, Policy(pins=(asked.id,)), folder=folder).answer(2)
    return asked, folder
