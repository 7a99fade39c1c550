"""The OpenAPI document is complete and true, and no request that follows or breaks it makes the collector fail."""

import contextlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
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
from tests.collector.servers import OCTETS, process
from tests.collector.stores.test_faults import on_now
from untrackable.collector.http.api_keys import new_key
from untrackable.collector.http.app import create_app
from untrackable.collector.http.management import create_campaign
from untrackable.collector.http.openapi import document
from untrackable.collector.http.problems import Problem
from untrackable.collector.settings import Settings
from untrackable.collector.stores.store import Store
from untrackable.collector.stores.store_address import open_store

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
    with process(url, "--minimum-reports", "10", log=folder / "log") as server:
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
@pytest.mark.parametrize("who", ["nobody", "nobody, of a campaign that exists", "an admin"])
def test_no_request_makes_it_fail(api: Any, running: dict[str, Any], who: str, mode: GenerationMode) -> None:
    """Whatever is sent, the answer is one that the document has; never one of 500 and above."""
    headers = {"authorization": f"Bearer {running['key']}"} if who == "an admin" else {}
    exists = None if who == "nobody" else running["campaign"]
    for found in api.get_all_operations():
        seen = answered(found.ok(), mode, exists, headers)
        assert seen or mode is GenerationMode.NEGATIVE  # some addresses take nothing that could be wrong


def answered(operation: Any, mode: GenerationMode, campaign: str | None, headers: dict[str, str]) -> list[int]:
    """The statuses that requests to one operation were answered with, each validated."""
    seen: list[int] = []

    @given(case=operation.as_strategy(generation_mode=mode))
    @FUZZ
    def fuzz(case: Any) -> None:
        if campaign is not None and "campaign" in case.path_parameters:
            case.path_parameters["campaign"] = campaign
        response = case.call(headers=headers, timeout=60)
        case.validate_response(response, checks=[not_a_server_error, *CONFORMANCE])
        assert b"Traceback" not in response.content
        seen.append(response.status_code)

    with contextlib.suppress(Unsatisfiable):
        fuzz()
    return seen


def test_every_route_and_every_problem_is_documented(store: Store) -> None:
    app = create_app(store)
    described = document(Settings())
    routes = {
        (method.lower(), route.path.replace(":round", ""))  # type: ignore[attr-defined]
        for route in app.routes
        for method in (route.methods or ())  # type: ignore[attr-defined]
        if method != "HEAD"
    }
    documented = {
        (method, path)
        for path, operations in described["paths"].items()
        for method in operations
        if method in ("get", "post", "put", "delete")
    }
    assert documented == routes
    told = {
        status
        for operations in described["paths"].values()
        for o in operations.values()
        if isinstance(o, dict)
        for status in o["responses"]
    }
    unmentioned = {str(p.status) for p in Problem} - told
    assert unmentioned == {"405"}  # the answer to methods that the document does not have
