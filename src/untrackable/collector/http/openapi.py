"""The OpenAPI document: every address, what it takes and all that it may answer."""

from typing import Any

from untrackable import __version__
from untrackable.collector.http.problems import MEDIA_TYPE, Problem
from untrackable.collector.http.public_api import DEFAULT_TOP, MOST_TOP
from untrackable.collector.settings import Settings
from untrackable.protocol.campaign import LARGEST
from untrackable.protocol.wire import LAST_ROUND

_Schema = dict[str, Any]
_ALWAYS = (
    Problem.MALFORMED_REQUEST,
    Problem.TOO_SLOW,
    Problem.HEAD_TOO_LARGE,
    Problem.INTERNAL,
    Problem.BUSY,
    Problem.STORE_UNAVAILABLE,
)
_KEYED = (Problem.KEY_NEEDED, Problem.KEY_INSUFFICIENT)


def document(settings: Settings) -> _Schema:
    """The document of a collector with these settings."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "untrackable collector",
            "version": __version__,
            "description": "Takes reports, and tells what many people answered, not what any of them did.",
        },
        "paths": _paths(settings),
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Problem": _object(
                    type={"type": "string", "enum": [problem.uri for problem in Problem]},
                    title={"type": "string"},
                    status={"type": "integer"},
                    detail={"type": "string"},
                ),
                "Estimate": _estimate(),
                "Bracket": _object(
                    lower={"type": "number"},
                    upper={"type": "number"},
                    certainty={"enum": ["exact", "bracket", "upper", "lower", "unresolved"]},
                ),
            },
        },
    }


def _paths(settings: Settings) -> _Schema:
    one = "/campaigns/{campaign}"
    asked = [
        _query(
            "top",
            {"type": "integer", "minimum": 1, "maximum": MOST_TOP, "default": DEFAULT_TOP},
            "How many values, the most frequent first.",
        ),
        _query(
            "beta",
            {"type": "number", "minimum": 1e-12, "maximum": 0.3, "default": 0.05},
            "Probability with which the intervals may fail.",
        ),
        _query(
            "candidate",
            {"type": "array", "items": {"type": "string"}, "maxItems": 1000},
            "Strings to look for, where people answer with any string.",
        ),
    ]
    several = _query(
        "rounds",
        {"type": "string", "pattern": r"^[0-9]{1,10}(-[0-9]{1,10})?(,[0-9]{1,10}(-[0-9]{1,10})?)*$"},
        "Which rounds, such as 1-3,7; without it, all that are closed and have enough reports.",
    )
    estimates = (
        *_KEYED,
        Problem.NOT_FOUND,
        Problem.ROUND_NOT_CLOSED,
        Problem.WITHHELD,
        Problem.CANDIDATES_NEEDED,
    )
    document_body = {"application/json": {"schema": {"type": "object"}}}
    return {
        f"{one}/reports": {
            "parameters": [_campaign()],
            "post": _operation(
                "Send one report or many: their bytes, one after the other. They are on disk when this answers.",
                {"204": {"description": "All of them are stored; those that were there before are stored once."}},
                (
                    Problem.MALFORMED_REPORTS,
                    Problem.NOT_FOUND,
                    Problem.ROUND_NOT_BEGUN,
                    Problem.ROUND_OVER,
                    Problem.TOO_LARGE,
                    Problem.MEDIA_TYPE,
                ),
                body={
                    "application/octet-stream": {
                        "schema": {"type": "string", "format": "binary", "maxLength": settings.largest_body}
                    }
                },
            ),
        },
        "/campaigns": {
            "get": _operation(
                "All campaigns.",
                _ok(
                    _object(
                        campaigns=_list(
                            _object(id=_id(), question={"type": "string"}, published={"type": "boolean"})
                        )
                    )
                ),
            ),
            "post": _operation(
                "Create a campaign; the body is its canonical bytes, and its guarantee is verified first.",
                {
                    "200": _content(_object(id=_id()), "It was there already."),
                    "201": _content(_object(id=_id()), "It is created."),
                },
                (
                    *_KEYED,
                    Problem.MALFORMED_CAMPAIGN,
                    Problem.TOO_LARGE,
                    Problem.MEDIA_TYPE,
                    Problem.CAMPAIGN_REFUSED,
                ),
                body={
                    "application/json": {"schema": {"type": "object", "description": f"At most {LARGEST} bytes."}}
                },
                parameters=[
                    _query(
                        "published",
                        {"type": "boolean", "default": False},
                        "Whether everybody may read its estimates.",
                    )
                ],
                keyed=True,
            ),
        },
        one: {
            "parameters": [_campaign()],
            "get": _operation(
                "The exact bytes of a campaign; its id is their SHA-256.",
                {"200": {"description": "The campaign.", "content": document_body}},
                (Problem.NOT_FOUND,),
            ),
        },
        f"{one}/guarantee": {
            "parameters": [_campaign()],
            "get": _operation(
                "What the campaign declares, and what was found when it was created.",
                _ok(
                    _object(
                        declared={"type": "object"},
                        verified=_object(delta=_ref("Bracket"), tracking_delta=_ref("Bracket")),
                        words=_list({"type": "string"}),
                    )
                ),
                (Problem.NOT_FOUND,),
            ),
        },
        f"{one}/published": {
            "parameters": [_campaign()],
            "put": _operation(
                "Let everybody read its estimates.",
                {"204": {"description": "Done."}},
                (*_KEYED, Problem.NOT_FOUND),
                keyed=True,
            ),
            "delete": _operation(
                "Let estimates need a key.",
                {"204": {"description": "Done."}},
                (*_KEYED, Problem.NOT_FOUND),
                keyed=True,
            ),
        },
        f"{one}/estimate": {
            "parameters": [_campaign()],
            "get": _operation(
                "Frequencies, pooled over rounds. Needs a key unless published.",
                _ok(_ref("Estimate")),
                estimates,
                parameters=[several, *asked],
                keyed=True,
                optional=True,
            ),
        },
        f"{one}/rounds": {
            "parameters": [_campaign()],
            "get": _operation(
                "The round that is on, and those that are closed or being closed.",
                _ok(
                    _object(
                        now={"type": ["integer", "null"]},
                        rounds=_list(
                            _object(
                                round={"type": "integer"},
                                state={"enum": ["closing", "closed"]},
                                begins={"type": "integer"},
                                ends={"type": "integer"},
                                reports={"type": ["integer", "null"]},
                                withheld={"type": "boolean"},
                            )
                        ),
                    )
                ),
                (Problem.NOT_FOUND,),
            ),
        },
        f"{one}/rounds/{{round}}/estimate": {
            "parameters": [_campaign(), _round()],
            "get": _operation(
                "Frequencies of one round. Needs a key unless published.",
                _ok(_ref("Estimate")),
                estimates,
                parameters=asked,
                keyed=True,
                optional=True,
            ),
        },
        f"{one}/rounds/{{round}}/close": {
            "parameters": [_campaign(), _round()],
            "post": _operation(
                "Close a round that has begun, before its time if need be.",
                _ok(_object(round={"type": "integer"}, state={"enum": ["closed"]})),
                (*_KEYED, Problem.NOT_FOUND, Problem.ROUND_NOT_BEGUN),
                keyed=True,
            ),
        },
        "/healthz": {
            "get": _operation(
                "Whether the store can be used, and takes reports.", _ok(_object(status={"enum": ["ok"]}))
            )
        },
        "/metrics": {
            "get": _operation(
                "Totals for Prometheus.",
                {"200": {"description": "Totals.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
            )
        },
        "/openapi.json": {"get": _operation("This document.", _ok({"type": "object"}))},
        "/": {
            "get": _operation(
                "A page for people.",
                {"200": {"description": "The page.", "content": {"text/html": {"schema": {"type": "string"}}}}},
            )
        },
    }


def _operation(
    summary: str,
    answers: _Schema,
    refusals: tuple[Problem, ...] = (),
    *,
    body: _Schema | None = None,
    parameters: list[_Schema] | None = None,
    keyed: bool = False,
    optional: bool = False,
) -> _Schema:
    found: _Schema = {"summary": summary, "responses": dict(answers)}
    for problem in (*refusals, *_ALWAYS):
        status = str(problem.status)
        words = found["responses"].get(status, {}).get("description")
        told = problem.title if words is None else f"{words}; or: {problem.title}"
        found["responses"][status] = {
            "description": told,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    if body is not None:
        found["requestBody"] = {"required": True, "content": body}
    if parameters:
        found["parameters"] = parameters
    if keyed:
        found["security"] = [{"key": []}, {}] if optional else [{"key": []}]
    return found


def _ok(schema: _Schema) -> _Schema:
    return {"200": _content(schema, "As asked.")}


def _content(schema: _Schema, words: str) -> _Schema:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _object(**properties: _Schema) -> _Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: _Schema) -> _Schema:
    return {"type": "array", "items": items}


def _ref(name: str) -> _Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _id() -> _Schema:
    return {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def _campaign() -> _Schema:
    return {"name": "campaign", "in": "path", "required": True, "schema": _id(), "description": "A campaign's id."}


def _round() -> _Schema:
    schema = {"type": "integer", "minimum": 1, "maximum": LAST_ROUND}
    return {"name": "round", "in": "path", "required": True, "schema": schema, "description": "A round, from 1."}


def _query(name: str, schema: _Schema, words: str) -> _Schema:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": words}


def _estimate() -> _Schema:
    number = {"type": "number"}
    return _object(
        rounds=_list({"type": "integer"}),
        reports={"type": "integer"},
        beta=number,
        intervals={"type": "string"},
        values=_list(
            _object(
                value={"type": ["integer", "string"]},
                label={"type": "string"},
                frequency=number,
                standard_error=number,
                lower=number,
                upper=number,
                stands_out={"type": "boolean"},
            )
        ),
    )
