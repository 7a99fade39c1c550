"""Who may see which campaign."""

from starlette.requests import Request

from untrackable.collector.dashboard.sessions import signed_in
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.service import Service
from untrackable.collector.stores.records import StoredCampaign


def visible_campaigns(service: Service, request: Request) -> list[StoredCampaign]:
    """The campaigns that a request may see: published ones, and all of them for somebody who is signed in."""
    everything = signed_in(request) is not None
    return [each for each in service.store.campaigns() if everything or each.published]


def visible_campaign(service: Service, request: Request) -> StoredCampaign:
    """The campaign that an address names. One that is hidden is refused exactly as one that does not exist."""
    stored = service.stored_campaign(request.path_params["campaign"])
    if not stored.published and signed_in(request) is None:
        raise Refused(Problem.NOT_FOUND, "there is no campaign with this id")
    return stored
