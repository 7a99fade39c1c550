"""The page that lists the keys of this collector, makes new ones and revokes them, as `untrackable keys` does."""

from starlette.requests import Request
from starlette.responses import Response

from untrackable.collector.dashboard.page_rendering import page
from untrackable.collector.dashboard.posted_forms import Form
from untrackable.collector.dashboard.sessions import Session, end_session, require_session, signed_in
from untrackable.collector.dashboard.sign_in import redirect, sign_in_first
from untrackable.collector.http.api_keys import ROLES, new_key
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.service import Service


class KeyPages:
    """The endpoints of the page. Only those who signed in with an admin key see it."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def show(self, request: Request) -> Response:
        """List all keys. None of them is shown, because the store has only digests."""
        if signed_in(request) is None:
            return sign_in_first("/keys")
        require_session(request)
        return self._page(request)

    def make(self, request: Request, session: Session, form: Form) -> Response:
        """Make a key and show it, this once."""
        role = form.get("role", "")
        if role not in ROLES:
            raise Refused(Problem.MALFORMED_REQUEST, f"role must be {' or '.join(ROLES)}")
        id, token = new_key(self._service.store, role)
        return self._page(request, made=(id, role, token), status=201)

    def revoke(self, request: Request, session: Session, form: Form) -> Response:
        """Revoke a key. Its sessions end at once, and this one too if it is its key."""
        id = request.path_params["key"]
        if not self._service.store.revoke(id):
            raise Refused(Problem.NOT_FOUND, "there is no key with this id")
        if id != session.key:
            return redirect(f"/keys?revoked={id}")
        response = redirect("/")
        end_session(request, response)
        return response

    def _page(self, request: Request, *, made: tuple[str, str, str] | None = None, status: int = 200) -> Response:
        keys = self._service.store.keys()
        asked = request.query_params.get("revoked")
        return page(
            request,
            "keys.html",
            status=status,
            keys=sorted(keys, key=lambda key: key.revoked),
            admins=sum(key.role == "admin" and not key.revoked for key in keys),
            roles=ROLES,
            made=made,
            revoked=next((key.id for key in keys if key.revoked and key.id == asked), ""),
        )
