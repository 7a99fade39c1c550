"""The addresses of the dashboard."""

from starlette.routing import Route

from untrackable.collector.dashboard.answer_files import AnswerFiles
from untrackable.collector.dashboard.campaign_list import CampaignList
from untrackable.collector.dashboard.campaign_page import CampaignPage
from untrackable.collector.dashboard.following_page import FollowingPage
from untrackable.collector.dashboard.heavy_work import HeavyWork
from untrackable.collector.dashboard.static_files import serve_static
from untrackable.collector.http.service import Service


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
    ]
