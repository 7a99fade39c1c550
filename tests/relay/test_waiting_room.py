"""Requests wait for others, leave in random order, and are answered together."""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from math import comb, factorial

import numpy as np
import pytest

from tests.relay.gateways import SEALED, answer, gateway, relayed, sealed
from untrackable.relay.app import SEALED_LENGTH, WaitingRoom

ALARM = 60.0
"""A chi-square variable with 5 degrees of freedom is above this with probability 1.2e-11."""


class Doubled:
    """Answers twice what came, and keeps the order."""

    def __init__(self) -> None:
        self.order: list[bytes] = []

    async def __call__(self, body: bytes) -> bytes:
        self.order.append(body)
        return body * 2


def test_the_first_ones_wait_until_enough_different_addresses_have_sent() -> None:
    async def wait() -> tuple[list[bytes], list[bytes], list[bytes]]:
        doubled = Doubled()
        room = WaitingRoom(doubled, hold_until=3, hold_at_most=60.0)
        waiting = [asyncio.create_task(room.pass_on("192.0.2.1", bytes([i]))) for i in range(5)]
        waiting.append(asyncio.create_task(room.pass_on("192.0.2.2", b"\x05")))
        await asyncio.sleep(0.01)
        before = list(doubled.order)
        waiting.append(asyncio.create_task(room.pass_on("192.0.2.3", b"\x06")))
        answers = await asyncio.wait_for(asyncio.gather(*waiting), 10)
        return before, doubled.order, answers

    before, order, answers = asyncio.run(wait())
    assert before == []
    assert sorted(order) == [bytes([i]) for i in range(7)]
    assert answers == [bytes([i, i]) for i in range(7)]


def test_after_the_longest_wait_all_are_forwarded_and_the_next_wait_anew() -> None:
    async def wait() -> tuple[list[bytes], list[bytes]]:
        doubled = Doubled()
        room = WaitingRoom(doubled, hold_until=100, hold_at_most=0.05)
        first = await asyncio.wait_for(asyncio.gather(*(room.pass_on("a", b) for b in (b"1", b"2"))), 10)
        second = await asyncio.wait_for(room.pass_on("a", b"3"), 10)
        return first, [second]

    assert asyncio.run(wait()) == ([b"11", b"22"], [b"33"])


def test_a_failure_is_the_answer_to_its_own_request_only() -> None:
    async def forward(body: bytes) -> bytes:
        if body == b"bad":
            raise ConnectionError("gone")
        return body

    async def wait() -> tuple[bytes | BaseException, bytes | BaseException]:
        room = WaitingRoom(forward, hold_until=2, hold_at_most=60.0)
        return await asyncio.gather(room.pass_on("a", b"bad"), room.pass_on("b", b"good"), return_exceptions=True)

    bad, good = asyncio.run(wait())
    assert isinstance(bad, ConnectionError)
    assert good == b"good"


def test_a_request_that_is_not_waited_for_any_longer_is_not_forwarded() -> None:
    async def wait() -> list[bytes]:
        doubled = Doubled()
        room = WaitingRoom(doubled, hold_until=2, hold_at_most=60.0)
        gone = asyncio.create_task(room.pass_on("a", b"1"))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        await asyncio.wait_for(room.pass_on("b", b"2"), 10)
        return doubled.order

    assert asyncio.run(wait()) == [b"2"]


def statistic(orders: Iterable[Sequence[int]]) -> float:
    """Chi-square against all orders of three being equally likely."""
    counts = Counter(map(tuple, orders))
    expected = sum(counts.values()) / 6
    return sum((counts[order] - expected) ** 2 / expected for order in itertools.permutations(range(3)))


def test_every_order_is_equally_likely() -> None:
    async def orders(batches: int) -> list[list[int]]:
        doubled = Doubled()
        room = WaitingRoom(doubled, hold_until=3, hold_at_most=60.0)
        for _ in range(batches):
            await asyncio.gather(*(room.pass_on(f"192.0.2.{i}", bytes([i])) for i in range(3)))
        return [[body[0] for body in doubled.order[at : at + 3]] for at in range(0, 3 * batches, 3)]

    assert statistic(asyncio.run(orders(8000))) < ALARM


def test_the_statistic_finds_a_shuffle_that_is_slightly_off() -> None:
    """Exchanging each with any of all, not only with those before it: 4/27 and 5/27 instead of 1/6."""
    source = random.Random(1)  # noqa: S311

    def wrong() -> list[int]:
        order = [0, 1, 2]
        for i in range(3):
            j = source.randrange(3)
            order[i], order[j] = order[j], order[i]
        return order

    assert statistic(wrong() for _ in range(8000)) > ALARM


@pytest.mark.parametrize("number", [1, 2])
def test_senders_are_kept_as_hashes_with_a_key_of_the_batch(number: int) -> None:
    async def look() -> tuple[set[bytes], set[bytes]]:
        room = WaitingRoom(Doubled(), hold_until=number + 1, hold_at_most=60.0)
        seen = []
        for _ in range(2):
            tasks = [asyncio.create_task(room.pass_on(f"192.0.2.{i}", b"x")) for i in range(number)]
            await asyncio.sleep(0)
            seen.append(set(room._batch.senders))
            await asyncio.gather(room.pass_on("198.51.100.1", b"y"), *tasks)
        return seen[0], seen[1]

    first, second = asyncio.run(look())
    assert len(first) == len(second) == number
    assert not first & second
    assert bytes([192, 0, 2, 0]) not in first


BATCHES, PEOPLE = 12, 16
FALSE_ALARM = 1e-9


async def watched(*, held: int | None = None) -> list[tuple[list[int], list[int]]]:
    """For each batch: the senders in the order in which a gateway gets their requests, and that of their answers.

    Of each batch, the gateway holds the answer to the request that comes as number `held`. It gives that answer
    once the relay has all others and has had time to pass them on.
    """
    seen: list[tuple[list[int], list[int]]] = []
    async with (
        gateway(lambda request: answer(b"sealed")) as there,
        relayed(there.port, hold_until=PEOPLE, hold_at_most=20.0) as sender,
    ):

        async def pause() -> None:
            if held is not None and len(there.seen) % PEOPLE == held:
                await asyncio.sleep(0.05)
                early.extend(answered)

        async def send(number: int) -> None:
            async with sender(f"192.0.2.{number}") as http:
                found = await http.post("/gateways/study", content=sealed(number), headers=SEALED)
                assert found.content == b"sealed"
            answered.append(number)

        there.pause = pause
        for _ in range(BATCHES):
            answered: list[int] = []
            early: list[int] = []
            before = len(there.seen)
            await asyncio.wait_for(asyncio.gather(*map(send, range(PEOPLE))), 30)
            forwarded = [int.from_bytes(request[-SEALED_LENGTH:][:4], "big") for request in there.seen[before:]]
            assert sorted(forwarded) == sorted(answered) == list(range(PEOPLE))
            assert early == [], "nobody is answered while one answer of the batch is missing"
            seen.append((forwarded, answered))
    return seen


def alarm(law: Sequence[float]) -> int:
    """The least number that the sum over all batches reaches with at most the probability of a false alarm."""
    total = np.ones(1)
    for _ in range(BATCHES):
        total = np.convolve(total, law)
    return int(np.argmax(np.append(total[::-1].cumsum()[::-1], 0.0) <= FALSE_ALARM))


def kept_places(size: int) -> list[float]:
    """The law of how many stay in their place if all orders of so many are equally likely."""
    without = [1, 0]
    for n in range(2, size + 1):
        without.append((n - 1) * (without[-1] + without[-2]))
    return [comb(size, kept) * without[size - kept] / factorial(size) for kept in range(size + 1)]


def test_the_law_of_kept_places() -> None:
    counts = Counter(sum(i == j for i, j in enumerate(order)) for order in itertools.permutations(range(6)))
    assert kept_places(6) == pytest.approx([counts[kept] / factorial(6) for kept in range(7)])


@pytest.mark.parametrize("held", [None, 5])
def test_answers_do_not_tell_whose_requests_they_answer(held: int | None) -> None:
    """Somebody who sees both sides names the sender of the n-th request by the n-th answer, and by its delay."""
    seen = asyncio.run(watched(held=held))
    named = sum(
        one == other for forwarded, answered in seen for one, other in zip(forwarded, answered, strict=True)
    )
    assert named < alarm(kept_places(PEOPLE)) < BATCHES * PEOPLE / 3
    if held is not None:
        last = sum(forwarded[held - 1] == answered[-1] for forwarded, answered in seen)
        assert last < alarm([1 - 1 / PEOPLE, 1 / PEOPLE]) <= BATCHES
