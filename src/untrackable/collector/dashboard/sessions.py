"""Who is signed in."""

from dataclasses import dataclass

from starlette.requests import Request


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who signed in with a key: the key's id and role, and the token that each of their forms carries."""

    key: str
    role: str
    token: str


def signed_in(request: Request) -> Session | None:
    """The session of whoever sent a request, or None. `request.app.state.service` has the store and the clock."""
    return None
