"""The addresses of the dashboard."""

from starlette.routing import Route

from untrackable.collector.dashboard.campaign_list import CampaignList
from untrackable.collector.dashboard.heavy_work import HeavyWork
from untrackable.collector.dashboard.static_files import serve_static
from untrackable.collector.http.service import Service


def dashboard_routes(service: Service, work: HeavyWork) -> list[Route]:
    """All pages and their files. An endpoint that is no coroutine runs in a thread, apart from reports."""
    return [
        Route("/static/{name}", serve_static, methods=["GET"]),
        Route("/", CampaignList(service).show, methods=["GET"]),
    ]
