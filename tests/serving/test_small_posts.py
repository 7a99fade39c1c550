"""What is read of a small POST is what the general parser reads, and everything unusual is left to that."""

import httptools
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from untrackable.serving.small_posts import LARGEST_HEAD, SmallPost, read_small_post

HEAD = b"POST /campaigns/ab12/reports HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nContent-Length: 3\r\n"
POST = HEAD + b"\r\nabc"


class Parsed:
    """What httptools finds in bytes that are one request."""

    def __init__(self, data: bytes) -> None:
        self.url, self.body, self.complete = b"", b"", 0
        self.headers: list[tuple[bytes, bytes]] = []
        parser = httptools.HttpRequestParser(self)
        parser.feed_data(data)
        self.method, self.version = parser.get_method(), parser.get_http_version()
        self.keep_alive, self.upgrade = parser.should_keep_alive(), parser.should_upgrade()

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.complete += 1


NAMES = [
    *(
        "Host",
        "Content-Type",
        "content-type",
        "Content-Length",
        "content-length",
        "CONTENT-LENGTH",
        "Content-Encoding",
    ),
    *("Transfer-Encoding", "transfer-encoding", "Connection", "connection", "Proxy-Connection", "Expect", "expect"),
    *(
        "Origin",
        "ORIGIN",
        "Upgrade",
        "TE",
        "Trailer",
        "Keep-Alive",
        "X-A",
        "Text",
        "Accept",
        "Cookie",
        "x y",
        "",
        "\0",
    ),
]
VALUES = [
    "3",
    "03",
    "2",
    "+3",
    "3, 3",
    "a/b",
    "a/b; c",
    "chunked",
    "close",
    "100-continue",
    "x",
    "",
    " x ",
    "\0",
    "é",
]
LINES = st.tuples(
    st.sampled_from(NAMES), st.sampled_from([":", ": ", ":  ", " : ", ":\t"]), st.sampled_from(VALUES)
)
ENDS = st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r"])


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """Requests that are nearly in the usual form: a few lines more, in any order, and sometimes something wrong."""
    lines = [b"Host: x", b"Content-Type: a/b", b"Content-Length: 3"]
    lines += ["".join(line).encode("latin-1") for line in draw(st.lists(LINES, max_size=2))]
    lines = draw(st.permutations(lines))[draw(st.integers(0, 1)) :]
    first = draw(
        st.sampled_from([b"POST /a HTTP/1.1"] * 4 + [b"POST /a?b HTTP/1.1", b"PUT /a HTTP/1.1", b"POST / HTTP/1.0"])
    )
    body = draw(st.sampled_from([b"abc", b"abc", b"abc", b"ab", b"abcd", b""]))
    return b"".join(line + draw(ENDS) for line in (first, *lines)) + b"\r\n" + body


@given(requests())
@example(POST)
def test_the_general_parser_finds_the_same(data: bytes) -> None:
    reports = read_small_post(data)
    if reports is None:
        return
    parsed = Parsed(data)
    assert parsed.complete == 1
    assert (parsed.method, parsed.version, parsed.keep_alive, parsed.upgrade) == (b"POST", "1.1", True, False)
    assert reports == SmallPost(
        parsed.url.decode(), dict(parsed.headers)[b"content-type"], parsed.body, data[: -len(parsed.body) or None]
    )
    names = [name for name, _ in parsed.headers]
    assert names.count(b"content-type") == names.count(b"content-length") == 1
    assert not {b"transfer-encoding", b"origin", b"expect", b"connection", b"upgrade", b"content-encoding"} & {
        *names
    }


@pytest.mark.parametrize(
    "data",
    [
        POST,
        POST.replace(b"Host: x\r\n", b""),
        POST.replace(b"Content-", b"content-").replace(b"-Type", b"-type").replace(b"-Length", b"-length"),
        HEAD.replace(b"a/b\r\n", b"a/b\r\nUser-Agent: x (y; z)\r\nAccept:*/*\r\nCookie:\r\nText: \xe9\r\n")
        + b"\r\nabc",
        b"POST /campaigns/ab12/reports HTTP/1.1\r\nContent-Length: 3\r\nX: y\r\nContent-Type: a/b\r\n\r\nabc",
    ],
)
def test_plain_heads_are_read(data: bytes) -> None:
    assert read_small_post(data) == SmallPost("/campaigns/ab12/reports", b"a/b", b"abc", data[:-3])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        POST[:-1],
        POST + b"d",
        POST + POST,
        b"\r\n" + POST,
        b"GET" + POST[4:],
        POST.replace(b"HTTP/1.1", b"HTTP/1.0"),
        POST.replace(b"/reports", b"/reports?x"),
        POST.replace(b"/reports", b"/report%73"),
        POST.replace(b"Length: 3", b"Length: 00003"),
        *(
            HEAD + line + b"\r\n\r\nabc"
            for line in (
                *(b"Content-Length: 3", b"content-length: 4", b"Content-Type: a/b", b"Content-Encoding: gzip"),
                *(
                    b"Transfer-Encoding: chunked",
                    b"transfer-encoding: identity",
                    b"Connection: close",
                    b"TE: trailers",
                ),
                *(
                    b"Connection: keep-alive",
                    b"EXPECT: 100-continue",
                    b"Origin: null",
                    b"Upgrade: h2c",
                    b" folded: x",
                ),
                *(b"X : y", b": y", b"X: \0", b"X: a\rb", b"no colon", b"Proxy-Connection: close", b"Trailer: x"),
            )
        ),
        HEAD + b"X: " + b"y" * LARGEST_HEAD + b"\r\n\r\nabc",
    ],
)
def test_everything_else_is_left_to_the_general_parser(data: bytes) -> None:
    assert read_small_post(data) is None


def test_nothing_of_the_body_is_shown() -> None:
    assert repr(read_small_post(POST)) == "SmallPost('/campaigns/ab12/reports')"
