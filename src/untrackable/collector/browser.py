"""The client for web pages: its built files, the address of each, and the lines with which a page embeds it."""

import base64
import hashlib
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from untrackable import strict_json
from untrackable.collector.problems import Problem
from untrackable.display.page import page_template
from untrackable.encodings.days_of_use import READY_QUESTIONS
from untrackable.encodings.encoding import Encoding
from untrackable.oblivious.key_config import AES_128_GCM, KeyConfig
from untrackable.protocol.campaign import Campaign
from untrackable.serving.problems import Refused
from untrackable.strict_json import plain

_SHOWN = 2
"""The number of names in an example of many choices."""
_LESS = "\\u003c"
"""The sign < in JSON, as no HTML has it."""
_TURNS_A_YEAR = 4
"""How many campaigns may begin within 365 days unless a policy says otherwise."""
_YEAR = 365 * 86_400

_WORDS = {
    "bit": "True or false",
    "integer-range": "A whole number",
    "buckets": "A number",
    "categories": "One of the list",
    "hashed-strings": "A text",
    "choices": "A list of the names that this person chose, which may be empty",
    "record": "An object with a value for each attribute",
    "presence": "True, as everybody who takes part is counted",
}
_EXAMPLES: dict[str, Callable[[Any], Any]] = {
    "bit": lambda encoding: True,
    "integer-range": lambda encoding: (encoding.low + encoding.high) // 2,
    "buckets": lambda encoding: plain(encoding.edges[len(encoding.edges) // 2]),
    "categories": lambda encoding: encoding.names[0],
    "hashed-strings": lambda encoding: "example.org",
    "choices": lambda encoding: list(encoding.names[:_SHOWN]),
    "presence": lambda encoding: True,
    "record": lambda encoding: {name: _example(part) for name, part in encoding.attributes},
}


def answer_lines(campaign: Campaign, answer: str = "null") -> str:
    """Two lines of JavaScript: a comment with the question and an example, and the answer.

    The client refuses null, so nobody publishes the example. Days of use count themselves.
    """
    encoding = campaign.answers
    if (campaign.question, encoding) == READY_QUESTIONS["active-days"]:
        words, answer = "A use today is noted. The days stay on the device.", "used"
    else:
        often = ", told again when it changes" if campaign.looks > 1 else ""
        words = f"{_WORDS[encoding.kind]}{_units(encoding)}{often}, such as {strict_json.write(_example(encoding))}"
    comment = f"// {strict_json.write(campaign.question)} {words}"
    # The lines are part of a page, whose reader must not take a name for the end of the script.
    return f'      {comment.replace("<", _LESS)}\n      "{campaign.id}": {answer},'


def _example(encoding: Encoding) -> Any:
    return _EXAMPLES[encoding.kind](encoding)


def _units(encoding: Encoding) -> str:
    """The unit of a number, or of each attribute that has one, in words."""
    unit = getattr(encoding, "unit", "")
    parts = [(name, getattr(part, "unit", "")) for name, part in getattr(encoding, "attributes", ())]
    return (f" in {unit}" if unit else "") + "".join(f", {name} in {unit}" for name, unit in parts if unit)


_HEADERS = {
    # A name contains a digest of the content, so what is at an address never changes.
    "cache-control": "public, max-age=31536000, immutable",
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
}
_BASES = (
    "divided",
    "noisy-inner-product",
    "one-bit-mean",
    "present",
    "randomized-response",
    "subset-selection",
    "views",
)
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


def overlap(one: Campaign, other: Campaign) -> bool:
    """Whether two campaigns are on at the same time. A client joins only one of them."""
    return one.first_round < _end(other) and other.first_round < _end(one)


def _end(campaign: Campaign) -> float:
    return math.inf if campaign.ends is None else campaign.ends


def snippet(campaigns: Sequence[Campaign], server: str, given: Sequence[str] = ()) -> str:
    """The lines that embed the client in a web page, for all these campaigns, with this collector's address.

    `given` has answers in JavaScript, for the first campaigns.
    """
    name, content = next(item for item in files().items() if item[0].startswith("untrackable-"))
    policy: dict[str, Any] = {"eps": plain(math.fsum(campaign.guarantee.eps for campaign in campaigns))}
    begins = sorted(campaign.first_round for campaign in campaigns)
    most = max(sum(first <= other < first + _YEAR for other in begins) for first in begins)
    if most > _TURNS_A_YEAR:
        policy["turns_a_year"] = most
    if relayed := any(campaign.gateway is not None for campaign in campaigns):
        named = (campaign.relay.address for campaign in campaigns if campaign.relay is not None)
        policy["relays"] = list(dict.fromkeys(named))
    each = zip(campaigns, [*given, *["null"] * (len(campaigns) - len(given))], strict=True)
    return page_template("untrackable.collector", "snippet.html").render(
        file=f"{server}/client/{name}",
        integrity=integrity(content),
        server=server,
        policy=strict_json.write(policy),
        relayed=relayed,
        answers="\n".join(answer_lines(campaign, answer) for campaign, answer in each),
    )
