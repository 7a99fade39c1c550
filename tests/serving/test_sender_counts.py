"""One address may send so much a minute, or in another time; nothing about addresses stays."""

import gc
import ipaddress

import pytest

from untrackable.serving.sender_counts import SenderCounts, sender


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_an_address_may_send_so_many_a_minute_and_others_do_not_notice() -> None:
    clock = Clock()
    counts = SenderCounts(3, clock)
    assert [counts.allows("192.0.2.1") for _ in range(5)] == [True, True, True, False, False]
    assert sum(counts.allows(f"198.51.100.{i}") for i in range(256)) > 250
    clock.now += 59.9
    assert not counts.allows("192.0.2.1")
    clock.now += 0.2
    assert counts.allows("192.0.2.1")


def test_the_time_may_be_another() -> None:
    clock = Clock()
    counts = SenderCounts(1, clock, seconds=3600.0)
    assert [counts.allows("192.0.2.1") for _ in range(2)] == [True, False]
    clock.now += 3599.0
    assert not counts.allows("192.0.2.1")
    clock.now += 1.0
    assert counts.allows("192.0.2.1")


def test_addresses_share_a_place_as_rarely_as_a_random_hash_says() -> None:
    """The i-th address finds its place taken with probability i / 65,536: 124 are expected, sigma is 11."""
    counts = SenderCounts(1)
    refused = sum(not counts.allows(str(ipaddress.IPv4Address(i))) for i in range(4096))
    assert 124 - 80 < refused < 124 + 80


def test_the_key_and_the_counts_are_replaced_together() -> None:
    clock = Clock()
    counts = SenderCounts(3, clock)
    counts.allows("192.0.2.1")
    key, table = counts._key, counts._counts
    clock.now += 60.0
    counts.allows("192.0.2.2")
    assert counts._key != key
    assert sum(counts._counts) == 1
    assert counts._counts is not table
    clock.now -= 100.0  # a clock that goes back starts anew as well
    counts.allows("192.0.2.2")
    assert sum(counts._counts) == 1


def test_the_table_does_not_grow_and_holds_no_address() -> None:
    counts = SenderCounts(2)
    size = len(counts._counts)
    for i in range(3000):
        counts.allows(f"2001:db8:{i:x}::1")
    assert len(counts._counts) == size == 1 << 16
    kept = [thing for thing in gc.get_referents(counts.__dict__) if isinstance(thing, (str, list, dict, set))]
    assert not any("2001" in str(thing) for thing in kept)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::1", True),
        ("no address", "no address", True),
    ],
)
def test_who_counts_as_one_sender(one: str, other: str, same: bool) -> None:
    assert (sender(one) == sender(other)) is same
