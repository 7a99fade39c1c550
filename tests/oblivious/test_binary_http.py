"""Binary HTTP: the examples of RFC 9292, and every message that is not one."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from untrackable.errors import SealingError
from untrackable.oblivious.binary_http import BinaryRequest, BinaryResponse, write_number

FIGURE_8 = bytes.fromhex(
    "0003474554056874747073000a2f68656c6c6f2e747874406c0a757365722d6167656e74346375726c2f372e31362e33206c69626375726c"
    "2f372e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f7777772e6578616d706c652e636f6d0f61"
    "63636570742d6c616e677561676506656e2c206d690000"
)
FIGURE_9 = bytes.fromhex(
    "0203474554056874747073000a2f68656c6c6f2e7478740a757365722d6167656e74346375726c2f372e31362e33206c69626375726c2f37"
    "2e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f7777772e6578616d706c652e636f6d0f616363"
    "6570742d6c616e677561676506656e2c206d6900000000000000000000000000"
)
FIGURE_13 = bytes.fromhex(
    "0140c8001d5468697320636f6e74656e7420636f6e7461696e732043524c462e0d0a0d07747261696c65720474657874"
)
HELLO = BinaryRequest(
    method=b"GET",
    scheme=b"https",
    authority=b"",
    path=b"/hello.txt",
    fields=(
        (b"user-agent", b"curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"),
        (b"host", b"www.example.com"),
        (b"accept-language", b"en, mi"),
    ),
)


def request_of(*fields: tuple[bytes, bytes], method: bytes = b"GET", path: bytes = b"/x") -> bytes:
    """A request as bytes that need not be valid."""
    section = b"".join(write_number(len(text)) + text for field in fields for text in field)
    parts = (method, b"https", b"", path, section, b"", b"")
    return b"\x00" + b"".join(write_number(len(part)) + part for part in parts)


def test_the_request_of_the_rfc() -> None:
    assert HELLO.to_bytes() == FIGURE_8
    assert BinaryRequest.from_bytes(FIGURE_8) == HELLO
    for missing in (1, 2):  # Empty parts at the end may be left out.
        assert BinaryRequest.from_bytes(FIGURE_8[:-missing]) == HELLO


def test_the_response_of_the_rfc() -> None:
    response = BinaryResponse.from_bytes(FIGURE_13)
    assert response == BinaryResponse(200, (), b"This content contains CRLF.\r\n")
    assert BinaryResponse.from_bytes(b"\x01\x40\xc8") == BinaryResponse(200)
    assert BinaryResponse(200).to_bytes() == b"\x01\x40\xc8\x00\x00\x00"


def test_interim_responses_are_skipped() -> None:
    interim = bytes.fromhex("0140661307") + b"running\x0a" + b'"sleep 15"' + FIGURE_13[1:]
    assert BinaryResponse.from_bytes(interim) == BinaryResponse.from_bytes(FIGURE_13)


@pytest.mark.parametrize(
    ("number", "written"),
    [(37, "25"), (15293, "7bbd"), (494878333, "9d7f3e7d"), (151288809941952652, "c2197c5eff14e88c")],
)
def test_the_numbers_of_rfc_9000(number: int, written: str) -> None:
    assert write_number(number) == bytes.fromhex(written)


def test_a_number_may_be_longer_than_needed() -> None:
    assert BinaryRequest.from_bytes(b"\x40\x00" + FIGURE_8[1:]) == HELLO


def test_padding_must_be_zero() -> None:
    assert BinaryRequest.from_bytes(FIGURE_8 + bytes(900)) == HELLO
    with pytest.raises(SealingError, match="padding"):
        BinaryRequest.from_bytes(FIGURE_8 + bytes(900) + b"\x01")


def test_every_cut_before_the_end_of_the_fields_is_noticed() -> None:
    control = len(b"\x00\x03GET\x05https\x00\x0a/hello.txt")
    for size in set(range(len(FIGURE_8) - 2)) - {control}:
        with pytest.raises(SealingError, match="cut off"):
            BinaryRequest.from_bytes(FIGURE_8[:size])


@pytest.mark.parametrize(
    "wrong",
    [
        FIGURE_9,
        FIGURE_13,
        b"\x05",
        request_of((b":method", b"POST")),
        request_of((b"Accept", b"a")),
        request_of((b"bad name", b"a")),
        request_of((b"", b"a")),
        request_of((b"x", b"a\r\nb: c")),
        request_of((b"x", b"a\x00b")),
        request_of((b"x", b" a")),
        request_of((b"x", b"a\t")),
        request_of(*[(b"x", b"a")] * 65),
        request_of(method=b"GE T"),
        request_of(method=b""),
        request_of(path=b"/a b"),
        request_of(path="/é".encode()),
    ],
)
def test_a_wrong_request_is_refused(wrong: bytes) -> None:
    with pytest.raises(SealingError):
        BinaryRequest.from_bytes(wrong)


@pytest.mark.parametrize("status", [0, 99, 101, 199, 600, 1 << 40])
def test_a_wrong_status_is_refused(status: int) -> None:
    with pytest.raises(SealingError):
        BinaryResponse.from_bytes(b"\x01" + write_number(status) + b"\x00\x00\x00")
    with pytest.raises(SealingError):
        BinaryResponse(status).to_bytes()


def test_a_wrong_message_is_not_written() -> None:
    with pytest.raises(SealingError):
        BinaryRequest(b"GET", b"https", b"", b"/a b").to_bytes()
    with pytest.raises(SealingError):
        BinaryResponse(200, ((b"X", b"a"),)).to_bytes()
    with pytest.raises(SealingError):
        write_number(1 << 62)


@given(st.binary(max_size=80))
@example(b"\x00\xff" + b"\xff" * 7)
def test_other_bytes_are_read_or_refused(data: bytes) -> None:
    for kind in (BinaryRequest, BinaryResponse):
        try:
            result = kind.from_bytes(data)
        except SealingError:
            continue
        assert kind.from_bytes(result.to_bytes()) == result


@given(st.integers(0, len(FIGURE_8) - 1), st.integers(0, 255), st.integers(0, len(FIGURE_8)))
def test_an_altered_message_is_read_or_refused(at: int, byte: int, size: int) -> None:
    altered = (FIGURE_8[:at] + bytes([byte]) + FIGURE_8[at + 1 :])[:size]
    try:
        request = BinaryRequest.from_bytes(altered)
    except SealingError:
        return
    assert BinaryRequest.from_bytes(request.to_bytes()) == request


@given(st.binary(max_size=300), st.lists(st.from_regex(rb"[a-z0-9-]{1,70}", fullmatch=True), max_size=5))
def test_what_is_written_is_read(content: bytes, names: list[bytes]) -> None:
    fields = tuple((name, name.upper()) for name in names)
    request = BinaryRequest(b"POST", b"https", b"collector.example", b"/campaigns", fields, content)
    assert BinaryRequest.from_bytes(request.to_bytes() + bytes(7)) == request
    response = BinaryResponse(410, fields, content)
    assert BinaryResponse.from_bytes(response.to_bytes() + bytes(7)) == response
