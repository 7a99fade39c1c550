"""Reads a small POST that has arrived whole, if its head is written in a plain way, as nearly all are.

The general parser finds the same in such a head and takes ten times as long. It gets every other request: in parts,
with several requests at once, or with a header that changes how a request is read or answered.
"""

import re
from typing import Any, NamedTuple

# Lazy, not possessive: Python 3.11.2 loses its place after a possessive group. Each line can be read in one
# way only, so both find the same, and are as fast.
_OTHER_HEADERS = (
    rb"(?:(?!(?i:connection|content-|expect|keep-alive|origin|proxy-connection|te:|trailer|transfer-encoding|upgrade))"
    rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t\x20-\x7e\x80-\xff]*+\r\n)*?"
)
_TYPE, _LENGTH = rb"[Cc]ontent-[Tt]ype: ([!-~]++)\r\n", rb"[Cc]ontent-[Ll]ength: ([0-9]{1,4})\r\n"
_HEAD = re.compile(
    rb"POST (/[0-9A-Za-z/._-]*+) HTTP/1\.1\r\n%(others)s"
    rb"(?:%(type)s%(others)s%(length)s|%(length)s%(others)s%(type)s)%(others)s\r\n"
    % {b"others": _OTHER_HEADERS, b"type": _TYPE, b"length": _LENGTH}
)
LARGEST_HEAD = 1 << 10
"""The largest head that is read here. No server refuses a head of this size."""


class SmallPost(NamedTuple):
    """Where a request goes, its media type, and its body."""

    path: str
    media_type: bytes
    body: bytes

    def __repr__(self) -> str:
        """Say where it goes, and nothing of the reports."""
        return f"{type(self).__name__}({self.path!r})"


def read_small_post(data: bytes) -> SmallPost | None:
    """The request that is all of the data, or None if the general parser must read the data."""
    found = _HEAD.match(data, 0, LARGEST_HEAD)
    if found is None:
        return None
    path, media_type, length, other_length, other_media_type = found.groups()
    body = data[found.end() :]
    if len(body) != int(length or other_length):
        return None
    return SmallPost(path.decode("ascii"), media_type or other_media_type, body)


def parsed_small_post(scope: Any, body: bytes) -> SmallPost | None:
    """A request that the general parser has read whole. None if it is not a POST, or is from a web page."""
    media_type = b""
    for name, value in scope["headers"]:
        if name == b"content-type":
            media_type = value
        elif name == b"origin":
            return None
    return SmallPost(scope["path"], media_type, body) if scope["method"] == "POST" else None
