"""The endpoints that anybody may read: campaigns, their guarantees, rounds, and published estimates."""

import asyncio
import contextlib
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from untrackable import strict_json
from untrackable.collector.http import api_keys
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.service import Service
from untrackable.collector.rounds.small_rounds import fewest_reports, is_small, reports_missing
from untrackable.collector.stores.records import StoredCampaign
from untrackable.display.campaign_words import guarantee_words
from untrackable.protocol.campaign import Campaign, turns_to_json
from untrackable.protocol.wire import LAST_ROUND

NO_STORE = {"cache-control": "no-store"}
"""The header that keeps caches from storing an answer."""
DEFAULT_TOP, MOST_TOP = 50, 1000
"""The default and the largest number of values in an estimate."""
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
        """All counters in Prometheus' text format."""
        return Response(self._service.metrics.text(), headers=NO_STORE, media_type="text/plain; version=0.0.4")

    def campaigns(self, request: Request) -> Response:
        """A short list of the published campaigns, or of all of them for somebody with a key."""
        found, everything = [], self._has_key(request)
        for stored in self._service.store.campaigns():
            if everything or stored.published:
                campaign = self._service.campaign(stored.id)
                found.append({"id": stored.id, "question": campaign.question, "published": stored.published})
        return _json({"campaigns": found})

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
        found, now = [], service.clock()
        for each in service.store.rounds(stored.id):
            if each.state == "open":
                continue
            few = is_small(campaign, each, service.settings)
            found.append(
                {
                    "round": each.number,
                    "state": each.state,
                    "begins": campaign.begins(each.number),
                    "ends": campaign.begins(each.number + 1),
                    "reports": None if few else each.reports,
                    "withheld": few,
                    "missing": reports_missing(campaign, each, now) if everything else None,
                }
            )
        last = campaign.rounds if stored.last_round is None else stored.last_round
        return _json({"now": campaign.round_at(now), "last_round": last, "rounds": found})

    def round_estimate(self, request: Request) -> Response:
        """The estimate of one round."""
        number = request.path_params["round"]
        if not 1 <= number <= LAST_ROUND:
            raise Refused(Problem.NOT_FOUND, f"a round must be between 1 and {LAST_ROUND}")
        return self._estimate(request, (number,))

    def pooled_estimate(self, request: Request) -> Response:
        """The pooled estimate of several rounds. By default, these are all closed rounds with enough reports."""
        named = request.query_params.get("rounds")
        return self._estimate(request, None if named is None else _rounds(named))

    def _estimate(self, request: Request, rounds: tuple[int, ...] | None) -> Response:
        from untrackable.collector.rounds.estimates import rounds_with_enough_reports

        service = self._service
        campaign = service.campaign(self._readable(request, self._has_key(request)).id)
        top = _integer(request, "top", DEFAULT_TOP, 1, MOST_TOP)
        beta = _beta(request)
        candidates = tuple(request.query_params.getlist("candidate"))
        table = request.query_params.get("table")
        if rounds is None:
            rounds = rounds_with_enough_reports(service.store, campaign, service.settings)
            if not rounds:
                fewest = fewest_reports(campaign, service.settings)
                few = f"no closed round has the {fewest} reports that an estimate needs"
                raise Refused(Problem.WITHHELD, few)
        found = estimated(service, campaign, rounds, candidates=candidates, beta=beta, top=top, table=table)
        return Response(found, headers=NO_STORE, media_type="application/json")

    def _has_key(self, request: Request) -> bool:
        """Whether a request has a key, with which one reads what is not published. A wrong key is refused."""
        authorization = request.headers.get("authorization", "")
        if not authorization.lower().startswith("bearer"):
            return False
        api_keys.require_key(self._service.store, authorization, tuple(api_keys.ROLES))
        return True

    def _readable(self, request: Request, everything: bool) -> StoredCampaign:
        """The campaign of an address, if it is published. Others look as if they did not exist, without a key."""
        with contextlib.suppress(Refused):
            stored = self._service.stored_campaign(request.path_params["campaign"])
            if everything or stored.published:
                return stored
        raise Refused(Problem.NOT_FOUND, "there is no published campaign with this id; others need a key")


def estimated(
    service: Service,
    campaign: Campaign,
    rounds: tuple[int, ...],
    *,
    candidates: tuple[str, ...] = (),
    beta: float = 0.05,
    top: int = DEFAULT_TOP,
    table: str | None = None,
) -> bytes:
    """An estimate as JSON. It is made once and remembered as long as the rounds have their sums.

    If the campaign is deleted and added again, its rounds have other keys, so that nothing old is remembered.
    """
    from untrackable.collector.rounds.estimates import frequent_values

    def make() -> bytes:
        found = frequent_values(
            service.store,
            campaign,
            service.settings,
            rounds=rounds,
            candidates=candidates,
            beta=beta,
            top=top,
            table=table,
        )
        content = {
            "rounds": list(rounds),
            "reports": found.reports,
            "chance": str(campaign.chance),
            "people": found.people.to_json(),
            "beta": found.beta,
            "intervals": "upper, for all values at once",
            "values": found.rows,
            **({} if found.numbers is None else {"numbers": found.numbers}),
        }
        return strict_json.write(content, compact=True).encode()

    kept = {each.number: each.reports for each in service.store.rounds(campaign.id)}
    sums = (service.store.first_key(campaign.id), tuple(kept.get(number) for number in rounds))
    return service.cached_answer((campaign.id, rounds, candidates, beta, top, table, sums), make)


def _json(content: Any) -> Response:
    return JSONResponse(content, headers=NO_STORE)


def _integer(request: Request, name: str, default: int, low: int, high: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", given) or not low <= int(given) <= high:
        raise Refused(Problem.MALFORMED_REQUEST, f"{name} must be an integer between {low} and {high}")
    return int(given)


def _beta(request: Request) -> float:
    given = request.query_params.get("beta", "0.05")
    try:
        return BETAS[BETAS.index(float(given))]
    except ValueError:
        allowed = ", ".join(map(str, BETAS))
        raise Refused(Problem.MALFORMED_REQUEST, f"beta must be one of {allowed}") from None


def _rounds(text: str) -> tuple[int, ...]:
    """The numbers in a text such as `1-3,7`, which means 1, 2, 3 and 7."""
    wrong = Refused(
        Problem.MALFORMED_REQUEST,
        f"rounds must be like 1-3,7, with at most {MOST_ROUNDS} numbers from 1 to {LAST_ROUND}",
    )
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,10})(?:-([0-9]{1,10}))?", part)
        if match is None:
            raise wrong
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if not 1 <= first <= last <= LAST_ROUND or len(found) + last - first >= MOST_ROUNDS:
            raise wrong
        found += range(first, last + 1)
    return tuple(sorted(set(found)))
