"""The OpenAPI document, openapi.json: every address, what it takes and all that it may answer."""

from importlib import resources
from typing import Any

from untrackable import strict_json
from untrackable.collector.settings import Settings


def document(settings: Settings) -> dict[str, Any]:
    """The document of a collector with these settings, which choose how large a body may be."""
    text = resources.files("untrackable.collector.http").joinpath("openapi.json").read_text(encoding="utf-8")
    found: dict[str, Any] = strict_json.parse(text)
    for path in ("/campaigns/{campaign}/reports", "/.well-known/ohttp-gateway"):
        (body,) = found["paths"][path]["post"]["requestBody"]["content"].values()
        body["schema"]["maxLength"] = settings.largest_body
    return found
