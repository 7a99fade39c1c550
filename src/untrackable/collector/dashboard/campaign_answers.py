"""The answers of a campaign, as its page, its downloads and its pictures show them."""

import re
from math import isnan
from typing import Any

from untrackable import strict_json
from untrackable.answers.table_estimate import table_of
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.public_api import estimated
from untrackable.collector.http.service import Service
from untrackable.collector.rounds.small_rounds import fewest_reports, reports_missing
from untrackable.display.trend_words import trend_name
from untrackable.encodings.asked_tables import AskedTable
from untrackable.protocol.campaign import Campaign

MOST_ROWS = 2000
"""The largest number of answers on a page and in a file: those with the largest estimates."""
FEW_ROWS = 20
"""How many answers are shown before somebody asks for all."""
MOST_TREND_ROUNDS = 60
"""The largest number of rounds of a trend: the last ones."""
TREND_VALUES = 6
"""How many answers have a trend on one page."""


class CampaignAnswers:
    """Answers from closed rounds that have enough reports. They are computed once and kept for a while.

    With `everything`, they also say how many reports the last round lacked: for those alone who are signed in.
    """

    def __init__(self, service: Service, campaign: Campaign, *, everything: bool = False) -> None:
        from untrackable.collector.rounds.estimates import rounds_with_enough_reports

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

    def table(self, asked: str | None) -> AskedTable | None:
        """The table that is asked for, by default the first; None if there are none, or for all looks of a path."""
        try:
            return table_of(self.campaign.encoding, asked or None)
        except ValueError as error:
            raise Refused(Problem.MALFORMED_REQUEST, str(error)) from None

    def estimate(
        self, rounds: tuple[int, ...], candidates: tuple[str, ...] = (), table: AskedTable | None = None
    ) -> dict[str, Any]:
        """The estimate of these rounds. A few answers are in their own order.

        Of many, those come first that are certainly more frequent.
        """
        name = None if table is None else table.name
        found = estimated(self._service, self.campaign, rounds, candidates=candidates, top=MOST_ROWS, table=name)
        content: dict[str, Any] = strict_json.parse(found)
        rows = content["values"]
        if table is not None and len(rows) == len(table.cells) <= FEW_ROWS:
            order = {cell.label: place for place, cell in enumerate(table.cells)}
            rows.sort(key=lambda row: order[row["label"]])
        elif len(rows) == self.campaign.answers.values <= FEW_ROWS and not candidates:
            rows.sort(key=lambda row: row["value"])
        return content

    def trend(
        self, rows: list[dict[str, Any]], candidates: tuple[str, ...] = (), table: AskedTable | None = None
    ) -> dict[str, Any] | None:
        """The trend of these answers over the last rounds; None if there is none to draw."""
        rounds = self.trend_rounds
        if len(rounds) * self.campaign.looks < 2 or not rows or self.campaign.encoding.kind == "discovered-strings":
            return None
        from untrackable.collector.rounds.estimates import trend_of_values

        shown = largest(rows, TREND_VALUES)
        named = bool(candidates) or table is not None
        name = None if table is None else table.name
        values = [row["value"] if named else int(row["value"]) for row in shown]

        def make() -> bytes:
            found = trend_of_values(
                self._service.store,
                self.campaign,
                rounds=rounds,
                values=values,
                candidates=candidates,
                table=name,
            )
            lower, upper = found.interval()
            content = {
                "rounds": found.rounds,
                "beta": found.beta,
                "labels": [row["label"] for row in shown],
                "frequencies": [[None if isnan(x) else x for x in each] for each in found.shares().T.tolist()],
                "lower": lower.T.tolist(),
                "upper": upper.T.tolist(),
            }
            return strict_json.write(content, compact=True).encode()

        first = self._service.store.first_key(self.campaign.id)
        asked = ("trend", self.campaign.id, rounds, tuple(values), candidates, name, first)
        content: dict[str, Any] = strict_json.parse(self._service.cached_answer(asked, make))
        return content

    def number_trends(self) -> list[dict[str, Any]]:
        """The trends of mean and quantiles over the last rounds, if people answer with numbers; else none."""
        rounds = self.trend_rounds
        if len(rounds) * self.campaign.looks < 2 or not self.campaign.answers.ordered:
            return []
        from untrackable.collector.rounds.estimates import trend_of_numbers

        def make() -> bytes:
            content = [
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
            return strict_json.write(strict_json.finite(content), compact=True).encode()

        asked = ("numbers", self.campaign.id, rounds, self._service.store.first_key(self.campaign.id))
        content: list[dict[str, Any]] = strict_json.parse(self._service.cached_answer(asked, make))
        return [
            {**each, **{name: list(map(float, each[name])) for name in ("estimates", "lower", "upper")}}
            for each in content
        ]

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
    from untrackable.collector.rounds.estimates import MOST_CANDIDATES

    found = tuple(dict.fromkeys(line.strip() for line in (text or "").splitlines() if line.strip()))
    if len(found) > MOST_CANDIDATES:
        raise Refused(Problem.MALFORMED_REQUEST, f"the strings to look for must be at most {MOST_CANDIDATES:,}")
    return found
