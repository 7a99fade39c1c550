"""Keys on the dashboard: listed without secrets, made and shown once, revoked with their sessions."""

import re

from tests.collector.dashboard.visitors import Visitor
from untrackable.collector.http.api_keys import new_key, role_of


def test_a_key_is_shown_once(visitor: Visitor) -> None:
    visitor.sign_in()
    answer = visitor.post("/keys", role="reader")
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    found = re.search(r">(ut_[0-9a-f]{12}_[A-Za-z0-9_-]{43})</pre>", answer.text)
    assert found is not None
    assert role_of(visitor.store, found[1]) == "reader"
    listed = visitor.get("/keys").text
    assert found[1].split("_")[1] in listed
    assert found[1].split("_", 2)[2] not in listed


def test_keys_are_revoked_with_their_sessions(visitor: Visitor) -> None:
    own = visitor.sign_in()
    id, key = new_key(visitor.store, "admin")
    answer = visitor.post(f"/keys/{id}/revoke")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/keys?revoked={id}")
    assert role_of(visitor.store, key) is None
    assert f"The key {id} is revoked" in visitor.get(answer.headers["location"]).text
    last = visitor.get("/keys").text
    assert "It is the last admin key" in last
    assert "You are signed in with it" in last
    answer = visitor.post(f"/keys/{own}/revoke")
    assert answer.headers["location"] == "/"
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert not visitor.is_signed_in()


def test_what_is_not_a_key(visitor: Visitor) -> None:
    visitor.sign_in()
    count = len(visitor.store.keys())
    assert visitor.post("/keys/000000000000/revoke").status_code == 404
    assert visitor.post("/keys", role="owner").status_code == 400
    assert visitor.post("/keys").status_code == 400
    assert len(visitor.store.keys()) == count
    assert "is revoked" not in visitor.get("/keys?revoked=<b>").text
    assert "<b>" not in visitor.get("/keys?revoked=<b>").text
