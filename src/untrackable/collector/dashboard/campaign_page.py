"""The page of one campaign: its guarantee, its answers, their trend, files, and how to embed it.

`CampaignAnswers` are the answers of all rounds that are closed and have enough reports. The page shows them as text
and as charts, whose shapes are computed here and drawn as SVG by templates. Downloads and pictures have the same
answers as the page.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite, isnan
from textwrap import wrap
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from untrackable import strict_json
from untrackable.answers.answer import NumberSummary, table_of
from untrackable.collector import browser
from untrackable.collector.api import estimated
from untrackable.collector.dashboard.heavy_work import HeavyWork, WorkFailed, awaited
from untrackable.collector.dashboard.rendering import HEADERS, in_turn, page, page_turn, visible_campaign
from untrackable.collector.dashboard.sessions import signed_in
from untrackable.collector.dashboard.signed_in import done_words, offered_actions
from untrackable.collector.estimates import FrequentValues, fewest_reports, reports_missing
from untrackable.collector.problems import Problem, Refused
from untrackable.collector.service import Service
from untrackable.collector.store import StoredCampaign
from untrackable.display.campaign import (
    Cost,
    campaign_state,
    cost_words,
    costs,
    end_words,
    guarantee_words,
    no_relay_words,
    observers,
    schedule_words,
    waiting_words,
)
from untrackable.display.estimate import (
    BUCKET_WORDS,
    active_notes,
    band_words,
    interval_words,
    number_band_words,
    number_notes,
    number_rows,
    rounds_words,
)
from untrackable.display.numbers import percent, range_words, shown_share
from untrackable.display.page import page_template
from untrackable.display.trend import amount, trend_name
from untrackable.encodings.encoding import AskedTable
from untrackable.estimation.estimate import csv_cell
from untrackable.estimation.rounds import ActivePeople
from untrackable.extras import extra
from untrackable.protocol.campaign import Campaign

MOST_ROWS = 2000
"""The largest number of answers on a page and in a file: those with the largest estimates."""
FEW_ROWS = 20
"""How many answers are shown before somebody asks for all."""
MOST_TREND_ROUNDS = 60
"""The largest number of rounds of a trend: the last ones."""
TREND_VALUES = 6
"""How many answers have a trend on one page."""


class Shown(NamedTuple):
    """The answers that are shown: of these strings to look for, if any, these rounds, and this table, if any."""

    candidates: tuple[str, ...]
    rounds: tuple[int, ...]
    table: AskedTable | None
    found: FrequentValues


class CampaignAnswers:
    """Answers from closed rounds that have enough reports. They are computed once and kept for a while.

    With `everything`, they also say how many reports the last round lacked: for those alone who are signed in.
    """

    def __init__(self, service: Service, campaign: Campaign, *, everything: bool = False) -> None:
        from untrackable.collector.estimates import rounds_with_enough_reports

        self._service, self.campaign, self._everything = service, campaign, everything
        self.rounds = rounds_with_enough_reports(service.store, campaign, service.settings)

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
        return Shown(candidates, rounds, table, self.estimate(rounds, candidates, table))

    def table(self, asked: str | None) -> AskedTable | None:
        """The table that is asked for, by default the first; None if there are none, or for all looks of a path."""
        try:
            return table_of(self.campaign.encoding, asked or None)
        except ValueError as error:
            raise Refused(Problem.MALFORMED_REQUEST, str(error)) from None

    def estimate(
        self, rounds: tuple[int, ...], candidates: tuple[str, ...] = (), table: AskedTable | None = None
    ) -> FrequentValues:
        """The estimate of these rounds. A few answers are in their own order.

        Of many, those come first that are certainly more frequent.
        """
        name = None if table is None else table.name
        found = estimated(self._service, self.campaign, rounds, candidates=candidates, top=MOST_ROWS, table=name)
        rows = found.rows
        if table is not None and len(rows) == len(table.cells) <= FEW_ROWS:
            order = {cell.label: place for place, cell in enumerate(table.cells)}
            rows = sorted(rows, key=lambda row: order[row["label"]])
        elif len(rows) == self.campaign.answers.values <= FEW_ROWS and not candidates:
            rows = sorted(rows, key=lambda row: row["value"])
        return found._replace(rows=rows)

    def trend(
        self, rows: list[dict[str, Any]], candidates: tuple[str, ...] = (), table: AskedTable | None = None
    ) -> dict[str, Any] | None:
        """The trend of these answers over the last rounds; None if there is none to draw."""
        rounds = self.trend_rounds
        if len(rounds) * self.campaign.looks < 2 or not rows or self.campaign.encoding.kind == "discovered-strings":
            return None
        from untrackable.collector.estimates import trend_of_values

        shown = largest(rows, TREND_VALUES)
        named = bool(candidates) or table is not None
        name = None if table is None else table.name
        values = [row["value"] if named else int(row["value"]) for row in shown]

        def make() -> dict[str, Any]:
            found = trend_of_values(
                self._service.store,
                self.campaign,
                rounds=rounds,
                values=values,
                candidates=candidates,
                table=name,
            )
            lower, upper = found.interval()
            return {
                "rounds": found.rounds,
                "beta": found.beta,
                "labels": [row["label"] for row in shown],
                "frequencies": [[None if isnan(x) else x for x in each] for each in found.shares().T.tolist()],
                "lower": lower.T.tolist(),
                "upper": upper.T.tolist(),
            }

        first = self._service.store.first_key(self.campaign.id)
        asked = ("trend", self.campaign.id, rounds, tuple(values), candidates, name, first)
        return self._service.cached_answer(asked, make)

    def number_trends(self) -> list[dict[str, Any]]:
        """The trends of mean and quantiles over the last rounds, if people answer with numbers; else none."""
        rounds = self.trend_rounds
        if len(rounds) * self.campaign.looks < 2 or not self.campaign.answers.ordered:
            return []
        from untrackable.collector.estimates import trend_of_numbers

        def make() -> list[dict[str, Any]]:
            return [
                {
                    "label": trend_name(found),
                    "rounds": found.rounds,
                    "beta": found.beta,
                    "estimates": found.estimates.tolist(),
                    "lower": found.lower.tolist(),
                    "upper": found.upper.tolist(),
                }
                for found in trend_of_numbers(self._service.store, self.campaign, rounds=rounds)
            ]

        asked = ("numbers", self.campaign.id, rounds, self._service.store.first_key(self.campaign.id))
        return self._service.cached_answer(asked, make)

    def _why_none(self) -> str:
        """Why no round is shown. Somebody who is signed in reads how many more reports the last one needed."""
        service, campaign = self._service, self.campaign
        stored = service.store.rounds(campaign.id)
        if not any(each.state == "closed" for each in stored):
            return "no round is closed yet: answers appear here when the first one is over"
        few = (
            f"no closed round has the {fewest_reports(campaign, service.settings):,} reports that an estimate needs"
        )
        if not campaign.fewest_reports:
            return f"{few}. Answers appear here as soon as more people answer in one round"
        missed = [reports_missing(campaign, each, service.clock()) for each in stored]
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
    from untrackable.collector.estimates import MOST_CANDIDATES

    found = tuple(dict.fromkeys(line.strip() for line in (text or "").splitlines() if line.strip()))
    if len(found) > MOST_CANDIDATES:
        raise Refused(Problem.MALFORMED_REQUEST, f"the strings to look for must be at most {MOST_CANDIDATES:,}")
    return found


_TICKS = 4
"""About how many marks an axis has."""
_LETTER = 6.8
"""How wide a letter of a mark is, in the units of the drawing."""


class Bar(NamedTuple):
    """One answer: its texts, and the bar and its whisker in percent of the widest."""

    label: str
    share: str
    range: str
    stands_out: bool
    length: float
    low: float
    high: float


class Panel(NamedTuple):
    """The trend of one answer: a band, and a dot for each round, in the units of the drawing."""

    label: str
    band: str
    line: str
    dots: list[tuple[float, float, str]]


class Panels(NamedTuple):
    """The trends of several answers at one scale: their panels, the marks of both axes, and room for these."""

    width: float
    height: float
    panels: list[Panel]
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]
    left: float


def widest_share(rows: Sequence[dict[str, Any]]) -> float:
    """The scale of bars: the highest upper end of an interval."""
    return max((row["upper"] for row in rows), default=1.0) or 1.0


def bars(rows: Sequence[dict[str, Any]], all_rows: Sequence[dict[str, Any]]) -> list[Bar]:
    """The bars of some answers, at the scale of all of them. None is longer than its interval."""
    widest = widest_share(all_rows)

    def place(share: float) -> float:
        return round(100 * share / widest, 2)

    return [
        Bar(
            row["label"],
            shown_share(row["frequency"]),
            range_words(row["lower"], row["upper"]),
            row["stands_out"],
            0.0 if row["frequency"] is None else place(min(row["upper"], max(row["lower"], row["frequency"]))),
            place(row["lower"]),
            place(row["upper"]),
        )
        for row in rows
    ]


def trend_panels(
    trend: dict[str, Any],
    *,
    width: float = 280,
    height: float = 110,
    words: Callable[[float], str] = percent,
) -> Panels:
    """The panels of a trend, with `rounds`, `labels`, and `frequencies`, `lower` and `upper` for each label.

    Ends that have no bound are drawn at the edge. A number that the reports do not tell has no dot.
    """
    rounds: list[int] = trend["rounds"]
    parts = [ends for of in ("frequencies", "lower", "upper") for ends in trend[of]]
    drawn: list[float] = [end for ends in parts for end in ends if end is not None and isfinite(end)]
    lowest, highest = min(0.0, *drawn), max(1e-9, *drawn)

    def across(number: float) -> float:
        return round(width * (number - rounds[0]) / (rounds[-1] - rounds[0]), 2)

    def up(share: float) -> float:
        within = min(highest, max(lowest, share))
        return round(height * (highest - within) / (highest - lowest), 2)

    panels = []
    for label, shares, lower, upper in zip(
        trend["labels"], trend["frequencies"], trend["lower"], trend["upper"], strict=True
    ):
        edge = [(across(number), up(end)) for number, end in zip(rounds, upper, strict=True)]
        edge += reversed([(across(number), up(end)) for number, end in zip(rounds, lower, strict=True)])
        dots = [
            (across(n), up(share), f"round {n}: {words(share)}")
            for n, share in zip(rounds, shares, strict=True)
            if share is not None and not isnan(share)
        ]
        panels.append(Panel(label, _points(edge), _points((x, y) for x, y, _ in dots), dots))
    places = [(up(tick), words(tick).replace(".00 %", " %")) for tick in ticks(lowest, highest)]
    ends = [(across(number), f"{number:,}") for number in (rounds[0], rounds[-1])]
    left = max(44.0, 14 + _LETTER * max(len(text) for _, text in places))
    return Panels(width, height, panels, ends, places, left)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers between two ends."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    return [round(step * i, 12) for i in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def _points(found: Any) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in found)


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
        takes_part = browser.takes_part(campaign)
        return {
            "id": stored.id,
            "campaign": campaign,
            "published": stored.published,
            "encoding": campaign.encoding.describe(),
            "schedule": schedule_words(campaign),
            "end": end_words(campaign, stored.last_round, service.clock()),
            "state": campaign_state(campaign, stored.last_round, service.clock()),
            "waiting": waiting_words(campaign, service.settings.last_arrival, service.clock()),
            "guarantee": guarantee_words(campaign, stored.verdict),
            "observers": observers(campaign),
            "no_relay": no_relay_words(campaign),
            "cost_words": cost_words(campaign),
            "done": done_words(service, request, stored),
            "actions": offered_actions(service, request, stored),
            "snippet": browser.snippet(campaign, browser.address(request)) if takes_part else "",
        }

    def _costs(self, stored: StoredCampaign) -> list[Cost] | str:
        """What rounds cost, or why that is not known now."""
        try:
            found: list[Cost] = self._work.submit(round_costs, stored.document).result(_PATIENCE)
        except TimeoutError:
            return "This is being computed. Load the page again in a few seconds."
        except Refused as refused:
            return f"This is not known yet: {refused.detail}. Load the page again in a few seconds."
        except WorkFailed as failed:
            return f"This is not known: {failed}."
        return found

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
            "trend": None,
            "numbers": None,
            "number_trends": None,
        }
        try:
            candidates, rounds, table, found = answers.asked(asked)
        except Refused as refused:
            return {**about, "why": f"{refused.detail[:1].upper()}{refused.detail[1:]}.{_help(refused, asked)}"}
        rows = found.rows
        matching = [row for row in rows if search.casefold() in row["label"].casefold()]
        shown = matching if everything else largest(matching, FEW_ROWS)
        discovered = campaign.encoding.kind == "discovered-strings"
        about |= {
            "bars": bars(shown, matching),
            "matching": len(matching),
            "rows": len(rows),
            "others": 0 if discovered or candidates else max(0, _answers(campaign, table) - len(rows)),
            "shares": bool(rows) or discovered,
            "numbers": _numbers(found.numbers),
            "reports": found.reports,
            "span": rounds_words(rounds),
            "sample": _sample(campaign, found.people, len(rounds)),
            "words": interval_words(
                found.beta, shown, discovered=discovered, others=_others(rows, matching, shown)
            ),
            "buckets": BUCKET_WORDS if about["any_string"] and not candidates else "",
            "discovered": discovered,
            "query": _query(asked, "table", "round", "strings"),
            "more": _query({**asked, "all": "1"}, "table", "round", "strings", "search", "all"),
        }
        if asked.get("part") != "answers":
            about["trend"] = _share_trends(answers, matching, candidates, table)
            about["number_trends"] = _number_trends(answers)
        return about


def _share_trends(
    answers: CampaignAnswers,
    rows: list[dict[str, Any]],
    candidates: tuple[str, ...],
    table: AskedTable | None,
) -> dict[str, Any] | None:
    """The shares of answers round by round: a panel for each, and the same as a table."""
    try:
        found = answers.trend(rows, candidates, table)
    except Refused:
        return None
    if found is None:
        return None

    def cell(label: int, at: int) -> tuple[str, str]:
        low, high = found["lower"][label][at], found["upper"][label][at]
        return shown_share(found["frequencies"][label][at]), range_words(low, high)

    labels, rounds = found["labels"], found["rounds"]
    return {
        "drawn": [trend_panels(found)],
        "labels": labels,
        "table": [(number, [cell(i, at) for i in range(len(labels))]) for at, number in enumerate(rounds)],
        "words": band_words(found["beta"], len(rounds)) + _look_words(answers.campaign),
        "some": len(rows) > TREND_VALUES,
        "earlier": len(answers.rounds) > len(answers.trend_rounds),
    }


def _number_trends(answers: CampaignAnswers) -> dict[str, Any] | None:
    """Mean and quantiles round by round: a panel for each, and the same as a table."""
    found = answers.number_trends()
    if not found:
        return None
    unit = getattr(answers.campaign.answers, "unit", "")
    words = partial(amount, unit=unit)

    def cell(each: dict[str, Any], at: int) -> tuple[str, str]:
        low, high = amount(each["lower"][at], unit, "down"), amount(each["upper"][at], unit, "up")
        return words(each["estimates"][at]), f"{low} to {high}"

    return {
        "drawn": [
            trend_panels(
                {**each, "labels": [each["label"]], "frequencies": [each["estimates"]]}
                | {end: [each[end]] for end in ("lower", "upper")},
                words=words,
            )
            for each in found
        ],
        "labels": [each["label"] for each in found],
        "table": [(number, [cell(each, at) for each in found]) for at, number in enumerate(found[0]["rounds"])],
        "words": number_band_words(found[0]["beta"], len(found[0]["rounds"])) + _look_words(answers.campaign),
        "some": False,
        "earlier": len(answers.rounds) > len(answers.trend_rounds),
    }


def _look_words(campaign: Campaign) -> str:
    """What a trend shows of paths."""
    many = f"{campaign.looks} looks of a round"
    return f" Each of the {many} is shown like a round of its own." if campaign.looks > 1 else ""


def round_costs(document: bytes) -> list[Cost]:
    """What the rounds of a campaign cost. This runs in the process for heavy work."""
    return costs(Campaign.from_bytes(document))


def _help(refused: Refused, asked: dict[str, str]) -> str:
    """What to do where there are no answers, if something helps."""
    if refused.problem is Problem.BUSY:
        return " Load the page again in a few seconds."
    if refused.problem is Problem.CANDIDATES_NEEDED:
        return " Type them above, one on each line."
    if refused.problem is Problem.MALFORMED_REQUEST and not asked.get("round") and not asked.get("table"):
        return " Choose one round above instead of all."
    return ""


def _others(rows: list[dict[str, Any]], matching: list[dict[str, Any]], shown: list[dict[str, Any]]) -> bool:
    """Whether answers that are not shown may be as frequent as some of these, if nobody searched for some."""
    left_out = [row for row in matching if row not in shown] if len(shown) < len(matching) else []
    lowest = min((row["lower"] for row in shown), default=0.0)
    return len(matching) == len(rows) and any(row["upper"] >= lowest for row in left_out)


def _query(asked: dict[str, str], *names: str) -> str:
    """A part of what was asked, for addresses that ask for the same."""
    found = urlencode({name: asked[name] for name in names if asked.get(name)})
    return f"?{found}" if found else ""


def _answers(campaign: Campaign, table: AskedTable | None) -> int:
    """The number of answers, or of cells of the table that is shown."""
    return campaign.answers.values if table is None else len(table.cells)


def _tables(campaign: Campaign) -> list[str]:
    """The names of the tables to choose from, if there are several. The empty name is for all looks together."""
    asked = campaign.encoding.asked
    names = [] if asked is None or len(asked.tables) < 2 else [table.name for table in asked.tables]
    return ["", *names] if campaign.looks > 1 else names


def _numbers(summary: NumberSummary | None) -> dict[str, Any] | None:
    """Mean and quantiles in words, if people answer with numbers."""
    if summary is None:
        return None
    notes = [f"{note[:1].upper()}{note[1:]}." for note in number_notes(summary)]
    if summary.mean is not None and not summary.mean.lower <= summary.mean.value <= summary.mean.upper:
        notes.append("The noise is corrected for on average, so an estimate may lie outside its interval.")
    return {"rows": number_rows(summary), "notes": notes}


def _sample(campaign: Campaign, people: ActivePeople, rounds: int) -> str:
    """How many people were active, and of whom shares are; empty if everybody answers every round."""
    if campaign.turns is None:
        return ""
    return " ".join(
        f"{note[:1].upper()}{note[1:]}."
        for note in active_notes(people, rounds, shares=campaign.encoding.values > 1)
    )


COLUMNS = ("label", "frequency", "tells", "unclamped", "standard_error", "lower", "upper", "stands_out")
"""The columns of files. Intervals hold for all answers at once."""
_KINDS = {"label": "string", "tells": "bool", "stands_out": "bool"}
"""The kinds of the columns of Parquet files that are not numbers."""
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_SECONDS = 15.0
"""How long somebody waits for a file that the process for heavy work makes."""
_LETTERS = 120
"""How many letters of the words below a picture fit on a line."""
_SHARPNESS = 2.0
"""How many pixels of a PNG are one unit of the drawing."""
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""The characters that no XML may contain, but that a string to look for may have."""


class AnswerFiles:
    """The endpoints of files. What a campaign's page shows is in them, and nothing else."""

    def __init__(self, service: Service, work: HeavyWork) -> None:
        self._service, self._work = service, work

    def download(self, request: Request) -> Response:
        """The answers as CSV, JSON or Parquet."""
        kind = request.path_params["kind"]
        campaign, shown = self._asked(request)
        table, found = shown.table, shown.found
        if kind == "csv":
            content = _csv(found.rows)
        elif kind == "json":
            about = {"campaign": campaign.id} | ({} if table is None else {"table": table.name})
            content = strict_json.write({**about, **found.to_json()}).encode()
        elif kind == "parquet":
            rows = tuple(tuple(row[name] for name in COLUMNS) for row in found.rows)
            content = awaited(self._work.submit(parquet, rows, found.reports, found.beta), _SECONDS)
        else:
            raise Refused(Problem.NOT_FOUND, "answers can be downloaded as csv, json or parquet")
        return _file(content, kind, campaign, shown)

    def picture(self, request: Request) -> Response:
        """The answers with the largest estimates as bars with their intervals."""
        kind = request.path_params["kind"]
        if kind not in ("svg", "png"):
            raise Refused(Problem.NOT_FOUND, "pictures are svg or png")
        campaign, shown = self._asked(request)
        with page_turn():
            drawing = picture(campaign, shown)
        content = drawing.encode() if kind == "svg" else awaited(self._work.submit(png, drawing), _SECONDS)
        return _file(content, kind, campaign, shown)

    @in_turn
    def _asked(self, request: Request) -> tuple[Campaign, Shown]:
        campaign = self._service.campaign(visible_campaign(self._service, request).id)
        return campaign, CampaignAnswers(self._service, campaign).asked(request.query_params)


def picture(campaign: Campaign, shown: Shown) -> str:
    """The picture as SVG, on white paper."""
    found, name = shown.found, "" if shown.table is None else f"{shown.table.name}: "
    rows = largest(found.rows, FEW_ROWS)
    highest = widest_share(rows)
    discovered = campaign.encoding.kind == "discovered-strings"
    words = interval_words(found.beta, rows, discovered=discovered)
    drawn = page_template("untrackable.collector.dashboard", "templates/picture.svg").render(
        question=campaign.question,
        about=f"{name}{found.reports:,} reports of {rounds_words(shown.rounds)}",
        bars=bars(rows, rows),
        marks=[(tick / highest, percent(tick).replace(".00 %", " %")) for tick in ticks(0.0, highest)],
        words=[line for said in words for line in wrap(said, _LETTERS)],
    )
    return _NOT_XML.sub("\ufffd", drawn)


def png(drawing: str) -> bytes:
    """A drawing in pixels. This runs in the process for heavy work."""
    with extra("plots"):
        import vl_convert

    return vl_convert.svg_to_png(drawing, scale=_SHARPNESS)


def parquet(rows: tuple[tuple[Any, ...], ...], reports: int, beta: float) -> bytes:
    """Answers as a Parquet file. This runs in the process for heavy work."""
    with extra("files"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    columns = zip(*rows, strict=True) if rows else ((),) * len(COLUMNS)
    table = pa.table(
        {
            name: pa.array(column, type=_KINDS.get(name, "float64"))
            for name, column in zip(COLUMNS, columns, strict=True)
        }
    )
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"reports": str(reports), "beta": repr(beta)}), file)
    return file.getvalue()


def _csv(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(csv_cell(row[name]) for name in COLUMNS)
    return text.getvalue().encode()


def _file(content: bytes, kind: str, campaign: Campaign, shown: Shown) -> Response:
    rounds, table, asked = shown.rounds, shown.table, campaign.encoding.asked
    which = f"round-{rounds[0]}" if len(rounds) == 1 else f"rounds-{rounds[0]}-to-{rounds[-1]}"
    if asked is not None and table is not None and len(asked.tables) > 1:
        which = f"table-{asked.tables.index(table) + 1}-{which}"
    name = f"answers-{campaign.id[:12]}-{which}.{kind}"
    # A picture has its own style inside, and nothing else may run in it.
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    headers = {"content-security-policy": policy, "content-disposition": f'attachment; filename="{name}"'}
    return Response(content, headers={**HEADERS, **headers}, media_type=_TYPES[kind])
