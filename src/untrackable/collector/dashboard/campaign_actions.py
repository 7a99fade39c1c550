"""What somebody with an admin key can do on a campaign's page: close a round, publish, unpublish, and end it."""

import re
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from untrackable.collector.dashboard.posted_forms import Form
from untrackable.collector.dashboard.sessions import Session, signed_in
from untrackable.collector.dashboard.sign_in import redirect
from untrackable.collector.http import management
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.service import Service
from untrackable.collector.rounds.campaign_end import end_campaign
from untrackable.collector.rounds.change_words import closed_words, ending_words, publishing_words
from untrackable.collector.stores.records import StoredCampaign
from untrackable.protocol.campaign import Campaign

_MOST_ROUNDS = 12
"""The largest number of rounds that a page offers to close."""
_NUMBER = re.compile("[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class ClosableRound:
    """A round that can be closed: whether it still goes on, so that closing it turns later reports away."""

    number: int
    goes_on: bool


@dataclass(frozen=True, slots=True)
class OfferedActions:
    """What a page offers: the latest rounds that can be closed, and whether the campaign can be ended."""

    rounds: tuple[ClosableRound, ...]
    further: int
    """How many earlier rounds can be closed as well."""
    can_end: bool
    published: bool


class CampaignActions:
    """The endpoints of the forms on a campaign's page."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def close(self, request: Request, session: Session, form: Form) -> Response:
        """Close a round, as `untrackable manage close` does."""
        campaign, number = self._campaign(request), request.path_params["round"]
        if number < 1:
            raise Refused(Problem.NOT_FOUND, "the campaign has no such round")
        management.close(self._service.store, campaign, number, self._service.clock(), self._service.metrics)
        return _back(campaign.id, f"closed&number={number}")

    def publish(self, request: Request, session: Session, form: Form) -> Response:
        """Let everybody read the campaign's estimates."""
        return self._published(request, True)

    def unpublish(self, request: Request, session: Session, form: Form) -> Response:
        """Require a key for the campaign's estimates."""
        return self._published(request, False)

    def end(self, request: Request, session: Session, form: Form) -> Response:
        """Let the round that takes reports now be the last one."""
        campaign = self._campaign(request)
        end_campaign(self._service.store, campaign, self._service.clock(), self._service.settings)
        return _back(campaign.id, "ended")

    def _published(self, request: Request, published: bool) -> Response:
        id = self._service.stored_campaign(request.path_params["campaign"]).id
        self._service.store.publish(id, published)
        return _back(id, "published" if published else "unpublished")

    def _campaign(self, request: Request) -> Campaign:
        return self._service.campaign(self._service.stored_campaign(request.path_params["campaign"]).id)


def offered_actions(service: Service, request: Request, stored: StoredCampaign) -> OfferedActions | None:
    """What the reader of a campaign's page may do with it; None for everybody but those with an admin key."""
    session = signed_in(request)
    if session is None or not session.manages:
        return None
    campaign, now = service.campaign(stored.id), service.clock()
    known = {each.number: each.state for each in service.store.rounds(stored.id)}
    present = campaign.round_at(now)
    if present is not None and (stored.last_round is None or present <= stored.last_round):
        known.setdefault(present, "open")
    begun = sorted(
        (n for n, state in known.items() if state != "closed" and campaign.begins(n) <= now), reverse=True
    )
    rounds = tuple(ClosableRound(number, number == present) for number in begun[:_MOST_ROUNDS])
    over = campaign.rounds is not None and campaign.begins(campaign.rounds + 1) <= now
    return OfferedActions(
        rounds, len(begun) - len(rounds), stored.last_round is None and not over, stored.published
    )


def done_words(service: Service, request: Request, stored: StoredCampaign) -> str:
    """What was just done, for the page to which a form leads. Only words of our own are shown.

    They are for those who can do it: a closed round's words have its number of reports, also if it is withheld.
    """
    session = signed_in(request)
    if session is None or not session.manages:
        return ""
    match request.query_params.get("done"):
        case "created":
            return "The campaign is created. Clients can answer it as soon as its first round begins."
        case "published" | "unpublished":
            return f"This campaign {publishing_words(stored.published)}."
        case "ended" if stored.last_round is not None:
            return f"This campaign {ending_words(stored.last_round)}."
        case "closed":
            number = request.query_params.get("number", "")
            rounds = service.store.rounds(stored.id) if _NUMBER.fullmatch(number) else []
            closed = next((each for each in rounds if each.number == int(number) and each.state == "closed"), None)
            return "" if closed is None else closed_words(service.campaign(stored.id), closed)
    return ""


def _back(id: str, done: str) -> Response:
    return redirect(f"/view/{id}?done={done}")
