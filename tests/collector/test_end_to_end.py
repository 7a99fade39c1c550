"""Real clients and a real collector: what people answered is what is estimated, and a retry counts once."""

import time
from pathlib import Path

from tests.client.samples import turns_campaign
from tests.collector.samples import DECK, NAMES, campaign
from tests.collector.servers import process
from untrackable.client.client import Client
from untrackable.client.policy import Policy
from untrackable.client.sending import Address, Outcome, post
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import close_round
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round


def test_from_person_to_sums(tmp_path: Path) -> None:
    seconds = 100
    asked = campaign(begin=int(time.time()) - 50, seconds=seconds, question="Which page, this time?")
    url = f"sqlite:///{tmp_path}/x.db"
    store = open_store(url)
    create_campaign(store, asked.to_bytes())
    policy = Policy(eps=8.0, delta=1e-6, every_round=True, pins=(asked.id,))
    sent = []
    # The clients' clock is ahead: round 2, which begins after they joined, nearly over for them, is taken early.
    clock = [float(asked.begins(1) + 50)]
    with process(url, "--early", "1000") as server:
        for person in range(12):
            folder = tmp_path / f"person{person}"
            clock[0] = asked.begins(1) + 50
            client = Client(asked, None, policy, folder=folder, clock=lambda: clock[0])
            client.answer(NAMES[person])
            assert client.send(server.address) is Outcome.NOTHING  # not in the round in which it joined
            clock[0] = asked.begins(3) - 0.5
            body = client.report(clock[0])
            assert body is not None
            sent.append(body)
            assert client.send(server.address) is Outcome.ACCEPTED
            assert client.send(server.address) is Outcome.NOTHING  # a round is answered once
        again = post(Address.of(server.address, asked.id), sent[0], lambda *way: True)  # the answer was lost, say
        assert again.outcome is Outcome.ACCEPTED
        late = post(
            Address.of(server.address, asked.id), sent[0][:1] + b"\x63\0\0\0" + sent[0][5:], lambda *way: True
        )
        assert (late.status, late.outcome) == (400, Outcome.REFUSED)
        assert server.end() == 0
    assert store.count(Round(asked.id, 2)) == 12
    close_round(store, asked, 2)
    expected = DECK.aggregator(2).add([body[-1] for body in sent])
    assert store.sums(Round(asked.id, 2)) == expected.to_bytes()
    store.close()


def test_every_person_is_counted_once_in_all_rounds(tmp_path: Path) -> None:
    """Each tries to answer in every round, leaves and comes back: as many reports arrive as people have turns."""
    rounds, people = 3, 30
    begin = int(time.time()) + 50
    asked = turns_campaign(rounds=rounds, first_round=begin, round_seconds=100)
    url = f"sqlite:///{tmp_path}/x.db"
    store = open_store(url)
    create_campaign(store, asked.to_bytes())
    policy, clock = Policy(eps=1.0, pins=(asked.id,)), [0.0]
    outcomes: list[list[Outcome]] = []
    with process(url, "--early", "1000") as server:
        for person in range(people):
            clock[0] = begin - 10.0
            client = Client(asked, None, policy, folder=tmp_path / f"person{person}", clock=lambda: clock[0])
            client.answer(person % 4)
            outcomes.append([])
            for round in range(1, rounds + 1):
                clock[0] = asked.begins(round + 1) - 0.5
                client.answer((person + round) % 4)
                outcomes[-1] += [client.send(server.address), client.send(server.address)]
                if Outcome.ACCEPTED in outcomes[-1]:
                    client.leave()
        assert server.end() == 0
    assert all(each.count(Outcome.ACCEPTED) == 1 for each in outcomes)
    assert all(set(each) == {Outcome.ACCEPTED, Outcome.NOTHING} for each in outcomes)
    counts = [store.count(Round(asked.id, round)) for round in range(1, rounds + 1)]
    assert sum(counts) == people
    store.close()
