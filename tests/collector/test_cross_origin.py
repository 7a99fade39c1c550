"""What pages of other origins may do, and the headers that browsers need to keep to it."""

from tests.collector.samples import bodies, campaign
from tests.collector.servers import OCTETS, Collector
from tests.collector.test_app import problem


def test_pages_of_other_origins_have_only_what_a_client_needs(collector: Collector) -> None:
    asked = collector.create(campaign())
    collector.send(asked, b"".join(bodies(asked, 30)))
    collector.close(asked)
    one, origin = f"/campaigns/{asked.id}", {"origin": "https://app.example"}
    for path in (one, f"{one}/guarantee", f"{one}/rounds", f"{one}/rounds/1/estimate", f"{one}/estimate"):
        found = collector.http.get(path, headers=origin)
        assert (found.status_code, found.headers["access-control-allow-origin"]) == (200, "*"), path
    for path in ("/", "/campaigns", "/metrics", "/healthz", "/openapi.json"):
        found = collector.http.get(path, headers={**origin, **collector.keys["admin"]})
        assert found.status_code == 200
        assert not [name for name in found.headers if name.startswith("access-control-")], path
    managing = [("POST", "/campaigns"), ("PUT", f"{one}/published"), ("DELETE", f"{one}/published")]
    for method, path in (*managing, ("POST", f"{one}/rounds/1/close"), ("GET", "/metrics")):
        asking = {**origin, "access-control-request-method": method}
        found = collector.http.options(path, headers=asking)
        assert problem(found) == (405, "method-not-allowed")
        done = collector.http.request(method, path, headers={**origin, **collector.keys["admin"]})
        for each in (found, done):
            assert not [name for name in each.headers if name.startswith("access-control-")], path
    asking = {**origin, "access-control-request-method": "GET", "access-control-request-headers": "authorization"}
    assert collector.http.options(f"{one}/estimate", headers=asking).status_code == 400


def test_browsers_guess_no_media_type(collector: Collector) -> None:
    asked = collector.create(campaign())
    one, origin = f"/campaigns/{asked.id}", {"origin": "https://app.example"}
    asking = {**origin, "access-control-request-method": "POST"}
    answers = [
        collector.http.get(path) for path in ("/", "/campaigns", "/metrics", one, "/nothing", f"{one}/rounds")
    ]
    answers += [collector.send(asked, body) for body in (bodies(asked, 1)[0], b"x")]
    answers += [collector.http.options(f"{one}/reports", headers=asking), collector.http.delete("/campaigns")]
    answers += [collector.http.post(f"{one}/reports", content=b"x", headers={**origin, **OCTETS})]
    for found in answers:
        assert found.headers.get_list("x-content-type-options") == ["nosniff"], found.request.url
