"""The client for web pages: its built files, the address that each is served at, and the lines that embed it."""

import base64
import hashlib
from functools import lru_cache
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from untrackable import strict_json
from untrackable.collector.http.embedded_call import embedded_call
from untrackable.collector.http.problems import Problem, Refused
from untrackable.mechanisms.registry import plain
from untrackable.oblivious.key_config import AES_128_GCM, KeyConfig
from untrackable.protocol.campaign import Campaign

_HEADERS = {
    # A name contains a digest of the content, so what is at an address never changes.
    "cache-control": "public, max-age=31536000, immutable",
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
}
_BASES = ("noisy-inner-product", "one-bit-mean", "present", "randomized-response", "subset-selection", "views")
"""The local mechanisms that the client for web pages knows, by their names in JSON."""
_LOCAL = ("localhost", "127.0.0.1", "::1")
_UNKNOWN_ENCODING = "discovered-strings"
_RECORD = "record"


def serve(request: Request) -> Response:
    """One of the built files."""
    content = files().get(request.path_params["name"])
    if content is None:
        raise Refused(Problem.NOT_FOUND, "there is nothing at this address")
    return Response(content, headers=_HEADERS, media_type="text/javascript")


@lru_cache(maxsize=1)
def files() -> dict[str, bytes]:
    """The built files by name: the client, and the parts that it loads for some campaigns."""
    folder = resources.files("untrackable.collector") / "browser_client"
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name.endswith(".js")}


def integrity(content: bytes) -> str:
    """The digest that a page names, so that a browser runs nothing else (subresource integrity)."""
    return f"sha384-{base64.b64encode(hashlib.sha384(content).digest()).decode()}"


def address(request: Request) -> str:
    """The address of this collector for pages: https, even if a proxy talks http to it, unless it is local."""
    scheme = "http" if is_local(request) else "https"
    return str(request.base_url.replace(scheme=scheme)).rstrip("/")


def is_local(request: Request) -> bool:
    """Whether a request was sent to this machine's own address, where no TLS is needed."""
    return request.url.hostname in _LOCAL


def takes_part(campaign: Campaign) -> bool:
    """Whether the client for web pages can answer a campaign: with a turn, and of a kind that it knows."""
    if campaign.turns is None:
        return False
    encoding, base = campaign.encoding, campaign.mechanism.to_json()["base"]
    parts = encoding.to_json()["attributes"] if encoding.kind == _RECORD else []
    kinds = [campaign.answers.kind, *(part["encoding"]["type"] for part in parts)]
    return base["mechanism"] in _BASES and _UNKNOWN_ENCODING not in kinds and _sealed_by_pages(campaign)


def _sealed_by_pages(campaign: Campaign) -> bool:
    """Whether a browser can seal the reports, if the campaign relies on a crowd."""
    keys = () if campaign.gateway is None else campaign.gateway.keys
    return all(KeyConfig.from_bytes(key.config).suite.aead == AES_128_GCM for key in keys)


def snippet(campaign: Campaign, server: str) -> str:
    """The lines that embed the client in a web page, with this collector's address."""
    name, content = next(item for item in files().items() if item[0].startswith("untrackable-"))
    policy: dict[str, Any] = {"eps": plain(campaign.guarantee.eps)}
    trusted = ""
    if campaign.gateway is not None:
        policy["relays"], trusted = [], " // relays: addresses of those that this person trusts"
    file = f"{server}/client/{name}"
    return f"""\
<link rel="modulepreload" href="{file}" integrity="{integrity(content)}" crossorigin>
<script type="module">
  import {{ Client }} from "{file}";
  const client = new Client({{
    server: "{server}",
    campaign: "{campaign.id}",
    policy: {strict_json.write(policy)},{trusted}
    consent: () => false, // whether this person agrees
  }});
  {embedded_call(campaign)}
  client.run(); // answers once, in a round that this browser draws in secret
</script>"""
