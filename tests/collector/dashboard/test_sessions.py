"""Sessions: a cookie that nobody can forge, that ends with its key, and forms that only our own pages can send."""

import hashlib
import hmac
import logging
import re
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.collector.dashboard.visitors import Visitor, visiting
from tests.collector.samples import campaign
from tests.collector.servers import Clock
from untrackable.collector.api import create_campaign, new_key
from untrackable.collector.dashboard.sessions import (
    SESSION_SECONDS,
    Session,
    SessionCookie,
    WrongKeys,
    _cookie,
    new_cookie,
    read_cookie,
)
from untrackable.collector.settings import open_store
from untrackable.collector.store import StoredKey

NAME = "untrackable"


def set_cookie(visitor: Visitor, value: str) -> None:
    visitor.http.cookies.clear()
    visitor.http.cookies.set(NAME, value, domain="localhost.local", path="/")


def cookie(visitor: Visitor) -> str:
    return str(visitor.http.cookies.get(NAME))


def test_the_cookie_is_for_this_browser_and_this_host_only(visitor: Visitor) -> None:
    _, key = new_key(visitor.store, "admin")
    header = visitor.post("/sign-in", "", key=f" {key}\r\n").headers["set-cookie"]
    parts = header.split("; ")
    assert re.fullmatch(r"untrackable=[0-9a-f]{12}\.\d+\.[0-9a-f]{24}\.[0-9a-f]{150}", parts[0])
    assert {part.lower() for part in parts[1:]} == {
        "httponly", "max-age=43200", "path=/", "samesite=strict",
    }  # fmt: skip
    secret = key.split("_", 2)[2]
    assert secret not in header
    assert secret.encode().hex() not in header
    assert visitor.is_signed_in()


def test_over_a_network_the_cookie_is_for_tls_only(new_url: Callable[[str], str]) -> None:
    with visiting(open_store(new_url("sqlite")), host="https://collect.example") as visitor:
        _, key = new_key(visitor.store, "admin")
        header = visitor.post("/sign-in", "", key=key).headers["set-cookie"]
        assert header.startswith("__Host-untrackable=")
        assert "Secure" in header.split("; ")
        assert "Path=/" in header.split("; ")
        assert "domain" not in header.lower()
        assert visitor.is_signed_in()
        gone = visitor.post("/sign-out").headers["set-cookie"]
        assert gone.startswith('__Host-untrackable="";')
        assert "Max-Age=0" in gone
        assert "Secure" in gone


def test_behind_a_proxy_that_hides_the_host_the_cookie_is_for_tls_too(visitor: Visitor) -> None:
    _, key = new_key(visitor.store, "admin")
    headers = {"sec-fetch-site": "same-origin", "origin": "https://collect.example"}
    for path in ("/sign-in", "/sign-out"):
        header = visitor.http.post(path, data={"key": key}, headers=headers).headers["set-cookie"]
        assert header.startswith("untrackable=")
        assert "Secure" in header.split("; ")
        visitor.http.cookies.clear()


def test_a_key_is_not_taken_over_a_network_without_tls(new_url: Callable[[str], str]) -> None:
    with visiting(open_store(new_url("sqlite")), host="http://collect.example") as visitor:
        _, key = new_key(visitor.store, "admin")
        answer = visitor.post("/sign-in", "", key=key)
        assert answer.status_code == 403
        assert "did not come over https" in answer.text
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("part", range(4))
def test_no_part_of_a_cookie_can_be_changed(visitor: Visitor, part: int) -> None:
    visitor.sign_in()
    parts = cookie(visitor).split(".")
    changed = list(parts)
    changed[part] = (
        str(int(parts[1]) + 1) if part == 1 else ("0" if parts[part][0] != "0" else "1") + parts[part][1:]
    )
    set_cookie(visitor, ".".join(parts))
    assert visitor.is_signed_in()
    set_cookie(visitor, ".".join(changed))
    assert not visitor.is_signed_in()


@pytest.mark.parametrize("value", ["", "x", "....", "0" * 12, "a.b.c.d", f"{'0' * 12}.9.{'0' * 24}.{'0' * 150}"])
def test_anything_else_is_no_session(visitor: Visitor, value: str) -> None:
    set_cookie(visitor, value)
    assert not visitor.is_signed_in()


def old_cookie(key: StoredKey, ends: int) -> tuple[str, str]:
    """A session of the version before, from what the store has of a key: its cookie, and the token of its forms."""
    secret = hmac.digest(key.digest, b"untrackable dashboard, session 1", hashlib.sha256)

    def code(*parts: str) -> str:
        return hmac.digest(secret, "|".join(parts).encode(), hashlib.sha256).hex()

    random = "0" * 32
    return f"{key.id}.{ends}.{random}.{code('cookie', key.id, str(ends), random)}", code("form", str(ends), random)


@pytest.mark.parametrize("inside", ["", "ut_{id}_", "ut_{id}_{digest}", "{digest}", "ü"])
def test_a_reader_of_the_store_cannot_sign_in(visitor: Visitor, inside: str) -> None:
    """The digests of keys may be in a backup. They make no session, of this version or of the one before."""
    id, _ = new_key(visitor.store, "admin")
    stolen = visitor.store.key(id)
    assert stolen is not None
    ends = int(visitor.clock.now) + SESSION_SECONDS
    old, old_token = old_cookie(stolen, ends)
    forged = new_cookie(inside.format(id=id, digest=stolen.digest.hex()), stolen, ends)
    for text, token in ((old, old_token), (forged, "")):
        set_cookie(visitor, text)
        answer = visitor.post("/keys", token, role="admin")
        assert answer.status_code == 401
        assert not visitor.is_signed_in()
    assert len(visitor.store.keys()) == 1


def test_what_is_wrong_with_a_cookie_is_not_said(visitor: Visitor) -> None:
    """A key that there is not, a revoked one, another end and a forged cookie get the same answers."""
    visitor.http.cookies.clear()
    nobody = [visitor.get(path) for path in ("/", "/keys")]
    id, key = new_key(visitor.store, "admin")
    revoked, old = new_key(visitor.store, "admin")
    visitor.store.revoke(revoked)
    record, gone = visitor.store.key(id), visitor.store.key(revoked)
    assert record is not None
    assert gone is not None
    ends = int(visitor.clock.now) + SESSION_SECONDS
    right = new_cookie(key, record, ends)
    wrong = (
        right.replace(id, "0" * 12), right.replace(str(ends), str(ends + 1)), right[:-1] + "g", right[:-2],
        right[:-1] + ("0" if right[-1] != "0" else "1"), new_cookie("guess", record, ends),
        new_cookie(key, record, ends - SESSION_SECONDS), new_cookie(old, gone, ends),
    )  # fmt: skip
    for text in wrong:
        set_cookie(visitor, text)
        for expected, path in zip(nobody, ("/", "/keys"), strict=True):
            answer = visitor.get(path)
            assert (answer.status_code, answer.headers, answer.text) == (
                expected.status_code, expected.headers, expected.text,
            )  # fmt: skip
    set_cookie(visitor, right)
    assert visitor.is_signed_in()


def test_a_cookie_of_one_key_is_not_one_of_another(visitor: Visitor) -> None:
    visitor.sign_in("reader")
    other, _ = new_key(visitor.store, "admin")
    _, rest = cookie(visitor).split(".", 1)
    set_cookie(visitor, f"{other}.{rest}")
    assert not visitor.is_signed_in()


def test_a_session_ends_in_time_and_with_its_key(visitor: Visitor) -> None:
    visitor.sign_in()
    kept = cookie(visitor)
    visitor.clock.now += SESSION_SECONDS - 1
    set_cookie(visitor, kept)
    assert visitor.is_signed_in()
    visitor.clock.now += 1
    set_cookie(visitor, kept)
    assert not visitor.is_signed_in()
    id = visitor.sign_in()
    assert visitor.is_signed_in()
    visitor.store.revoke(id)
    assert not visitor.is_signed_in()


def test_several_processes_agree(new_url: Callable[[str], str]) -> None:
    url, clock = new_url("sqlite"), Clock()
    with visiting(open_store(url), clock=clock) as one, visiting(open_store(url), clock=clock) as other:
        id = one.sign_in()
        set_cookie(other, cookie(one))
        assert other.is_signed_in()
        assert other.token() == one.token()
        other.post("/keys", role="reader")
        assert len(one.store.keys()) == 2
        other.store.revoke(id)
        for visitor in (one, other):
            assert not visitor.is_signed_in()


def test_every_session_is_new(visitor: Visitor) -> None:
    """A cookie that somebody else planted does not become a session, and no session is used twice."""
    _, key = new_key(visitor.store, "admin")
    result = set()
    for _ in range(3):
        visitor.post("/sign-in", "", key=key)
        result.add((cookie(visitor), visitor.token()))
    assert len({value for value, _ in result}) == len({token for _, token in result}) == 3


def test_signing_out(visitor: Visitor) -> None:
    visitor.sign_in()
    assert visitor.post("/sign-out", "0" * 64).status_code == 403
    assert visitor.is_signed_in()
    answer = visitor.post("/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert not visitor.is_signed_in()


def test_a_form_needs_the_token_of_its_session(visitor: Visitor) -> None:
    visitor.sign_in()
    first = visitor.token()
    visitor.sign_in()
    keys = len(visitor.store.keys())
    for token in ("", "0" * 64, first, visitor.token()[:-1], "ü"):
        answer = visitor.post("/keys", token, role="reader")
        assert answer.status_code == 403
        assert "from another session" in answer.text
    missing = visitor.http.post("/keys", data={"role": "reader"})
    assert missing.status_code == 403
    assert len(visitor.store.keys()) == keys
    assert visitor.post("/keys", role="reader").status_code == 201


OTHERS: list[dict[str, str]] = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "none"},
    {"sec-fetch-site": "cross-site", "origin": "http://localhost"},
    {"origin": "https://evil.example"},
    {"origin": "http://localhost.evil.example"},
    {"origin": "http://localhost:81"},
    {"origin": "null"},
    {"origin": "http://["},
    {"origin": "http://]localhost["},
    {"origin": "http:localhost"},
    {"origin": "//localhost"},
    {"origin": "http://localhost/"},
    {"origin": ""},
]


@pytest.mark.parametrize("headers", OTHERS)
def test_forms_of_other_origins_are_refused(visitor: Visitor, headers: dict[str, str]) -> None:
    asked = campaign()
    create_campaign(visitor.store, asked.to_bytes())
    id, key = new_key(visitor.store, "admin")
    visitor.sign_in()
    token = visitor.token()
    for path in (
        "/sign-in", "/sign-out", "/new", "/new/results", "/new/preview", "/new/create", "/keys",
        f"/keys/{id}/revoke", f"/view/{asked.id}/publish", f"/view/{asked.id}/unpublish", f"/view/{asked.id}/end",
        f"/view/{asked.id}/rounds/1/close",
    ):  # fmt: skip
        answer = visitor.http.post(path, data={"token": token, "key": key, "role": "admin"}, headers=headers)
        assert answer.status_code == 403, path
        assert "set-cookie" not in answer.headers
    assert visitor.is_signed_in()
    stored = visitor.store.campaign(asked.id)
    assert stored is not None
    assert not stored.published
    assert stored.last_round is None
    assert len(visitor.store.keys()) == 2
    assert visitor.store.rounds(asked.id) == []


def test_browsers_that_compare_origins_themselves(visitor: Visitor) -> None:
    """A proxy may change the host, so their word is enough."""
    _, key = new_key(visitor.store, "admin")
    headers = {"sec-fetch-site": "same-origin", "origin": "http://localhost:8443"}
    assert visitor.http.post("/sign-in", data={"key": key}, headers=headers).status_code == 303


@pytest.mark.parametrize(
    "place",
    ["//evil.example", "https://evil.example", "/\\evil.example", "/new\r\nset-cookie: a=b", "javascript:alert(1)",
     "/view/../sign-out", "/static/x", "", "new", "/new?x=//evil.example", "/view/" + "0" * 63],
)  # fmt: skip
def test_signing_in_leads_to_pages_of_this_collector_only(visitor: Visitor, place: str) -> None:
    _, key = new_key(visitor.store, "admin")
    shown = visitor.http.get("/sign-in", params={"next": place})
    assert 'name="next" value="/"' in shown.text
    answer = visitor.post("/sign-in", "", key=key, next=place)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


@pytest.mark.parametrize("place", ["/new", "/keys", "/view/" + "0" * 64])
def test_signing_in_leads_back(visitor: Visitor, place: str) -> None:
    _, key = new_key(visitor.store, "admin")
    assert visitor.post("/sign-in", "", key=key, next=place).headers["location"] == place


@pytest.mark.parametrize("place", ["/new", "/keys"])
def test_pages_for_those_who_signed_in(visitor: Visitor, place: str) -> None:
    answer = visitor.get(place)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next=%2F{place[1:]}")
    visitor.sign_in()
    response = visitor.get(place)
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
    assert "script-src 'self';" in response.headers["content-security-policy"]
    assert "<script>" not in response.text
    assert "onclick" not in response.text
    assert "style=" not in response.text


def test_wrong_keys_are_refused_and_not_repeated(visitor: Visitor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    id, key = new_key(visitor.store, "admin")
    wrong = f"ut_{id}_{'x' * 43}"
    revoked, old = new_key(visitor.store, "admin")
    visitor.store.revoke(revoked)
    for given in (wrong, old, key[:-1], key + "x", key.upper(), "", "x" * 10_000, "ut__", "ut_ü_ü", "<b>"):
        answer = visitor.post("/sign-in", "", key=given)
        assert answer.status_code == 403
        assert "wrong or revoked" in answer.text
        assert not given or len(given) < 5 or given not in answer.text
        assert "set-cookie" not in answer.headers
    assert visitor.post("/sign-in", "", key=key).status_code == 303
    pages = [visitor.get(path).text for path in ("/", "/keys", "/new", "/sign-in")]
    secret = key.split("_", 2)[2]
    assert all(secret not in page for page in pages)
    assert secret not in caplog.text
    assert "x" * 43 not in caplog.text
    assert cookie(visitor).split(".")[3] not in caplog.text


def test_a_key_is_not_read_from_an_address(visitor: Visitor) -> None:
    _, key = new_key(visitor.store, "admin")
    answer = visitor.http.get("/sign-in", params={"key": key})
    assert answer.status_code == 200
    assert key not in answer.text
    assert not visitor.is_signed_in()


def test_wrong_keys_are_limited_for_each_key() -> None:
    now = [0.0]
    tries = WrongKeys(clock=lambda: now[0])
    for _ in range(10):
        assert tries.allow("a")
        tries.count("a")
    assert not tries.allow("a")
    assert tries.allow("b")
    now[0] = 59.9
    assert not tries.allow("a")
    now[0] = 60.0
    assert tries.allow("a")


def test_a_key_cannot_be_guessed_quickly(visitor: Visitor) -> None:
    id, key = new_key(visitor.store, "admin")
    _, other = new_key(visitor.store, "reader")
    for _ in range(20):  # Without a key's id, nobody is locked out.
        assert visitor.post("/sign-in", "", key=f"ut_{'0' * 12}_guess").status_code == 403
    statuses = [visitor.post("/sign-in", "", key=f"ut_{id}_guess{i}").status_code for i in range(12)]
    assert statuses == [403] * 10 + [429] * 2
    assert visitor.post("/sign-in", "", key=key).status_code == 429
    assert visitor.post("/sign-in", "", key=other).status_code == 303


def test_readers_change_nothing(visitor: Visitor) -> None:
    asked = campaign()
    create_campaign(visitor.store, asked.to_bytes())
    visitor.sign_in("reader")
    assert "New campaign" not in visitor.get("/").text
    assert visitor.get("/keys").status_code == 403
    for path in ("/keys", f"/view/{asked.id}/publish", f"/view/{asked.id}/end"):
        assert visitor.post(path, role="admin").status_code == 403
    assert "only reads" in visitor.post("/new", kind="yes-no").text
    stored = visitor.store.campaign(asked.id)
    assert stored is not None
    assert not stored.published
    assert stored.last_round is None


def test_nothing_secret_in_a_repr() -> None:
    assert "secret" not in repr(Session("id", "admin", "secret"))


@pytest.mark.parametrize("body", [b"\xff=1", b"a=%ff", b"&".join(b"a%d=1" % i for i in range(200)), b"a=1&a=2"])
def test_malformed_forms(visitor: Visitor, body: bytes) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert visitor.http.post("/sign-in", content=body, headers=headers).status_code == 400
    assert visitor.http.post("/sign-in", json={"key": "x"}).status_code == 415


ENDS = 1_800_043_210
ACCESS_KEY = "ut_0123456789ab_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AbCdE"
NONCE = bytes(range(12))


def stored_key(access_key: str = ACCESS_KEY) -> StoredKey:
    digest = hashlib.sha256(access_key.encode()).digest()
    return StoredKey(access_key.split("_")[1], "admin", digest, "2026-11-16", revoked=False)


def form_token(text: str, stored: StoredKey | None = None) -> str | None:
    result = read_cookie(text)
    return None if result is None else result.form_token(stored_key() if stored is None else stored)


def test_a_cookie_is_the_same_in_every_version_that_shares_a_store() -> None:
    text = _cookie(ACCESS_KEY, stored_key(), ENDS, NONCE)
    assert text == (
        "0123456789ab.1800043210.000102030405060708090a0b."
        "17f285933e573ee06b6e9f0aa48cecc811cb777bd5962a534a235408dfddd7a06e65208d90ba"
        "6d681a0e5b95d294488da623b217f624eab97c634686a96c47a28021150cc869a01d01d1d2"
    )  # fmt: skip
    assert form_token(text) == "bd52dacd08f1e0737c694e8955d9e8cef32da4cb7634e80109e2a2412c459a0d"


def test_no_character_of_a_cookie_can_be_changed() -> None:
    """A cookie has one spelling: capital digits, spare bits and leading zeros are refused too."""
    text = _cookie(ACCESS_KEY, stored_key(), ENDS, NONCE)
    assert form_token(text)
    for place, character in enumerate(text):
        for other in "0123456789abcdefABCDEF.- ٣":
            changed = text[:place] + other + text[place + 1 :]
            assert other == character or form_token(changed) is None
        assert form_token(text[:place] + text[place + 1 :]) is None
        assert form_token(text[:place] + "0" + text[place:]) is None
        assert form_token(text[:place]) is None
    for around in (f"{text}\n", f" {text}", f"{text}0", f"{text}00", f"{text}.00", f"{text}.{text}"):
        assert form_token(around) is None


def test_the_end_and_the_key_of_a_cookie_cannot_be_replaced() -> None:
    id, _, nonce, sealed = new_cookie(ACCESS_KEY, stored_key(), ENDS).split(".")
    assert form_token(f"{id}.{ENDS}.{nonce}.{sealed}")
    for ends in (ENDS + 1, ENDS - 1, ENDS * 10, f"0{ENDS}", 0, 999_999_999_999):
        assert form_token(f"{id}.{ends}.{nonce}.{sealed}") is None
    other = stored_key("ut_ba9876543210_" + "x" * 43)
    assert form_token(f"{other.id}.{ENDS}.{nonce}.{sealed}", other) is None
    assert form_token(f"{id}.{ENDS}.{nonce}.{sealed}", other) is None


@pytest.mark.parametrize(
    "inside",
    [b"", b"\xff", b"ut_0123456789ab_", stored_key().digest, stored_key().digest.hex().encode(),
     ACCESS_KEY.encode()[:-1], ACCESS_KEY.encode() + b"\n", b"x" * 200],
)  # fmt: skip
def test_the_digest_alone_makes_no_cookie(inside: bytes) -> None:
    """Whoever reads the store can seal anything, but not the access key, of which the store has a digest only."""
    stored = stored_key()
    cipher = AESGCM(hmac.digest(stored.digest, b"untrackable dashboard, session 2", hashlib.sha256))
    head = f"{stored.id}.{ENDS}"

    def sealed(content: bytes) -> str:
        return f"{head}.{NONCE.hex()}.{cipher.encrypt(NONCE, content, head.encode()).hex()}"

    assert form_token(sealed(ACCESS_KEY.encode()))
    assert form_token(sealed(inside)) is None


def test_a_cookie_shows_nothing_of_the_access_key() -> None:
    text = new_cookie(ACCESS_KEY, stored_key(), ENDS)
    secret = ACCESS_KEY.split("_", 2)[2].encode()
    assert secret[:4].hex() not in text
    assert stored_key().digest[:4].hex() not in text
    result = read_cookie(text)
    assert "digest" not in repr(stored_key())
    assert repr(result) == f"SessionCookie(key='0123456789ab', ends={ENDS})"


def test_every_cookie_is_new() -> None:
    made = {new_cookie(ACCESS_KEY, stored_key(), ENDS) for _ in range(100)}
    assert len({text.split(".")[2] for text in made}) == len({form_token(text) for text in made}) == 100


def test_a_key_that_does_not_exist_is_refused_alike() -> None:
    """Not even a cookie that is sealed with the digest that stands for a missing key is one."""
    nobody = StoredKey("0123456789ab", "admin", bytes(32), "2026-11-16", revoked=False)
    for text in (new_cookie(ACCESS_KEY, nobody, ENDS), new_cookie(ACCESS_KEY, stored_key(), ENDS)):
        result = read_cookie(text)
        assert isinstance(result, SessionCookie)
        assert result.form_token(None) is None
