"""Many choices, records, quantiles and means in the browser's client: Python's bytes and Python's numbers."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from tests.browser.built import ask, script
from tests.browser.test_vectors import encoded, read
from tests.client.samples import campaign
from tests.client.test_crowd_campaigns import GATEWAY
from tests.client.vectors import FEATURES, PERCENT, STARTS, VISIT, about
from untrackable.accounting import client_check
from untrackable.auditing.evidence.client_audit import audit_client
from untrackable.client.account import Account
from untrackable.client.ledger import Ledger
from untrackable.client.life import Life
from untrackable.client.policy import Policy
from untrackable.encodings.bit import Bit
from untrackable.encodings.choices import Choices
from untrackable.encodings.encoding import Encoding
from untrackable.encodings.hashed_strings import HashedStrings
from untrackable.encodings.number_ranges import Buckets, IntegerRange
from untrackable.encodings.record import Record
from untrackable.errors import CampaignRefused
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.inner_product.faded import Faded
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.one_bit_mean import OneBitMean
from untrackable.mechanisms.local.randomized_response import RandomizedResponse
from untrackable.mechanisms.local.views import Views
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.mechanisms.wrappers.dealt_budget import dealt_for_budget
from untrackable.protocol.campaign import Campaign
from untrackable.protocol.crowd_declaration import CrowdGuarantee
from untrackable.strict_json import canonical
from untrackable.theory.attendance import Attendance
from untrackable.theory.integer_losses import STEPS, composed

F = Fraction


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return script(tmp_path_factory.mktemp("browser"))


@pytest.mark.parametrize("name", ["views", "onebitmean", "faded"])
def test_states_and_reports(program: Path, name: str) -> None:
    """From entropy to the same state and reports; and from the state's bytes to the same reports."""
    cases = [(group, case) for group in read(f"{name}.json")["groups"] for case in group["cases"]]
    tasks = [
        {"task": "mechanism", **case, "mechanism": group["mechanism"], "state": state}
        for group, case in cases
        for state in (None, case["state"])
    ]
    answers = ask(program, tasks)
    assert len(answers) == 2 * len(cases) >= 8
    for i, found in enumerate(answers):
        group, case = cases[i // 2]
        for part in ("state", "reports", "state_after"):
            assert found[part] == case[part], case["label"]
        assert found["thresholds"] == group["thresholds"], case["label"]
        assert found["used"] == len(case["entropy"]) // 2, case["label"]


WIDE = Choices(names=[f"feature {i}" for i in range(256)])
LONG = Record(
    attributes={
        "word": HashedStrings(bits=11, salt=bytes(16), longest=4),
        "size": IntegerRange(low=-3, high=9, below="separate", above="clamp"),
    }
)
ENCODINGS: list[tuple[Encoding, list[Any]]] = [
    (FEATURES, ["search", "", None, 7, {"search": True}, ["search", "Export"], ["search", 1], [["search"]]]),
    (WIDE, [list(WIDE.names), [WIDE.names[255], WIDE.names[64]], []]),
    (LONG, [{"word": "abcd", "size": -9}, {"size": 12, "word": "é"}, {"word": "abcde", "size": 1}]),
    (
        VISIT,
        [
            {"browser": "Safari", "start": 50},
            {"browser": "Safari", "start": 50, "new": 1, "language": "de"},
            {"browser": 7, "start": 50, "new": 1},
            {"browser": "Safari", "start": -1, "new": 1},
            {"browser": "Safari", "start": 50, "new": "yes"},
            ["Safari", 50, True],
            "Safari",
            None,
        ],
    ),
]


def test_answers(program: Path) -> None:
    """The golden vectors, and answers that are refused. Nothing private is in a message."""
    vectors = read("client/answers.json")
    tasks = [
        {"task": "encode", "encoding": json.loads(case["encoding"]), "raw": case["answer"]} for case in vectors
    ]
    assert ask(program, tasks) == [str(case["value"]) for case in vectors]
    pairs = [(encoding, raw) for encoding, raws in ENCODINGS for raw in raws]
    tasks = [
        {"task": "encode", "encoding": json.loads(canonical(encoding.to_json())), "raw": raw}
        for encoding, raw in pairs
    ]
    for (encoding, raw), found in zip(pairs, ask(program, tasks), strict=True):
        expected = encoded(encoding, raw)
        if expected is None:
            assert re.match(r"the answer (must|lacks new|has attributes|is)", found["refused"]), raw
            assert not re.search("Export|Safari|language|yes|abcde", found["refused"])
        else:
            assert found == str(expected), (encoding, raw)


def declared(mechanism: Any, encoding: Encoding, participation: Fraction, **more: Any) -> Campaign:
    """A campaign of as many rounds as the deck has cards, with what its clients can confirm."""
    return client_check.declaring_recognition(
        campaign(
            mechanism,
            encoding=encoding,
            attendance=Attendance(participation),
            rounds=mechanism.slots,
            **more,
        )
    )


BUCKETS = Buckets(edges=list(range(65)))
CHOICES = declared(
    dealt_for_budget(about(FEATURES, slots=1, eps=1).base, slots=60, eps=1, delta=1e-6, participation=F(1, 8)),
    FEATURES,
    F(1, 8),
)
RECORD = declared(
    dealt_for_budget(
        Views(bits=VISIT.bits, views=VISIT.asked.views, eps=1, weights=(3, 1)),
        slots=30,
        eps=1,
        delta=1e-6,
    ),
    VISIT,
    F(1),
)
PREFIXES = declared(
    dealt_for_budget(Views.prefixes(bits=6, eps=1, width=2), slots=40, eps=2, delta=1e-6, participation=F(1, 3)),
    BUCKETS,
    F(1, 3),
    eps=2,
)
MEAN = declared(
    dealt_for_budget(OneBitMean(values=101, eps=1), slots=50, eps=1, delta=1e-6, participation=F(2, 9)),
    PERCENT,
    F(2, 9),
)
FADED = campaign(
    Faded(local=Views.prefixes(bits=2, eps=1, weights=(1, 2)), eps=1, delta=1e-6, power=0.8, scale=0.2),
    encoding=STARTS,
    rounds=None,
)
GOOD = [CHOICES, RECORD, PREFIXES, MEAN]


def text_of(asked: Campaign) -> str:
    return asked.to_bytes().decode()


def test_guarantees_are_the_same_numbers(program: Path) -> None:
    """Privacy, tracking and recognition, of each kind of campaign and of all with a plain one together."""
    replayed = campaign(Dealt(OneBitMean(values=4, eps=0.1), 5, "replay"), rounds=9, eps=1)
    often = replace(FADED, attendance=Attendance(F(1, 3)), guarantee=replace(FADED.guarantee, recognition=1.0))
    cases: list[tuple[list[tuple[Campaign, list[int | None]]], float]] = [
        *(([(asked, [asked.rounds])], 0.7) for asked in GOOD),
        ([(CHOICES, [20, 10]), (PREFIXES, [40]), (campaign(), [30])], 3.0),
        ([(replayed, [9])], 0.3),
        ([(FADED, [None])], 0.6),
        ([(replace(FADED, rounds=40), [3, 12])], 0.6),
        ([(replace(often, rounds=60), [60]), (MEAN, [50])], 1.5),
    ]
    tasks = [
        {"task": "revealed", "campaigns": [[text_of(asked), rounds] for asked, rounds in parts], "eps": eps}
        for parts, eps in cases
    ]
    for (parts, eps), found in zip(cases, ask(program, [{**task, "gamma": 0} for task in tasks]), strict=True):
        accounts = {}
        for asked, rounds in parts:
            lives, first = [], 1
            for count in rounds:
                lives.append(Life("", first, None if count is None else first + count - 1, 0))
                first += count or 0
            accounts[asked.id] = Account(asked.to_bytes(), tuple(lives))
        ledger, step = Ledger(accounts), eps / STEPS
        delta = composed((law for each in accounts.values() for law in each.charged.privacy(step)), step).delta(eps)
        expected = [delta, ledger.joint.tracking_delta(0.0), ledger.joint.recognition()]
        assert delta > 0
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-30), parts[0][0].mechanism
        assert found[2] == pytest.approx(expected[2], rel=1e-12)


def test_declared_guarantees_are_confirmed_or_refused(program: Path) -> None:
    """The same verdicts as the Python client's; and a promise that is a little too strong is refused."""
    wiped = client_check.declaring_recognition(replace(MEAN, guarantee=replace(MEAN.guarantee, wipes="any")))
    good = [*GOOD, wiped, FADED]
    for asked in good:
        assert not client_check.recompute(asked).problems
    assert ask(program, [{"task": "problem", "campaign": text_of(asked)} for asked in good]) == [None] * len(good)
    bad = [replace(asked, guarantee=replace(asked.guarantee, delta=9e-7)) for asked in GOOD]
    bad.append(replace(FADED, guarantee=replace(FADED.guarantee, eps=0.8)))
    found = ask(program, [{"task": "problem", "campaign": text_of(asked)} for asked in bad])
    assert found == ["the campaign's guarantee cannot be confirmed: delta"] * len(bad)


def test_all_campaigns_of_a_person_count_together(program: Path) -> None:
    """As in the Python client's ledger: a policy that each of two campaigns fits may be too small for both."""
    parts = {asked: [asked.rounds] for asked in (CHOICES, MEAN)}
    accounts = {asked.id: Account(asked.to_bytes(), (Life("", 1, asked.rounds, 0),)) for asked in parts}
    tasks: list[dict[str, Any]] = []
    expected: list[str | None] = []
    for eps in (1.0, 1.3, 1.9):
        policy = Policy(eps=eps, delta=1e-6, crowd_eps=eps, crowd_delta=1e-6, recognition=1.0)
        limits = {name: getattr(policy, name) for name in ("eps", "delta", "gamma", "tracking_delta")}
        limits |= {"recognition": 1.0, "crowd_eps": eps, "crowd_delta": 1e-6}
        campaigns = [[text_of(asked), rounds] for asked, rounds in parts.items()]
        tasks.append({"task": "policy", "campaigns": campaigns, "policy": limits})
        try:
            Ledger(accounts).check(policy)
            expected.append(None)
        except CampaignRefused:
            expected.append("all campaigns together would exceed the person's policy: delta")
    assert None in expected
    assert expected[0] is not None
    assert ask(program, tasks) == expected


def test_the_normal_distribution(program: Path) -> None:
    """To many digits, because the Gaussian that bounds the later rounds of fading reports is made of it."""
    numbers = [x / 16 for x in range(-112, 113)]
    chances = [2.0**-n for n in range(1, 60)] + [1 - 2.0**-n for n in range(2, 50)] + [0.3, 0.499, 0.501]
    ((tails, quantiles),) = ask(program, [{"task": "normal", "numbers": numbers, "chances": chances}])
    assert tails == pytest.approx([math.erfc(x) for x in numbers], rel=2e-13, abs=0)
    assert quantiles == pytest.approx([NormalDist().inv_cdf(chance) for chance in chances], rel=1e-13, abs=1e-15)


def test_documents_that_are_not_valid_or_not_known_are_refused(program: Path) -> None:
    def replaced(asked: Campaign, old: str, new: str) -> str:
        text = text_of(asked)
        assert old in text
        return text.replace(old, new)

    plain = campaign(encoding=FEATURES, mechanism=Deck(bits=3, slots=30, eps_report=0.05))
    coins = campaign(Dealt(RandomizedResponse(eps=0.01), 30), encoding=Bit())
    products = campaign(Dealt(NoisyInnerProduct(bits=2, eps=0.01), 30))
    cramped = campaign(Dealt(OneBitMean(values=3, eps=0.01), 30))
    wrong = {
        "does not know the encoding": [
            text_of(plain),
            replaced(CHOICES, '"type":"choices"', '"type":"chosen"'),
            replaced(CHOICES, '"names":["search"', '"more":1,"names":["search"'),
            replaced(RECORD, '"type":"buckets"', '"type":"discovered-strings"'),
            replaced(MEAN, '"high":100,"low":0', '"high":0,"low":100'),
            replaced(MEAN, '"high":100,"low":0', '"high":0,"low":0'),
        ],
        "does not know the mechanism": [
            text_of(coins),
            text_of(products),
            replaced(CHOICES, '"mechanism":"dealt"', '"mechanism":"stored"'),
            replaced(CHOICES, '"mechanism":"views"', '"mechanism":"one-bit-mean"'),
            replaced(MEAN, '"values":101}', '"values":101,"width":1}'),
            replaced(FADED, '"width":1', '"width":2'),
        ],
        "would be pure noise": [replaced(FADED, '"power":0.8', '"power":3.5')],
        "does not take all values": [text_of(cramped), replaced(CHOICES, '"é"]', '"é","print"]')],
        "not valid": [
            replaced(CHOICES, '"views":[[0],[1],[2]]', views)
            for views in (
                '"views":[[0],[1],[1]]',
                '"views":[[0],[1],[3]]',
                '"views":[[0],[1],[]]',
                '"views":[[0],[1],[2,1]]',
                '"views":[[0],[1]]',
                '"views":[[0],[1],2]',
                '"views":2',
            )
        ]
        + [
            replaced(CHOICES, '"weights":[1,1,1]', '"weights":[1,0,1]'),
            replaced(CHOICES, '"width":1', '"width":2'),
            replaced(CHOICES, '"slots":60', '"slots":1000001'),
            replaced(CHOICES, '"when_empty":"stop"', '"when_empty":"wait"'),
            replaced(CHOICES, '"search","export"', '"search","search"'),
            replaced(CHOICES, '"names":["search","export","é"]', '"names":3'),
            replaced(RECORD, '"name":"new"', '"name":"start"'),
            replaced(RECORD, '"tables":[["browser","start"],["new"]]', '"tables":0'),
            replaced(MEAN, '"values":101', '"values":1'),
            replaced(MEAN, f'"eps":{MEAN.to_json()["mechanism"]["base"]["eps"]}', '"eps":0'),
            replaced(FADED, '"power":0.8', '"power":0.4'),
            replaced(FADED, '"power":0.8', '"power":0.5'),
            replaced(FADED, '"scale":0.2', '"scale":0'),
        ],
    }
    tasks = [{"task": "problem", "campaign": text} for texts in wrong.values() for text in texts]
    expected = [words for words, texts in wrong.items() for _ in texts]
    for words, task, found in zip(expected, tasks, ask(program, tasks), strict=True):
        assert words in found, task


def test_a_crowd_hides_reports_about_views(program: Path) -> None:
    """What reports reveal in a crowd is the same number, and the campaign is confirmed."""
    crowd = CrowdGuarantee(eps=2, delta=1e-6, people=1000)
    for base, encoding in (
        (about(FEATURES, slots=1, eps=2).base, FEATURES),
        (Views.prefixes(bits=2, eps=2), STARTS),
        (OneBitMean(values=101, eps=2), PERCENT),
    ):
        deck = Dealt(base, 5)
        asked = declared(deck, encoding, F(1, 2), eps=12)
        asked = replace(asked, guarantee=replace(asked.guarantee, crowd=crowd), gateway=GATEWAY)
        law = deck.integer_crowd(people=1000, reports=5, participation=F(1, 2))
        assert law is not None
        tasks: list[dict[str, Any]] = [
            {"task": "problem", "campaign": text_of(asked)},
            {"task": "hidden", "campaigns": [[text_of(asked), [5]]], "eps": 0.4},
        ]
        problem, hidden = ask(program, tasks)
        assert problem is None
        assert hidden == pytest.approx(law.delta(0.4), rel=1e-6)
        assert hidden > 0
    faded = replace(asked, mechanism=FADED.mechanism, encoding=STARTS)
    (problem,) = ask(program, [{"task": "problem", "campaign": text_of(faded)}])
    assert problem == "this client does not know how well a crowd hides reports that fade"


def test_an_audit_confirms_what_a_campaign_claims(program: Path) -> None:
    """As `untrackable audit-client` does it. A claim that is too strong is refuted by the same reports."""
    asked = campaign(about(FEATURES, slots=3, eps=1.5), encoding=FEATURES, rounds=3, eps=4.5, delta=0)
    assert not client_check.recompute(asked).problems
    answers: list[list[str]] = [[], list(FEATURES.names)]
    tasks = [
        {"task": "streams", "campaign": text_of(asked), "value": value, "clients": 400, "rounds": 3}
        for value in answers
    ]
    made = dict(enumerate(map(iter, ask(program, tasks))))

    def factory(value: int) -> Callable[[], int]:
        reports = iter(map(int, next(made[value])))
        return lambda: next(reports)

    found = audit_client(factory, [0, 1], reports=3, clients=400, claimed_eps=4.5, level=1 - 1e-6)
    assert not found.refuted
    assert not found.persists
    assert not found.shares_randomness
    assert found.eps.lower > 0.5
    assert replace(found, claimed_eps=found.eps.lower / 2).refuted
