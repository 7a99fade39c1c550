"""The addresses of the dashboard, its list of campaigns, and the page about following people."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from untrackable.collector.dashboard.campaign_page import AnswerFiles, CampaignPage
from untrackable.collector.dashboard.heavy_work import HeavyWork, WorkFailed
from untrackable.collector.dashboard.new_campaign import NewCampaign
from untrackable.collector.dashboard.rendering import (
    in_turn,
    page,
    serve_static,
    visible_campaign,
    visible_campaigns,
)
from untrackable.collector.dashboard.signed_in import CampaignActions, KeyPages, SignIn, managing, posted
from untrackable.collector.estimates import is_small
from untrackable.collector.service import Service
from untrackable.collector.store import StoredCampaign
from untrackable.display.campaign import campaign_state, guarantee_sentence


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
    from untrackable.collector.dashboard.jobs import audit_campaign, shown_audit

    return shown_audit(audit_campaign(document))


def management_routes(service: Service, work: HeavyWork) -> list[Route]:
    """Signing in and out, new campaigns, what can be done with a campaign, and keys."""
    entry, new, actions, keys = (
        SignIn(service),
        NewCampaign(service, work),
        CampaignActions(service),
        KeyPages(service),
    )
    one = "/view/{campaign}"
    return [
        Route("/sign-in", entry.show, methods=["GET"]),
        Route("/sign-in", posted(entry.sign_in), methods=["POST"]),
        Route("/sign-out", posted(entry.sign_out), methods=["POST"]),
        Route("/new", new.show, methods=["GET"]),
        Route("/new", new.plan, methods=["POST"]),
        Route("/new/results", new.results, methods=["POST"]),
        Route("/new/preview", new.preview, methods=["POST"]),
        Route("/new/create", new.create, methods=["POST"]),
        Route(f"{one}/rounds/{{round:round}}/close", managing(actions.close), methods=["POST"]),
        Route(f"{one}/publish", managing(actions.publish), methods=["POST"]),
        Route(f"{one}/unpublish", managing(actions.unpublish), methods=["POST"]),
        Route(f"{one}/end", managing(actions.end), methods=["POST"]),
        Route("/keys", keys.show, methods=["GET"]),
        Route("/keys", managing(keys.make), methods=["POST"]),
        Route("/keys/{key}/revoke", managing(keys.revoke), methods=["POST"]),
    ]


def dashboard_routes(service: Service, work: HeavyWork, audits: HeavyWork) -> list[Route]:
    """All pages and their files. An endpoint that is no coroutine runs in a thread, apart from reports.

    Audits take long, so they have a process of their own: other work does not wait for them.
    """
    files = AnswerFiles(service, work)
    return [
        Route("/static/{name}", serve_static, methods=["GET"]),
        Route("/view/{campaign}", CampaignPage(service, work).show, methods=["GET"]),
        Route("/view/{campaign}/following", FollowingPage(service, audits).show, methods=["GET"]),
        Route("/view/{campaign}/download.{kind}", files.download, methods=["GET"]),
        Route("/view/{campaign}/picture.{kind}", files.picture, methods=["GET"]),
        Route("/", CampaignList(service).show, methods=["GET"]),
        *management_routes(service, work),
    ]
