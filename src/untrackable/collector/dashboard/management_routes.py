"""The addresses of the dashboard for people who sign in."""

from starlette.routing import Route

from untrackable.collector.dashboard.campaign_actions import CampaignActions
from untrackable.collector.dashboard.heavy_work import HeavyWork
from untrackable.collector.dashboard.key_pages import KeyPages
from untrackable.collector.dashboard.new_campaign import NewCampaign
from untrackable.collector.dashboard.posted_forms import managing, posted
from untrackable.collector.dashboard.sign_in import SignIn
from untrackable.collector.http.service import Service


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
