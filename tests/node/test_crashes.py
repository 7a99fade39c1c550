"""Killed at random moments, or used by many processes at once, the client never sends two different reports."""

import random
import threading
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.browser.questions import BEGIN, HOUR, question
from tests.node.programs import Asked, Installed, found
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign

pytestmark = [pytest.mark.xdist_group("node"), pytest.mark.slow]

PEOPLE, KILLS = 6, 4
LONGEST = 0.15
"""A process is killed at most this many seconds after it was told what to do."""
BEFORE, JUST_BEFORE = BEGIN - HOUR - 100, BEGIN - 100


@contextmanager
def collector(campaign: Campaign) -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server that has the campaign and takes reports, and the bodies that it takes."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, campaign.to_bytes())

        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self._answer(204, b"")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("localhost", 0), Handler)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://localhost:{server.server_port}", bodies
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def killed(people: Installed, asked: Asked, *steps: Any) -> None:
    """Let a process do something, and kill it meanwhile."""
    process = people.started("driver.mjs")
    assert process.stdin
    process.stdin.write(asked.task(*steps))
    process.stdin.flush()
    threading.Event().wait(random.random() * LONGEST)  # noqa: S311
    process.kill()
    process.communicate()


def test_kills_at_random_moments(people: Installed, tmp_path: Path) -> None:
    """While it joins, changes its mind, makes its report and sends it. In the end there is one of each."""
    campaign = question()
    sent = defaultdict[int, set[bytes]](set)
    with collector(campaign) as (server, bodies):
        for i in range(PEOPLE):
            asked = Asked(campaign, server, tmp_path / str(i))

            def act(now: float, *calls: Any, asked: Asked = asked) -> list[Any]:
                steps = [(now, *call) for call in calls]
                for _ in range(KILLS):
                    killed(people, asked, *steps)
                return people.does(asked, *steps)

            bodies.clear()
            assert act(BEFORE, ("answer", "page 1"), ("answer", "page 2")) == ["not yet"] * 2
            assert (
                act(JUST_BEFORE, ("answer", "page 3"), ("answer", "page 4"), ("answer", "page 5")) == ["kept"] * 3
            )
            assert bodies == []
            outcomes = []
            for round in range(1, 5):
                outcomes += act(campaign.begins(round + 1) - 1.0, ("send",), ("answer", f"page {round}"))
            assert set(outcomes) <= {"accepted", "nothing", "kept", "done", "given up"}
            sent[i] = set(bodies)
            names = [path.name.split(".")[0] for path in asked.folder.iterdir()]
            assert names.count("kept") == 1
            assert set(names) <= {"kept", "lock", f"lock-{campaign.id}"}
    assert [len(each) for each in sent.values()] == [1] * PEOPLE
    assert len(set().union(*sent.values())) == PEOPLE
    rounds = {wire.round_of(body) for each in sent.values() for body in each}
    assert rounds <= {1, 2, 3, 4}


def at_once(people: Installed, asked: Asked, tasks: list[list[Any]]) -> list[list[Any]]:
    """What processes find that get their tasks at the same time, after they have started."""
    processes = [people.started("driver.mjs") for _ in tasks]
    threading.Event().wait(0.3)
    with ThreadPoolExecutor(len(tasks)) as pool:
        return list(pool.map(lambda process, steps: found(process, asked, *steps), processes, tasks))


def test_many_processes_at_once(people: Installed, tmp_path: Path) -> None:
    """They join once, and one of them sends."""
    campaign, crowd = question(), 6
    with collector(campaign) as (server, bodies):
        asked = Asked(campaign, server, tmp_path / "mine")
        for now, outcome in ((BEFORE, "not yet"), (JUST_BEFORE, "kept")):
            said = at_once(people, asked, [[(now, "answer", f"page {i}"), (now, "due")] for i in range(crowd)])
            assert [each[0] for each in said] == [outcome] * crowd
            assert len({each[1] for each in said}) == 1
        assert bodies == []
        outcomes: list[str] = []
        for round in range(1, 5):
            steps = [(campaign.begins(round + 1) - 1.0, call) for call in ("report", "send", "report")]
            outcomes += [each[1] for each in at_once(people, asked, [steps] * crowd)]
    assert sorted(outcomes) == ["accepted", *["nothing"] * (4 * crowd - 1)]
    assert len(bodies) == 1
