"""The page of one campaign: its guarantee, its answers, their trend, files, and how to embed it."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from untrackable.answers.number_summary import NumberSummary
from untrackable.collector.dashboard.campaign_access import visible_campaign
from untrackable.collector.dashboard.campaign_actions import done_words, offered_actions
from untrackable.collector.dashboard.campaign_answers import (
    FEW_ROWS,
    TREND_VALUES,
    CampaignAnswers,
    candidates_of,
    largest,
)
from untrackable.collector.dashboard.chart_shapes import bars, trend_panels
from untrackable.collector.dashboard.heavy_work import HeavyWork, WorkFailed
from untrackable.collector.dashboard.page_rendering import page
from untrackable.collector.dashboard.page_turns import page_turn
from untrackable.collector.dashboard.sessions import signed_in
from untrackable.collector.http import browser_client
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.service import Service
from untrackable.collector.stores.records import StoredCampaign
from untrackable.display import guarantee_table, number_words
from untrackable.display.answer_words import (
    BUCKET_WORDS,
    band_words,
    interval_words,
    number_band_words,
    range_words,
    rounds_words,
)
from untrackable.display.campaign_words import campaign_state, end_words, guarantee_words, schedule_words
from untrackable.display.people_words import active_notes
from untrackable.display.percentages import shown_share
from untrackable.display.trend_words import amount
from untrackable.encodings.asked_tables import AskedTable
from untrackable.estimation.active_people import ActivePeople
from untrackable.protocol.campaign import Campaign

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
        takes_part = browser_client.takes_part(campaign)
        return {
            "id": stored.id,
            "campaign": campaign,
            "published": stored.published,
            "encoding": campaign.encoding.describe(),
            "schedule": schedule_words(campaign),
            "end": end_words(campaign, stored.last_round, service.clock()),
            "state": campaign_state(campaign, stored.last_round, service.clock()),
            "guarantee": guarantee_words(campaign, stored.verdict),
            "observers": guarantee_table.observers(campaign),
            "no_relay": guarantee_table.no_relay_words(campaign),
            "cost_words": guarantee_table.cost_words(campaign),
            "done": done_words(service, request, stored),
            "actions": offered_actions(service, request, stored),
            "snippet": browser_client.snippet(campaign, browser_client.address(request)) if takes_part else "",
        }

    def _costs(self, stored: StoredCampaign) -> list[guarantee_table.Cost] | str:
        """What rounds cost, or why that is not known now."""
        try:
            found: list[guarantee_table.Cost] = self._work.submit(round_costs, stored.document).result(_PATIENCE)
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
            candidates = candidates_of(asked.get("strings"))
            rounds = answers.chosen(asked.get("round"))
            table = answers.table(asked.get("table"))
            found = answers.estimate(rounds, candidates, table)
        except Refused as refused:
            return {**about, "why": f"{refused.detail[:1].upper()}{refused.detail[1:]}.{_help(refused, asked)}"}
        rows = found["values"]
        matching = [row for row in rows if search.casefold() in row["label"].casefold()]
        shown = matching if everything else largest(matching, FEW_ROWS)
        discovered = campaign.encoding.kind == "discovered-strings"
        about |= {
            "bars": bars(shown, matching),
            "matching": len(matching),
            "rows": len(rows),
            "others": 0 if discovered or candidates else max(0, _answers(campaign, table) - len(rows)),
            "shares": bool(rows) or discovered,
            "numbers": _numbers(found.get("numbers")),
            "reports": found["reports"],
            "span": rounds_words(rounds),
            "sample": _sample(campaign, found["people"], len(rounds)),
            "words": interval_words(
                found["beta"], shown, discovered=discovered, others=_others(rows, matching, shown)
            ),
            "buckets": BUCKET_WORDS if about["any_string"] and not candidates else "",
            "discovered": discovered,
            "query": _query(asked, "table", "round", "strings"),
            "more": _query({**asked, "all": "1"}, "table", "round", "strings", "search", "all"),
        }
        if asked.get("part") != "answers":
            about["trend"] = self._trend(answers, matching, candidates, table)
            about["number_trends"] = _number_trends(answers)
        return about

    def _trend(
        self,
        answers: CampaignAnswers,
        rows: list[dict[str, Any]],
        candidates: tuple[str, ...],
        table: AskedTable | None,
    ) -> dict[str, Any] | None:
        try:
            found = answers.trend(rows, candidates, table)
        except Refused:
            return None
        if found is None:
            return None
        by_round = [
            (
                number,
                [
                    (
                        shown_share(found["frequencies"][i][at]),
                        range_words(found["lower"][i][at], found["upper"][i][at]),
                    )
                    for i in range(len(found["labels"]))
                ],
            )
            for at, number in enumerate(found["rounds"])
        ]
        return {
            "drawn": [trend_panels(found)],
            "labels": found["labels"],
            "table": by_round,
            "words": band_words(found["beta"], len(found["rounds"])) + _look_words(answers.campaign),
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


def round_costs(document: bytes) -> list[guarantee_table.Cost]:
    """What the rounds of a campaign cost. This runs in the process for heavy work."""
    return guarantee_table.costs(Campaign.from_bytes(document))


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


def _numbers(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Mean and quantiles in words, if people answer with numbers."""
    if found is None:
        return None
    summary = NumberSummary.from_json(found)
    notes = [f"{note[:1].upper()}{note[1:]}." for note in number_words.number_notes(summary)]
    if summary.mean is not None and not summary.mean.lower <= summary.mean.value <= summary.mean.upper:
        notes.append("The noise is corrected for on average, so an estimate may lie outside its interval.")
    return {"rows": number_words.number_rows(summary), "notes": notes}


def _sample(campaign: Campaign, people: dict[str, Any], rounds: int) -> str:
    """How many people were active, and of whom shares are; empty if everybody answers every round."""
    if campaign.turns is None:
        return ""
    active = ActivePeople(*(people[name] for name in ActivePeople._fields))
    return " ".join(
        f"{note[:1].upper()}{note[1:]}."
        for note in active_notes(active, rounds, shares=campaign.encoding.values > 1)
    )
