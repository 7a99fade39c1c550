"""The page that answers: could this campaign be used to follow somebody?"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from untrackable.collector.dashboard.campaign_access import visible_campaign
from untrackable.collector.dashboard.heavy_work import HeavyWork, WorkFailed
from untrackable.collector.dashboard.page_rendering import page
from untrackable.collector.dashboard.page_turns import in_turn
from untrackable.collector.http.service import Service


class FollowingPage:
    """The endpoint of the page. The audit is made once for a campaign, apart from everything else."""

    def __init__(self, service: Service, work: HeavyWork) -> None:
        self._service, self._work = service, work

    @in_turn
    def show(self, request: Request) -> Response:
        """Render the page: the answer, or that it is being computed, or why it cannot be."""
        stored = visible_campaign(self._service, request)
        parts: dict[str, Any] = {"id": stored.id, "question": self._service.campaign(stored.id).question}
        future = self._work.submit(following_parts, stored.document)
        if not future.done():
            return page(request, "following_waiting.html", status=202, **parts)
        try:
            found: dict[str, Any] = future.result()
        except WorkFailed as failed:
            return page(request, "following_failed.html", status=500, why=str(failed), **parts)
        return page(request, "following.html", **parts, **found)


def following_parts(document: bytes) -> dict[str, Any]:
    """What the page shows of a campaign. This runs in the process for audits, which alone loads what it needs."""
    from untrackable.collector.dashboard.campaign_audit import audit_campaign, shown_audit

    return shown_audit(audit_campaign(document))
