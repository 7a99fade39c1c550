"""The file with a gateway's keys: lists, revocation, permissions, and damage."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from untrackable import strict_json
from untrackable.errors import GatewayKeysError, GatewayKeyUnknown
from untrackable.oblivious.gateway_keys import GatewayKeys, read_keys, write_keys
from untrackable.oblivious.key_config import KeyConfig
from untrackable.oblivious.sealing import open_request, seal_request

KEYS = GatewayKeys().with_list(3, 30)


def test_keys_serve_one_after_another() -> None:
    listed = KEYS.public_list(1)["keys"]
    assert [key["first_round"] for key in listed] == [1, 31, 61]
    configs = [KeyConfig.from_bytes(bytes.fromhex(key["config"])) for key in listed]
    assert [config.id for config in configs] == [0, 1, 2]
    for config in configs:
        sealed = seal_request(config, b"a request")
        assert open_request(KEYS.opening_keys(), sealed.body).content.startswith(b"a request")


def test_a_further_list_has_other_keys() -> None:
    more = KEYS.with_list(2, 7)
    assert more.keys[:3] == KEYS.keys
    assert [(key.list, key.id, key.first_round) for key in more.keys[3:]] == [(2, 3, 1), (2, 4, 8)]
    assert [config.id for config in more.published()] == [3, 4, 0, 1, 2]
    assert len({key.secret for key in more.keys}) == 5


def test_a_revoked_key_opens_nothing_and_keeps_its_number() -> None:
    sealed = seal_request(KEYS.keys[1].config, b"a request")
    left = KEYS.without({1})
    with pytest.raises(GatewayKeyUnknown):
        open_request(left.opening_keys(), sealed.body)
    assert [key.revoked for key in left.keys] == [False, True, False]
    assert [config.id for config in left.published()] == [0, 2]
    assert [key.id for key in left.with_list(1, 30).keys] == [0, 1, 2, 3]


def test_a_new_campaign_begins_with_the_first_key_that_is_left() -> None:
    left = KEYS.without({0}).public_list(1)["keys"]
    assert [(key["config"][:2], key["first_round"]) for key in left] == [("01", 1), ("02", 31)]


@pytest.mark.parametrize(
    ("round", "past"), [(1, set()), (30, set()), (31, {0}), (60, {0}), (61, {0, 1}), (999, {0, 1})]
)
def test_keys_of_past_rounds(round: int, past: set[int]) -> None:
    """The last key of a list serves for ever."""
    assert KEYS.served_before(round, 1) == past


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(GatewayKeysError, match="no key 9"):
        KEYS.without({1, 9})
    with pytest.raises(GatewayKeysError, match="at most 256 keys"):
        KEYS.with_list(254, 1)
    with pytest.raises(GatewayKeysError, match="no list 1"):
        KEYS.without({0, 1, 2}).public_list(1)
    with pytest.raises(ValueError, match="every"):
        KEYS.with_list(1, 0)


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    before = os.umask(0)
    try:
        write_keys(path, KEYS)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_keys(path) == KEYS
    assert [file.name for file in tmp_path.iterdir()] == ["keys"]
    path.chmod(0o640)
    with pytest.raises(GatewayKeysError, match="owner alone"):
        read_keys(path)


def test_a_revoked_secret_is_not_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    write_keys(path, KEYS)
    secret = KEYS.keys[1].secret
    assert secret is not None
    assert secret.hex() in path.read_text()
    write_keys(path, KEYS.without({1}))
    assert secret.hex() not in path.read_text()
    assert read_keys(path) == KEYS.without({1})


def test_nothing_secret_is_shown(tmp_path: Path) -> None:
    secrets = [key.secret.hex() for key in KEYS.keys if key.secret is not None]
    shown = repr(KEYS) + str(KEYS.public_list(1)) + repr([key.secret for key in KEYS.without({0, 1, 2}).keys])
    assert not any(secret in shown for secret in secrets)
    assert not any(repr(key.secret) in repr(KEYS) for key in KEYS.keys)


def test_a_missing_file_or_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(GatewayKeysError, match="No such file"):
        read_keys(tmp_path / "keys")
    with pytest.raises(GatewayKeysError, match="No such file"):
        write_keys(tmp_path / "none" / "keys", KEYS)


def test_a_secret_of_another_key_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    write_keys(path, KEYS)
    document = strict_json.parse(path.read_bytes())
    document["keys"][0]["secret"] = document["keys"][1]["secret"]
    path.write_text(strict_json.write(document))
    with pytest.raises(GatewayKeysError, match="damaged"):
        read_keys(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 2000), st.binary(max_size=3), st.booleans())
def test_a_damaged_file_is_refused_without_showing_it(tmp_path: Path, at: int, put: bytes, cut: bool) -> None:
    path = tmp_path / "keys"
    write_keys(path, KEYS)
    whole = path.read_bytes()
    at %= len(whole)
    path.write_bytes(whole[:at] + put + (b"" if cut else whole[at + len(put) :]))
    said = ""
    try:
        read_keys(path)
    except GatewayKeysError as error:
        said = str(error)
    assert all(key.secret is None or key.secret.hex() not in said for key in KEYS.keys)
