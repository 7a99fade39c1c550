"""A question whose reports say who sent them, so that tests see who was counted. Nobody would ask it like this.

Everybody's answer is their own number, and a report tells it: it has as many independent bits of it as it has bits,
and lies with probability 10^-11 at most.
"""

from dataclasses import replace

from untrackable.collector.store import Round, Store
from untrackable.encodings.numbers import IntegerRange
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import Fresh
from untrackable.oblivious.gateway_keys import GatewayKeys
from untrackable.protocol.campaign import Campaign, CrowdGuarantee, Gateway, Guarantee, HoldingRelay
from untrackable.theory.turns import Turns

BITS, EPS = 8, 32.0
MOST = 1 << BITS
SIZE = (BITS * BITS + BITS) // 8
"""The number of bytes of an answer."""


def who_is_there(begin: int, seconds: int, rounds: int, keys: GatewayKeys, held: HoldingRelay | None) -> Campaign:
    """The campaign. Each person answers once, in one of the rounds."""
    return Campaign(
        question="Who is there?",
        encoding=IntegerRange(low=0, high=MOST - 1),
        randomizer=Fresh(NoisyInnerProduct(bits=BITS, eps=EPS, width=BITS)),
        first_round=begin,
        round_seconds=seconds,
        rounds=rounds,
        turns=Turns(rounds=rounds),
        guarantee=Guarantee(eps=EPS, crowd=CrowdGuarantee(eps=EPS, delta=1e-6, reports=2)),
        gateway=replace(Gateway.from_json(keys.public_list(1)), relay=held),
    )


def sender(answer: bytes) -> int:
    """The only number that gives all the answers of a report."""
    packed = int.from_bytes(answer, "little")
    vectors = [packed >> (BITS + BITS * place) & (MOST - 1) for place in range(BITS)]
    [found] = [
        number
        for number in range(MOST)
        if all((vector & number).bit_count() % 2 == packed >> place & 1 for place, vector in enumerate(vectors))
    ]
    return found


def answers(store: Store, asked: Campaign, round: int) -> dict[int, bytes]:
    """The answers in a round that is not closed, by who sent them, in the order of the store."""
    data = b"".join(store.reports(Round(asked.id, round)))
    found = [data[at : at + SIZE] for at in range(0, len(data), SIZE)]
    named = {sender(answer): answer for answer in found}
    assert len(named) == len(found), "somebody was counted twice"
    return named
