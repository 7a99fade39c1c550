"""The collector's API: what anybody may read, and what needs a key.

Anybody reads campaigns, guarantees, rounds and published estimates, also in OpenMetrics' text format for tools that
draw boards. An admin key creates, publishes and ends campaigns, and closes rounds. A key is shown once, when it is
made. The store only has its digest.
"""

import asyncio
import contextlib
import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from untrackable import checks, strict_json
from untrackable.collector import estimates
from untrackable.collector.closing import close_round, end_campaign
from untrackable.collector.metrics import Metrics, described
from untrackable.collector.problems import Problem
from untrackable.collector.service import Service
from untrackable.collector.store import Store, StoredCampaign, StoredKey, StoredRound
from untrackable.collector.uploads import read_body
from untrackable.collector.writer import check_countable, reason_not_collectable
from untrackable.display.campaign import guarantee_words
from untrackable.encodings.strings import DiscoveredStrings, HashedStrings
from untrackable.errors import CampaignError, GatewayKeysError
from untrackable.protocol.campaign import LARGEST, Campaign, turns_to_json
from untrackable.protocol.wire import LAST_ROUND
from untrackable.serving.problems import Refused
from untrackable.units import read_rounds

ROLES: Final = {
    "admin": "creates, publishes and closes campaigns, and reads all estimates",
    "reader": "reads campaigns that are not published",
}
"""The roles of keys, and what each role may do."""
_PREFIX = "ut"
"""The beginning of every key."""
_ID_BYTES = 6
"""The number of random bytes of a key's id."""
_SECRET_BYTES = 32
"""The number of random bytes of a key's secret."""
_KEY = re.compile(f"{_PREFIX}_([0-9a-f]{{{2 * _ID_BYTES}}})_[A-Za-z0-9_-]{{1,200}}")
"""How a key is written."""


def new_key(store: Store, role: str) -> tuple[str, str]:
    """Make a key. Returns its id and the key itself, which cannot be shown again."""
    checks.choice("role", role, ROLES)
    id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    token = f"{_PREFIX}_{id}_{secret}"
    today = datetime.now(UTC).date().isoformat()
    store.add_key(StoredKey(id, role, _digest(token.encode()), today, revoked=False))
    return id, token


def valid_key(store: Store, token: str) -> StoredKey | None:
    """What the store has of a key, or None if the key is wrong or revoked.

    The secret has 256 random bits, so its digest needs no salt and no stretching.
    """
    id = key_id(token)
    if id is None:
        return None
    stored = store.key(id)
    return stored if is_key(token.encode(), stored) and stored is not None and not stored.revoked else None


def is_key(token: bytes, stored: StoredKey | None) -> bool:
    """Whether a token is the key of which the store has this. It takes as long if the store has no such key."""
    expected = bytes(hashlib.sha256().digest_size) if stored is None else stored.digest
    return hmac.compare_digest(_digest(token), expected) and stored is not None


def key_id(token: str) -> str | None:
    """The id in a key, whether or not there is such a key; None if it does not look like a key."""
    parts = _KEY.fullmatch(token)
    return None if parts is None else parts[1]


def require_key(store: Store, authorization: str | None, roles: tuple[str, ...]) -> None:
    """Refuse a request that has no valid key of one of these roles."""
    scheme, _, token = (authorization or "").partition(" ")
    key = valid_key(store, token.strip()) if scheme.lower() == "bearer" else None
    if key is None:
        raise Refused(Problem.KEY_NEEDED, "send a valid key in the header `Authorization: Bearer …`")
    if key.role not in roles:
        raise Refused(Problem.KEY_INSUFFICIENT, f"this needs a key with the role {' or '.join(roles)}")


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


NO_STORE = {"cache-control": "no-store"}
"""The header that keeps caches from storing an answer."""
BETAS = (0.001, 0.01, 0.05, 0.1, 0.3)
"""The allowed probabilities that the intervals miss. They are few, so that an estimate is computed few times."""
MOST_ROUNDS = 10_000
"""The largest number of rounds that one request may pool."""


class PublicApi:
    """The public endpoints, one method each."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def health(self, request: Request) -> Response:
        """Answer "ok" if the process works. A restart would not help against anything else."""
        self._service.writer.check_thread()
        return _json({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Answer "ready" if the store can be read and written and the clock is trusted.

        This has threads of its own: otherwise many readers of pages would make the collector look ill.
        """
        await asyncio.to_thread(self._service.check_ready)
        return _json({"status": "ready"})

    def metrics(self, request: Request) -> Response:
        return Response(self._service.metrics.text(), headers=NO_STORE, media_type="text/plain; version=0.0.4")

    def campaigns(self, request: Request) -> Response:
        """A short list of the published campaigns, or of all of them for somebody with a key."""
        listed, everything = [], self._has_key(request)
        for stored in self._service.store.campaigns():
            if everything or stored.published:
                campaign = self._service.campaign(stored.id)
                listed.append({"id": stored.id, "question": campaign.question, "published": stored.published})
        return _json({"campaigns": listed})

    def campaign(self, request: Request) -> Response:
        """The exact bytes of a campaign. Its id is their digest.

        Clients fetch it by an id that they know, so it needs no key, even if the campaign is not published.
        """
        stored = self._service.stored_campaign(request.path_params["campaign"])
        return Response(stored.document, headers=NO_STORE, media_type="application/json")

    def guarantee(self, request: Request) -> Response:
        """The declared guarantee, and the result of its verification when the campaign was created."""
        stored = self._service.stored_campaign(request.path_params["campaign"])
        campaign = self._service.campaign(stored.id)
        turns = campaign.turns
        return _json(
            {
                "declared": campaign.guarantee.to_json(turns=turns is not None),
                "turns": None if turns is None else turns_to_json(turns),
                "verified": strict_json.parse(stored.verdict),
                "words": guarantee_words(campaign, stored.verdict),
            }
        )

    def rounds(self, request: Request) -> Response:
        """The rounds that are closed or being closed. Open rounds are left out, even if they have reports.

        How many reports a round lacks is told with a key only: it is the size of a round that is withheld.
        """
        service, everything = self._service, self._has_key(request)
        stored = self._readable(request, everything)
        campaign = service.campaign(stored.id)
        listed, now = [], service.clock()
        for each in service.store.rounds(stored.id):
            if each.state == "open":
                continue
            few = estimates.is_small(campaign, each, service.settings)
            listed.append(
                {
                    "round": each.number,
                    "state": each.state,
                    "begins": campaign.begins(each.number),
                    "ends": campaign.begins(each.number + 1),
                    "reports": None if few else each.reports,
                    "withheld": few,
                    "missing": estimates.reports_missing(campaign, each, now) if everything else None,
                }
            )
        last = campaign.rounds if stored.last_round is None else stored.last_round
        return _json({"now": campaign.round_at(now), "last_round": last, "rounds": listed})

    def round_estimate(self, request: Request) -> Response:
        number = request.path_params["round"]
        if not 1 <= number <= LAST_ROUND:
            raise Refused(Problem.NOT_FOUND, f"a round must be between 1 and {LAST_ROUND}")
        return self._estimate(request, (number,))

    def pooled_estimate(self, request: Request) -> Response:
        """The pooled estimate of several rounds. By default, these are all closed rounds with enough reports."""
        named = request.query_params.get("rounds")
        try:
            rounds = None if named is None else tuple(read_rounds(named, most=MOST_ROUNDS, last=LAST_ROUND))
        except ValueError as error:
            raise Refused(Problem.MALFORMED_REQUEST, str(error)) from None
        return self._estimate(request, rounds)

    def _estimate(self, request: Request, rounds: tuple[int, ...] | None) -> Response:
        service = self._service
        campaign = service.campaign(self._readable(request, self._has_key(request)).id)
        top, beta = _top(request), _beta(request)
        candidates = tuple(request.query_params.getlist("candidate"))
        if rounds is None:
            rounds = estimates.rounds_with_enough_reports(service.store, campaign, service.settings)
            if not rounds:
                fewest = estimates.fewest_reports(campaign, service.settings)
                few = f"no closed round has the {fewest} reports that an estimate needs"
                raise Refused(Problem.WITHHELD, few)
        query = estimates.Query(rounds, candidates, request.query_params.get("table"), beta, top)
        content = strict_json.write(estimated(service, campaign, query).to_json(), compact=True)
        return Response(content, headers=NO_STORE, media_type="application/json")

    def estimate_metrics(self, request: Request) -> Response:
        """The last closed round of every campaign that is published and has a short list of values.

        Open rounds and small ones are left out.
        """
        service, samples = self._service, _Samples((name, []) for name in GAUGES)
        for stored in service.store.campaigns():
            campaign = service.campaign(stored.id)
            listed = not isinstance(campaign.answers, (DiscoveredStrings, HashedStrings))
            if not stored.published or not listed or campaign.answers.values > MOST_VALUES:
                continue
            if last := estimates.rounds_with_enough_reports(service.store, campaign, service.settings)[-1:]:
                _add(
                    samples, campaign, last[0], estimated(service, campaign, estimates.Query(last, top=MOST_VALUES))
                )
        return Response(_text(samples), headers=NO_STORE, media_type=_OPEN_METRICS)

    def _has_key(self, request: Request) -> bool:
        """Whether a request has a key, and may read unpublished campaigns. A wrong key is refused."""
        authorization = request.headers.get("authorization", "")
        if not authorization.lower().startswith("bearer"):
            return False
        require_key(self._service.store, authorization, tuple(ROLES))
        return True

    def _readable(self, request: Request, everything: bool) -> StoredCampaign:
        """The campaign of an address, if it is published. Others look as if they did not exist, without a key."""
        with contextlib.suppress(Refused):
            stored = self._service.stored_campaign(request.path_params["campaign"])
            if everything or stored.published:
                return stored
        raise Refused(Problem.NOT_FOUND, "there is no published campaign with this id; others need a key")


def estimated(service: Service, campaign: Campaign, query: estimates.Query) -> estimates.FrequentValues:
    """An estimate. It is made once and remembered as long as the rounds have their sums.

    If the campaign is deleted and added again, its rounds have other keys, so that nothing old is remembered.
    """
    kept = {each.number: each.reports for each in service.store.rounds(campaign.id)}
    sums = (service.store.first_key(campaign.id), tuple(kept.get(number) for number in query.rounds))
    make = partial(estimates.frequent_values, service.store, campaign, service.settings, query)
    return service.cached_answer((campaign.id, query, sums), make)


def _json(content: Any) -> Response:
    return JSONResponse(content, headers=NO_STORE)


def _top(request: Request) -> int:
    given = request.query_params.get("top", str(estimates.DEFAULT_TOP))
    if not re.fullmatch(r"[0-9]{1,9}", given) or not 1 <= int(given) <= estimates.MOST_TOP:
        raise Refused(Problem.MALFORMED_REQUEST, f"top must be an integer between 1 and {estimates.MOST_TOP}")
    return int(given)


def _beta(request: Request) -> float:
    given = request.query_params.get("beta", "0.05")
    try:
        return BETAS[BETAS.index(float(given))]
    except ValueError:
        allowed = ", ".join(map(str, BETAS))
        raise Refused(Problem.MALFORMED_REQUEST, f"beta must be one of {allowed}") from None


ADDRESS = "/metrics/estimates"
MOST_VALUES = 100
"""Campaigns with more values than this are left out: a series for each of them would be too many."""
GAUGES: Final = {
    "estimate": "Share of people with a value in the last closed round, estimated; only if the reports tell it.",
    "estimate_tells": "Whether the reports of the last closed round tell this share: 1 if so, else 0.",
    "estimate_lower": "Lower end of the interval of this share, which holds for all values of a campaign at once.",
    "estimate_upper": "Upper end of the interval of this share, which holds for all values of a campaign at once.",
    "estimate_miss_probability": "The probability that such intervals miss a true share (upper).",
    "estimate_reports": "Reports of the last closed round.",
    "estimate_people": "People active in the last closed round, estimated from those whose turn it was.",
    "estimate_people_lower": "Lower end of the interval of these people, which misses with the same probability.",
    "estimate_people_upper": "Upper end of the interval of these people, which misses with the same probability.",
    "estimate_round": "Number of the last closed round with enough reports.",
    "estimate_round_end_seconds": "When that round ended, in seconds since 1970.",
}
"""What is shown, by the name of the metric without its prefix."""
_OF_A_VALUE: Final = {
    "estimate": "frequency",
    "estimate_tells": "tells",
    "estimate_lower": "lower",
    "estimate_upper": "upper",
}
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

_OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_Samples = dict[str, list[str]]


def _add(samples: _Samples, campaign: Campaign, number: int, estimate: estimates.FrequentValues) -> None:
    mine = f'campaign="{campaign.id}",question="{campaign.question.translate(_ESCAPES)}"'
    for row in sorted(estimate.rows, key=lambda row: int(row["value"])):
        labels = f'{{{mine},value="{row["label"].translate(_ESCAPES)}"}}'
        for name, key in _OF_A_VALUE.items():
            if (told := row[key]) is not None:
                samples[name].append(f"{labels} {int(told) if key == 'tells' else told!r}")
    of_all = {
        "estimate_miss_probability": estimate.beta,
        "estimate_reports": estimate.reports,
        "estimate_people": estimate.people.value,
        "estimate_people_lower": estimate.people.lower,
        "estimate_people_upper": estimate.people.upper,
        "estimate_round": number,
        "estimate_round_end_seconds": campaign.begins(number + 1),
    }
    for name, value in of_all.items():
        samples[name].append(f"{{{mine}}} {value!r}")


def _text(samples: _Samples) -> str:
    lines = [line for name, words in GAUGES.items() for line in described(name, "gauge", words, samples[name])]
    return "\n".join([*lines, "# EOF", ""])


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
        """Let everybody read the campaign's estimates (PUT), or require a key for them (DELETE)."""
        self._require_admin(request)
        stored = self._service.stored_campaign(request.path_params["campaign"])
        self._service.store.publish(stored.id, request.method == "PUT")
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
        closed = close(self._service.store, campaign, number, self._service.clock(), self._service.metrics)
        return JSONResponse({"round": closed.number, "state": closed.state}, headers=NO_STORE)

    def _require_admin(self, request: Request) -> None:
        require_key(self._service.store, request.headers.get("authorization"), ("admin",))


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
    verdict = verify(campaign)
    if not verdict.holds:
        raise Refused(Problem.CAMPAIGN_REFUSED, "; ".join(verdict.problems))
    new = store.add_campaign(StoredCampaign(campaign.id, document, strict_json.write(verdict.to_json()), published))
    return campaign.id, new


def close(store: Store, campaign: Campaign, number: int, now: float, metrics: Metrics | None = None) -> StoredRound:
    """Close a round of a campaign. A round that has not begun, or that does not exist, is refused."""
    last = campaign.rounds or LAST_ROUND
    if not 1 <= number <= last:
        raise Refused(Problem.NOT_FOUND, f"the campaign has rounds 1 to {last:,}, and no round {number:,}")
    if campaign.begins(number) > now:
        raise Refused(Problem.ROUND_NOT_BEGUN, f"round {number} has not begun yet")
    check_countable(campaign, number)
    return close_round(store, campaign, number, metrics)
