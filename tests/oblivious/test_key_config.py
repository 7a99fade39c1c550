"""Key configurations: the example of RFC 9458, and everything that is none."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untrackable.errors import SealingError
from untrackable.oblivious.key_config import KeyConfig, Suite, configs_to_bytes

PUBLIC = bytes.fromhex("31e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e798155")
WRITTEN = b"\x01\x00\x20" + PUBLIC + bytes.fromhex("00080001000100010003")
EXAMPLE = KeyConfig(1, PUBLIC, (Suite(1, 1), Suite(1, 3)))


def test_the_configuration_of_the_rfc() -> None:
    assert KeyConfig.from_bytes(WRITTEN) == EXAMPLE
    assert EXAMPLE.to_bytes() == WRITTEN
    assert EXAMPLE.suite == Suite(1, 1)


def test_the_first_supported_suite_is_used() -> None:
    written = WRITTEN[:35] + bytes.fromhex("000c000100020001000300010001")
    assert KeyConfig.from_bytes(written).suite == Suite(1, 3)
    assert KeyConfig.from_bytes(written).to_bytes() == written


def test_a_list_has_the_length_of_each_configuration() -> None:
    assert configs_to_bytes([EXAMPLE, EXAMPLE]) == 2 * (b"\x00\x2d" + WRITTEN)
    assert configs_to_bytes([]) == b""


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        WRITTEN[:-1],
        WRITTEN + b"\x00",
        b"\x01\x00\x10" + WRITTEN[3:],
        WRITTEN[:35] + b"\x00\x00",
        WRITTEN[:35] + bytes.fromhex("0002") + b"\x00\x01",
        WRITTEN[:35] + bytes.fromhex("000400010002"),
    ],
)
def test_a_wrong_configuration_is_refused(wrong: bytes) -> None:
    with pytest.raises(SealingError):
        KeyConfig.from_bytes(wrong)


@pytest.mark.parametrize(("id", "key"), [(256, PUBLIC), (-1, PUBLIC), (1, PUBLIC[:-1])])
def test_wrong_parts_are_refused(id: int, key: bytes) -> None:
    with pytest.raises(ValueError, match="must"):
        KeyConfig(id, key)


@given(st.binary(max_size=120))
def test_other_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(SealingError):
        assert KeyConfig.from_bytes(data).to_bytes() == data


@given(st.integers(0, 44), st.integers(0, 255))
def test_an_altered_configuration_is_another_or_refused(at: int, byte: int) -> None:
    altered = WRITTEN[:at] + bytes([byte]) + WRITTEN[at + 1 :]
    try:
        config = KeyConfig.from_bytes(altered)
    except SealingError:
        return
    assert config.to_bytes() == altered
