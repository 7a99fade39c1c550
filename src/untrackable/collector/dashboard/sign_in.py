"""The page on which people sign in with a key, and the way out."""

import re
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from untrackable.collector.dashboard.page_rendering import HEADERS, page
from untrackable.collector.dashboard.page_turns import page_turn
from untrackable.collector.dashboard.posted_forms import TOKEN, Form
from untrackable.collector.dashboard.sessions import (
    SECONDS,
    begin_session,
    end_session,
    is_sent_in_the_clear,
    signed_in,
    token_is_right,
)
from untrackable.collector.dashboard.wrong_keys import WrongKeys
from untrackable.collector.http.api_keys import key_id, valid_key
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.service import Service

_PLACES = re.compile(r"/|/new|/keys|/view/[0-9a-f]{64}(/following)?")
"""The pages that signing in may lead to. Any other address would be an open redirect."""
_WRONG = "This key is wrong or revoked. A key begins with ut_ and is shown once, when it is made."
_CLEAR = "This page did not come over https, so others could read your key on its way. It was not looked at."
_TOO_MANY = 429
"""The status of an answer to too many requests."""
_MANY = "Somebody tried too many wrong keys with this id. Wait a minute, then try again."


class SignIn:
    """The endpoints of signing in and out."""

    def __init__(self, service: Service, tries: WrongKeys | None = None) -> None:
        self._service = service
        self._tries = WrongKeys() if tries is None else tries

    def show(self, request: Request) -> Response:
        """The page that asks for a key."""
        return _asked(request, place(request.query_params.get("next", "")))

    def sign_in(self, request: Request, form: Form) -> Response:
        """Begin a session if the key is right. A wrong key is never shown again."""
        token, to = form.get("key", "").strip(), place(form.get("next", ""))
        if is_sent_in_the_clear(request):
            return _asked(request, to, wrong=_CLEAR, status=403)
        id = key_id(token) or ""
        if not self._tries.allow(id):
            return _asked(request, to, wrong=_MANY, status=_TOO_MANY)
        key = valid_key(self._service.store, token)
        if key is None:
            if self._service.store.key(id) is not None:
                self._tries.count(id)
            return _asked(request, to, wrong=_WRONG, status=403)
        response = redirect(to)
        begin_session(request, response, token, key)
        return response

    def sign_out(self, request: Request, form: Form) -> Response:
        """End the session in this browser. A form of another session changes nothing."""
        session = signed_in(request)
        if session is not None and not token_is_right(session, form.get(TOKEN, "")):
            raise Refused(Problem.FORM_OUTDATED, "this form is from another session, and you are still signed in")
        response = redirect("/")
        end_session(request, response)
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
        return page(request, "sign_in.html", status=status, next=to, wrong=wrong, hours=SECONDS // 3600)
