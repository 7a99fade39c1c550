"""docs/http-api.md, made of the OpenAPI document: `python -m tests.collector.http.http_api_page` writes it."""

from pathlib import Path
from typing import Any

from untrackable.collector.http.openapi import document
from untrackable.collector.settings import Settings

PAGE = Path(__file__).parents[3] / "docs" / "http-api.md"
_INTRODUCTION = """\
# HTTP API

Every request that a collector answers. It is for programmers who read answers or manage campaigns from their own
programs; in a browser, [the dashboard](dashboard.md) does the same.

A running collector has the same as an OpenAPI document at `/openapi.json`. A request that needs a key has
the header `Authorization: Bearer ut_…`. Refusals are problems as in RFC 9457, with a `type`, a `title` and a
`detail`, and change nothing.

Every address may also answer 400 (the request is not HTTP), 408 (too slow), 431 (the head is too large), 500 (a
fault) and 503 (busy, or the store cannot be reached; try again after `Retry-After`).
"""
_EVERYWHERE = {"400", "408", "431", "500", "503"}


def http_api_page() -> str:
    """The page: for each address its methods, parameters and answers."""
    described = document(Settings())
    parts = [_INTRODUCTION]
    for address, about in described["paths"].items():
        for method, operation in about.items():
            if method != "parameters":
                given = [*about.get("parameters", ()), *operation.get("parameters", ())]
                parts.append(_operation(described, f"{method.upper()} {address}", operation, given))
    return "\n".join(parts)


def _operation(described: dict[str, Any], name: str, operation: dict[str, Any], given: list[Any]) -> str:
    lines = [f"## `{name}`", "", operation["summary"], *_key(operation), ""]
    if given:
        lines += ["| parameter | in | what it is |", "|---|---|---|"]
        lines += [_parameter(_found(described, each)) for each in given] + [""]
    answers = {
        status: _found(described, answer)
        for status, answer in operation["responses"].items()
        if status not in _EVERYWHERE
    }
    lines += ["| status | what it says |", "|---|---|"]
    lines += [f"| {status} | {answer['description']} |" for status, answer in answers.items()]
    return "\n".join([*lines, ""])


def _key(operation: dict[str, Any]) -> list[str]:
    """A line where only people with a key may ask."""
    security = operation.get("security", [{}])
    return [] if {} in security else ["", "Needs an admin's key."]


def _parameter(about: dict[str, Any]) -> str:
    words = about.get("description", "").replace("|", "\\|")
    return f"| `{about['name']}` | {about['in']} | {words} |"


def _found(described: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """What a reference within the document leads to."""
    if "$ref" not in given:
        return given
    found: Any = described
    for part in given["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    assert isinstance(found, dict)
    return found


if __name__ == "__main__":
    PAGE.write_text(http_api_page(), encoding="utf-8")
