"""The style and the scripts of the pages. A name contains a digest, so what is at an address never changes."""

import hashlib
from functools import lru_cache
from importlib import resources
from pathlib import PurePath

from starlette.requests import Request
from starlette.responses import Response

from untrackable.collector.http.problems import Problem, Refused

_HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "cross-origin-resource-policy": "same-origin",
}
_TYPES = {".css": "text/css", ".js": "text/javascript"}
_THEME = "page_theme.css"
"""The style that these pages share with those that commands write."""


def serve_static(request: Request) -> Response:
    """One of the files."""
    name = request.path_params["name"]
    content = {_hashed(path, content): content for path, content in _files().items()}.get(name)
    if content is None:
        raise Refused(Problem.NOT_FOUND, "there is nothing at this address")
    return Response(content, headers=_HEADERS, media_type=_TYPES[PurePath(name).suffix])


def static_address(name: str) -> str:
    """The address of a file in `static/`."""
    return f"/static/{_hashed(name, _files()[name])}"


def _hashed(name: str, content: bytes) -> str:
    path = PurePath(name)
    return f"{path.stem}-{hashlib.sha256(content).hexdigest()[:16]}{path.suffix}"


@lru_cache(maxsize=1)
def _files() -> dict[str, bytes]:
    folder = resources.files("untrackable.collector.dashboard") / "static"
    found = {path.name: path.read_bytes() for path in folder.iterdir() if PurePath(path.name).suffix in _TYPES}
    theme = (resources.files("untrackable.display") / _THEME).read_bytes()
    return found | {"dashboard.css": theme + found["dashboard.css"]}
