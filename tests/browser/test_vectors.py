"""The browser's client does the same as the Python one, to the byte, and refuses the same campaigns."""

import gzip
import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from tests.browser.built import SHIPPED, SOURCES, ask, build, script
from tests.browser.drawn_turns import moment_of, report_of, turn_of
from tests.browser.questions import BEGIN, FEATURES, MOODS, PERCENT, SET, STARTS, VISIT, about, question
from untrackable.auditing.black_box import audit_client
from untrackable.checks import MOST_ROUNDS
from untrackable.encodings.encoding import Bit, Categories, Choices, Encoding, Presence
from untrackable.encodings.numbers import Buckets, IntegerRange
from untrackable.encodings.record import Path as AnswerPath
from untrackable.encodings.record import Record
from untrackable.encodings.strings import HashedStrings
from untrackable.errors import CampaignError
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.local import OneBitMean, Present, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.sketches import HadamardSketch
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.strict_json import canonical, plain

VECTORS = Path(__file__).parent.parent / "vectors"
LARGEST = 8000
"""The promised size of the client in bytes, compressed. Parts that few pages load come on top."""
LARGEST_BALLOTS = 2500
LARGEST_CROWD = 4000
LARGEST_VIEWS = 4000
LARGEST_PREVIEW = 2500
LARGEST_CONSENT = 3000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return script(tmp_path_factory.mktemp("browser"))


def read(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def text_of(asked: Campaign) -> str:
    return asked.to_bytes().decode()


def test_shipped_files_are_those_of_the_sources_and_are_small(tmp_path: Path) -> None:
    built = build(tmp_path)
    assert built == {path.name: path.read_bytes() for path in SHIPPED.iterdir()}
    sizes = {name.split("-")[0]: len(gzip.compress(content, 9)) for name, content in built.items()}
    assert sizes["untrackable"] <= LARGEST
    assert sizes["ballots"] <= LARGEST_BALLOTS
    assert sizes["crowd"] <= LARGEST_CROWD
    assert sizes["views"] <= LARGEST_VIEWS
    assert sizes["preview"] <= LARGEST_PREVIEW
    assert sizes["consent"] <= LARGEST_CONSENT
    described = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))
    assert "dependencies" not in described


@pytest.mark.parametrize("name", ["divided", "fresh", "onebitmean", "subsetselection", "views"])
def test_reports(program: Path, name: str) -> None:
    """From entropy to the same reports, for every base. A deck draws all its cards at once, one for each round."""
    tasks, cases = [], []
    for group in read(f"{name}.json")["groups"]:
        made = json.loads(group["mechanism"])
        if made["mechanism"] == "memoized":
            continue
        for case in group["cases"]:
            rounds = made.get("slots", len(case["rounds"]))
            changes = [*case["changes"], *[None] * rounds][:rounds]
            tasks.append({"task": "mechanism", **case, "base": made["base"], "changes": changes})
            cases.append((group, case))
    for (group, case), found in zip(cases, ask(program, tasks), strict=True):
        assert found["reports"][: len(case["reports"])] == case["reports"], case["label"]
        assert found["used"] == len(case["entropy"]) // 2, case["label"]
        assert found["thresholds"] == group["thresholds"], case["label"]
    assert len(cases) >= 10


def test_turns_and_the_wire(program: Path) -> None:
    """The Python client's vectors, which also follow from their keys by hand."""
    cases = read("client/turns.json")
    assert 0 < [case["turn"] for case in cases].count(None) < 4
    for case, found in zip(cases, ask(program, [{"task": "turn", **case} for case in cases]), strict=True):
        asked, key, turn = Campaign.from_bytes(case["campaign"].encode()), bytes.fromhex(case["key"]), case["turn"]
        expected: list[Any] = [case["life"], case["key"], turn_of(asked, key), None, None, None]
        if turn is not None:
            changed, fresh = case["changed"]["value"], bytes.fromhex(case["changed"]["fresh"])
            expected[3] = pytest.approx(moment_of(asked, key, turn), abs=1e-5)
            expected[4] = report_of(asked, key, turn, case["value"], b"").hex()
            expected[5] = report_of(asked, key, turn, changed, fresh).hex()
            assert expected[4:] == [case["body"], case["changed"]["body"]]
        assert found == [*expected, len(case["entropy"]) // 2]
        assert expected[2] == turn
    reports = read("wire/reports.json")["reports"]
    assert ask(program, [{"task": "wire", **case} for case in reports]) == [case["bytes"] for case in reports]


def test_paths(program: Path) -> None:
    """What is sent of answers that were given at some times, and when."""
    cases = read("client/paths.json")
    assert len(cases) >= 5
    for case, found in zip(cases, ask(program, [{"task": "path", **case} for case in cases]), strict=True):
        assert found == [case["path"], pytest.approx(case["sent"], abs=1e-5)]


def fits(counts: Sequence[int], clients: int, chances: Sequence[float]) -> bool:
    """Whether each count is what a binomial law allows, with a false alarm in 10^7 for each of them."""
    return all(
        binom.ppf(5e-8, clients, chance) <= count <= binom.isf(5e-8, clients, chance)
        for count, chance in zip(counts, chances, strict=True)
    )


def test_turns_are_uniform_over_all_rounds(program: Path) -> None:
    """And a law that is off by a few percent is rejected."""
    clients, rounds, share = 30_000, 3, 0.75
    asked = question(RandomizedResponse(eps=1.0), Bit(), rounds=rounds, share="3/4")
    (turns,) = ask(program, [{"task": "turns", "campaign": text_of(asked), "clients": clients}])
    counted = Counter(turns)
    counts = [counted[round] for round in range(rounds + 1)]
    right = [1 - share, *[share / rounds] * rounds]
    assert fits(counts, clients, right)
    assert not fits(counts, clients, [0.25, 0.28, 0.25, 0.22])
    assert not fits(counts, clients, [0.28, *[0.72 / rounds] * rounds])


@pytest.mark.parametrize(
    ("base", "encoding", "answers"),
    [
        (RandomizedResponse(eps=1.5), Bit(), [False, True]),
        (about(FEATURES, 1.5), FEATURES, [[], list(FEATURES.names)]),
    ],
)
def test_an_audit_confirms_what_a_campaign_claims(
    program: Path, base: Any, encoding: Encoding, answers: list[Any]
) -> None:
    """As `untrackable audit-client` does it, for somebody whose storage is wiped once and who then answers again.

    A claim that is too strong is refuted by the same reports.
    """
    text, clients = text_of(question(base, encoding, wipes=1)), 1000
    tasks = [
        {"task": "streams", "campaign": text, "value": value, "clients": clients, "reports": 2} for value in answers
    ]
    made = dict(enumerate(map(iter, ask(program, tasks))))

    def factory(value: int) -> Callable[[], int]:
        reports = iter(map(int, next(made[value])))
        return lambda: next(reports)

    found = audit_client(factory, [0, 1], reports=2, clients=clients, claimed_eps=3.0, level=1 - 1e-6)
    assert not found.refuted
    assert not found.persists
    assert not found.shares_randomness
    assert found.eps.lower > 0.5
    assert replace(found, claimed_eps=found.eps.lower / 2).refuted


WIDE = Choices(names=[f"feature {i}" for i in range(256)])
LONG = Record(
    attributes={
        "word": HashedStrings(bits=11, salt=bytes(16), longest=4),
        "size": IntegerRange(low=-3, high=9, below="separate", above="clamp"),
    }
)
ENCODINGS: list[tuple[Encoding, Sequence[Any]]] = [
    (Presence(), [True, 1, False, 0, 2, None, "yes"]),
    (Bit(), [True, False, 0, 1, 2, None, "yes"]),
    (IntegerRange(low=-3, high=9), [-3, 0, 9, -4, 10, 2.5, "1", True]),
    (IntegerRange(low=-3, high=9, below="separate", above="clamp"), [-3, -4, -(2**53) + 1, 9, 10, 4]),
    (IntegerRange(low=0, high=2**53 - 1, below="clamp", above="separate"), [0, 2**53 - 1, -7, 2**52]),
    (Buckets(edges=[-1.5, 0, 0.1, 7e20]), [-1.5, -1.6, 0, 0.05, 0.1, 7e20, 8e20, "#NaN", "3"]),
    (
        Buckets(edges=[1, 2, 4, 8], below="separate", above="separate", unit="ms"),
        [0.999, 1, 2, 3.999, 8, 8.1, "#Infinity"],
    ),
    (Categories(names=["red", "é", "?", "日本"]), ["red", "e\u0301", "?", "日本", "Red", 7, "\ud800"]),
    (Categories(names=["red"], unknown="other"), ["red", "blue", "other"]),
    (
        HashedStrings(bits=13, salt=bytes(range(16)), longest=4),
        ["", "abcd", "abcde", "e\u0301😀xy", "😀😀😀😀", "\udc00"],
    ),
    (HashedStrings(bits=256, salt=bytes(64), longest=2, too_long="truncate"), ["abc", "😀😀😀", "ab"]),
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


def encoded(encoding: Encoding, raw: Any) -> int | None:
    value = float(raw[1:]) if isinstance(raw, str) and raw.startswith("#") else raw
    try:
        return encoding.encode(value)
    except (TypeError, ValueError):
        return None


def test_encodings(program: Path) -> None:
    """The golden vectors, and answers that are refused. Nothing private is in a message."""
    vectors = [case for case in read("client/answers.json") if '"type":"path"' not in case["encoding"]]
    tasks: list[dict[str, Any]] = [
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
            shown = str(raw).removeprefix("#")
            assert len(shown) < 2 or shown not in found["refused"]
            assert not re.search("Export|Safari|language|yes|abcde", found["refused"])
        else:
            assert found == str(expected), (encoding, raw)


def test_documents_are_written_alike(program: Path) -> None:
    source = random.Random(7)  # noqa: S311
    numbers = [math.ldexp(source.random(), source.randrange(-1000, 1000)) for _ in range(300)]
    numbers += [0, 1, -1, 1e-4, 9.9e-5, 1e-5, 1e15, 1e16, 1e17, 123456.75, 1e22, 5e-324, 1.7e308, 2**53 - 1, 0.1]
    content = {
        "b": [plain(number) for number in numbers],
        "a": ['"\\\n\t\u2028é😀\x7f', None, True, {"z": [], "y": {}}],
        "é": 1,
    }
    texts = [canonical(content).decode()]
    assert ask(program, [{"task": "canonical", "text": text} for text in texts]) == texts


GOOD = [
    question(),
    question(wipes=1),
    question(share="1/20", rounds=MOST_ROUNDS),
    question(RandomizedResponse(eps=0.25), Bit(), eps=0.26),
    question(NoisyInnerProduct(bits=6, eps=4.0, width=6)),
    question(about(FEATURES, 1.0), FEATURES),
    question(about(VISIT, 1.0), VISIT),
    question(NoisyInnerProduct(bits=VISIT.bits, eps=2.0), VISIT),
    question(Views.prefixes(bits=2, eps=1, width=2), STARTS),
    question(OneBitMean(values=101, eps=1), PERCENT),
    question(SubsetSelection(values=12, eps=1)),
    question(Divided(sizes=(1, 7), eps=6.0, weights=(2, 3), widths=(1, 3)), SET, eps=6),
    question(about(MOODS, 1.0), MOODS),
    question(NoisyInnerProduct(bits=16, eps=4.0, width=2), AnswerPath(of=Bit(), looks=16)),
    question(Present(), Presence()),
]


def test_declared_guarantees_are_confirmed_or_refused(program: Path) -> None:
    """One report for each allowed wipe and one more; a promise that is a little too strong is refused."""
    assert ask(program, [{"task": "problem", "campaign": text_of(asked)} for asked in GOOD]) == [None] * len(GOOD)
    bad = [replace(asked, guarantee=Guarantee(eps=0.999 * asked.guarantee.eps)) for asked in GOOD[:-1]]
    bad[3] = replace(bad[3], guarantee=Guarantee(eps=0.249))
    bad.append(replace(question(wipes=2), guarantee=Guarantee(eps=5.99)))
    found = ask(program, [{"task": "problem", "campaign": text_of(asked)} for asked in bad])
    assert all(words.startswith("the campaign's guarantee cannot be confirmed: ") for words in found)
    assert found[-1].endswith("a person's answers reveal up to eps 6, and it claims 5.99")
    for asked, verdict in [*((asked, True) for asked in GOOD), *((asked, False) for asked in bad)]:
        assert asked.turns is not None
        loss = asked.mechanism.loss_of_one_report
        assert loss is not None
        assert (asked.turns.eps_upper(loss) <= asked.guarantee.eps) == verdict


def test_documents_that_are_not_valid_or_not_known_are_refused(program: Path) -> None:
    plain_text, choices, record, mean, path = (text_of(GOOD[i]) for i in (0, 5, 6, 9, 12))
    of = '"of":' + canonical(MOODS.of.to_json()).decode()

    def replaced(text: str, old: str, new: str) -> str:
        assert old in text
        return text.replace(old, new)

    every_round = replace(question(), turns=None)
    ends = '"high":100,"low":0'
    wrong = {
        "only the full package may join it": [text_of(every_round)],
        "canonical document of version 1": [
            replaced(plain_text, '"version":1', '"version":2'),
            replaced(plain_text, '"eps":2}', '"eps":2.0}'),
            plain_text + " ",
        ],
        "does not know the campaign's form": [
            plain_text[:-1] + ',"z":1}',
            replaced(plain_text, '"share":"1"', '"kind":1,"share":"1"'),
            replaced(plain_text, '"guarantee":{"eps":2}', '"guarantee":{"delta":0,"eps":2}'),
            replaced(plain_text, '"mechanism":"fresh"', '"mechanism":"dealt"'),
        ],
        "does not know the encoding": [
            replaced(plain_text, '"type":"categories"', '"type":"discovered-strings"'),
            replaced(choices, '"type":"choices"', '"type":"chosen"'),
            replaced(choices, '"names":["search"', '"more":1,"names":["search"'),
            replaced(record, '"type":"buckets"', '"type":"discovered-strings"'),
            replaced(path, '"looks":3', '"looks":3,"more":1'),
            *(
                replaced(path, of, f'"of":{canonical(each.to_json()).decode()}')
                for each in (MOODS, VISIT, FEATURES, Presence())
            ),
            replaced(path, of, '"of":null'),
            *(
                replaced(mean, ends, f'"high":{high},"low":{low}')
                for high, low in (("0", "5"), ("-1", "0"), ("3", "3"), ('"3"', "0"), ("3", '"0"'))
            ),
            text_of(
                question(NoisyInnerProduct(bits=8, eps=1.0), HashedStrings(bits=8, salt=bytes(16), longest=9))
            ).replace('"bits":8,"longest"', '"bits":1000000000,"longest"'),
        ],
        "does not know the mechanism": [
            text_of(question(HadamardSketch(eps=1.0, hashes=4, width=64))),
            replaced(choices, '"mechanism":"views"', '"mechanism":"one-bit-mean"'),
            replaced(mean, '"values":101}', '"values":101,"width":1}'),
            replaced(text_of(GOOD[11]), '"widths"', '"width"'),
        ],
        "does not take all values": [
            text_of(question(NoisyInnerProduct(bits=3, eps=1.0))),
            text_of(question(RandomizedResponse(eps=1.0))),
            text_of(question(OneBitMean(values=3, eps=1.0))),
            text_of(question(Present(), Bit())),
            text_of(question(SubsetSelection(values=11, eps=1.0))),
            replaced(text_of(GOOD[11]), "[1,7]", "[1,6]"),
            replaced(choices, '"é"]', '"é","print"]'),
        ],
        "not valid": [
            "null",
            plain_text[:-1],
            replaced(plain_text, '"bits":4', '"bits":4.5'),
            replaced(plain_text, '"share":"1"', '"share":"9/8"'),
            replaced(plain_text, '"share":"1"', '"share":"0"'),
            replaced(plain_text, '"share":"1"', '"share":1'),
            replaced(plain_text, '"wipes":0', '"wipes":101'),
            replaced(plain_text, '"rounds":4', '"rounds":null'),
            replaced(plain_text, '"rounds":4', f'"rounds":{MOST_ROUNDS + 1}'),
            *(
                replaced(choices, '"views":[[0],[1],[2]]', f'"views":{views}')
                for views in ("[[0],[1],[1]]", "[[0],[1],[3]]", "[[0],[1],[]]", "[[0],[1],[2,1]]", "[[0],[1]]", "2")
            ),
            replaced(choices, '"weights":[1,1,1]', '"weights":[1,0,1]'),
            *(
                replaced(path, '"looks":3', f'"looks":{looks}')
                for looks in (0, 1, 2.5, 9, 1_000_000_000, '"3"', "[3]", "null", "true")
            ),
            replaced(path, '"round_seconds":3600', '"round_seconds":3601'),
            replaced(path, of, '"of":' + canonical(IntegerRange(low=0, high=63).to_json()).decode()),
            replaced(choices, '"width":1', '"width":2'),
            replaced(choices, '"search","export"', '"search","search"'),
            replaced(choices, '"names":["search","export","é"]', '"names":3'),
            replaced(record, '"name":"new"', '"name":"start"'),
            replaced(record, '"tables":[["browser","start"],["new"]]', '"tables":0'),
            replaced(mean, '"values":101', '"values":1'),
            replaced(mean, '"base":{"eps":1', '"base":{"eps":0'),
            replaced(text_of(GOOD[10]), '"size":3', '"size":12'),
            *(
                replaced(text_of(GOOD[11]), f'"{name}":{given}', f'"{name}":{wrong}')
                for name, given, *several in (
                    ("sizes", "[1,7]", "[8]", "[1,17]", "8", "[0,7]", "[1,7,8]"),
                    ("weights", "[2,3]", "[2]", "[0,3]", "2", "[2,4294967297]"),
                    ("widths", "[1,3]", "[2,3]", "[1,8]", "[1]", "[1,0]"),
                )
                for wrong in several
            ),
        ],
    }
    for texts in list(wrong.values())[1:]:
        for text in texts:
            try:
                read = Campaign.from_bytes(text.encode())
            except CampaignError:
                continue
            assert not read.mechanism.has_room_for(read.encoding.values) or "sketch" in text
    tasks = [{"task": "problem", "campaign": text} for texts in wrong.values() for text in texts]
    expected = [words for words, texts in wrong.items() for _ in texts]
    for words, task, found in zip(expected, tasks, ask(program, tasks), strict=True):
        assert found, task
        assert words in found, task


def test_all_campaigns_of_a_person_count_together(program: Path) -> None:
    """The sum of eps, one turn at a time, and a few turns a year."""
    day = 86_400

    def daily(first: int, days: int = 10, **more: Any) -> str:
        """A campaign from this day on."""
        return text_of(question(first_round=BEGIN + first * day, round_seconds=day, rounds=days, **more))

    overlap, a_year = "at the same time", "turns_a_year"
    given: list[tuple[list[str], dict[str, float], str]] = [
        ([daily(0)], {"eps": 2}, ""),
        ([daily(0)], {"eps": 1.99}, "with all others it needs eps 2, and the policy allows 1.99"),
        ([daily(0), daily(10)], {"eps": 4}, ""),
        ([daily(0), daily(10)], {"eps": 3.9}, "with all others it needs eps 4, and the policy allows 3.9"),
        ([daily(i * 10, eps=4.1) for i in range(3)], {"eps": 12.3}, ""),
        ([daily(0), daily(9)], {"eps": 4}, overlap),
        ([daily(9), daily(0)], {"eps": 4}, overlap),
        ([daily(0, 30), daily(5, 1)], {"eps": 4}, overlap),
        ([daily(5, 1), daily(0, 30)], {"eps": 4}, overlap),
        ([daily(5, 1), daily(0, 5), daily(6)], {"eps": 9}, ""),
        ([daily(0)], {"eps": 2, "turns_a_year": 0}, a_year),
        ([daily(i * 80) for i in range(4)], {"eps": 99}, ""),
        ([daily(i * 80) for i in range(5)], {"eps": 99}, a_year),
        ([daily(i * 91) for i in range(5)], {"eps": 99}, a_year),
        ([daily(i * 92) for i in range(5)], {"eps": 99}, ""),
        ([daily(0), daily(365)], {"eps": 99, "turns_a_year": 1}, ""),
        ([daily(365), daily(1)], {"eps": 99, "turns_a_year": 1}, a_year),
        ([daily(i * 80) for i in (4, 0, 3, 1, 2)], {"eps": 99}, a_year),
    ]
    tasks = [{"task": "policy", "campaigns": campaigns, "policy": policy} for campaigns, policy, _ in given]
    for (_, policy, words), found in zip(given, ask(program, tasks), strict=True):
        if words:
            assert words in found["refused"], policy
        else:
            assert found is None, policy
