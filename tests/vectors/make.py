"""Golden vectors of the client format, one JSON file per mechanism; `make vectors` writes them.

A client in another language reads a case's entropy in order and must arrive at the same states and reports. All
integers that may not fit a double (values, reports, thresholds over 2^64) are decimal strings; entropy and
states are hexadecimal. `changes` is the value from that round on, or null where it stays. The entropy is SHA-256
of a label in counter mode, with hand-made words spliced in where a rare branch must be taken; all of it is used.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.recorded_entropy import Recorded
from untrackable import framing
from untrackable.mechanisms.changing_bit import OneChange, Votes
from untrackable.mechanisms.dbitflip import DBitFlip
from untrackable.mechanisms.deck import Dealt, Deck
from untrackable.mechanisms.divided import Divided
from untrackable.mechanisms.fading import Faded, Fading
from untrackable.mechanisms.fixed_vector import Assigned, FixedVector
from untrackable.mechanisms.inner_product import NoisyInnerProduct
from untrackable.mechanisms.interface import Mechanism
from untrackable.mechanisms.kept_bits import Bitwise, Unary
from untrackable.mechanisms.kept_symbol import Lgrr
from untrackable.mechanisms.local import Fresh, OneBitMean, RandomizedResponse, SubsetSelection
from untrackable.mechanisms.loloha import Loloha
from untrackable.mechanisms.rappor import Rappor
from untrackable.mechanisms.rarely import Rarely
from untrackable.mechanisms.sketches import CountMeanSketch, HadamardSketch
from untrackable.mechanisms.stored import InnerProduct, Memoized, Stored
from untrackable.mechanisms.string_levels import Levelled
from untrackable.mechanisms.views import Views

HERE = Path(__file__).parent
HIGHEST_WORD = bytes([255]) * 8

Json = dict[str, Any]


def stream(label: str, size: int) -> bytes:
    """SHA-256 of label ‖ counter, for counter 0, 1, …"""
    blocks = (hashlib.sha256(f"{label}/{i}".encode()).digest() for i in range(size // 32 + 1))
    return b"".join(blocks)[:size]


def case(
    mechanism: Mechanism,
    value: int | str,
    rounds: Iterable[int],
    *,
    label: str,
    changes: dict[int, int] | None = None,
    first: bytes = b"",
    then: bytes = b"",
) -> Json:
    """One client's life; `first` are its first bytes of entropy, `then` the first after its state is made."""
    material = first + stream(label, 1 << 14)
    if then:
        made = Recorded(material)
        mechanism.new_state(value, made)
        material = material[: made.used] + then + material[made.used :]
    source = Recorded(material)
    state = mechanism.new_state(value, source)
    before = sealed(mechanism, state)
    numbers, changes, reports = list(rounds), changes or {}, []
    for number in numbers:
        if number in changes:
            state = mechanism.change_value(state, changes[number], source)
        report, state = mechanism.make_report(state, number, source)
        reports.append(str(report))
    return {
        "label": label,
        "entropy": material[: source.used].hex(),
        "value": str(value),
        "state": before,
        "rounds": numbers,
        "changes": [str(changes[number]) if number in changes else None for number in numbers],
        "reports": reports,
        "state_after": sealed(mechanism, state),
    }


def sealed(mechanism: Mechanism, state: object) -> str:
    """A state as the client keeps it."""
    return framing.frame_state(mechanism, mechanism.pack_state(state)).hex()


def group(mechanism: Mechanism, parameters: Json, thresholds: Json, cases: Iterable[Json]) -> Json:
    """All cases of one choice of parameters; `mechanism` is the text that the state's fingerprint hashes."""
    numbers = {name: str(threshold) for name, threshold in thresholds.items()}
    return {
        "mechanism": framing.identity(mechanism).decode(),
        "parameters": parameters,
        "thresholds": numbers,
        "cases": list(cases),
    }


def words(*numbers: int) -> bytes:
    """64-bit words, as entropy."""
    return b"".join(number.to_bytes(8, "big") for number in numbers)


def bitwise() -> Iterator[Json]:
    """Both values, and words on either side of both thresholds."""
    for eps_state, eps_report in ((1.0, 0.5), (0.1, 3.0), (60.0, 1e-3)):
        m = Bitwise(eps_state=eps_state, eps_report=eps_report)
        kept, told = m.state_flip.threshold, m.report_flip.threshold
        edges = {
            "state flipped at threshold - 1": words(kept - 1, told, told - 1),
            "state kept at threshold": words(kept, told - 1, told),
        }
        yield group(
            m,
            {"eps_state": eps_state, "eps_report": eps_report},
            {"state_flip": kept, "report_flip": told},
            [
                *(case(m, v, range(1, 9), label=f"Bitwise value {v}") for v in (0, 1)),
                *(case(m, 1, [1, 2], label=label, first=first) for label, first in edges.items()),
            ],
        )


def inner_product() -> Iterator[Json]:
    """Odd widths, a redrawn zero vector, a rejected slot."""
    # bits, slots, eps_report, value, bytes whose `bits` low bits are zero
    for bits, slots, eps, value, zero in (
        (1, 2, 1.0, 1, "fe"),
        (8, 3, 0.5, 0xA5, "00"),
        (13, 5, 0.25, 0x1BEE, "e000"),
        (16, 3, 2.0, 48879, "0000"),
        (64, 7, 0.0124, (1 << 64) - 3, "00" * 8),
    ):
        m = InnerProduct(bits=bits, slots=slots, eps_report=eps, width=1)
        reject = HIGHEST_WORD if slots == 3 else b""
        cases = [
            case(m, value, [1, 2, 3, 7, 7], label=f"InnerProduct {bits} bits"),
            case(m, 0, [1, 2], label=f"InnerProduct {bits} bits value 0"),
            case(m, value, [1], label=f"InnerProduct {bits} bits zero vector redrawn", first=bytes.fromhex(zero)),
        ]
        if reject:
            last_usable = words((1 << 64) - 2)
            label = f"InnerProduct {bits} bits slot redrawn"
            cases.append(case(m, value, [1, 2, 3], label=label, then=reject + last_usable + reject + reject))
        parameters = {"bits": bits, "slots": slots, "eps_report": eps}
        yield group(m, parameters, {"flip": m.base.flip.threshold}, cases)
    yield from wide_inner_product()


def wide_inner_product() -> Iterator[Json]:
    """Answers of several bits: lies and truths, as many vectors as bits, a vector redrawn for being a sum."""
    # bits, width, slots, eps_report, value, entropy of vectors of which the last is redrawn
    for bits, width, slots, eps, value, redrawn in (
        (2, 2, 3, 1.0, 3, "0101"),
        (3, 3, 4, 2.0, 5, "050306"),
        (13, 2, 5, 1.0, 0x1BEE, "11111111"),
        (16, 3, 3, 2.0, 48879, "beef1234acdb"),
        (70, 3, 4, 2.5, (1 << 70) - 3, "00" * 8 + "05" + "00" * 8 + "04" + "00" * 8 + "01"),
    ):
        m = InnerProduct(bits=bits, slots=slots, eps_report=eps, width=width)
        lie = m.base.flip.threshold
        drawn, highest = bytes.fromhex(redrawn), (1 << width) - 2
        cases = [
            case(m, value, [1, 2, 3, 7, 7], label=f"InnerProduct {bits} bits width {width}"),
            case(m, 0, [1, 2], label=f"InnerProduct {bits} bits width {width} value 0"),
            case(m, value, [1], label=f"InnerProduct {bits} bits width {width} sum redrawn", first=drawn),
        ]
        if bits == 16:  # the vectors beef, 1234 and 0001: the first answer that is a lie, and the last
            given = bytes.fromhex("beef12340001")
            for label, tail in (
                ("truth at threshold", words(lie)),
                ("next answer", words(lie - 1, 0)),
                ("lie redrawn, last answer", words(0, (1 << 64) - 1, highest)),
            ):
                cases.append(case(m, value, [1], label=f"InnerProduct 16 bits width 3 {label}", first=given + tail))
        parameters = {"bits": bits, "slots": slots, "eps_report": eps, "width": width}
        yield group(m, parameters, {"flip": lie}, cases)


def deck() -> Iterator[Json]:
    """Odd widths and slots, a changed value, skipped rounds, replay."""
    for bits, slots, eps, value, other in (
        (1, 3, 1.0, 1, 0),
        (8, 8, 0.5, 0xA5, 0x5A),
        (13, 9, 0.25, 0x1BEE, 7),
        (16, 4, 2.0, 48879, 1),
        (64, 2, 0.0124, (1 << 64) - 3, 0),
    ):
        last = range(1, slots + 1)
        m = Deck(bits=bits, slots=slots, eps_report=eps, width=1)
        middle = slots // 2 + 1
        zero = bytes((bits + 7) // 8)
        parameters: Json = {"bits": bits, "slots": slots, "eps_report": eps, "when_empty": "stop"}
        thresholds = {"flip": m.base.flip.threshold}
        yield group(
            m,
            parameters,
            thresholds,
            [
                case(m, value, last, label=f"Deck {bits} bits"),
                case(m, value, [slots, 1, 1], label=f"Deck {bits} bits skipped and repeated"),
                case(m, value, last, label=f"Deck {bits} bits changed", changes={middle: other}),
                case(m, value, [1], label=f"Deck {bits} bits zero vector redrawn", first=zero + zero),
            ],
        )
        m = Deck(bits=bits, slots=slots, eps_report=eps, when_empty="replay", width=1)
        twice = range(1, 2 * slots + 2)
        yield group(
            m,
            {**parameters, "when_empty": "replay"},
            thresholds,
            [
                case(m, value, twice, label=f"Deck {bits} bits replayed"),
                case(m, value, twice, label=f"Deck {bits} bits changed, then replayed", changes={middle: other}),
            ],
        )
    for bits, width, slots, eps, value, other in ((13, 2, 9, 1.0, 0x1BEE, 7), (64, 3, 2, 2.0, (1 << 64) - 3, 0)):
        m = Deck(bits=bits, slots=slots, eps_report=eps, width=width)
        label = f"Deck {bits} bits width {width}"
        yield group(
            m,
            {"bits": bits, "slots": slots, "eps_report": eps, "when_empty": "stop", "width": width},
            {"flip": m.base.flip.threshold},
            [
                case(m, value, range(1, slots + 1), label=label),
                case(m, value, range(1, slots + 1), label=f"{label} changed", changes={2: other}),
            ],
        )


def shown(more: Json) -> str:
    """A width, in a label."""
    return "".join(f" {name} {number}" for name, number in more.items())


def fading() -> Iterator[Json]:
    """Rounds at which round^-power is a power of two, so that no platform's pow can round it differently."""
    for bits, eps, delta, power, scale, rounds, value, other, more in (
        (2, 4.0, 1e-2, 0.75, 1.2, [1, 16, 16, 256], 3, 0, {}),
        (13, 2.0, 1e-5, 1.0, 0.4, [1, 1, 2, 8, 8, 64], 0x1BEE, 3, {}),
        (2, 4.0, 1e-2, 0.75, 1.2, [1, 16, 16, 256], 3, 0, {"width": 2}),
        (13, 2.0, 1e-5, 1.0, 0.4, [1, 1, 2, 8, 8, 64], 0x1BEE, 3, {"width": 3}),
    ):
        m = Fading(bits=bits, eps=eps, delta=delta, power=power, scale=scale, **more)
        yield group(
            m,
            {"bits": bits, "eps": eps, "delta": delta, "power": power, "scale": scale, **more},
            {f"flip at round {r}": m.base(r).flip.threshold for r in sorted(set(rounds))},
            [
                case(m, value, rounds, label=f"Fading {bits} bits{shown(more)}"),
                case(
                    m, value, rounds, label=f"Fading {bits} bits{shown(more)} changed", changes={rounds[-1]: other}
                ),
                case(m, value, [], label=f"Fading {bits} bits{shown(more)}, nothing answered yet"),
            ],
        )


def rappor() -> Iterator[Json]:
    """Widths that do and do not fill bytes; thresholds rounded either way; certain and impossible events."""
    for bloom_bits, hashes, f, p, q, cohorts in (
        (1, 1, 0.5, 0.25, 0.75, 1),
        (8, 2, 0.3, 0.6, 0.1, 1),
        (13, 3, 0.0, 0.0, 1.0, 1),
        (64, 2, 1.0, 0.35, 0.65, 1),
        (128, 2, 0.323, 0.584, 0.867, 1),
        (8, 2, 2e-5, 1e-5, 3e-5, 1),  # so small that the float is between two thresholds: either way of rounding
        (8, 2, 1e-5, 3e-5, 1e-5, 1),
        (16, 2, 0.5, 0.5, 0.75, 3),
        (11, 2, 0.5, 0.5, 0.75, 300),
    ):
        m = Rappor(bloom_bits=bloom_bits, hashes=hashes, f=f, p=p, q=q, cohorts=cohorts)
        yield group(
            m,
            {"bloom_bits": bloom_bits, "hashes": hashes, "f": f, "p": p, "q": q, "cohorts": cohorts},
            {
                "state_flip": m.state_flip.threshold,
                "zero_chance": m.zero_chance.threshold,
                "one_chance": m.one_chance.threshold,
            },
            [
                case(m, value, [1, 2, 3], label=f"Rappor {bloom_bits} bits {value}")
                for value in ("", "48879", "grüße, 世界")
            ],
        )


def unary() -> Iterator[Json]:
    """Widths that do and do not fill bytes; certain and impossible events among the ordinary ones."""
    for values, keep, add, q, p in ((2, 0.75, 0.25, 0.8, 0.3), (9, 0.5, 0.1, 0.5, 0.07), (16, 1.0, 0.0, 0.9, 1e-5)):
        m = Unary(values=values, keep=keep, add=add, q=q, p=p)
        yield group(
            m,
            {"values": values, "keep": keep, "add": add, "q": q, "p": p},
            {
                "lost_chance": m.lost_chance.threshold,
                "added_chance": m.added_chance.threshold,
                "one_chance": m.one_chance.threshold,
                "zero_chance": m.zero_chance.threshold,
            },
            [case(m, value, [1, 2, 3], label=f"Unary {values} values {value}") for value in (0, values - 1)],
        )


Bases = Iterator[tuple[Any, Json, list[int]]]


def bases() -> Bases:
    """The local mechanisms, and values to try."""
    for eps in (1.0, 0.0124):
        yield RandomizedResponse(eps=eps), {"name": "RandomizedResponse", "eps": eps}, [0, 1]
    for bits, eps, value in ((1, 0.5, 1), (13, 1.0, 0x1BEE), (64, 3.0, (1 << 64) - 3)):
        yield (
            NoisyInnerProduct(bits=bits, eps=eps, width=1),
            {"name": "NoisyInnerProduct", "bits": bits, "eps": eps},
            [value, 0],
        )
    for bits, eps, width, value in ((2, 1.5, 2, 3), (13, 2.0, 3, 0x1BEE)):
        described = {"name": "NoisyInnerProduct", "bits": bits, "eps": eps, "width": width}
        yield NoisyInnerProduct(bits=bits, eps=eps, width=width), described, [value, 0]


def fresh() -> Iterator[Json]:
    """Over both bases, with a changed value."""
    for base, described, values in bases():
        m = Fresh(base)
        cases = [case(m, v, range(1, 5), label=f"{m!r} value {v}") for v in values]
        cases.append(case(m, values[0], range(1, 5), label=f"{m!r} changed", changes={3: values[1]}))
        yield group(m, {"base": described}, {"flip": base.flip.threshold}, cases)


def memoized() -> Iterator[Json]:
    """Over both bases; the only slot is drawn from a whole word all the same."""
    for base, described, values in bases():
        m = Memoized(base)
        cases = [case(m, v, range(1, 4), label=f"{m!r} value {v}") for v in values]
        yield group(m, {"base": described}, {"flip": base.flip.threshold}, cases)


def stored() -> Iterator[Json]:
    """Over randomised response."""
    for slots in (2, 3, 10):
        base = RandomizedResponse(eps=1.0)
        m = Stored(base, slots)
        described = {"name": "RandomizedResponse", "eps": base.eps}
        cases = [case(m, v, range(1, 6), label=f"{m!r} value {v}") for v in (0, 1)]
        if slots == 3:
            cases.append(case(m, 1, [1, 2], label=f"{m!r} slot redrawn", then=HIGHEST_WORD))
        yield group(m, {"base": described, "slots": slots}, {"flip": base.flip.threshold}, cases)


def dealt() -> Iterator[Json]:
    """Over randomised response."""
    for slots in (1, 8, 9):
        base = RandomizedResponse(eps=1.0)
        described = {"name": "RandomizedResponse", "eps": base.eps}
        thresholds = {"flip": base.flip.threshold}
        stop = Dealt(base, slots)
        yield group(
            stop,
            {"base": described, "slots": slots, "when_empty": "stop"},
            thresholds,
            [case(stop, v, range(1, slots + 1), label=f"{stop!r} value {v}") for v in (0, 1)],
        )
        replay = Dealt(base, slots, "replay")
        yield group(
            replay,
            {"base": described, "slots": slots, "when_empty": "replay"},
            thresholds,
            [case(replay, 1, range(1, 2 * slots + 2), label=f"{replay!r} changed", changes={1: 0})],
        )


def levelled() -> Iterator[Json]:
    """Decks of reports about levels; words and bytes; a level's word that is rejected."""
    for bits, width, levels, slots, eps in (
        (4, 1, 3, 6, 1.0),
        (20, 2, 3, 4, 1.5),
        (20, 6, 5, 4, 4.0),
        (9, 3, 1, 2, 2.0),
    ):
        base = NoisyInnerProduct(bits=bits, eps=eps, width=width)
        m = Dealt(Levelled(base, levels), slots)
        described = {"name": "NoisyInnerProduct", "bits": bits, "eps": eps, "width": width}
        value = int.from_bytes(stream(f"{m!r} value", 16)) % m.base.values
        cases = [case(m, value, range(1, slots + 1), label=f"{m!r}")]
        if levels == 3:
            cases.append(case(m, 0, [1], label=f"{m!r} level rejected", first=HIGHEST_WORD))
        parameters = {"base": described, "levels": levels, "slots": slots, "when_empty": "stop"}
        yield group(m, parameters, {"flip": base.flip.threshold}, cases)


def views() -> Iterator[Json]:
    """Decks of reports about views; words and bytes, unequal weights, and a view's word that is rejected."""
    for base, slots in (
        (Views.prefixes(bits=6, eps=1.0), 6),
        (Views.prefixes(bits=5, eps=1.5, width=2, weights=(1, 2, 3, 4, 5)), 8),
        (Views.single_bits(bits=200, eps=0.0124), 4),
        (Views(bits=9, views=((0, 1, 4), (2, 8), (7,)), eps=2.0), 4),
        (Views(bits=80, views=(tuple(range(60, 76)), (2, 79)), eps=5.0, width=6, weights=(3, 2)), 6),
    ):
        m = Dealt(base, slots)
        value = int.from_bytes(stream(f"{m!r} value", 32)) % base.values
        cases = [case(m, v, range(1, slots + 1), label=f"{m!r} value {v}") for v in (value, 0)]
        if sum(base.weights) % 3 == 0:
            cases.append(case(m, 0, [1], label=f"{m!r} view rejected", first=HIGHEST_WORD))
        described = {key: entry for key, entry in m.to_json()["base"].items() if key != "mechanism"}
        parameters = {"base": described, "slots": slots, "when_empty": "stop"}
        thresholds = {f"flip {one.width}": one.flip.threshold for one in base.bases}
        yield group(m, parameters, thresholds, cases)


def divided() -> Iterator[Json]:
    """Reports about all parts: one bit and many, narrow and wide answers, words and bytes, unequal eps."""
    for base in (
        Divided(sizes=(1, 3), eps=1.0),
        Divided(sizes=(1, 6), eps=6.0, weights=(7, 9), widths=(1, 3)),
        Divided(sizes=(9, 1, 16), eps=8.0, weights=(2, 1, 3), widths=(4, 1, 2)),
    ):
        m = Fresh(base)
        value = int.from_bytes(stream(f"{m!r} value", 32)) % base.values
        cases = [case(m, v, range(1, 4), label=f"{m!r} value {v}") for v in (value, 0, 1, base.values - 1)]
        parameters = {key: entry for key, entry in m.to_json()["base"].items() if key != "mechanism"}
        yield group(m, parameters, {f"flip {i}": one.flip.threshold for i, one in enumerate(base.bases)}, cases)


def one_bit_mean() -> Iterator[Json]:
    """Decks of one noisy bit, with a rounding's word that is rejected."""
    for values, eps in ((2, 1.0), (101, 0.0124), (1 << 32, 3.0)):
        base, slots = OneBitMean(values=values, eps=eps), 6
        m = Dealt(base, slots)
        cases = [case(m, v, range(1, slots + 1), label=f"{m!r} value {v}") for v in (0, values // 3, values - 1)]
        if values == 101:
            rounds = range(1, slots + 1)
            cases.append(case(m, 7, rounds, label=f"{m!r} rounding rejected", first=HIGHEST_WORD))
        described = {"values": values, "eps": eps}
        parameters = {"base": described, "slots": slots, "when_empty": "stop"}
        yield group(m, parameters, {"flip": base.flip.threshold}, cases)


def rarely() -> Iterator[Json]:
    """Answers and silence; words at both thresholds."""
    for eps, chance in ((1.0, 0.25), (2.0, 1.0), (0.3, 1e-3)):
        m = Rarely(eps=eps, chance=chance)
        answers, flip = m.base.answers.threshold, m.base.flip.threshold
        edges = {
            "a lie at threshold - 1": words(answers - 1, flip - 1),
            "the truth at threshold": words(answers - 1, flip),
        }
        if chance < 1:
            edges["silent at threshold"] = words(answers)
        cases = [case(m, value, [1, 7], label=f"{m!r} value {value}") for value in (0, 1)]
        cases += [case(m, 1, [2, 3], label=f"{m!r}, {label}", first=first) for label, first in edges.items()]
        yield group(m, {"eps": eps, "chance": chance}, {"answers": answers, "flip": flip}, cases)


def faded() -> Iterator[Json]:
    """Fading reports of views and of one bit. A state has the last round, the value and the last report."""
    for base in (Views.prefixes(bits=6, eps=1.0), OneBitMean(values=101, eps=1.0)):
        m = Faded(local=base, eps=1.0, delta=1e-6)
        rounds = [1, 2, 2, 7]
        cases = [case(m, v, rounds, label=f"{m!r} value {v}") for v in (0, base.values // 3)]
        described = m.to_json()
        parameters = {key: described[key] for key in ("local", "power", "scale")}
        yield group(m, parameters, {}, cases)


# --- dBitFlipPM and the sketches ---------------------------------------------------------------------------------


def dbitflip() -> Iterator[Json]:
    """A set drawn with and without a repeated number; widths that do and do not fill bytes; words at thresholds."""
    for buckets, sampled, eps, output_flip in (
        (2, 1, 1.0, 0.0),
        (5, 3, 0.5, 0.2),
        (9, 9, 2.0, 1e-5),
        (32, 4, 1.0, 0.2),
    ):
        m = DBitFlip(buckets=buckets, sampled=sampled, eps=eps, output_flip=output_flip)
        kept, told = m.state_flip.threshold, m.report_flip.threshold
        label = f"DBitFlip {buckets} buckets"
        cases = [case(m, value, [1, 2, 3], label=f"{label} value {value}") for value in (0, buckets - 1)]
        first = words(*[0] * sampled, *[kept - 1, kept] * sampled)[: 16 * sampled]
        cases.append(case(m, 0, [1], label=f"{label} the same number drawn again, flips at threshold", first=first))
        yield group(
            m,
            {"buckets": buckets, "sampled": sampled, "eps": eps, "output_flip": output_flip},
            {"state_flip": kept, "report_flip": told},
            cases,
        )


def subset_selection() -> Iterator[Json]:
    """Sets of one value, of the best size and of all values but one, in three wrappers; a redrawn element."""
    for values, size, eps in ((2, 1, 1.0), (5, 2, 0.5), (13, 0, 1.0), (64, 63, 2.0), (100, 1, 3.0)):
        base = SubsetSelection(values=values, eps=eps, size=size)
        described = {"name": "SubsetSelection", "values": values, "eps": eps, "size": base.size}
        miss = base.miss.threshold
        edges = {"misses at threshold - 1": words(miss - 1), "contains at threshold": words(miss)}
        for m in (Fresh(base), Memoized(base), Dealt(base, 2)):
            name, rounds = type(m).__name__, range(1, 3)
            cases = [case(m, v, rounds, label=f"{name} {base!r} value {v}") for v in (0, values - 1)]
            more = {**edges, "element redrawn": words(miss - 1) + HIGHEST_WORD} if values == 13 else edges
            cases += [case(m, 1, rounds, label=f"{name} {base!r} {label}", first=w) for label, w in more.items()]
            yield group(m, {"wrapper": name, "base": described}, {"miss": miss}, cases)


def sketches() -> Iterator[Json]:
    """Both sketches, sent fresh and memoised; widths that do and do not fill bytes; a redrawn row."""
    for kind, hashes, width, eps, values in (
        (CountMeanSketch, 1, 8, 2.0, 1 << 64),
        (CountMeanSketch, 3, 13, 1.0, 2600),
        (CountMeanSketch, 65536, 64, 4.0, 1 << 32),
        (HadamardSketch, 1, 2, 1.0, 2),
        (HadamardSketch, 3, 16, 4.0, 1 << 64),
        (HadamardSketch, 1024, 32768, 4.0, 1 << 32),
    ):
        base = kind(hashes=hashes, width=width, eps=eps, values=values)
        described = {"name": kind.__name__, "hashes": hashes, "width": width, "eps": eps, "values": str(values)}
        redrawn = HIGHEST_WORD if hashes == 3 else b""
        for m in (Fresh(base), Memoized(base)):
            name = type(m).__name__
            rounds = range(1, 4)
            cases = [case(m, v, rounds, label=f"{name} {base!r} value {v}") for v in (0, values - 1)]
            if redrawn:
                cases.append(case(m, 1, [1], label=f"{name} {base!r} row redrawn", first=redrawn))
            yield group(m, {"wrapper": name, "base": described}, {"flip": base.flip.threshold}, cases)


# -----------------------------------------------------------------------------------------------------------------


# --- the protocols that [NV] discusses --------------------------------------------------------------------------


def fixed_vector() -> Iterator[Json]:
    """Odd widths, a redrawn zero vector, a changed value where the noise is fresh."""
    for bits, eps, value in ((1, 1.0, 1), (13, 0.25, 0x1BEE), (64, 3.0, (1 << 64) - 3)):
        zero = bytes((bits + 7) // 8)
        for noise in ("fixed", "fresh"):
            m = FixedVector(bits=bits, eps=eps, noise=noise)
            label = f"FixedVector {bits} bits {noise} noise"
            cases = [
                case(m, value, [1, 2, 3], label=label),
                case(m, 0, [1, 5], label=f"{label} value 0"),
                case(m, value, [1], label=f"{label} zero redrawn", first=zero),
            ]
            if noise == "fresh":
                cases.append(case(m, value, [1, 2, 3], label=f"{label} changed", changes={2: 0}))
            yield group(m, {"bits": bits, "eps": eps, "noise": noise}, {"flip": m.base.flip.threshold}, cases)


def assigned() -> Iterator[Json]:
    """More people than vectors and fewer; a redrawn number; a changed value where the noise is fresh."""
    for bits, eps, people, value in (
        (1, 1.0, 3, 1),
        (5, 0.5, 100, 21),
        (13, 0.25, 1 << 20, 0x1BEE),
        (63, 3.0, 3, 5),
    ):
        for noise in ("fixed", "fresh"):
            m = Assigned(bits=bits, eps=eps, people=people, noise=noise)
            label = f"Assigned {bits} bits {people} people {noise} noise"
            cases = [case(m, v, [1, 2, 3], label=f"{label} value {v}") for v in (value, 0)]
            if people == 3:
                cases.append(case(m, value, [1], label=f"{label} number redrawn", first=HIGHEST_WORD))
            if noise == "fresh":
                cases.append(case(m, value, [1, 2, 3], label=f"{label} changed", changes={2: 0}))
            parameters = {"bits": bits, "eps": eps, "people": people, "noise": noise}
            yield group(m, parameters, {"flip": m.base.flip.threshold}, cases)


def one_change() -> Iterator[Json]:
    """Every level and chosen change, told and not; skipped and repeated rounds; a redrawn level."""
    for rounds, changes, eps in ((1, 1, 1.0), (4, 3, 0.5), (8, 2, 3.0)):
        m = OneChange(rounds=rounds, changes=changes, eps=eps)
        every = range(1, rounds + 1)
        turns = {t: t % 4 // 2 for t in every if t % 2 == 0}  # to 1 at rounds 2 and 6, back at 4 and 8
        label = f"OneChange {rounds} rounds"
        cases = [case(m, v, every, label=f"{label} value {v}") for v in (0, 1)]
        for level in range(m.levels):
            for chosen in range(changes):
                name = f"{label} level {level} change {chosen}"
                cases.append(case(m, 0, every, label=name, changes=turns, first=words(level, chosen)))
        if rounds == 4:
            told = m.flip.threshold
            first = words(0, 0, told - 1, told, 1 << 63, (1 << 63) - 1)
            cases.append(case(m, 1, every, label=f"{label} words at thresholds", first=first))
            cases.append(case(m, 1, every, label=f"{label} level redrawn", first=HIGHEST_WORD))
            cases.append(case(m, 0, [2, 2, 4], label=f"{label} skipped and repeated", changes={4: 1}))
        yield group(m, {"rounds": rounds, "changes": changes, "eps": eps}, {"flip": m.flip.threshold}, cases)


def votes() -> Iterator[Json]:
    """Updates that are told and that are not, budgets that run out, missed and repeated rounds."""
    for most, estimates, updates in ((2, 1, [1, 4]), (3, 2, [2, 3, 6]), (9, 9, [1])):
        m = Votes(eps_vote=1.0, eps_estimate=0.5, votes=most, estimates=estimates, updates=tuple(updates))
        label = f"Votes {updates}"
        yield group(
            m,
            {"eps_vote": 1.0, "eps_estimate": 0.5, "votes": most, "estimates": estimates, "updates": updates},
            {"vote_flip": m.vote_flip.threshold, "estimate_flip": m.estimate_flip.threshold},
            [
                *(case(m, v, range(1, 8), label=f"{label} value {v}") for v in (0, 1)),
                case(m, 0, range(1, 8), label=f"{label} changed", changes={2: 1, 5: 0, 6: 1}),
                case(m, 1, [1, 3, 3, 5, 7], label=f"{label} missed and repeated", changes={5: 0, 7: 1}),
            ],
        )


# -----------------------------------------------------------------------------------------------------------------


# --- one kept symbol: L-GRR and LOLOHA ---------------------------------------------------------------------------


def lgrr() -> Iterator[Json]:
    """Few and many values; words on either side of both thresholds; a redrawn step; certain events."""
    for values, keep, tell in ((2, 0.75, 0.625), (4, 0.5, 0.4), (300, 0.3, 0.01), (1 << 20, 1.0, 1e-5)):
        m = Lgrr(values=values, keep=keep, tell=tell)
        kept, told = m.keep_lie.threshold, m.tell_lie.threshold
        cases = [case(m, value, range(1, 5), label=f"Lgrr {values} values {value}") for value in (0, values - 1)]
        if kept:
            edges = words(kept - 1, values, told, told - 1, values + 1)
            cases.append(case(m, 1, [1, 2], label=f"Lgrr {values} values, a lie at threshold - 1", first=edges))
        edges = words(kept, told - 1, 7)
        cases.append(case(m, 1, [1], label=f"Lgrr {values} values, kept at threshold", first=edges))
        if values == 4:  # 2^64 - 1 is a multiple of 3, so only the highest word is redrawn
            edges = words(kept - 1) + HIGHEST_WORD + words((1 << 64) - 2)
            cases.append(case(m, 1, [1], label="Lgrr 4 values, step redrawn", first=edges))
        parameters = {"values": values, "keep": keep, "tell": tell}
        yield group(m, parameters, {"keep_lie": kept, "tell_lie": told}, cases)


def loloha() -> Iterator[Json]:
    """Widths that do and do not fill bytes; changed values; a redrawn step."""
    for values, symbols, keep, tell, seed_bits in (
        (2, 2, 0.75, 0.625, 1),
        (360, 4, 0.5, 0.4, 32),
        (4096, 257, 0.3, 0.01, 48),
        (100, 3, 1.0, 0.5, 13),
    ):
        m = Loloha(values=values, symbols=symbols, keep=keep, tell=tell, seed_bits=seed_bits)
        label = f"Loloha {symbols} symbols"
        cases = [case(m, value, range(1, 4), label=f"{label} value {value}") for value in (0, values - 1)]
        changes = {2: values - 1, 4: 1}
        cases.append(case(m, 1, range(1, 6), label=f"{label} changed", changes=changes))
        if symbols == 4:
            edges = words(5, m.keep_lie.threshold - 1) + HIGHEST_WORD + words(m.keep_lie.threshold)
            cases.append(case(m, 7, [1], label=f"{label}, step redrawn", first=edges))
        yield group(
            m,
            {"values": values, "symbols": symbols, "keep": keep, "tell": tell, "seed_bits": seed_bits},
            {"keep_lie": m.keep_lie.threshold, "tell_lie": m.tell_lie.threshold},
            cases,
        )


# -----------------------------------------------------------------------------------------------------------------


MAKERS: dict[str, Callable[[], Iterator[Json]]] = {
    "Assigned": assigned,
    "Bitwise": bitwise,
    "DBitFlip": dbitflip,
    "Dealt": dealt,
    "Deck": deck,
    "Divided": divided,
    "Faded": faded,
    "Fading": fading,
    "FixedVector": fixed_vector,
    "Fresh": fresh,
    "InnerProduct": inner_product,
    "Levelled": levelled,
    "Lgrr": lgrr,
    "Loloha": loloha,
    "Memoized": memoized,
    "OneBitMean": one_bit_mean,
    "OneChange": one_change,
    "Rappor": rappor,
    "Rarely": rarely,
    "Sketches": sketches,
    "Stored": stored,
    "SubsetSelection": subset_selection,
    "Unary": unary,
    "Views": views,
    "Votes": votes,
}


def vectors() -> dict[str, str]:
    """File name → text, for every file; one line per case."""
    return {f"{name.lower()}.json": written(name, list(maker())) for name, maker in MAKERS.items()}


def written(name: str, groups: list[Json]) -> str:
    """JSON that a person can read and a diff can show."""
    shown = []
    for content in groups:
        head = ",\n".join(f"   {compact(key)}: {compact(content[key])}" for key in content if key != "cases")
        cases = ",\n".join(f"    {compact(each)}" for each in content["cases"])
        shown.append(f'  {{\n{head},\n   "cases": [\n{cases}\n   ]\n  }}')
    return f'{{\n "name": {compact(name)},\n "groups": [\n' + ",\n".join(shown) + "\n ]\n}\n"


def compact(content: object) -> str:
    """JSON on one line."""
    return json.dumps(content, ensure_ascii=False)


if __name__ == "__main__":
    for name, text in vectors().items():
        (HERE / name).write_text(text, encoding="utf-8")
