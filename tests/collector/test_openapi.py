"""The OpenAPI document is complete and true, and no request that follows or breaks it makes the collector fail."""

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.collector.loads import fresh
from tests.collector.sealed_reports import new_keys
from tests.collector.servers import OCTETS, process
from tests.collector.test_faults import on_now
from untrackable import __version__
from untrackable.collector.api import create_campaign, new_key
from untrackable.collector.app import create_app, dashboard_routes, document
from untrackable.collector.dashboard.heavy_work import HeavyWork
from untrackable.collector.estimates import DEFAULT_TOP, MOST_CANDIDATES, MOST_TOP
from untrackable.collector.problems import Problem
from untrackable.collector.settings import Settings, open_store
from untrackable.collector.store import Store
from untrackable.protocol.campaign import LARGEST
from untrackable.protocol.wire import LAST_ROUND
from untrackable.serving.problems import MEDIA_TYPE

schemathesis.serializer.alias("message/ohttp-req", "application/octet-stream")
FUZZ = settings(max_examples=15, suppress_health_check=list(HealthCheck))
CONFORMANCE = (
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("openapi")
    url = f"sqlite:///{folder}/x.db"
    store, asked = open_store(url), on_now()
    create_campaign(store, asked.to_bytes(), published=True)
    key = new_key(store, "admin")[1]
    store.close()
    keys = str(new_keys(folder)[0])
    with process(url, "--minimum-reports", "10", "--gateway-keys", keys, log=folder / "log") as server:
        base = f"{server.address}/campaigns/{asked.id}"
        assert httpx.post(f"{base}/reports", content=fresh(50), headers=OCTETS).status_code == 204
        closing = httpx.post(f"{base}/rounds/1/close", headers={"authorization": f"Bearer {key}"})
        assert closing.status_code == 200
        yield {"address": server.address, "campaign": asked.id, "key": key}
        assert httpx.get(f"{server.address}/healthz").status_code == 200
        assert server.end() == 0
    log = (folder / "log").read_text()
    assert "failed" not in log
    assert "Traceback" not in log


@pytest.fixture(scope="module")
def api(running: dict[str, Any]) -> Any:
    return schemathesis.openapi.from_url(f"{running['address']}/openapi.json")


@pytest.mark.parametrize("mode", GenerationMode)
def test_no_request_makes_it_fail(api: Any, running: dict[str, Any], mode: GenerationMode) -> None:
    """Whatever is sent, the answer is one that the document has; never one of 500 and above.

    Nobody sends all requests, then again to a campaign that exists, and then an admin sends them.
    """
    cases = []
    with requests.Session() as session:
        for result in api.get_all_operations():
            sent = fuzzed(result.ok(), mode, session)
            assert sent or mode is GenerationMode.NEGATIVE  # some addresses take nothing that could be wrong
            cases += sent
        of_a_campaign = [case for case in cases if "campaign" in case.path_parameters]
        assert of_a_campaign
        for case in of_a_campaign:
            case.path_parameters["campaign"] = running["campaign"]
            send(case, session)
        session.headers["authorization"] = f"Bearer {running['key']}"
        for case in cases:
            send(case, session)


def fuzzed(operation: Any, mode: GenerationMode, session: requests.Session) -> list[Any]:
    """Requests to one operation that were sent."""
    sent: list[Any] = []

    @given(case=operation.as_strategy(generation_mode=mode))
    @FUZZ
    def fuzz(case: Any) -> None:
        send(case, session)
        sent.append(case)

    with contextlib.suppress(Unsatisfiable):
        fuzz()
    return sent


def send(case: Any, session: requests.Session) -> None:
    """Send a request, and validate the answer."""
    response = case.call(session=session, timeout=60)
    case.validate_response(response, checks=[not_a_server_error, *CONFORMANCE])
    assert b"Traceback" not in response.content


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and what the document says about it."""
    for path, result in document(Settings())["paths"].items():
        for method, operation in result.items():
            if method != "parameters":
                yield method, path, operation


def test_every_route_and_every_problem_is_documented(store: Store) -> None:
    app = create_app(store)
    pages = {route.path for route in dashboard_routes(app.state.service, HeavyWork(), HeavyWork())}
    routes = {
        (method.lower(), route.path.replace(":round", ""))  # type: ignore[attr-defined]
        for route in app.routes
        for method in (route.methods or ())  # type: ignore[attr-defined]
        if method != "HEAD" and route.path not in pages  # type: ignore[attr-defined]
    }
    assert {(method, path) for method, path, _ in operations()} == routes
    told = {status for _, _, operation in operations() for status in operation["responses"]}
    unmentioned = {str(p.status) for p in Problem} - told
    assert unmentioned == {"405"}  # the answer to methods that the document does not have


def test_problems_are_those_of_the_code() -> None:
    described = document(Settings())["components"]
    assert described["schemas"]["Problem"]["properties"]["type"]["enum"] == [problem.uri for problem in Problem]
    for answer in described["responses"].values():
        assert answer["content"] == {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    always = {"400", "408", "431", "500", "503"}
    for _, path, operation in operations():
        assert always <= set(operation["responses"]), path
        refusals = {status for status in operation["responses"] if int(status) >= 400}
        assert ("security" in operation) == ({"401", "403"} <= refusals), path
        assert ("requestBody" in operation) == ({"413", "415"} <= refusals), path
        assert ("{campaign}" in path) <= ("404" in refusals), path
        for status in refusals:
            assert set(operation["responses"][status]) == {"$ref"}, path


def test_limits_are_those_of_the_code() -> None:
    described = document(Settings(largest_body=12345))
    parameters = {name: result["schema"] for name, result in described["components"]["parameters"].items()}
    assert parameters["Round"] == {"type": "integer", "minimum": 1, "maximum": LAST_ROUND}
    assert parameters["Top"] == {"type": "integer", "minimum": 1, "maximum": MOST_TOP, "default": DEFAULT_TOP}
    assert parameters["Candidate"]["maxItems"] == MOST_CANDIDATES
    bodies = {path: o["requestBody"]["content"] for _, path, o in operations() if "requestBody" in o}
    sealed, plain = "/.well-known/ohttp-gateway", "/campaigns/{campaign}/reports"
    assert bodies.keys() == {"/campaigns", plain, sealed}
    assert bodies["/campaigns"]["application/json"]["schema"]["description"] == f"At most {LARGEST} bytes."
    for path, kind in ((plain, "application/octet-stream"), (sealed, "message/ohttp-req")):
        upload = described["paths"][path]["post"]["requestBody"]["content"]
        assert upload[kind]["schema"]["maxLength"] == 12345
        assert bodies[path][kind]["schema"]["maxLength"] == Settings().largest_body


def test_version_and_references() -> None:
    described = document(Settings())
    assert described["info"]["version"] == __version__
    used = set(re.findall(r'"#/components/([^"]+)"', json.dumps(described)))
    there = {
        f"{kind}/{name}"
        for kind, result in described["components"].items()
        if kind != "securitySchemes"
        for name in result
    }
    assert used == there


@pytest.mark.parametrize(
    ("beta", "status"),
    [("0.001", 200), ("5e-2", 200), ("0.3", 200), ("1e-12", 400), ("0.05000001", 400), ("0.31", 400), ("nan", 400)],
)
def test_only_a_few_values_of_beta_are_taken(running: dict[str, Any], beta: str, status: int) -> None:
    schema = document(Settings())["components"]["parameters"]["Beta"]["schema"]
    assert (float(beta) in schema["enum"]) == (status == 200)
    url = f"{running['address']}/campaigns/{running['campaign']}/estimate?beta={beta}"
    answer = httpx.get(url, headers={"authorization": f"Bearer {running['key']}"})
    assert answer.status_code == status
