"""Holds requests until several wait, forwards all of them in random order, and returns their answers together.

So neither the gateway nor anybody who watches both sides can match what comes out to what went in, or the answers
to the requests, by their order or by the time that one of them took.
"""

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Generic, TypeVar

from untrackable.relay.sender_counts import sender

_KEY_BYTES = 16
Answer = TypeVar("Answer")


@dataclass(slots=True, eq=False)
class _Batch(Generic[Answer]):
    """The requests that wait. Their senders are hashed with a key that is forgotten with the batch."""

    waiting: list[tuple[bytes, "asyncio.Future[Answer]"]] = field(default_factory=list)
    senders: set[bytes] = field(default_factory=set)
    timer: asyncio.TimerHandle | None = None
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(_KEY_BYTES))

    def add(self, address: str, body: bytes) -> "asyncio.Future[Answer]":
        """Add a request. The result is its answer."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.waiting.append((body, answer))
        self.senders.add(blake2b(sender(address), digest_size=16, key=self._key).digest())
        return answer


class WaitingRoom(Generic[Answer]):
    """The requests for one gateway that wait for others.

    They are forwarded once so many different addresses have one waiting, or the first has waited long enough. Many
    requests from one address do not count as many: otherwise that address could be alone with somebody else's.
    """

    def __init__(
        self, forward: Callable[[bytes], Awaitable[Answer]], *, hold_until: int, hold_at_most: float
    ) -> None:
        self._forward, self._until, self._at_most = forward, hold_until, hold_at_most
        self._batch: _Batch[Answer] = _Batch()
        self._tasks: set[asyncio.Task[None]] = set()

    async def pass_on(self, address: str, body: bytes) -> Answer:
        """Forward a request from an address when its time has come, and return the answer."""
        batch = self._batch
        answer = batch.add(address, body)
        if len(batch.senders) >= self._until:
            self._let_go(batch)
        elif batch.timer is None:
            batch.timer = asyncio.get_running_loop().call_later(self._at_most, self._let_go, batch)
        return await answer

    def _let_go(self, batch: _Batch[Answer]) -> None:
        """Forward all that wait."""
        if batch.timer is not None:
            batch.timer.cancel()
        self._batch = _Batch()
        task = asyncio.create_task(self._exchange(batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _exchange(self, batch: _Batch[Answer]) -> None:
        """Forward in random order. Answer in the order in which requests came, once all answers are there.

        That order says nothing about the random one. A request whose answer was cancelled is not forwarded: the
        relay ends, and its sender was told so.
        """
        order = [index for index, (_, answer) in enumerate(batch.waiting) if not answer.cancelled()]
        random.SystemRandom().shuffle(order)
        forwarded = (self._forward(batch.waiting[index][0]) for index in order)
        found = dict(zip(order, await asyncio.gather(*forwarded, return_exceptions=True), strict=True))
        for index, (_, answer) in enumerate(batch.waiting):
            if answer.cancelled():
                continue
            if isinstance(one := found[index], BaseException):
                answer.set_exception(one)
            else:
                answer.set_result(one)
