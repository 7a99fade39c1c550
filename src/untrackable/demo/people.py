"""Who and what the demonstration is about: its question, its people, its observer, and a page for visitors.

The question is "which of 16 homepages is yours?". Some people are real clients with a folder each, and the others
are simulated. The observer tries to match people at home with people at work. Visitors may answer too, in short
rounds so that they see it happen.
"""

import dataclasses
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from untrackable import strict_json
from untrackable.auditing.attacks import match, match_by_attendance
from untrackable.client.client import Client
from untrackable.client.policy import Policy
from untrackable.client.sending import Outcome
from untrackable.collector import browser
from untrackable.collector.uploads import GATEWAY
from untrackable.display.campaign import guarantee_sentence
from untrackable.display.page import page_template
from untrackable.encodings.encoding import Categories
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import Batch, Mechanism
from untrackable.mechanisms.local import Fresh
from untrackable.mechanisms.rappor import Rappor
from untrackable.oblivious.binary_http import BinaryResponse, reports_request
from untrackable.oblivious.key_config import KeyConfig
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign, CrowdGuarantee, Gateway, Guarantee
from untrackable.serving.server import end_with_parent, shielded_from_interrupts
from untrackable.theory.accuracy import Matched, clopper_pearson
from untrackable.theory.crowd import MARGIN, fewest_likely_reports
from untrackable.theory.turns import Turns

# --- the question, and the people who answer it -----------------------------------------------------------

WEEKS, QUARTER = 52, 13
"""The rounds of the campaign, one a week, and the number of them in a quarter of a year."""
EPS = 2.0
"""Whatever is sent changes the odds between two answers by a factor of at most e² ≈ 7.4, for ever. With eps = 4 it
would be 55: intervals would be half as wide, but that is not what one would choose for one's own family."""
DELTA = 1e-6
TENTH = 10
"""The same question is also asked of one person in this many."""
HOMEPAGES = (
    "news", "mail", "search", "video", "social", "maps", "weather", "shop",
    "wiki", "games", "bank", "travel", "sport", "music", "school", "blank",
)  # fmt: skip
LEFT, JOINED = 0, 3
"""Half of the people with the first homepage change to the other, in the second or the third quarter."""
_WEEK = 7 * 86_400


def report() -> Fresh:
    """The one report that a person ever sends."""
    return Fresh(NoisyInnerProduct(bits=(len(HOMEPAGES) - 1).bit_length(), eps=EPS))


def homepage_campaign(now: float, question: str = "Which homepage is yours?") -> Campaign:
    """A weekly question that each person answers once. All of its rounds are over."""
    return Campaign(
        question=question,
        encoding=Categories(names=HOMEPAGES, unknown="error"),
        randomizer=report(),
        first_round=(int(now) // _WEEK - WEEKS) * _WEEK,
        round_seconds=_WEEK,
        rounds=WEEKS,
        guarantee=Guarantee(eps=EPS),
        turns=Turns(rounds=WEEKS),
    )


def promised_crowd(people: int) -> CrowdGuarantee:
    """The most that a collector learns who does not know who sent which of a week's reports (upper).

    The crowd that is promised is the smallest that is likely; few weeks have fewer reports.
    """
    reports = max(2, fewest_likely_reports(people, Fraction(1, WEEKS) * (1 - MARGIN)))
    eps = report().crowd(people=reports, reports=1).gamma(DELTA).upper
    return CrowdGuarantee(eps=eps, delta=DELTA, reports=reports)


def relayed_campaign(now: float, people: int, gateway: Gateway) -> Campaign:
    """The same question through a relay."""
    guarantee = Guarantee(eps=EPS, crowd=promised_crowd(people))
    return dataclasses.replace(homepage_campaign(now), guarantee=guarantee, gateway=gateway)


class Population(NamedTuple):
    """Everybody's homepage before and after the week in which they change it. Most never do."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    week: NDArray[np.int64]

    @staticmethod
    def of(people: int, seed: int) -> "Population":
        """A few homepages are popular, and one of them becomes less so."""
        rng = np.random.default_rng([seed, 1, people])
        weights = np.arange(1.0, len(HOMEPAGES) + 1) ** -0.8
        before = rng.choice(len(HOMEPAGES), size=people, p=weights / weights.sum())
        changes = (before == LEFT) & (rng.random(people) < 0.5)
        week = rng.integers(QUARTER + 1, 3 * QUARTER, size=people, endpoint=True)
        return Population(before, np.where(changes, JOINED, before), np.where(changes, week, WEEKS + 1))

    def part(self, which: slice) -> "Population":
        """Some of the people."""
        return Population(*(each[which] for each in self))

    def at(self, week: int) -> NDArray[np.int64]:
        """Everybody's homepage in a week."""
        return np.where(week < self.week, self.before, self.after)

    def shares(self) -> NDArray[np.float64]:
        """The true share of each homepage (column) in each week (row)."""
        size = len(HOMEPAGES)
        return np.array([np.bincount(self.at(week), minlength=size) for week in range(1, WEEKS + 1)]) / len(
            self.before
        )


# --- how people answer: by real clients, or simulated -----------------------------------------------------

ShowShare = Callable[[float], None]
"""A function that shows the share of the work that is done, from 0 to 1."""
_CLIENTS_PER_TASK = 25
"""A worker runs this many clients before it shows progress."""
_REPORTS_PER_REQUEST = 20_000
"""This many reports of simulated people are sent at once."""
_STORED = 204
"""The status of reports that are stored."""


@dataclass(frozen=True, slots=True)
class _ClientTask:
    """The clients that one worker runs: their folders, and the homepages of their people."""

    document: bytes
    server: str
    relays: tuple[str, ...]
    folders: tuple[Path, ...]
    people: Population


def run_clients(
    campaign: Campaign, server: str, relays: tuple[str, ...], folder: Path, people: Population, show: ShowShare
) -> int:
    """Everyone joins before the first week, and answers in the week that their device draws.

    Reports that rely on a crowd go through a relay. Returns the number of accepted reports.
    """
    tasks = [
        _ClientTask(
            campaign.to_bytes(),
            server,
            relays,
            tuple(folder / str(i) for i in range(start, min(start + _CLIENTS_PER_TASK, len(people.before)))),
            people.part(slice(start, start + _CLIENTS_PER_TASK)),
        )
        for start in range(0, len(people.before), _CLIENTS_PER_TASK)
    ]
    accepted = 0
    # Workers mostly wait for the disk and the collector, so there are more of them than cores.
    workers = min(8, 2 * (os.cpu_count() or 1), len(tasks))
    with ExitStack() as ending:
        with shielded_from_interrupts():
            pool = ending.enter_context(multiprocessing.get_context("spawn").Pool(workers, end_with_parent))
        for done, count in enumerate(pool.imap_unordered(_run_task, tasks), start=1):
            accepted += count
            show(done / len(tasks))
    return accepted


def _run_task(task: _ClientTask) -> int:
    campaign = _campaign(task.document)
    policy = Policy(eps=campaign.guarantee.eps, relays=task.relays, pins=(campaign.id,))
    accepted = 0
    for folder, before, after, week in zip(task.folders, *task.people, strict=True):
        folder.mkdir(mode=0o700)
        today = campaign.first_round - 1.0
        client = Client(campaign, None, policy, folder=folder, clock=lambda: today)  # noqa: B023
        client.answer(HOMEPAGES[before])
        due = client.due(today)
        if week <= WEEKS and due is not None and due >= campaign.begins(week):
            today = campaign.begins(week)
            client.answer(HOMEPAGES[after])
        if due is not None:
            today = due
            accepted += client.send(task.server) is Outcome.ACCEPTED
    return accepted


@cache
def _campaign(document: bytes) -> Campaign:
    return Campaign.from_bytes(document)


def send_simulated(campaign: Campaign, server: str, people: Population, seed: int, show: ShowShare) -> int:
    """Send the reports of many simulated people, many at once. Returns the number of accepted reports.

    Each draws a turn, as a client does. Only the report of this one week is simulated.
    """
    layout = wire.of(campaign.mechanism)
    turns = np.random.default_rng([seed, 2, len(people.before)]).integers(1, WEEKS + 1, size=len(people.before))
    sent = 0
    for week in range(1, WEEKS + 1):
        answering = people.at(week)[turns == week]
        for reports in _batches(campaign.mechanism.simulate(answering, rounds=[week], seed=(seed << 16) + week)):
            nonces = np.frombuffer(os.urandom(wire.NONCE * len(reports)), dtype=np.uint8)
            body = layout.encode_many(round=week, nonces=nonces.reshape(-1, wire.NONCE), reports=reports)
            _post(campaign, server, week, body)
            sent += len(reports)
        show(week / WEEKS)
    return sent


def _post(campaign: Campaign, server: str, week: int, body: bytes) -> None:
    """Send reports to the collector: sealed, if they rely on a crowd."""
    path, kind = f"/campaigns/{campaign.id}/reports", "application/octet-stream"
    if campaign.gateway is None:
        request(server, "POST", path, body, kind)
        return
    from untrackable.oblivious import sealing

    inner = reports_request(campaign.id, body)
    key = KeyConfig.from_bytes(campaign.gateway.keys_from(week)[0].config)
    sealed = sealing.seal_request(key, inner, length=len(inner))
    answer = request(server, "POST", GATEWAY, sealed.body, sealing.REQUEST_MEDIA_TYPE)
    status = BinaryResponse.from_bytes(sealed.open_answer(answer)).status
    if status != _STORED:
        raise RuntimeError(f"the gateway answered {status}")


def _batches(simulated: Iterator[Batch]) -> Iterator[NDArray[Any]]:
    for batch in simulated:
        for start in range(0, len(batch.reports), _REPORTS_PER_REQUEST):
            yield batch.reports[start : start + _REPORTS_PER_REQUEST, 0]


def request(server: str, method: str, path: str, body: bytes = b"", kind: str = "", key: str = "") -> bytes:
    """Send a request to the collector. Any answer other than success is an error."""
    address = urlsplit(server)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=60)
    headers = {"content-type": kind} if kind else {}
    if key:
        headers["authorization"] = f"Bearer {key}"
    try:
        connection.request(method, path, body or None, headers)
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if not 200 <= response.status < 300:
        raise RuntimeError(f"the collector answered {response.status}: {answer.decode(errors='replace')}")
    return answer


# --- the observer -----------------------------------------------------------------------------------------

LINKED = 1_000
"""The number of people in a crowd. All hold the same homepage, so that it does not tell them apart."""
_CROWDS = 1000
"""The number of crowds with turns that are matched, so that a little more than chance would be seen."""
_LEVEL = 0.95


class Followed(NamedTuple):
    """The share of people who are matched (sampled): by what their reports say, and by attendance alone.

    There is nothing to match by reports if nobody sends two.
    """

    name: str
    by_reports: Matched | None
    by_attendance: Matched


def follow(seed: int, show: Callable[[float], None]) -> tuple[Followed, ...]:
    """Match people who use RAPPOR every week, a deck every week, and people who answer once.

    Everybody is at home in half of the weeks, and at work in the others. The observer sees who answers in which
    week from where, and reads the reports.
    """
    show(0.0)
    # RAPPOR has the parameters of its publication.
    rappor = Rappor(bloom_bits=128, hashes=2, f=0.5, p=0.5, q=0.75)
    deck = Deck.for_budget(bits=(len(HOMEPAGES) - 1).bit_length(), slots=WEEKS, eps=EPS, delta=DELTA)
    attended = match_by_attendance(rounds=WEEKS, people=LINKED, seed=seed, level=_LEVEL).alone
    followed = [Followed("RAPPOR, every week", _by_reports(rappor, HOMEPAGES[0], seed), attended)]
    show(0.5)
    followed.append(Followed("Deck, every week", _by_reports(deck, 0, seed), attended))
    show(0.8)
    return *followed, Followed("one turn", None, _by_turns(seed))


def _by_reports(mechanism: Mechanism, value: Any, seed: int) -> Matched:
    """Match people with this value by the reports of half of the weeks and those of the other half."""
    sent = mechanism.simulate(np.full(LINKED, value), rounds=WEEKS, seed=seed + 1)
    reports = np.concatenate([batch.reports for batch in sent])
    return match(mechanism.link_scores(reports[:, : WEEKS // 2], reports[:, WEEKS // 2 :], value))


def _by_turns(seed: int) -> Matched:
    """Match people who answer once, from where they happen to be in their week; all of them at once.

    Nobody is seen twice. So the best that an observer can do is to match everybody who was seen at home with
    somebody who was not seen at work, and the other way round.
    """
    rng, hits = np.random.default_rng([seed, 3]), 0
    for _ in range(_CROWDS):
        at_home = rng.random(LINKED) < 0.5
        for some in (np.flatnonzero(at_home), np.flatnonzero(~at_home)):
            hits += int((rng.permutation(some) == some).sum())
    people = _CROWDS * LINKED
    return Matched(people, hits / people, *clopper_pearson(hits, people, _LEVEL), _LEVEL)


# --- a page on which visitors answer with the client for web pages, and see their own report go out -------

ROUND_SECONDS, ROUNDS = 10, 12
"""Two minutes in all."""
_TIMES = 4
"""A visitor's budget is enough for this many campaigns, one after the other."""


def visitor_campaign(now: float) -> Campaign:
    """A question with a dozen short rounds, from now on. Each visitor answers in one of them."""
    return Campaign(
        question="Your own answer: which homepage is yours?",
        encoding=Categories(names=HOMEPAGES, unknown="error"),
        randomizer=report(),
        first_round=int(now),
        round_seconds=ROUND_SECONDS,
        rounds=ROUNDS,
        guarantee=Guarantee(eps=EPS),
        turns=Turns(rounds=ROUNDS),
    )


@contextmanager
def answer_page(
    server: str, publish: Callable[[Campaign], object], begun: Callable[[float], Campaign] = visitor_campaign
) -> Iterator[str]:
    """The address of the page, which is served until the block ends.

    It is served from an origin of its own, as the page of an application would be. A campaign begins when the page
    is opened and none is running, so that all of it can be watched.
    `begun` makes a campaign that begins at a time, and `publish` gives it to the collector at the address `server`.
    """
    files, asked, one_by_one = _files(), list[Campaign](), threading.Lock()
    policy = (
        f"default-src 'none'; script-src 'self' {server}; style-src 'self'; img-src data:; connect-src {server}; "
        "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
    )

    def running() -> Campaign:
        now = time.time()
        with one_by_one:
            if not asked or now >= (asked[-1].ends or 0):
                asked.append(begun(now))
                publish(asked[-1])
            return asked[-1]

    class Application(BaseHTTPRequestHandler):
        """Serves the few files of the page."""

        def do_GET(self) -> None:
            """The page, one of its files, or nothing."""
            known = self.path == "/" or self.path in files
            kind, content = files.get(self.path, ("text/plain", b"There is nothing at this address."))
            if self.path == "/":
                kind, content = "text/html", _page(running(), server).encode()
            self.send_response(200 if known else 404)
            headers = {
                "content-type": f"{kind}; charset=utf-8",
                "content-length": str(len(content)),
                "content-security-policy": policy,
                "cache-control": "no-store",
                "referrer-policy": "no-referrer",
                "x-content-type-options": "nosniff",
            }
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Note nothing about visitors."""

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Application)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{serving.server_port}/"
    finally:
        serving.shutdown()
        serving.server_close()
        thread.join()


def _page(campaign: Campaign, server: str) -> str:
    name, content = next(item for item in browser.files().items() if item[0].startswith("untrackable-"))
    settings = {
        "server": server,
        "campaign": campaign.id,
        "file": f"{server}/client/{name}",
        "policy": {"eps": _TIMES * campaign.guarantee.eps},
        "first_round": campaign.first_round,
        "round_seconds": campaign.round_seconds,
        "rounds": campaign.rounds,
    }
    return page_template("untrackable.demo", "answer_page.html").render(
        campaign=campaign,
        choices=campaign.encoding.to_json()["names"],
        file=settings["file"],
        guarantee=guarantee_sentence(campaign),
        integrity=browser.integrity(content),
        server=server,
        settings=strict_json.write(settings),
    )


def _files() -> dict[str, tuple[str, bytes]]:
    """The kind and the content of each file beside the page, by its path."""
    folder = resources.files("untrackable")
    styles = ("display/page_theme.css", "collector/dashboard/static/dashboard.css", "demo/answer_page.css")
    return {
        "/answer_page.js": ("text/javascript", (folder / "demo" / "answer_page.js").read_bytes()),
        "/style.css": ("text/css", b"".join((folder / path).read_bytes() for path in styles)),
    }
