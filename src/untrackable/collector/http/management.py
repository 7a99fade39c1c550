"""The endpoints that need an admin key: creating, publishing and ending campaigns, and closing rounds."""

from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from untrackable import strict_json
from untrackable.collector.http import api_keys
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.public_api import NO_STORE
from untrackable.collector.http.report_upload import read_body
from untrackable.collector.http.service import Service
from untrackable.collector.metrics import Metrics
from untrackable.collector.rounds.acceptance import check_countable, reason_not_collectable
from untrackable.collector.rounds.campaign_end import end_campaign
from untrackable.collector.rounds.closing import close_round
from untrackable.collector.stores.records import StoredCampaign, StoredRound
from untrackable.collector.stores.store import Store
from untrackable.errors import CampaignError, GatewayKeysError
from untrackable.protocol.campaign import LARGEST, Campaign
from untrackable.protocol.wire import LAST_ROUND


class ManagementApi:
    """The management endpoints, one method each."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def create(self, request: Request) -> Response:
        """Create a campaign from the bytes of the body, if it keeps the guarantee that it declares."""
        await run_in_threadpool(self._require_admin, request)
        body = await read_body(request.scope, request.receive, b"application/json", LARGEST)
        published = request.query_params.get("published", "false")
        if published not in ("true", "false"):
            raise Refused(Problem.MALFORMED_REQUEST, "published must be true or false")
        await run_in_threadpool(check_gateway_keys, body, self._service.settings.gateway_keys)
        id, new = await run_in_threadpool(create_campaign, self._service.store, body, published=published == "true")
        return JSONResponse({"id": id}, 201 if new else 200, NO_STORE)

    def publish(self, request: Request) -> Response:
        """Let everybody read the campaign's estimates."""
        return self._publish(request, published=True)

    def unpublish(self, request: Request) -> Response:
        """Require a key for the campaign's estimates."""
        return self._publish(request, published=False)

    def _publish(self, request: Request, *, published: bool) -> Response:
        self._require_admin(request)
        stored = self._service.stored_campaign(request.path_params["campaign"])
        self._service.store.publish(stored.id, published)
        return Response(status_code=204, headers=NO_STORE)

    def end(self, request: Request) -> Response:
        """Let the latest round that takes reports be the campaign's last one. Ending it again changes nothing."""
        self._require_admin(request)
        campaign = self._service.campaign(request.path_params["campaign"])
        last = end_campaign(self._service.store, campaign, self._service.clock(), self._service.settings)
        if last is None:
            raise Refused(Problem.NOT_FOUND, "there is no campaign with this id")
        return JSONResponse({"last_round": last}, headers=NO_STORE)

    def close(self, request: Request) -> Response:
        """Close a round that has begun. Closing it again changes nothing."""
        self._require_admin(request)
        campaign, number = self._service.campaign(request.path_params["campaign"]), request.path_params["round"]
        if not 1 <= number <= (campaign.rounds or LAST_ROUND):
            raise Refused(Problem.NOT_FOUND, "the campaign has no such round")
        closed = close(self._service.store, campaign, number, self._service.clock(), self._service.metrics)
        return JSONResponse({"round": closed.number, "state": closed.state}, headers=NO_STORE)

    def _require_admin(self, request: Request) -> None:
        api_keys.require_key(self._service.store, request.headers.get("authorization"), ("admin",))


def check_gateway_keys(document: bytes, file: Path | None) -> None:
    """Refuse a campaign whose reports are sealed for a key that this collector does not have."""
    try:
        gateway = Campaign.from_bytes(document).gateway
    except CampaignError as error:
        raise Refused(Problem.MALFORMED_CAMPAIGN, str(error)) from None
    if gateway is None:
        return
    if file is None:
        raise Refused(Problem.CAMPAIGN_REFUSED, "its reports are sealed, and this collector is no gateway")
    try:
        known = _public_keys(file)
    except GatewayKeysError:
        raise Refused(Problem.INTERNAL, "the gateway's keys cannot be read") from None
    unknown = [key.config[0] for key in gateway.keys if key.config not in known]
    if unknown:
        raise Refused(Problem.CAMPAIGN_REFUSED, f"this collector's gateway does not have its key {unknown[0]}")


def campaigns_without_keys(store: Store, file: Path | None) -> list[str]:
    """The campaigns whose reports come sealed, and none of whose keys this collector has."""
    known = set() if file is None else _public_keys(file)
    gateways = {stored.id: Campaign.from_bytes(stored.document).gateway for stored in store.campaigns()}
    return [
        id
        for id, gateway in gateways.items()
        if gateway is not None and not any(key.config in known for key in gateway.keys)
    ]


def _public_keys(file: Path) -> set[bytes]:
    """The public keys of those in a file that are not revoked."""
    from untrackable.oblivious.gateway_keys import read_keys

    return {config.to_bytes() for config in read_keys(file).published()}


def create_campaign(store: Store, document: bytes, *, published: bool = False) -> tuple[str, bool]:
    """Verify a campaign and store it. Returns its id and whether it is new."""
    from untrackable.accounting.check import verify

    try:
        campaign = Campaign.from_bytes(document)
    except CampaignError as error:
        raise Refused(Problem.MALFORMED_CAMPAIGN, str(error)) from None
    reason = reason_not_collectable(campaign)
    if reason is not None:
        raise Refused(Problem.CAMPAIGN_REFUSED, reason)
    if store.campaign(campaign.id) is not None:
        return campaign.id, False
    found = verify(campaign)
    if not found.holds:
        raise Refused(Problem.CAMPAIGN_REFUSED, "; ".join(found.problems))
    new = store.add_campaign(StoredCampaign(campaign.id, document, strict_json.write(found.to_json()), published))
    return campaign.id, new


def close(store: Store, campaign: Campaign, number: int, now: float, metrics: Metrics | None = None) -> StoredRound:
    """Close a round of a campaign. A round that has not begun, or that does not exist, is refused."""
    if campaign.rounds is not None and number > campaign.rounds:
        raise Refused(Problem.NOT_FOUND, f"the campaign has only {campaign.rounds:,} rounds, not {number:,}")
    if campaign.begins(number) > now:
        raise Refused(Problem.ROUND_NOT_BEGUN, f"round {number} has not begun yet")
    check_countable(campaign, number)
    return close_round(store, campaign, number, metrics)
