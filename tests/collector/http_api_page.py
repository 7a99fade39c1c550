"""docs/http-api.md, made of the OpenAPI document: `python -m tests.collector.http_api_page` writes it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from untrackable.collector.app import document
from untrackable.collector.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "http-api.md"
_INTRODUCTION = """\
# HTTP API

These are all requests that a collector answers. It describes them, with the shape of every body and the status and
reason of every refusal, as an OpenAPI document at `/openapi.json`. In a browser, [the dashboard](dashboard.md) does
the same.

A request that needs a key has the header `Authorization: Bearer ut_…`. A refusal is a problem as in RFC 9457, and
changes nothing. Every request may also get 400 (not HTTP), 408 (too slow), 431 (a head that is too large), 500 (a
fault of the collector), and 503 (busy, or no store: try again after `Retry-After`).

"""
_Operations = list[tuple[str, dict[str, Any]]]


def http_api_page() -> str:
    """The page: all addresses, then their parameters."""
    described = document(Settings())
    operations: _Operations = [
        (f"{method.upper()} {address}", {"parameters": [], **operation, "shared": about.get("parameters", [])})
        for address, about in described["paths"].items()
        for method, operation in about.items()
        if method != "parameters"
    ]
    return _INTRODUCTION + "\n".join(
        [
            *_requests(operations),
            "\n## Parameters\n",
            *_parameters(described, operations),
            "",
        ]
    )


def _requests(operations: _Operations) -> Iterator[str]:
    for name, operation in operations:
        yield f"- `{name}`: {operation['summary']}{_key(operation)}"


def _key(operation: dict[str, Any]) -> str:
    return "" if {} in operation.get("security", [{}]) else " Needs an admin's key."


def _parameters(described: dict[str, Any], operations: _Operations) -> Iterator[str]:
    lines: dict[str, None] = {}
    for _, operation in operations:
        for reference in (*operation["shared"], *operation["parameters"]):
            about = _resolved(described, reference)
            if words := about.get("description"):
                lines[f"- `{about['name']}` ({about['in']}): {words}"] = None
    yield from lines


def _resolved(described: dict[str, Any], reference: dict[str, Any]) -> dict[str, Any]:
    """The object that a reference within the document leads to, or the object itself."""
    if "$ref" not in reference:
        return reference
    target: Any = described
    for part in reference["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    assert isinstance(target, dict)
    return target


if __name__ == "__main__":
    PAGE.write_text(http_api_page(), encoding="utf-8")
