"""Addresses that people give: https, or http where no packet leaves the machine."""

import pytest

from untrackable.web_address import WebAddress, is_this_machine


@pytest.mark.parametrize(
    ("given", "expected", "netloc"),
    [
        ("https://collect.example", WebAddress("https", "collect.example", 443, ""), "collect.example"),
        (
            "https://Collect.example:444/a/b/",
            WebAddress("https", "collect.example", 444, "/a/b"),
            "collect.example:444",
        ),
        ("http://localhost", WebAddress("http", "localhost", 80, ""), "localhost"),
        ("http://127.77.2.2:8100/x", WebAddress("http", "127.77.2.2", 8100, "/x"), "127.77.2.2:8100"),
        ("http://[::1]:8100", WebAddress("http", "::1", 8100, ""), "[::1]:8100"),
    ],
)
def test_an_address(given: str, expected: WebAddress, netloc: str) -> None:
    found = WebAddress.parse("server", given)
    assert found == expected
    assert found.netloc == netloc


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("http://192.168.1.1", "thing must be https"),
        ("http://localhost.example", "thing must be https"),
        ("http://127.0.0.1.example", "thing must be https"),
        ("http://128.0.0.1", "thing must be https"),
        ("https://me:secret@x.example", "thing must have no user name"),
        ("https://x.example/#a", "thing must be an address"),
        ("https://x.example:99999", "thing must be an address"),
        ("https://x.example:0", "port between 1 and 65535"),
        ("https://exämple", "host of plain characters"),
        ("https://x.example/ä", "path of plain characters"),
    ],
)
def test_no_address(given: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        WebAddress.parse("thing", given)
    assert "secret" not in str(refused.value)


def test_no_text() -> None:
    with pytest.raises(TypeError, match="thing must be an address as a text, not int"):
        WebAddress.parse("thing", 7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("host", "here"),
    [("localhost", True), ("127.255.0.9", True), ("::1", True), ("::2", False), ("10.0.0.1", False)],
)
def test_this_machine(host: str, here: bool) -> None:
    assert is_this_machine(host) is here
