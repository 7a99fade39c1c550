"""The web page at `/`: campaigns, their guarantees, and their estimates."""

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from untrackable import strict_json
from untrackable.collector.http import browser_client
from untrackable.collector.http.problems import Refused
from untrackable.collector.http.public_api import NO_STORE, estimated
from untrackable.collector.http.service import Service
from untrackable.collector.rounds.small_rounds import reports_missing
from untrackable.collector.stores.records import StoredCampaign
from untrackable.display.attendance_words import sample_words
from untrackable.display.campaign_words import end_words, guarantee_words, schedule_words
from untrackable.display.page_shell import page_template
from untrackable.display.percentages import percent
from untrackable.protocol.campaign import Campaign

_BARS = 20
"""The largest number of bars of a campaign."""
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class PublicPage:
    """The endpoint of the page. It renders the page anew for every request, from stored sums."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def show(self, request: Request) -> Response:
        """Render the page."""
        server = browser_client.address(request)
        campaigns = [self._campaign(stored, server) for stored in self._service.store.campaigns()]
        text = page_template("untrackable.collector.http", "public_page.html").render(campaigns=campaigns)
        return HTMLResponse(text, headers={**NO_STORE, "content-security-policy": _POLICY})

    def _campaign(self, stored: StoredCampaign, server: str) -> dict[str, Any]:
        from untrackable.collector.rounds.estimates import rounds_with_enough_reports

        campaign = self._service.campaign(stored.id)
        about: dict[str, Any] = {
            "id": stored.id,
            "question": campaign.question,
            "encoding": campaign.encoding.describe(),
            "schedule": schedule_words(campaign),
            "end": end_words(campaign, stored.last_round, self._service.clock()),
            "guarantee": guarantee_words(campaign, self._service.verdict(stored)),
            "snippet": browser_client.snippet(campaign, server) if browser_client.takes_part(campaign) else "",
            "why": "",
            "estimate": None,
        }
        rounds = rounds_with_enough_reports(self._service.store, campaign, self._service.settings)
        if not stored.published:
            about["why"] = "The estimates of this campaign are not published."
        elif not rounds:
            about["why"] = self._why_none(campaign)
        else:
            try:
                found = estimated(self._service, campaign, rounds, top=_BARS)
                about["estimate"] = _drawn(strict_json.parse(found), campaign)
            except Refused as refused:
                about["why"] = f"There is no estimate to show: {refused.detail}."
        return about

    def _why_none(self, campaign: Campaign) -> str:
        """Why no round is shown. In a crowd, how many more reports the last round that is over would have taken."""
        few = "No closed round has enough reports yet."
        if not campaign.fewest_reports:
            return few
        now = self._service.clock()
        missed = [reports_missing(campaign, each, now) for each in self._service.store.rounds(campaign.id)]
        last = next((missing for missing in reversed(missed) if missing is not None), None)
        promised = f"A round is shown from {campaign.fewest_reports:,} reports on, which is the crowd it promises."
        return f"{few} {promised}" + ("" if last is None else f" The last one would have taken {last:,} more.")


def _drawn(found: dict[str, Any], campaign: Campaign) -> dict[str, Any]:
    """An estimate with the positions of its bars, in percent of the page's width."""
    values = found["values"]
    widest = max((row["upper"] for row in values), default=1.0) or 1.0

    def place(share: float) -> float:
        return round(100 * min(1.0, max(0.0, share / widest)), 2)

    if len(values) == campaign.encoding.values:
        values = sorted(values, key=lambda row: row["value"])
    rows = [
        {
            "label": row["label"],
            "percent": f"{100 * row['frequency']:.2f} %",
            "range": f"{percent(row['lower'], 'down').removesuffix(' %')} to {percent(row['upper'], 'up')}",
            "bar": place(row["frequency"]),
            "from": place(row["lower"]),
            "length": round(place(row["upper"]) - place(row["lower"]), 2),
            "stands_out": row["stands_out"],
        }
        for row in values
    ]
    numbers = found["rounds"]
    span = (
        f"round {numbers[0]:,}"
        if len(numbers) == 1
        else f"{len(numbers):,} rounds, {numbers[0]:,} to {numbers[-1]:,}"
    )
    listed = bool(values) and isinstance(values[0]["value"], int)
    others = campaign.encoding.values - len(rows) if listed else 0
    return {
        "rows": rows,
        "reports": f"{found['reports']:,}",
        "sample": sample_words(campaign, found["reports"], len(numbers)),
        "span": span,
        "failing": f"{100 * found['beta']:g} %",
        "others": f"{others:,}" if others > 0 else "",
    }
