"""The whole system at work on one machine: a question, people, a collector, a relay, an observer, and the outcome.

The question is "which of 16 homepages is yours?". Some people are real clients with a folder each, and the others
are simulated. The observer tries to match people at home with people at work. Visitors may answer too, on a page
with short rounds so that they see it happen.
"""

import dataclasses
import math
import multiprocessing
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from http.client import HTTPConnection
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import uvicorn
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from untrackable import strict_json
from untrackable.auditing.attacks import match, match_by_attendance
from untrackable.brackets import at_most
from untrackable.client.client import Client
from untrackable.client.policy import Policy
from untrackable.client.sending import Outcome
from untrackable.collector import api, browser
from untrackable.collector.settings import open_store
from untrackable.collector.uploads import GATEWAY
from untrackable.display import charts
from untrackable.display.campaign import guarantee_sentence
from untrackable.display.charts import alt
from untrackable.display.numbers import percent, range_words
from untrackable.display.page import page_template
from untrackable.display.view import Chart, Table, View, make_charts, make_view
from untrackable.encodings.encoding import Categories
from untrackable.mechanisms.deck import Deck
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.local import Fresh
from untrackable.mechanisms.rappor import Rappor
from untrackable.oblivious import sealing
from untrackable.oblivious.binary_http import BinaryResponse, reports_request
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.oblivious.key_config import KeyConfig
from untrackable.progress import Progress, no_progress
from untrackable.protocol import wire
from untrackable.protocol.campaign import Campaign, CrowdGuarantee, Gateway, Guarantee
from untrackable.serving import server as server_process
from untrackable.serving.server import end_with_parent, shielded_from_interrupts
from untrackable.theory.accuracy import Matched, clopper_pearson
from untrackable.theory.crowd import MARGIN, fewest_likely_reports
from untrackable.theory.turns import Turns, recognition_upper

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


def run_clients(
    campaign: Campaign, server: str, relays: tuple[str, ...], folder: Path, people: Population, show: ShowShare
) -> int:
    """Everyone joins before the first week, and answers in the week that their device draws.

    Reports that rely on a crowd go through a relay. Returns the number of accepted reports.
    """
    folders = [folder / str(i) for i in range(len(people.before))]
    parts = [slice(start, start + _CLIENTS_PER_TASK) for start in range(0, len(folders), _CLIENTS_PER_TASK)]
    tasks = [(folders[part], people.part(part)) for part in parts]
    work = partial(_run_task, campaign.to_bytes(), server, relays)
    accepted = 0
    # Workers mostly wait for the disk and the collector, so there are more of them than cores.
    workers = min(8, 2 * (os.cpu_count() or 1), len(tasks))
    with ExitStack() as ending:
        with shielded_from_interrupts():
            pool = ending.enter_context(multiprocessing.get_context("spawn").Pool(workers, end_with_parent))
        for done, count in enumerate(pool.imap_unordered(work, tasks), start=1):
            accepted += count
            show(done / len(tasks))
    return accepted


class _Simulated(Client):
    """Somebody of the demo, who is nobody: what DO_NOT_TRACK and CI say is for real people."""

    off = False


def _run_task(document: bytes, server: str, relays: tuple[str, ...], task: tuple[list[Path], Population]) -> int:
    """Run some clients in their folders, for people with these homepages."""
    campaign = _campaign(document)
    policy = Policy(eps=campaign.guarantee.eps, relays=relays, pins=(campaign.id,))
    accepted = 0
    for folder, before, after, week in zip(task[0], *task[1], strict=True):
        folder.mkdir(mode=0o700)
        today = campaign.first_round - 1.0
        client = _Simulated(campaign, None, policy, folder=folder, clock=lambda: today)  # noqa: B023
        client.answer(HOMEPAGES[before])
        due = client.due(today)
        if week <= WEEKS and due is not None and due >= campaign.begins(week):
            today = campaign.begins(week)
            client.answer(HOMEPAGES[after])
        if due is not None:
            today = due
            accepted += client.send(server) is Outcome.ACCEPTED
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
        for batch in campaign.mechanism.simulate(answering, rounds=[week], seed=(seed << 16) + week):
            for start in range(0, len(batch.reports), _REPORTS_PER_REQUEST):
                reports = batch.reports[start : start + _REPORTS_PER_REQUEST, 0]
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
    inner = reports_request(campaign.id, body)
    key = KeyConfig.from_bytes(campaign.gateway.keys_from(week)[0].config)
    sealed = sealing.seal_request(key, inner, length=len(inner))
    answer = request(server, "POST", GATEWAY, sealed.body, sealing.REQUEST_MEDIA_TYPE)
    status = BinaryResponse.from_bytes(sealed.open_answer(answer)).status
    if status != _STORED:
        raise RuntimeError(f"the gateway answered {status}")


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
    attended = match_by_attendance(rounds=WEEKS, people=LINKED, seed=seed).alone
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
    headers = {
        "content-security-policy": policy,
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }

    def shown(request: Request) -> Response:
        """The page, with the campaign that is running."""
        now = time.time()
        with one_by_one:
            if not asked or now >= (asked[-1].ends or 0):
                asked.append(begun(now))
                publish(asked[-1])
            return HTMLResponse(_page(asked[-1], server), headers=headers)

    def file(request: Request) -> Response:
        """One of its files."""
        kind, content = files[request.url.path]
        return Response(content, headers=headers, media_type=kind)

    routes = [Route("/", shown), *(Route(path, file) for path in files)]
    bound = server_process.bind("127.0.0.1", 0)
    config = uvicorn.Config(Starlette(routes=routes), log_config=None, access_log=False)
    serving = uvicorn.Server(config)
    thread = threading.Thread(target=serving.run, args=([bound],), daemon=True)
    thread.start()
    try:
        yield f"{server_process.address(bound)}/"
    finally:
        serving.should_exit = True
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


SPANS = {"week": (WEEKS, WEEKS), "quarter": (WEEKS - QUARTER + 1, WEEKS), "year": (1, WEEKS)}
"""The rounds that are shown: the last week, the last quarter, and all."""
_RELAYED = 200
"""This many people at most send the second campaign's reports from a client of their own, through a relay."""
_DIRECT, _RELAY, _FEW = "directly", "through a relay", f"one person in {TENTH}"
"""How the question is asked."""
_STARTING, _FOLLOWING = "starting", "following people"
"""The first step and the last one."""
_NO_LIMIT = str(10**9)
"""The relay's limit of requests a minute from one address: all clients have the address of this machine."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108
_CLIENT_BYTES = 64 << 10
"""The most that a client's folder takes on disk."""
_LENIENT = ("--grace", str((WEEKS + 1) * 7 * 86_400), "--minimum-reports", "2")
"""The collector accepts reports of weeks that are over, as all are played in a minute, and shows small weeks."""


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """The collector's own answer about some weeks, `first` to `last`, and the truth.

    `values` has a row for each homepage, with its label, share and interval. `active` is the number of people who
    were active in a week, on average, and its interval.
    """

    first: int
    last: int
    reports: int
    beta: float
    values: dict[int, dict[str, Any]]
    truth: NDArray[np.float64]
    active: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """What a collector learns from a campaign: of the last week, the last quarter and the year."""

    campaign: Campaign
    people: int
    clients: int
    accepted: int
    spans: dict[str, Learned]


@dataclass(frozen=True, slots=True, eq=False)
class DemoResult:
    """What the collector learns, and how well an observer could follow people.

    The question is asked `directly`, `relayed`, and of `few` people. `quarters` and `weeks` are the development, if
    it is asked directly. `address` is the collector's, with its dashboard, and `key` opens the pages for managers.
    At `answer_address` is a page on which visitors answer themselves.
    """

    address: str
    key: str
    answer_address: str
    directly: Collected
    relayed: Collected
    few: Collected
    quarters: tuple[Learned, ...]
    weeks: tuple[Learned, ...]
    followed: tuple[Followed, ...]


@contextmanager
def run(
    *,
    clients: int,
    simulated: int,
    seed: int = 1,
    progress: Progress = no_progress,
) -> Iterator[DemoResult]:
    """Collect over HTTP, estimate, and try to follow people. The collector runs until the block ends.

    `clients` people have their own client; some of them also send through a relay. `simulated` people have none.
    """
    with ExitStack() as running:
        progress(_STARTING, None)
        folder, homes = (
            Path(running.enter_context(TemporaryDirectory(prefix=f"untrackable-{name}-", dir=place)))
            for name, place in (("demo", None), ("people", _memory_folder(clients)))
        )
        store, keys = f"sqlite:///{folder}/demo.db", folder / "gateway-keys.json"
        opened = open_store(store)
        _, key = api.new_key(opened, "admin")
        opened.close()
        gateway = GatewayKeys().with_list(1, WEEKS)
        write_keys(keys, gateway)
        with server_process.postponed_signals():
            server = server_process.start_server(store, *_LENIENT, "--gateway-keys", str(keys))
            running.callback(server.end)
            relay = server_process.start_relay("--gateway", f"demo={server.address}", "--per-minute", _NO_LIMIT)
            running.callback(relay.end)
        people, now = Population.of(clients + simulated, seed), time.time()
        collector = _Collector(server.address, key, homes, progress)
        hidden = relayed_campaign(now, clients + simulated, Gateway.from_json(gateway.public_list(1)))
        tenth = homepage_campaign(now, "Which homepage is yours? (asked of one person in ten)")
        directly = collector.ask(_DIRECT, homepage_campaign(now), people, clients, 3 * seed)
        relayed = collector.ask(
            _RELAY,
            hidden,
            people,
            min(clients, _RELAYED),
            3 * seed + 1,
            (f"{relay.address}/gateways/demo",),
        )
        few = collector.ask(_FEW, tenth, people.part(slice(None, None, TENTH)), 0, 3 * seed + 2)
        shares, asked = people.shares(), directly.campaign
        yield DemoResult(
            server.address,
            key,
            running.enter_context(answer_page(server.address, collector.publish)),
            directly,
            relayed,
            few,
            tuple(
                collector.learned(asked, first, first + QUARTER - 1, shares) for first in range(1, WEEKS, QUARTER)
            ),
            tuple(collector.learned(asked, week, week, shares) for week in range(1, WEEKS + 1)),
            follow(seed, _share_of(progress, _FOLLOWING)),
        )


def steps_of(clients: int, simulated: int) -> dict[str, float]:
    """The steps that are shown, in their order, with about as many seconds as they take on two idle cores."""
    relayed, people = min(clients, _RELAYED), (clients + simulated) / 1e5
    seconds = {
        _steps(_DIRECT, clients, simulated): (clients / 80, 1 + people, 2.0),
        _steps(_RELAY, relayed, clients + simulated - relayed): (3 + relayed / 40, 1 + people, 2.0),
        _steps(_FEW, 0, -(-(clients + simulated) // TENTH)): (0.0, 1.0, 2.0),
    }
    asking = {step: each for steps, some in seconds.items() for step, each in zip(steps, some, strict=True) if each}
    return {_STARTING: 3.0, **asking, _FOLLOWING: 3.0}


def _steps(way: str, clients: int, simulated: int) -> tuple[str, str, str]:
    """What is shown while a campaign is answered: by clients, by simulated people, and while it is closed."""
    return (
        f"{clients:,} clients, {WEEKS} weeks, {way}",
        f"{simulated:,} simulated people, {WEEKS} weeks, {way}",
        f"closing the weeks, {way}",
    )


def _memory_folder(clients: int) -> str | None:
    """A folder in memory, if there is room and TMPDIR does not name another folder.

    Real clients have a disk each. On a single disk, thousands of them would wait for each other.
    """
    if "TMPDIR" in os.environ or not os.access(_SHARED_MEMORY, os.W_OK):
        return None
    return _SHARED_MEMORY if shutil.disk_usage(_SHARED_MEMORY).free > clients * _CLIENT_BYTES else None


@dataclass(frozen=True, slots=True, eq=False)
class _Collector:
    """The collector that runs: its address, a key to it, and a folder for people's clients."""

    address: str
    key: str
    folder: Path
    progress: Progress

    def publish(self, campaign: Campaign) -> None:
        """Add a campaign, with estimates that everybody may read."""
        path = "/campaigns?published=true"
        request(self.address, "POST", path, campaign.to_bytes(), "application/json", self.key)

    def ask(
        self,
        way: str,
        campaign: Campaign,
        people: Population,
        clients: int,
        seed: int,
        relays: tuple[str, ...] = (),
    ) -> Collected:
        """All people answer a campaign, some with a client of their own, and its rounds are closed."""
        real, simulated, closing = _steps(way, clients, len(people.before) - clients)
        self.publish(campaign)
        accepted = 0
        if clients:
            show = _share_of(self.progress, real)
            show(0.0)
            folder = self.folder / campaign.id
            folder.mkdir()
            accepted = run_clients(campaign, self.address, relays, folder, people.part(slice(clients)), show)
        show = _share_of(self.progress, simulated)
        show(0.0)
        accepted += send_simulated(campaign, self.address, people.part(slice(clients, None)), seed, show)
        for week in range(1, WEEKS + 1):
            self.progress(closing, (week - 1) / WEEKS)
            request(self.address, "POST", f"/campaigns/{campaign.id}/rounds/{week}/close", key=self.key)
        shares = people.shares()
        spans = {name: self.learned(campaign, *span, shares) for name, span in SPANS.items()}
        return Collected(campaign, len(people.before), clients, accepted, spans)

    def learned(self, campaign: Campaign, first: int, last: int, shares: NDArray[np.float64]) -> Learned:
        """The collector's answer about some weeks."""
        path = f"/campaigns/{campaign.id}/estimate?rounds={first}-{last}"
        answer = strict_json.parse(request(self.address, "GET", path))
        rows, truth = {row["value"]: row for row in answer["values"]}, shares[first - 1 : last].mean(axis=0)
        return Learned(first, last, answer["reports"], answer["beta"], rows, truth, answer["people"])


def _share_of(progress: Progress, what: str) -> ShowShare:
    """A function that shows the progress of one step."""
    return lambda done: progress(what, done)


_LEAST = 0.0005
"""The left end of the axis of matched people: below that of a guess."""
_INTERVAL = "M0,-1L0,1M.4,0A.4,.4,0,1,1,-.4,0A.4,.4,0,1,1,.4,0"
"""The shape of an estimate with its interval in a legend."""


@make_charts.register
def _(outcome: DemoResult, top: int) -> list[Chart]:
    """The development, the year, and the shares of people who were followed."""
    return [_development(outcome), _year(outcome), _followed(outcome)]


def _development(outcome: DemoResult) -> Chart:
    """Two homepages over the year: the truth, and the estimates of weeks and quarters."""
    week = alt.X("week:Q", title="week", scale=charts.span(0, WEEKS + 7))
    share = alt.Y(
        "share:Q",
        title="share of people",
        axis=charts.share_axis(tickCount=7),
        scale=alt.Scale(domain=[0, 0.31], nice=False),
    )
    layers: list[Any] = []
    for value, colour in ((LEFT, charts.AMBER), (JOINED, charts.BLUE)):
        weeks = [
            {"week": i, "share": learned.values[value]["unclamped"], "truth": float(learned.truth[value])}
            for i, learned in enumerate(outcome.weeks, 1)
        ]
        aside = 0.4 if value == LEFT else -0.4
        quarters = [
            {"week": (learned.first + learned.last) / 2 + aside, **_ends(learned, value)}
            for learned in outcome.quarters
        ]
        name = charts.points([{**weeks[-1], "name": HOMEPAGES[value]}]).mark_text(align="left", dx=5, color=colour)
        layers += [
            charts.points(weeks)
            .mark_point(filled=True, size=14, opacity=0.6, color=colour)
            .encode(x=week, y=share),
            charts.points(weeks).mark_line(strokeWidth=1.6, color=colour).encode(x=week, y="truth:Q"),
            name.encode(x=week, y="truth:Q", text="name:N"),
            *_intervals(charts.points(quarters).encode(x=week), colour),
        ]
    series = [
        charts.Series("truth", charts.INK),
        charts.dot("estimate of a week (sampled)", charts.INK, 14),
        charts.Series("of a quarter", charts.INK, mark=_INTERVAL, filled=True),
    ]
    title = f"{outcome.directly.people:,} people answer once each, over a year"
    return Chart(name="development", title=title, drawing=charts.legended(layers, series, 300))


def _year(outcome: DemoResult) -> Chart:
    """The estimates of all weeks together, beside those that fewer people give, and the truth."""
    truth = outcome.directly.spans["year"].truth
    order = np.argsort(-truth, kind="stable").tolist()
    names = strict_json.write([HOMEPAGES[value] for value in order])
    axis = alt.Axis(
        values=list(range(len(order))),
        labelExpr=f"({names})[datum.value]",
        labelAngle=-45,
        labelOverlap=False,
        grid=False,
    )
    few = outcome.few.spans["year"]
    title = f"bars, also above: {100 * (1 - few.beta):g} % for all 16 at once (upper)"
    place = alt.X("place:Q", title=title, axis=axis, scale=charts.span(-0.7, len(order) - 0.3))
    share = alt.Y("share:Q", title="share of people", axis=charts.share_axis())
    truths = [{"place": place, "share": float(truth[value])} for place, value in enumerate(order)]
    layers = [
        charts.points(truths)
        .mark_tick(color=charts.INK, orient="horizontal", thickness=2, width=18)
        .encode(x=place, y=share)
    ]
    ways = ((-0.17, charts.BLUE, outcome.directly), (0.17, charts.NEUTRAL, outcome.few))
    for aside, colour, collected in ways:
        rows = [{"place": i + aside, **_ends(collected.spans["year"], value)} for i, value in enumerate(order)]
        layers += _intervals(charts.points(rows).encode(x=place), colour)
    named = [
        charts.Series(f"{way.people:,} people", colour, mark=_INTERVAL, filled=True) for _, colour, way in ways
    ]
    return Chart(
        name="year",
        title=f"All {WEEKS} weeks together",
        drawing=charts.legended(layers, [charts.Series("truth", charts.INK), *named], 280),
    )


def _ends(learned: Learned, value: int) -> charts.Row:
    """An estimate, within its interval."""
    row = learned.values[value]
    share = min(max(row["unclamped"], row["lower"]), row["upper"])
    return {"share": share, "lower": row["lower"], "upper": row["upper"]}


def _intervals(rows: Any, colour: str) -> list[Any]:
    """Estimates with their intervals."""
    return [
        rows.mark_rule(color=colour, strokeWidth=1.6).encode(y="lower:Q", y2="upper:Q"),
        rows.mark_point(color=colour, filled=True, opacity=1, size=36).encode(y="share:Q"),
    ]


def _followed(outcome: DemoResult) -> Chart:
    """The shares of people who were matched, one row for each kind of client."""
    rows: dict[str, list[charts.Row]] = {charts.AMBER: [], charts.BLUE: []}
    for row, (_, by_reports, by_attendance) in enumerate(outcome.followed):
        if by_reports is not None:
            rows[charts.AMBER].append({"row": row - 0.15, **_matched(by_reports)})
        rows[charts.BLUE].append({"row": row + 0.15, **_matched(by_attendance)})
    names = strict_json.write([name.replace(", ", ",\n").split("\n") for name, *_ in outcome.followed])
    axis = alt.Axis(
        values=list(range(len(outcome.followed))), labelExpr=f"({names})[datum.value]", ticks=False, grid=False
    )
    scale = charts.span(len(outcome.followed) - 0.5, -0.5)
    y = alt.Y("row:Q", title=None, axis=axis, scale=scale)
    title = [
        f"share of {LINKED:,} people who are matched in {WEEKS} weeks (sampled; bars: 95 %)",
        f"one turn: at most {100 * recognition_upper(LINKED):g} % (upper), however people move",
    ]
    shares = charts.share_axis(values=[0.001, 0.01, 0.1, 1])
    x = alt.X("share:Q", title=title, axis=shares, scale=alt.Scale(type="log", domain=[_LEAST, 4], nice=False))
    guess = charts.points([{"share": 1 / LINKED}]).mark_rule(color=charts.INK, strokeDash=[2, 3])
    layers = [guess.encode(x=x)]
    for colour, each in rows.items():
        seen = charts.points(each).encode(y=y)
        layers += [
            seen.mark_rule(color=colour, strokeWidth=1.6).encode(x="lower:Q", x2="upper:Q"),
            seen.mark_point(color=colour, filled=True, opacity=1, size=50).encode(x=x),
            seen.mark_text(color=colour, align="left", dx=8).encode(x="upper:Q", text="told:N"),
        ]
    series = [
        charts.Series("a guess", charts.INK, (2, 3)),
        charts.dot("by their reports", charts.AMBER),
        charts.dot("by attendance", charts.BLUE),
    ]
    return Chart(
        name="followed",
        title="Who is recognised between home and work?",
        drawing=charts.legended(layers, series, 190),
        beside=90,
    )


def _matched(matched: Matched) -> charts.Row:
    share, lower, upper = (max(_LEAST, end) for end in (matched.sampled, matched.lower, matched.upper))
    told = f"{100 * matched.sampled:.{2 if matched.sampled < 0.1 else 3}g} %"
    return {"share": share, "lower": lower, "upper": upper, "told": told}


# --- the outcome in words and tables ----------------------------------------------------------------------


@make_view.register
def _(outcome: DemoResult) -> View:
    """What the collector learns beside the truth, and how many people an observer follows."""
    followed = [
        (name, "no two to match" if by_reports is None else _rate(by_reports), _rate(by_attendance))
        for name, by_reports, by_attendance in outcome.followed
    ]
    title = f"{outcome.directly.people:,} people, {WEEKS} weeks"
    return View(
        title=title,
        sentences=[
            *_learned_sentences(outcome, title),
            f"Can people be followed? {LINKED:,} people with the same homepage are at home in half of the {WEEKS} "
            "weeks, and else at work. An observer matches those seen at home with those seen at work. A guess is "
            f"right for {percent(1 / LINKED)} of them. Shares are sampled; 95 % intervals are in brackets.",
        ],
        tables=[_learned_table(outcome), Table(("matched", "by their reports", "by attendance alone"), followed)],
        data=lambda: _outcome_columns(outcome),
        notes=[
            "Attendance is when somebody answers, and from where. Nobody answers one week from two places. So "
            "answering every week gives people away, whatever the reports say. One turn only tells who somebody is "
            f"not, and finds hardly anybody: {percent(recognition_upper(LINKED))} at most (upper), however people "
            "move, for an observer who does not know their habits."
        ],
        json=lambda: _as_json(outcome),
    )


def _learned_sentences(outcome: DemoResult, title: str) -> list[str]:
    directly, relayed = outcome.directly, outcome.relayed
    eps, crowd = directly.campaign.guarantee.eps, promised_crowd(relayed.people)
    week = directly.spans["week"]
    return [
        f"{title}: which of {len(HOMEPAGES)} homepages is yours?",
        "Each person answers once, in a week that their device draws in secret. Nothing is sent in other weeks.",
        f"- directly: nobody is trusted. {directly.clients:,} people have a client that sends over HTTP; the "
        f"others are simulated. {_counted(directly)} All that a person ever sends has eps = {eps:g} and delta = 0 "
        f"(upper): it changes the odds between two answers by a factor of {at_most(math.exp(eps), 2)} at most.",
        f"- through a relay: the same noise, and so the same error ({relayed.clients} real clients). "
        f"{_counted(relayed)} What changes is the collector's view. It does not know who sent which of a week's "
        f"reports: eps = {at_most(crowd.eps, 2)}, delta = {crowd.delta:g}, among {crowd.reports:,} reports or more "
        f"(upper). If it worked with the relay, eps = {eps:g} would be left.",
        f"{week.reports:,} people answered in the last week, one in {WEEKS} of those who were active. So "
        f"{week.active['lower']:,.0f} to {week.active['upper']:,.0f} were active "
        f"({100 * (1 - week.active['beta']):g} %, upper); in truth {directly.people:,}.",
    ]


def _learned_table(outcome: DemoResult) -> Table:
    """The interval of each homepage, of more and more weeks, beside the truth."""
    week, quarter, year = outcome.directly.spans.values()
    columns = {
        "truth now": [f"{100 * share:.1f}" for share in quarter.truth],
        "the last week": _interval_cells(week),
        "the last quarter": _interval_cells(quarter),
        "truth all year": [f"{100 * share:.1f}" for share in year.truth],
        "all year, directly": _interval_cells(year),
        "all year, relayed": _interval_cells(outcome.relayed.spans["year"]),
        f"all year, {outcome.few.people:,} people": _interval_cells(outcome.few.spans["year"]),
    }
    return Table(
        ("homepage", *columns),
        list(zip(HOMEPAGES, *columns.values(), strict=True)),
        f"In percent. All {len(HOMEPAGES)} intervals of a column hold at once with {100 * (1 - week.beta):g} % "
        "(upper)",
    )


def _counted(collected: Collected) -> str:
    counted = collected.spans["year"].reports
    return f"The collector accepted {collected.accepted:,} reports and counted {counted:,}."


def _interval_cells(learned: Learned) -> list[str]:
    """The interval of each homepage, in percent."""
    rows = (learned.values[value] for value in sorted(learned.values))
    return [f"{100 * row['lower']:.1f}–{100 * row['upper']:.1f}" for row in rows]


def _rate(matched: Matched) -> str:
    return f"{percent(matched.sampled)} ({range_words(matched.lower, matched.upper)})"


def _as_json(outcome: DemoResult) -> dict[str, object]:
    return {
        "weeks": WEEKS,
        "address": outcome.address,
        **{way: _collected_json(collected) for way, collected in _ways(outcome).items()},
        "quarters": [_learned_json(learned) for learned in outcome.quarters],
        "matched_sampled": [
            {
                "client": name,
                "by_reports": None if by_reports is None else dataclasses.asdict(by_reports),
                "by_attendance": dataclasses.asdict(by_attendance),
            }
            for name, by_reports, by_attendance in outcome.followed
        ],
        "recognition_upper": recognition_upper(LINKED),
    }


def _collected_json(collected: Collected) -> dict[str, object]:
    return {
        "campaign": {"id": collected.campaign.id, **collected.campaign.to_json()},
        "people": collected.people,
        "clients": collected.clients,
        "accepted": collected.accepted,
        **{span: _learned_json(learned) for span, learned in collected.spans.items()},
    }


def _learned_json(learned: Learned) -> dict[str, object]:
    return {
        "first_week": learned.first,
        "last_week": learned.last,
        "reports": learned.reports,
        "active": learned.active,
        "beta": learned.beta,
        "intervals": "upper, for all values at once",
        "values": [{**row, "truth": float(learned.truth[value])} for value, row in learned.values.items()],
    }


def _outcome_columns(outcome: DemoResult) -> dict[str, list[Any]]:
    """One row for each homepage and each stretch of weeks: the truth, and the estimates with their intervals."""
    rows = [
        (way, span, learned.reports, float(learned.truth[value]), row)
        for way, collected in _ways(outcome).items()
        for span, learned in collected.spans.items()
        for value, row in learned.values.items()
    ]
    ways, spans, reports, truths, values = (list(column) for column in zip(*rows, strict=True))
    return {
        "way": ways,
        "span": spans,
        "reports": reports,
        "value": [row["label"] for row in values],
        "truth": truths,
        **{name: [row[name] for row in values] for name in ("frequency", "tells", "lower", "upper")},
    }


def _ways(outcome: DemoResult) -> dict[str, Collected]:
    return {"directly": outcome.directly, "relayed": outcome.relayed, "few": outcome.few}
