"""The page of one campaign: its guarantee, its answers, their trend, files, and how to embed it.

`CampaignAnswers` are the answers of all rounds that are closed and have enough reports. What is `Shown` of them has
a view and charts like any other result: the page, downloads and pictures are made of these. Beside it are the list
of campaigns, and the page about following people.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from untrackable import strict_json
from untrackable.answers.answer import table_of
from untrackable.answers.trend import NumberTrend
from untrackable.collector import browser, estimates
from untrackable.collector.api import estimated
from untrackable.collector.dashboard.heavy_work import HeavyWork, WorkFailed, awaited
from untrackable.collector.dashboard.rendering import (
    HEADERS,
    in_turn,
    page,
    page_turn,
    sentence,
    visible_campaign,
    visible_campaigns,
)
from untrackable.collector.dashboard.sessions import signed_in
from untrackable.collector.dashboard.signed_in import done_words, offered_actions
from untrackable.collector.problems import Problem
from untrackable.collector.service import Service
from untrackable.collector.store import StoredCampaign
from untrackable.display import view
from untrackable.display.campaign import (
    Cost,
    campaign_state,
    costs,
    end_words,
    guarantee_sentence,
    guarantee_words,
    observers,
    relay_words,
    schedule_words,
    waiting_words,
)
from untrackable.display.charts import Bar
from untrackable.display.estimate import (
    BALLOTS_NEEDED,
    UNKNOWN_IF_DISCOVERED,
    UNKNOWN_OF_NUMBERS,
    active_notes,
    interval_bars,
    interval_words,
    invented_people_words,
    invented_words,
    number_notes,
    number_rows,
    rounds_words,
)
from untrackable.display.numbers import range_words, shown_share
from untrackable.display.svg import bar_rows, svg_of
from untrackable.display.trend import (
    amount,
    band_note,
    change_note,
    change_sentence,
    invented_in_a_round,
    trend_group,
    trend_name,
)
from untrackable.encodings.encoding import AskedTable
from untrackable.protocol.campaign import Campaign
from untrackable.serving.problems import Refused

MOST_ROWS = 2000
"""The largest number of answers on a page and in a file: those with the largest estimates."""
FEW_ROWS = 20
"""How many answers are shown before somebody asks for all."""
MOST_TREND_ROUNDS = 60
"""The largest number of rounds of a trend: the last ones."""
_MOST_BESIDE = 12
"""The largest number of other campaigns that the lines for web pages are offered with."""
TREND_VALUES = 6
"""How many answers have a trend on one page."""


class Shown(NamedTuple):
    """The answers that are shown: of these strings to look for, if any, these rounds, and this table, if any.

    Like any result, it has a view and charts.
    """

    campaign: Campaign
    candidates: tuple[str, ...]
    rounds: tuple[int, ...]
    table: AskedTable | None
    values: estimates.FrequentValues


@view.make_view.register
def _(shown: Shown) -> view.View:
    campaign, values, table = shown.campaign, shown.values, shown.table
    name = {} if table is None else {"table": table.name}
    discovered = campaign.encoding.kind == "discovered-strings"
    return view.View(
        title=campaign.question,
        sentences=[f"{values.reports:,} reports of {rounds_words(shown.rounds)}"],
        tables=[] if values.numbers is None else [view.Table(("", "", ""), number_rows(values.numbers))],
        data=lambda: {
            name: view.Column(_KINDS.get(name, "float64"), tuple(row[name] for row in values.rows))
            for name in COLUMNS
        },
        notes=[
            *interval_words(values.beta, values.rows, discovered=discovered),
            *_invented(shown),
        ],
        about={"reports": values.reports, "beta": values.beta},
        json=lambda: {"campaign": campaign.id, **name, **values.to_json()},
    )


@view.make_charts.register
def _(shown: Shown, top: int) -> list[view.Chart]:
    of = "" if shown.table is None else f"{shown.table.name}: "
    title = f"{shown.campaign.question} ({of}{view.view_of(shown).sentences[0]})"
    return [interval_bars(title, _bars(largest(shown.values.rows, top)), shown.values.beta)]


def _invented(shown: Shown) -> list[str]:
    """How few invented reports matter, or why that is not known."""
    campaign, values, ballots = shown.campaign, shown.values, shown.campaign.ballots is not None
    if campaign.encoding.kind == "discovered-strings":
        return [BALLOTS_NEEDED if ballots else UNKNOWN_IF_DISCOVERED]
    if campaign.encoding.values == 1:
        return invented_people_words(values.people, float(values.chance), len(shown.rounds), ballots=ballots)
    return invented_words(values.invented, ballots=ballots)


def _bars(rows: Sequence[dict[str, Any]]) -> list[Bar]:
    return [Bar(r["label"], r["frequency"], r["lower"], r["upper"], r["stands_out"]) for r in rows]


class CampaignAnswers:
    """Answers from closed rounds that have enough reports. They are computed once and kept for a while.

    With `everything`, they also say how many reports the last round lacked: for those alone who are signed in.
    """

    def __init__(self, service: Service, campaign: Campaign, *, everything: bool = False) -> None:
        self._service, self.campaign, self._everything = service, campaign, everything
        self.rounds = estimates.rounds_with_enough_reports(service.store, campaign, service.settings)

    def chosen(self, asked: str | None) -> tuple[int, ...]:
        """The rounds that are asked for: a number, or nothing for all of them. `Refused` if there is none."""
        if not asked:
            if not self.rounds:
                raise Refused(Problem.WITHHELD, self._why_none())
            return self.rounds
        if not re.fullmatch("[0-9]{1,10}", asked) or int(asked) < 1:
            raise Refused(Problem.MALFORMED_REQUEST, "round must be the number of a round")
        return (int(asked),)

    @property
    def trend_rounds(self) -> tuple[int, ...]:
        """The rounds of a trend: the last ones. Each look of a path is drawn like a round of its own."""
        return self.rounds[-max(1, MOST_TREND_ROUNDS // self.campaign.looks) :]

    def asked(self, query: Mapping[str, str]) -> Shown:
        """The answers that an address asks for. `Refused` if there are none."""
        candidates = candidates_of(query.get("strings"))
        rounds = self.chosen(query.get("round"))
        table = self.table(query.get("table"))
        return Shown(self.campaign, candidates, rounds, table, self.estimate(rounds, candidates, table))

    def table(self, asked: str | None) -> AskedTable | None:
        """The table that is asked for, by default the first; None if there are none, or for all looks of a path."""
        try:
            return table_of(self.campaign.encoding, asked or None)
        except ValueError as error:
            raise Refused(Problem.MALFORMED_REQUEST, str(error)) from None

    def estimate(
        self, rounds: tuple[int, ...], candidates: tuple[str, ...] = (), table: AskedTable | None = None
    ) -> estimates.FrequentValues:
        """The estimate of these rounds. A few answers are in their own order.

        Of many, those come first that are certainly more frequent.
        """
        name = None if table is None else table.name
        values = estimated(self._service, self.campaign, estimates.Query(rounds, candidates, name, top=MOST_ROWS))
        rows = values.rows
        if table is not None and len(rows) == len(table.cells) <= FEW_ROWS:
            order = {cell.label: place for place, cell in enumerate(table.cells)}
            rows = sorted(rows, key=lambda row: order[row["label"]])
        elif len(rows) == self.campaign.answers.values <= FEW_ROWS and not candidates:
            rows = sorted(rows, key=lambda row: row["value"])
        return values._replace(rows=rows)

    def trends(
        self, rows: list[dict[str, Any]], candidates: tuple[str, ...] = (), table: AskedTable | None = None
    ) -> tuple[NumberTrend, ...]:
        """The trends of these answers over the last rounds; none if there is nothing to draw."""
        rounds = self.trend_rounds
        if len(rounds) * self.campaign.looks < 2 or not rows or self.campaign.encoding.kind == "discovered-strings":
            return ()
        shown = largest(rows, TREND_VALUES)
        named = bool(candidates) or table is not None
        name = None if table is None else table.name
        values = [row["value"] if named else int(row["value"]) for row in shown]

        asked = (self._service.store, self.campaign, estimates.Query(rounds, candidates, name), values)
        return self._cached("trend", *asked[2:], make=lambda: estimates.trend_of_values(*asked))

    def number_trends(self) -> tuple[NumberTrend, ...]:
        """The trends of mean and quantiles over the last rounds, if people answer with numbers; else none."""
        rounds = self.trend_rounds
        if len(rounds) * self.campaign.looks < 2 or not self.campaign.answers.ordered:
            return ()
        return self._cached(
            "numbers", rounds, make=lambda: estimates.trend_of_numbers(self._service.store, self.campaign, rounds)
        )

    def _cached(self, *asked: Any, make: Callable[[], tuple[NumberTrend, ...]]) -> tuple[NumberTrend, ...]:
        key = (self.campaign.id, self._service.store.first_key(self.campaign.id), *asked)
        return self._service.cached_answer(key, make)

    def _why_none(self) -> str:
        """Why no round is shown. Somebody who is signed in reads how many more reports the last one needed."""
        service, campaign = self._service, self.campaign
        stored = service.store.rounds(campaign.id)
        if not any(each.state == "closed" for each in stored):
            return "no round is closed yet: answers appear here when the first one is over"
        fewest = estimates.fewest_reports(campaign, service.settings)
        few = f"no closed round has the {fewest:,} reports that an estimate needs"
        if not campaign.fewest_reports:
            return f"{few}. Answers appear here as soon as more people answer in one round"
        missed = [estimates.reports_missing(campaign, each, service.clock()) for each in stored]
        last = next((missing for missing in reversed(missed) if missing is not None), None)
        promised = f"{few}, which is the crowd that it promises. Answers appear here once more people take part"
        return (
            promised
            if last is None or not self._everything
            else f"{promised}. The last one would have taken {last:,} more"
        )


def largest(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The rows with the largest estimates, in the order that they have."""
    chosen = set(sorted(range(len(rows)), key=lambda place: -rows[place]["unclamped"])[:count])
    return [row for place, row in enumerate(rows) if place in chosen]


def candidates_of(text: str | None) -> tuple[str, ...]:
    """The strings that somebody looks for: one on each line."""
    strings = tuple(dict.fromkeys(line.strip() for line in (text or "").splitlines() if line.strip()))
    if len(strings) > estimates.MOST_CANDIDATES:
        raise Refused(
            Problem.MALFORMED_REQUEST, f"the strings to look for must be at most {estimates.MOST_CANDIDATES:,}"
        )
    return strings


_MOST_CHOICES = 200
"""The largest number of rounds in a list to choose from. If there are more, a number is typed."""
_PATIENCE = 1.0
"""How many seconds a page waits for what its rounds cost, which is computed once."""


class CampaignPage:
    """The endpoint of the page."""

    def __init__(self, service: Service, work: HeavyWork) -> None:
        self._service, self._work = service, work

    def show(self, request: Request) -> Response:
        """Render the page, or only its answers if `part` says so, for the script that searches while typing."""
        stored = visible_campaign(self._service, request)
        asked = dict(request.query_params)
        only_answers = asked.get("part") == "answers"
        costs = [] if only_answers else self._costs(stored)
        with page_turn():
            campaign = self._service.campaign(stored.id)
            answers = CampaignAnswers(self._service, campaign, everything=signed_in(request) is not None)
            shown = self._answers(campaign, answers, asked)
            if only_answers:
                return page(request, "campaign_answers.html", id=stored.id, **shown)
            return page(request, "campaign.html", costs=costs, **self._about(request, stored), **shown)

    def _about(self, request: Request, stored: StoredCampaign) -> dict[str, Any]:
        service, campaign = self._service, self._service.campaign(stored.id)
        return {
            "id": stored.id,
            "campaign": campaign,
            "published": stored.published,
            "encoding": campaign.encoding.describe(),
            "schedule": schedule_words(campaign),
            "relay": relay_words(campaign),
            "end": end_words(campaign, stored.last_round, service.clock()),
            "state": campaign_state(campaign, stored.last_round, service.clock()),
            "waiting": waiting_words(campaign, service.settings.last_arrival, service.clock()),
            "guarantee": guarantee_words(campaign, stored.verdict),
            "observers": observers(campaign),
            "done": done_words(service, request, stored),
            "actions": offered_actions(service, request, stored),
            **self._embedding(request, campaign),
        }

    def _embedding(self, request: Request, campaign: Campaign) -> dict[str, Any]:
        """The lines that ask this campaign on a web page, with those of `with`, and which others fit."""
        if not browser.takes_part(campaign):
            return {"snippet": ""}
        wanted, asked, beside = request.query_params.getlist("with"), [campaign], []
        for stored in visible_campaigns(self._service, request):
            other = self._service.campaign(stored.id)
            over = other.ends is not None and other.ends <= self._service.clock()
            if stored.last_round or over or not browser.takes_part(other):
                continue
            if any(browser.overlap(other, each) for each in asked):
                continue
            if stored.id in wanted:
                asked.append(other)
            else:
                beside.append(other)
        return {
            "snippet": browser.snippet(asked, browser.address(request)),
            "beside": [
                (each.question, urlencode({"with": [*(one.id for one in asked[1:]), each.id]}, doseq=True))
                for each in beside[:_MOST_BESIDE]
                if not any(browser.overlap(each, one) for one in asked)
            ],
        }

    def _costs(self, stored: StoredCampaign) -> list[Cost] | str:
        """What rounds cost, or why that is not known now."""
        try:
            result: list[Cost] = self._work.submit(round_costs, stored.document).result(_PATIENCE)
        except TimeoutError:
            return "This is being computed. Load the page again in a few seconds."
        except Refused as refused:
            return f"This is not known yet: {refused.detail}. Load the page again in a few seconds."
        except WorkFailed as failed:
            return f"This is not known: {failed}."
        return result

    def _answers(self, campaign: Campaign, answers: CampaignAnswers, asked: dict[str, str]) -> dict[str, Any]:
        """The answers that are shown, or why there are none."""
        search, everything = asked.get("search", "").strip(), "all" in asked
        about: dict[str, Any] = {
            "choices": answers.rounds[::-1] if len(answers.rounds) <= _MOST_CHOICES else (),
            "ends": answers.rounds[:: max(1, len(answers.rounds) - 1)],
            "round": asked.get("round", ""),
            "search": search,
            "strings": asked.get("strings", ""),
            "any_string": campaign.encoding.kind == "hashed-strings",
            "tables": _tables(campaign),
            "table": asked.get("table", ""),
            "why": "",
            "trends": [],
            "numbers": None,
        }
        try:
            result = answers.asked(asked)
        except Refused as refused:
            return {**about, "why": sentence(refused.detail), "problem": refused.problem.name}
        candidates, table, values = result.candidates, result.table, result.values
        possible = campaign.answers.values if table is None else len(table.cells)
        rows = values.rows
        matching = [row for row in rows if search.casefold() in row["label"].casefold()]
        shown = matching if everything else largest(matching, FEW_ROWS)
        discovered = campaign.encoding.kind == "discovered-strings"
        active = active_notes(values.people, len(result.rounds), shares=campaign.encoding.values > 1)
        invented = _invented(result)
        if campaign.encoding.values == 1:  # There is no other figure than the people.
            active, invented = [*active, *invented], []
        about |= {
            "bars": _drawn_bars(shown),
            "matching": len(matching),
            "rows": len(rows),
            "others": 0 if discovered or candidates else max(0, possible - len(rows)),
            "shares": bool(rows) or discovered,
            "numbers": _numbers(result),
            "heading": view.view_of(result).sentences[0],
            "sample": "" if campaign.turns is None else " ".join(map(sentence, active)),
            "words": [
                *interval_words(values.beta, shown, discovered=discovered, others=_others(rows, matching, shown)),
                *invented,
            ],
            "buckets": about["any_string"] and not candidates,
            "discovered": discovered,
            "query": _query(asked, "table", "round", "strings"),
            "more": _query({**asked, "all": "1"}, "table", "round", "strings", "search", "all"),
        }
        if asked.get("part") != "answers":
            some = len(matching) > TREND_VALUES
            shares: tuple[NumberTrend, ...] = ()
            with suppress(Refused):
                shares = answers.trends(matching, candidates, table)
            about["trends"] = [
                _drawn_trends(answers, answers.number_trends()),
                _drawn_trends(answers, shares, some=some),
            ]
        return about


def _drawn_bars(rows: Sequence[dict[str, Any]]) -> list[tuple[Bar, str, str, str]]:
    """Each answer with its bar, its share and its interval."""
    drawing = interval_bars("", _bars(rows), 1.0).drawing
    return [
        (bar, drawn, shown_share(bar.share), range_words(bar.lower, bar.upper))
        for bar, drawn in zip(drawing.bars, bar_rows(drawing), strict=True)
    ]


def _drawn_trends(
    answers: CampaignAnswers, trends: Sequence[NumberTrend], *, some: bool = False
) -> dict[str, Any] | None:
    """Shares, or mean and quantiles, round by round: a panel for each, the changes, and the same as a table."""
    if not trends:
        return None
    rounds, labels = trends[0].rounds, [trend_name(each) for each in trends]
    ends = f"from round {rounds[0]:,} to {rounds[-1]:,}: the numbers are in the table below"
    looks = answers.campaign.looks
    look_words = f" Each of the {looks} looks of a round is shown like a round of its own." if looks > 1 else ""
    drawings = [chart.drawing for chart in trend_group(trends, "")]
    return {
        "panels": [(name, svg_of(each, f"{name}, {ends}")) for name, each in zip(labels, drawings, strict=True)],
        "changes": [change_sentence(each, change, each.unit) for each in trends for change in each.changes],
        "change_words": change_note(trends[0], all_values=trends[0].unit is None and len(trends) > 1),
        "labels": labels,
        "table": [(number, [_cell(each, at) for each in trends]) for at, number in enumerate(rounds)],
        "words": " ".join(
            [
                sentence(band_note(trends[0].beta, len(rounds), all_values=len(trends) > 1)) + look_words,
                *invented_in_a_round(trends),
            ]
        ),
        "some": some,
        "earlier": len(answers.rounds) > len(answers.trend_rounds),
    }


def _cell(trend: NumberTrend, at: int) -> tuple[str, str]:
    """The estimate of a round, and where the number lies."""
    low, high = float(trend.lower[at]), float(trend.upper[at])
    ends = f"{amount(low, trend.unit, 'down')} to {amount(high, trend.unit, 'up')}"
    estimate = amount(float(trend.estimates[at]), trend.unit)
    return estimate, range_words(low, high) if trend.unit is None else ends


def round_costs(document: bytes) -> list[Cost]:
    """What the rounds of a campaign cost. This runs in the process for heavy work."""
    return costs(Campaign.from_bytes(document))


def _others(rows: list[dict[str, Any]], matching: list[dict[str, Any]], shown: list[dict[str, Any]]) -> bool:
    """Whether answers that are not shown may be as frequent as some of these, if nobody searched for some."""
    left_out = [row for row in matching if row not in shown] if len(shown) < len(matching) else []
    lowest = min((row["lower"] for row in shown), default=0.0)
    return len(matching) == len(rows) and any(row["upper"] >= lowest for row in left_out)


def _query(asked: dict[str, str], *names: str) -> str:
    """A part of what was asked, for addresses that ask for the same."""
    query = urlencode({name: asked[name] for name in names if asked.get(name)})
    return f"?{query}" if query else ""


def _tables(campaign: Campaign) -> list[str]:
    """The names of the tables to choose from, if there are several. The empty name is for all looks together."""
    asked = campaign.encoding.asked
    names = [] if asked is None or len(asked.tables) < 2 else [table.name for table in asked.tables]
    return ["", *names] if campaign.looks > 1 else names


def _numbers(shown: Shown) -> dict[str, Any] | None:
    """Mean and quantiles in words, if people answer with numbers."""
    summary = shown.values.numbers
    if summary is None:
        return None
    notes = list(map(sentence, number_notes(summary)))
    if summary.mean is not None and not summary.mean.lower <= summary.mean.value <= summary.mean.upper:
        notes.append("The noise is corrected for on average, so an estimate may lie outside its interval.")
    if not shown.values.rows:
        notes.append(UNKNOWN_OF_NUMBERS if shown.campaign.ballots is None else BALLOTS_NEEDED)
    return {"rows": view.view_of(shown).tables[0].rows, "notes": notes}


COLUMNS = ("label", "frequency", "tells", "unclamped", "standard_error", "lower", "upper", "stands_out")
"""The columns of files. Intervals hold for all answers at once."""
_KINDS: Mapping[str, view.Kind] = {"label": "string", "tells": "bool", "stands_out": "bool"}
"""The kinds of the columns that are not numbers."""
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_SECONDS = 15.0
"""How long somebody waits for a file that the process for heavy work makes."""


class AnswerFiles:
    """The endpoints of files. What a campaign's page shows is in them, and nothing else."""

    def __init__(self, service: Service, work: HeavyWork) -> None:
        self._service, self._work = service, work

    def download(self, request: Request) -> Response:
        """The answers as CSV, JSON or Parquet."""
        kind = request.path_params["kind"]
        shown = self._asked(request)
        made = view.view_of(shown)
        if kind == "csv":
            content = column_file(f".{kind}", tuple(made.data().items()))
        elif kind == "json":
            content = strict_json.write(made.to_json()).encode()
        elif kind == "parquet":
            job = (column_file, f".{kind}", tuple(made.data().items()), tuple(made.about.items()))
            content = awaited(self._work.submit(*job), _SECONDS)
        else:
            raise Refused(Problem.NOT_FOUND, "answers can be downloaded as csv, json or parquet")
        return _file(content, kind, shown)

    def picture(self, request: Request) -> Response:
        """The answers with the largest estimates as bars with their intervals."""
        kind = request.path_params["kind"]
        if kind not in ("svg", "png"):
            raise Refused(Problem.NOT_FOUND, "pictures are svg or png")
        shown = self._asked(request)
        (chart,) = view.charts_of(shown, FEW_ROWS)
        return _file(awaited(self._work.submit(picture, f".{kind}", chart), _SECONDS), kind, shown)

    @in_turn
    def _asked(self, request: Request) -> Shown:
        campaign = self._service.campaign(visible_campaign(self._service, request).id)
        return CampaignAnswers(self._service, campaign).asked(request.query_params)


def picture(ending: str, chart: view.Chart) -> bytes:
    """A chart as a picture. This runs in the process for heavy work."""
    from untrackable.display.charts import Picture

    return Picture.of([chart]).content(ending)


def column_file(
    ending: str, columns: tuple[tuple[str, view.Column], ...], about: tuple[tuple[str, Any], ...] = ()
) -> bytes:
    """Columns as the content of a file. For Parquet, this runs in the process for heavy work."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"answers{ending}"
        view.write_columns(path, dict(columns), dict(about))
        return path.read_bytes()


def _file(content: bytes, kind: str, shown: Shown) -> Response:
    campaign, rounds, table = shown.campaign, shown.rounds, shown.table
    asked = campaign.encoding.asked
    which = f"round-{rounds[0]}" if len(rounds) == 1 else f"rounds-{rounds[0]}-to-{rounds[-1]}"
    if asked is not None and table is not None and len(asked.tables) > 1:
        which = f"table-{asked.tables.index(table) + 1}-{which}"
    name = f"answers-{campaign.id[:12]}-{which}.{kind}"
    headers = {
        "content-security-policy": "default-src 'none'; sandbox",
        "content-disposition": f'attachment; filename="{name}"',
    }
    return Response(content, headers={**HEADERS, **headers}, media_type=_TYPES[kind])


class CampaignList:
    """The endpoint of the page. Campaigns that are not published are listed for those who are signed in."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @in_turn
    def show(self, request: Request) -> Response:
        campaigns = [self._shown(each) for each in visible_campaigns(self._service, request)]
        return page(request, "campaigns.html", campaigns=campaigns)

    def _shown(self, stored: StoredCampaign) -> dict[str, Any]:
        service = self._service
        campaign = service.campaign(stored.id)
        closed = [each for each in service.store.rounds(stored.id) if each.reports is not None]
        shown = [each.reports or 0 for each in closed if not estimates.is_small(campaign, each, service.settings)]
        return {
            "id": stored.id,
            "question": campaign.question,
            "published": stored.published,
            "state": campaign_state(campaign, stored.last_round, service.clock()),
            "rounds": len(shown),
            "reports": sum(shown),
            "guarantee": guarantee_sentence(campaign),
        }


class FollowingPage:
    """The endpoint of the page. The audit is made once for a campaign, apart from everything else."""

    def __init__(self, service: Service, work: HeavyWork) -> None:
        self._service, self._work = service, work

    @in_turn
    def show(self, request: Request) -> Response:
        """Render the page: the answer, or that it is being computed, or why it cannot be."""
        stored = visible_campaign(self._service, request)
        question = self._service.campaign(stored.id).question
        future = self._work.submit(following_parts, stored.document)
        status, parts = 200, dict[str, Any](id=stored.id, question=question, waiting=not future.done(), why="")
        if parts["waiting"]:
            status = 202
        else:
            try:
                parts |= future.result()
            except WorkFailed as failed:
                status, parts["why"] = 500, str(failed)
        return page(request, "following.html", status=status, **parts)


def following_parts(document: bytes) -> dict[str, Any]:
    """What the page shows of a campaign. This runs in the process for audits, which alone loads what it needs."""
    from untrackable.collector.dashboard.jobs import shown_audit

    return shown_audit(document)
