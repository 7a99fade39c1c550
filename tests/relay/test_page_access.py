"""What pages of other origins may do at a relay, and the headers that browsers need to keep to it."""

import asyncio

import httpx

from tests.relay.gateways import SEALED, answer, gateway, relayed, sealed

ORIGIN = {"origin": "https://app.example"}
ASKING = {
    **ORIGIN,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type",
}


def shared(found: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in found.headers.items() if name.startswith("access-control-")}


def test_pages_may_send_sealed_reports_and_nothing_else() -> None:
    async def talk() -> None:
        async with (
            gateway(lambda request: answer(b"sealed")) as there,
            relayed(there.port, per_minute=1) as sender,
            sender("127.77.1.2") as http,
        ):
            allowed = await http.options("/gateways/study", headers=ASKING)
            assert allowed.status_code == 200
            given = shared(allowed)
            assert given["access-control-allow-headers"].lower().endswith("content-type")
            assert given == {
                "access-control-allow-headers": given["access-control-allow-headers"],
                "access-control-allow-origin": "*",
                "access-control-allow-methods": "POST",
                "access-control-max-age": "86400",
            }
            assert there.seen == [], "a question is neither passed on nor counted"
            found = await http.post("/gateways/study", content=sealed(1), headers={**SEALED, **ORIGIN})
            limited = await http.post("/gateways/study", content=sealed(2), headers={**SEALED, **ORIGIN})
            wrong = await http.post("/gateways/study", content=b"x", headers=ORIGIN)
            assert (found.status_code, limited.status_code, wrong.status_code) == (200, 429, 429)
            readable = {"access-control-allow-origin": "*", "access-control-expose-headers": "retry-after"}
            assert [shared(each) for each in (found, limited, wrong)] == [readable] * 3
            assert limited.headers["retry-after"]
            for name, value in (("method", "PUT"), ("method", "DELETE"), ("headers", "authorization")):
                asking = {**ASKING, f"access-control-request-{name}": value}
                refused = await http.options("/gateways/study", headers=asking)
                assert refused.status_code == 400
                assert refused.json()["type"] == "urn:untrackable:problem:malformed-request"
            long = "/gateways/study/releases/" + "1" * 13
            assert shared(await http.options(long[:-1], headers=ASKING)) == given
            for path in ("/gateways/study/keys", "/healthz", "/gateways/", long):
                for found in (await http.options(path, headers=ASKING), await http.get(path, headers=ORIGIN)):
                    assert shared(found) == {}, path
            plain = await http.post("/gateways/study", content=sealed(3), headers=SEALED)
            assert shared(plain) == {}

    asyncio.run(talk())
