"""What people do with a key: sign in and out, close rounds, publish and end campaigns, make and revoke keys.

All of it is done by forms. They are read within limits, from pages of this collector only, and with the session's
token.
"""

import re
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from untrackable.collector import api
from untrackable.collector.api import ROLES, key_id, new_key, valid_key
from untrackable.collector.closing import closed_words, end_campaign, ending_words, publishing_words
from untrackable.collector.dashboard import sessions
from untrackable.collector.dashboard.rendering import HEADERS, page, page_turn
from untrackable.collector.problems import Problem
from untrackable.collector.service import Service
from untrackable.collector.store import StoredCampaign
from untrackable.collector.uploads import read_body, reserved_room
from untrackable.protocol.campaign import Campaign
from untrackable.serving.problems import Refused

Form = dict[str, str]
"""What somebody typed and chose, by the name of the field."""
TOKEN = "token"  # noqa: S105 (the name of a field)
"""The field that carries the session's token."""
_MEDIA_TYPE = b"application/x-www-form-urlencoded"
_MOST_FIELDS = 100
_STRANGERS_FORM = 64 << 10
"""The largest form of somebody who is not signed in, in bytes. It has room for what was typed in a session."""


async def read_form(request: Request) -> Form:
    """The form in the body of a request that a page of this collector sent.

    It takes a share of the memory for reports while it arrives, and is read in a thread, one at a time.
    """
    sessions.check_same_origin(request)
    service: Service = request.app.state.service
    stranger = await run_in_threadpool(sessions.signed_in, request) is None
    largest = min(_STRANGERS_FORM, service.settings.largest_body) if stranger else service.settings.largest_body
    with reserved_room(service.writer) as hold:
        body = await read_body(request.scope, request.receive, _MEDIA_TYPE, largest, hold)
        return await run_in_threadpool(_fields, body, stranger)


def _fields(body: bytes, stranger: bool) -> Form:
    with page_turn() if stranger else nullcontext():
        try:
            fields = parse_qsl(
                body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
            )
        except ValueError:
            raise Refused(Problem.MALFORMED_REQUEST, "the form cannot be read") from None
    form = dict(fields)
    if len(form) < len(fields):
        raise Refused(Problem.MALFORMED_REQUEST, "the form has a field twice")
    return form


def check_token(request: Request, form: Form) -> sessions.Session:
    """The session that a form was sent in. Without one that may change something, or its token, it is refused."""
    session = sessions.require_session(request)
    if not sessions.token_is_right(session, form.get(TOKEN, "")):
        raise Refused(
            Problem.FORM_OUTDATED, "this form is from another session, and nothing was changed: load the page again"
        )
    return session


def posted(answer: Callable[[Request, Form], Response]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that takes a form. `answer` runs in a thread, so it may use the store."""

    async def endpoint(request: Request) -> Response:
        form = await read_form(request)
        return await run_in_threadpool(answer, request, form)

    return endpoint


def managing(
    answer: Callable[[Request, sessions.Session, Form], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that changes something: `answer` is called with the request, the session and the form."""

    def checked(request: Request, form: Form) -> Response:
        return answer(request, check_token(request, form), form)

    return posted(checked)


_PLACES = re.compile(r"/|/new|/keys|/view/[0-9a-f]{64}(/following)?")
"""The pages that signing in may lead to. Any other address would be an open redirect."""
_TOO_MANY = 429
"""The status of an answer to too many requests."""


class SignIn:
    """The endpoints of signing in and out."""

    def __init__(self, service: Service, tries: sessions.WrongKeys | None = None) -> None:
        self._service = service
        self._tries = sessions.WrongKeys() if tries is None else tries

    def show(self, request: Request) -> Response:
        """The page that asks for a key."""
        return _asked(request, place(request.query_params.get("next", "")))

    def sign_in(self, request: Request, form: Form) -> Response:
        """Begin a session if the key is right. A wrong key is never shown again."""
        token, to = form.get("key", "").strip(), place(form.get("next", ""))
        if sessions.is_sent_in_the_clear(request):
            return _asked(request, to, wrong="clear", status=403)
        id = key_id(token) or ""
        if not self._tries.allow(id):
            return _asked(request, to, wrong="many", status=_TOO_MANY)
        key = valid_key(self._service.store, token)
        if key is None:
            if self._service.store.key(id) is not None:
                self._tries.count(id)
            return _asked(request, to, wrong="key", status=403)
        response = redirect(to)
        sessions.begin_session(request, response, token, key)
        return response

    def sign_out(self, request: Request, form: Form) -> Response:
        """End the session in this browser. A form of another session changes nothing."""
        session = sessions.signed_in(request)
        if session is not None and not sessions.token_is_right(session, form.get(TOKEN, "")):
            raise Refused(Problem.FORM_OUTDATED, "this form is from another session, and you are still signed in")
        response = redirect("/")
        sessions.end_session(request, response)
        return response


def place(given: str) -> str:
    """The page to go to: the one that was asked for if it is one of this collector's, or else the first one."""
    return given if _PLACES.fullmatch(given) else "/"


def redirect(to: str) -> Response:
    """A response that leads to another page of this collector."""
    return RedirectResponse(to, 303, HEADERS)


def sign_in_first(to: str) -> Response:
    """A response that leads to the page that asks for a key, and from there to another page."""
    return redirect(f"/sign-in?{urlencode({'next': place(urlsplit(to).path)})}")


def _asked(request: Request, to: str, *, wrong: str = "", status: int = 200) -> Response:
    with page_turn():
        return page(
            request, "sign_in.html", status=status, next=to, wrong=wrong, hours=sessions.SESSION_SECONDS // 3600
        )


_MOST_ROUNDS = 12
"""The largest number of rounds that a page offers to close."""
_NUMBER = re.compile("[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class ClosableRound:
    """A round that can be closed. If it goes on, or waits for the relay, closing it turns later reports away."""

    number: int
    goes_on: bool
    waits: bool = False


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

    def close(self, request: Request, session: sessions.Session, form: Form) -> Response:
        """Close a round, as `untrackable manage close` does."""
        campaign, number = self._campaign(request), request.path_params["round"]
        api.close(self._service.store, campaign, number, self._service.clock(), self._service.metrics)
        return _back(campaign.id, f"closed&number={number}")

    def publish(
        self, request: Request, session: sessions.Session, form: Form, *, published: bool = True
    ) -> Response:
        """Let everybody read the campaign's estimates, or require a key for them again."""
        id = self._service.stored_campaign(request.path_params["campaign"]).id
        self._service.store.publish(id, published)
        return _back(id, "published" if published else "unpublished")

    def end(self, request: Request, session: sessions.Session, form: Form) -> Response:
        """Let the round that takes reports now be the last one."""
        campaign = self._campaign(request)
        end_campaign(self._service.store, campaign, self._service.clock(), self._service.settings)
        return _back(campaign.id, "ended")

    def _campaign(self, request: Request) -> Campaign:
        return self._service.campaign(self._service.stored_campaign(request.path_params["campaign"]).id)


def offered_actions(service: Service, request: Request, stored: StoredCampaign) -> OfferedActions | None:
    """What the reader of a campaign's page may do with it; None for everybody but those with an admin key."""
    session = sessions.signed_in(request)
    if session is None or not session.manages:
        return None
    campaign, now = service.campaign(stored.id), service.clock()
    states = {each.number: each.state for each in service.store.rounds(stored.id)}
    present = campaign.round_at(now)
    if present is not None and (stored.last_round is None or present <= stored.last_round):
        states.setdefault(present, "open")
    begun = sorted(
        (n for n, state in states.items() if state != "closed" and campaign.begins(n) <= now), reverse=True
    )
    held = campaign.relay is not None
    rounds = tuple(
        ClosableRound(number, number == present, held and now < service.settings.last_arrival(campaign, number))
        for number in begun[:_MOST_ROUNDS]
    )
    over = campaign.rounds is not None and campaign.begins(campaign.rounds + 1) <= now
    return OfferedActions(
        rounds, len(begun) - len(rounds), stored.last_round is None and not over, stored.published
    )


def done_words(service: Service, request: Request, stored: StoredCampaign) -> str:
    """What was just done, for the page to which a form leads. Only words of our own are shown.

    They are for those who can do it: a closed round's words have its number of reports, also if it is withheld.
    """
    session = sessions.signed_in(request)
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


class KeyPages:
    """The endpoints of the page. Only those who signed in with an admin key see it."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def show(self, request: Request) -> Response:
        """List all keys. None of them is shown, because the store has only digests."""
        if sessions.signed_in(request) is None:
            return sign_in_first("/keys")
        sessions.require_session(request)
        return self._page(request)

    def make(self, request: Request, session: sessions.Session, form: Form) -> Response:
        """Make a key and show it, this once."""
        role = form.get("role", "")
        if role not in ROLES:
            raise Refused(Problem.MALFORMED_REQUEST, f"role must be {' or '.join(ROLES)}")
        id, token = new_key(self._service.store, role)
        return self._page(request, made=(id, role, token), status=201)

    def revoke(self, request: Request, session: sessions.Session, form: Form) -> Response:
        """Revoke a key. Its sessions end at once, and this one too if it is its key."""
        id = request.path_params["key"]
        if not self._service.store.revoke(id):
            raise Refused(Problem.NOT_FOUND, "there is no key with this id")
        if id != session.key:
            return redirect(f"/keys?revoked={id}")
        response = redirect("/")
        sessions.end_session(request, response)
        return response

    def _page(self, request: Request, *, made: tuple[str, str, str] | None = None, status: int = 200) -> Response:
        keys = self._service.store.keys()
        revoked = request.query_params.get("revoked")
        return page(
            request,
            "keys.html",
            status=status,
            keys=sorted(keys, key=lambda key: key.revoked),
            admins=sum(key.role == "admin" and not key.revoked for key in keys),
            roles=ROLES,
            made=made,
            revoked=next((key.id for key in keys if key.revoked and key.id == revoked), ""),
        )
