"""The page at `/`: all campaigns."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from untrackable.collector.dashboard.campaign_access import visible_campaigns
from untrackable.collector.dashboard.page_rendering import page
from untrackable.collector.dashboard.page_turns import in_turn
from untrackable.collector.http.service import Service
from untrackable.collector.rounds.small_rounds import is_small
from untrackable.collector.stores.records import StoredCampaign
from untrackable.display.campaign_words import campaign_state, guarantee_sentence


class CampaignList:
    """The endpoint of the page. Campaigns that are not published are listed for those who are signed in."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @in_turn
    def show(self, request: Request) -> Response:
        """Render the page."""
        campaigns = [self._shown(each) for each in visible_campaigns(self._service, request)]
        return page(request, "campaigns.html", campaigns=campaigns)

    def _shown(self, stored: StoredCampaign) -> dict[str, Any]:
        service = self._service
        campaign = service.campaign(stored.id)
        closed = [each for each in service.store.rounds(stored.id) if each.reports is not None]
        shown = [each.reports or 0 for each in closed if not is_small(campaign, each, service.settings)]
        return {
            "id": stored.id,
            "question": campaign.question,
            "published": stored.published,
            "state": campaign_state(campaign, stored.last_round, service.clock()),
            "rounds": len(shown),
            "reports": sum(shown),
            "guarantee": guarantee_sentence(campaign),
        }
