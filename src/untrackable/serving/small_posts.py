"""Small requests that have arrived whole: they are read and answered without a task and without any layer.

Nearly all requests of a collector and of a relay that holds are such posts, with a head in a plain way. A regular
expression reads such a head in a tenth of the time of the general parser, and finds the same. The general parser
gets every other request: in parts, with several requests at once, or with a header that changes how a request is
read or answered.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from untrackable.serving.connections import BoundedProtocol
from untrackable.serving.problems import NO_SNIFFING, Refused

SMALL_BODY = 2 << 10
"""The largest body that is answered without a task."""
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
    """Where a request goes, its media type, its body, and the lines of its head."""

    path: str
    media_type: bytes
    body: bytes
    head: bytes

    def __repr__(self) -> str:
        """Say where it goes, and nothing else."""
        return f"{type(self).__name__}({self.path!r})"


def read_small_post(data: bytes) -> SmallPost | None:
    """The request that is all of the data, or None if the general parser must read the data."""
    head = _HEAD.match(data, 0, LARGEST_HEAD)
    if head is None:
        return None
    path, media_type, length, other_length, other_media_type = head.groups()
    body = data[head.end() :]
    if len(body) != int(length or other_length):
        return None
    return SmallPost(path.decode("ascii"), media_type or other_media_type, body, head[0])


def parsed_small_post(scope: Any, body: bytes) -> SmallPost | None:
    """A request that the general parser has read whole. None if it is not a POST, or is from a web page."""
    media_type = b""
    for name, value in scope["headers"]:
        if name == b"content-type":
            media_type = value
        elif name == b"origin":
            return None
    if scope["method"] != "POST":
        return None
    return SmallPost(scope["path"], media_type, body, b"".join(b"%s: %s\r\n" % pair for pair in scope["headers"]))


Answer = Refused | bytes | None
"""The answer to a small post: a refusal, a body, or None if what it brought is stored."""
AnswerSmall = Callable[[Answer], None]
"""Answers a small post. It is called once, in the event loop's thread."""


def answer_head(status: int, *headers: tuple[bytes, bytes]) -> bytes:
    """The first lines of an answer that nobody keeps. More headers and an empty line follow."""
    lines = ((b"cache-control", b"no-store"), NO_SNIFFING, *headers)
    return STATUS_LINE[status] + b"".join(b"%s: %s\r\n" % line for line in lines)


class _SmallAnswer:
    """Where the answers to small posts of one connection go. uvicorn cancels it like a task if it must end."""

    def __init__(self, connection: "SmallPostProtocol", cycle: RequestResponseCycle) -> None:
        self._connection, self.cycle = connection, cycle

    def __call__(self, answer: Answer) -> None:
        """Answer the post that waits."""
        self._connection.answer_small(self, answer)

    def cancel(self, msg: str | None = None) -> None:
        """Answer soon that the server ends, and close the connection."""
        self.cycle.keep_alive = False
        ending = "the server is shutting down; it did not acknowledge this request"
        self._connection.loop.call_soon(self, Refused(self._connection.problems["BUSY"], ending))


class SmallPostProtocol(BoundedProtocol):
    """An HTTP connection on which small posts are answered without a task."""

    stored: ClassVar[bytes]
    """The first lines of the answer to what is stored."""
    answered: ClassVar[bytes] = b""
    """The first lines of an answer with a body."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._tasks: Any = self.tasks
        """All that uvicorn waits for when the server ends, and cancels if it takes too long."""
        self._small: _SmallAnswer | None = None
        """Where the answers to small posts go. None if there was none on this connection."""

    def store_small(self, post: SmallPost, answer: AnswerSmall) -> bool:
        """Queue what a small post brings, and answer it later. False if it needs to be handled as a task."""
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        if self._ignoring or self._stores_small(data):
            return
        super().data_received(data)

    def _stores_small(self, data: bytes) -> bool:
        """Queue a small post. False if the connection is not idle, or if these bytes are anything else."""
        if self._arriving or self._unread or self.flow.write_paused:
            return False
        if self.cycle is not None and not self.cycle.response_complete:
            return False
        post = read_small_post(data)
        if post is None:
            return False
        small = self._small
        if small is None:
            small = self._small = _SmallAnswer(self, self._new_cycle())
        if not self.store_small(post, small):
            return False
        self._waiting_since = None
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        self.cycle = self._answering = cycle = small.cycle
        cycle.response_started = cycle.response_complete = False
        self._tasks.add(small)
        return True

    def _new_cycle(self) -> RequestResponseCycle:
        """What uvicorn knows about a request that is being answered. Nothing of it says which request."""
        scope: Any = {}
        return RequestResponseCycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=[],
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=True,
            on_response=self.on_response_complete,
        )

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Answer a request. A small post that waited for the answer to another one needs no task either."""
        small_body = not cycle.more_body and len(cycle.body) <= SMALL_BODY
        if small_body and app is self.app and not self.flow.write_paused:
            post, small = parsed_small_post(cycle.scope, bytes(cycle.body)), _SmallAnswer(self, cycle)
            if post is not None and self.store_small(post, small):
                self._answering = cycle
                self._tasks.add(small)
                return
        super()._start_asgi_task(cycle, app)

    def answer_small(self, small: _SmallAnswer, answer: Answer) -> None:
        """Answer a small post, unless its sender is gone."""
        self._tasks.discard(small)
        cycle = small.cycle
        if cycle.disconnected or self.transport.is_closing():
            return
        cycle.response_started = cycle.response_complete = True
        last = b"" if cycle.keep_alive else b"connection: close\r\n"
        if answer is None:
            self.transport.write(self.stored + last + b"\r\n")
        elif isinstance(answer, bytes):
            self.transport.write(b"%s%scontent-length: %d\r\n\r\n%s" % (self.answered, last, len(answer), answer))
        else:
            self._count_problem(answer.problem)
            self._write_problem(answer.problem, answer.detail, close=not cycle.keep_alive)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()
