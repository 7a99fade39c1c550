"""Runs the whole system: a collector, a relay, clients over HTTP, estimates, an observer; and draws the outcome."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from untrackable import strict_json
from untrackable.collector import api
from untrackable.collector.settings import open_store
from untrackable.demo.people import (
    HOMEPAGES,
    JOINED,
    LEFT,
    LINKED,
    QUARTER,
    TENTH,
    WEEKS,
    Followed,
    Population,
    ShowShare,
    answer_page,
    follow,
    homepage_campaign,
    relayed_campaign,
    request,
    run_clients,
    send_simulated,
)
from untrackable.display.charts import AMBER, BLUE, INK, NEUTRAL, Key, Row, Series, points, share_axis, span
from untrackable.display.view import Chart
from untrackable.extras import extra
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.progress import Progress, no_progress
from untrackable.protocol.campaign import Campaign, Gateway
from untrackable.serving import server as server_process
from untrackable.theory.accuracy import Matched
from untrackable.theory.turns import recognition_upper

with extra("plots"):
    import altair as alt

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


def demo_charts(outcome: DemoResult) -> list[Chart]:
    """The development, the year, and the shares of people who were followed."""
    return [_development(outcome), _year(outcome), _followed(outcome)]


def _development(outcome: DemoResult) -> Chart:
    """Two homepages over the year: the truth, and the estimates of weeks and quarters."""
    week = alt.X("week:Q", title="week", scale=span(0, WEEKS + 7))
    share = alt.Y(
        "share:Q",
        title="share of people",
        axis=share_axis(tickCount=7),
        scale=alt.Scale(domain=[0, 0.31], nice=False),
    )
    layers: list[Any] = []
    for value, colour in ((LEFT, AMBER), (JOINED, BLUE)):
        weeks = [
            {"week": i, "share": learned.values[value]["unclamped"], "truth": float(learned.truth[value])}
            for i, learned in enumerate(outcome.weeks, 1)
        ]
        aside = 0.4 if value == LEFT else -0.4
        quarters = [
            {"week": (learned.first + learned.last) / 2 + aside, **_ends(learned, value)}
            for learned in outcome.quarters
        ]
        name = points([{**weeks[-1], "name": HOMEPAGES[value]}]).mark_text(align="left", dx=5, color=colour)
        layers += [
            points(weeks).mark_point(filled=True, size=14, opacity=0.6, color=colour).encode(x=week, y=share),
            points(weeks).mark_line(strokeWidth=1.6, color=colour).encode(x=week, y="truth:Q"),
            name.encode(x=week, y="truth:Q", text="name:N"),
            *_intervals(points(quarters).encode(x=week), colour),
        ]
    key = Key(
        [],
        [
            Series("truth", INK),
            Series("estimate of a week (sampled)", INK, mark="circle", size=14, filled=True),
            Series("of a quarter", INK, mark=_INTERVAL, filled=True),
        ],
    )
    title = f"{outcome.directly.people:,} people answer once each, over a year"
    return Chart(name="development", title=title, drawing=alt.layer(*layers, key.legend).properties(height=300))


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
    place = alt.X("place:Q", title=title, axis=axis, scale=span(-0.7, len(order) - 0.3))
    share = alt.Y("share:Q", title="share of people", axis=share_axis())
    truths = [{"place": place, "share": float(truth[value])} for place, value in enumerate(order)]
    layers = [
        points(truths).mark_tick(color=INK, orient="horizontal", thickness=2, width=18).encode(x=place, y=share)
    ]
    ways = ((-0.17, BLUE, outcome.directly), (0.17, NEUTRAL, outcome.few))
    for aside, colour, collected in ways:
        rows = [{"place": i + aside, **_ends(collected.spans["year"], value)} for i, value in enumerate(order)]
        layers += _intervals(points(rows).encode(x=place), colour)
    named = [Series(f"{way.people:,} people", colour, mark=_INTERVAL, filled=True) for _, colour, way in ways]
    return Chart(
        name="year",
        title=f"All {WEEKS} weeks together",
        drawing=alt.layer(*layers, Key([], [Series("truth", INK), *named]).legend).properties(height=280),
    )


def _ends(learned: Learned, value: int) -> Row:
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
    rows: dict[str, list[Row]] = {AMBER: [], BLUE: []}
    for row, (_, by_reports, by_attendance) in enumerate(outcome.followed):
        if by_reports is not None:
            rows[AMBER].append({"row": row - 0.15, **_matched(by_reports)})
        rows[BLUE].append({"row": row + 0.15, **_matched(by_attendance)})
    names = strict_json.write([name.replace(", ", ",\n").split("\n") for name, *_ in outcome.followed])
    axis = alt.Axis(
        values=list(range(len(outcome.followed))), labelExpr=f"({names})[datum.value]", ticks=False, grid=False
    )
    scale = span(len(outcome.followed) - 0.5, -0.5)
    y = alt.Y("row:Q", title=None, axis=axis, scale=scale)
    title = [
        f"share of {LINKED:,} people who are matched in {WEEKS} weeks (sampled; bars: 95 %)",
        f"one turn: at most {100 * recognition_upper(LINKED):g} % (upper), however people move",
    ]
    shares = share_axis(values=[0.001, 0.01, 0.1, 1])
    x = alt.X("share:Q", title=title, axis=shares, scale=alt.Scale(type="log", domain=[_LEAST, 4], nice=False))
    guess = points([{"share": 1 / LINKED}]).mark_rule(color=INK, strokeDash=[2, 3])
    layers = [guess.encode(x=x)]
    for colour, each in rows.items():
        seen = points(each).encode(y=y)
        layers += [
            seen.mark_rule(color=colour, strokeWidth=1.6).encode(x="lower:Q", x2="upper:Q"),
            seen.mark_point(color=colour, filled=True, opacity=1, size=50).encode(x=x),
            seen.mark_text(color=colour, align="left", dx=8).encode(x="upper:Q", text="told:N"),
        ]
    key = Key(
        [],
        [
            Series("a guess", INK, (2, 3)),
            Series("by their reports", AMBER, mark="circle", filled=True),
            Series("by attendance", BLUE, mark="circle", filled=True),
        ],
    )
    return Chart(
        name="followed",
        title="Who is recognised between home and work?",
        drawing=alt.layer(*layers, key.legend).properties(height=190),
        beside=90,
    )


def _matched(matched: Matched) -> Row:
    share, lower, upper = (max(_LEAST, end) for end in (matched.sampled, matched.lower, matched.upper))
    told = f"{100 * matched.sampled:.{2 if matched.sampled < 0.1 else 3}g} %"
    return {"share": share, "lower": lower, "upper": upper, "told": told}
