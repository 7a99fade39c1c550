"""Heavy hitters without a list: how many of the ten most frequent strings are found, beside what others find.

The same population and the same eps for everyone, one report per person, mean over runs: PEM over HCMS of pure-ldp
(its ten best, with the sketch of its own experiments); all that we name, which are the certain strings, and at
least ten; and two limits that read the same reports as ours. The ideal decoder looks at every one of the 2^32
strings, as if each had a bucket of its own. The told one is given all strings that occur. Then runs with no heavy
hitter, and real words.
"""

import contextlib
import importlib
import io
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import wordfreq
import xxhash
from numpy.typing import NDArray
from scipy import stats

from benchmarks.shared.clocks import timed
from benchmarks.shared.measurements import Comparison, Row
from untrackable import DiscoveredStrings, Fresh, discover
from untrackable.discovery.discovery import Discovered
from untrackable.mechanisms.string_levels import LevelAggregator

HEX = "0123456789abcdef"
CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяё-"
TOP = 10
SETTINGS = ((100_000, 1.0), (100_000, 2.0), (100_000, 4.0), (1_000_000, 1.0))
ALPHA = 0.05
SEED = 2027
NAMED = "Share of the ten most frequent strings that we name"
UNIT = "times as many (sampled)"
PEERS = {
    "PEM": Comparison(work=NAMED, peer="PEM over HCMS of pure-ldp", unit=UNIT),
    "ideal": Comparison(work=NAMED, peer="a decoder that ranks all 2^32 strings", unit=UNIT),
    "told": Comparison(work=NAMED, peer="a decoder that is told which strings occur", unit=UNIT),
}
FALSE = Comparison(work="Runs with a certain string that nobody holds", unit="of the runs", at_most=ALPHA)
MISSED = Comparison(work="Strings far above the threshold that are not certain", unit="of them")
SECONDS = Comparison(work="One search", unit="s")
NOBODY = Comparison(
    work="With no heavy hitter: runs with a certain string that nobody holds", unit="of the runs", at_most=ALPHA
)
WORDS = Comparison(work="Ten most frequent words that we name, eps = 4", unit="of them")
WRONG = Comparison(work="Runs with a certain word that nobody holds", unit="of the runs", at_most=ALPHA)
COMPARISONS = (*PEERS.values(), FALSE, MISSED, SECONDS, NOBODY, WORDS, WRONG)

Counts = dict[str, int]


def measure(*, small: bool = False) -> Iterator[Row]:
    """Zipf's law at every setting, then nobody frequent, then words."""
    for people, eps in SETTINGS:
        yield from zipf_runs(50 if small else people, eps, runs=1 if small else 3, digits=4 if small else 8)
    yield from no_heavy_hitter(*((1, 50, 4) if small else (8, 50_000, 8)))
    yield from words(*((1, 50, 100) if small else (1, 1_000_000, 10**6)))


def zipf(people: int, strings: int, rng: np.random.Generator, digits: int = 8, power: float = 1.3) -> Counts:
    """Random strings of hexadecimal digits with Zipf's frequencies."""
    weights = np.arange(1, strings + 1) ** -power
    counts = rng.multinomial(people, weights / weights.sum())
    counts = counts[counts > 0]
    names = rng.choice(16**digits, counts.size, replace=False)
    return {f"{name:0{digits}x}": int(count) for name, count in zip(names.tolist(), counts, strict=True)}


def hexadecimal(rng: np.random.Generator, digits: int = 8) -> DiscoveredStrings:
    """Levels of all but three digits, of all, and again of all, under a new salt."""
    levels = (digits - 3, digits, digits)
    return DiscoveredStrings(alphabet=HEX, longest=digits, shortest=digits, prefixes=levels, salt=rng.bytes(16))


def collected(encoding: DiscoveredStrings, counts: Counts, eps: float, seed: int) -> LevelAggregator:
    """One report per person."""
    people: NDArray[np.uint64] = np.repeat(encoding.encode_many(list(counts)), list(counts.values()), axis=0)
    mechanism = Fresh(encoding.local(eps))
    sums = mechanism.aggregator()
    for batch in mechanism.simulate(people, rounds=1, seed=seed):
        sums.add(batch.reports)
    if not isinstance(sums, LevelAggregator):
        raise TypeError("reports of levels have sums of levels")
    return sums


class Older:
    """NumPy and xxhash as pure-ldp expects them: a shape may be None, and text is hashed as UTF-8."""

    def __getattr__(self, name: str) -> Any:
        """As it is."""
        return getattr(np, name)

    def zeros(self, shape: Any) -> NDArray[np.float64]:
        """None for no axes."""
        return np.zeros(() if shape is None else shape)

    def xxh64(self, text: str, seed: int) -> Any:
        """Of UTF-8."""
        return xxhash.xxh64(text.encode(), seed=seed)


def pem(counts: Counts, eps: float, hashes: int) -> list[str]:
    """The ten best of PEM, prefixes of 16, 24 and 32 bits, over HCMS with hash functions into 1024."""
    rappor = "pure_ldp.frequency_oracles.rappor"  # needs more packages, and is not used here
    sys.modules.setdefault(rappor, ModuleType(rappor))
    core, base, sketches, extending = (
        importlib.import_module(f"pure_ldp.{name}")
        for name in (
            "core",
            "core._freq_oracle_server",
            "frequency_oracles.apple_cms",
            "heavy_hitters.prefix_extending",
        )
    )
    base.np = core.xxhash = Older()  # type: ignore[attr-defined]
    server = sketches.CMSServer(eps, hashes, 1024, is_hadamard=True)
    client = sketches.CMSClient(eps, server.get_hash_funcs(), 1024, is_hadamard=True)
    bits = {"start_length": 8, "max_string_length": 32, "fragment_length": 8}
    sender = extending.PEMClient(eps, fo_client=client, **bits)
    receiver = extending.PEMServer(eps, fo_server=server, **bits)
    with contextlib.redirect_stdout(io.StringIO()):
        for string, count in counts.items():
            binary = f"{int(string, 16):032b}"
            for _ in range(count):
                receiver.aggregate(sender.privatise(binary))
        found, _ = receiver.find_heavy_hitters(k=TOP)
    digits = len(next(iter(counts)))
    return [f"{int(binary, 2):0{digits}x}" for binary in found]


def told(encoding: DiscoveredStrings, sums: LevelAggregator, counts: Counts) -> list[str]:
    """The ten best of all strings that occur, from the same reports."""
    names = list(counts)
    found = sums.estimate(candidates=[encoding.encode(name) for name in names]).frequencies
    return [names[i] for i in np.argsort(-found)[:TOP]]


def ideal(
    encoding: DiscoveredStrings, sums: LevelAggregator, counts: Counts, eps: float, rng: np.random.Generator
) -> list[str]:
    """The ten best of all 2^32 strings, from the same reports; those that nobody holds as "".

    What others add to the buckets of a string is taken out, as it is known here. What the best strings that nobody
    holds would find is drawn: the largest of 2^32 normal variables of the mechanism's standard error.
    """
    names = list(counts)
    shares = np.array(list(counts.values())) / sums.n
    found = sums.estimate(candidates=[encoding.encode(name) for name in names]).frequencies
    for part, buckets in zip(sums.parts, encoding.encode_many(names).astype(np.int64).T, strict=True):
        held = np.bincount(buckets, weights=shares, minlength=1 << encoding.bucket_bits)
        found -= part.n / sums.n * (held[buckets] - shares)
    error = Fresh(encoding.local(eps)).accuracy(sums.n, beta=ALPHA).standard_error
    chance = error * stats.norm.isf(np.cumsum(rng.exponential(size=TOP)) / 2**32)
    order = np.argsort(-np.concatenate((found, chance)))[:TOP]
    return [names[i] if i < len(names) else "" for i in order.tolist()]


def recall(found: Sequence[str], counts: Counts) -> float:
    """Share of the most frequent strings that were found."""
    best = sorted(counts, key=lambda name: -counts[name])[:TOP]
    return sum(name in found for name in best) / len(best)


def missed(found: Discovered, counts: Counts, encoding: DiscoveredStrings, eps: float) -> tuple[int, int]:
    """How many strings exceed the simultaneous radius plus three standard errors, and how many were missed."""
    accuracy = Fresh(encoding.local(eps)).accuracy(found.n, beta=found.alpha / 2**32)
    limit = accuracy.radius + 3 * accuracy.standard_error
    sure = {name for name, count in counts.items() if count / found.n > limit}
    return len(sure), len(sure - {entry.string for entry in found.strings})


def false_ones(found: Discovered, counts: Counts) -> int:
    """Certain strings that nobody holds."""
    return sum(entry.string not in counts for entry in found.strings)


def zipf_runs(people: int, eps: float, *, runs: int, digits: int, strings: int = 1000) -> Iterator[Row]:
    """Recall at one setting; PEM, which takes long, has one run."""
    shares: dict[str, list[float]] = defaultdict(list)
    seconds, wrong, sure, lost = 0.0, 0, 0, 0
    for run in range(runs):
        rng = np.random.default_rng([SEED, people, int(eps), run])
        counts, encoding = zipf(people, strings, rng, digits), hexadecimal(rng, digits)
        sums = collected(encoding, counts, eps, seed=SEED + run)
        taken, found = timed(lambda e=encoding, s=sums: discover(e, s, alpha=ALPHA))  # type: ignore[misc]
        seconds += taken
        answers = {
            "named": [entry.string for entry in found.best(max(TOP, len(found.strings)))],
            "ideal": ideal(encoding, sums, counts, eps, rng),
            "told": told(encoding, sums, counts),
        }
        if run == 0:
            answers["PEM"] = pem(counts, eps, 128 if digits == 8 else 1)
        for name, answer in answers.items():
            shares[name].append(recall(answer, counts))
        wrong += false_ones(found, counts) > 0
        there, absent = missed(found, counts, encoding, eps)
        sure, lost = sure + there, lost + absent
    size = f"{people:,} people, eps = {eps:g}, {runs} run{'s' * (runs > 1)}"
    for name, made in PEERS.items():
        beside = float(np.mean(shares[name]))
        yield made.row(float(np.mean(shares["named"])) / beside if beside else 0.0, size)
    yield FALSE.row(wrong / runs, size)
    yield MISSED.row(lost / max(1, sure), size)
    yield SECONDS.row(seconds / runs, size)


def no_heavy_hitter(runs: int, people: int, digits: int) -> Iterator[Row]:
    """Everyone holds a string of their own, or of their own but for a frequent beginning: all certain are false."""
    all_beginnings = 16 ** (digits - 3)
    for beginnings in (all_beginnings, min(20, all_beginnings)):
        wrong = 0
        for run in range(runs):
            rng = np.random.default_rng([SEED, 7, beginnings, run])
            encoding = hexadecimal(rng, digits)
            starts = rng.choice(all_beginnings, beginnings, replace=False)[rng.integers(0, beginnings, people)]
            names = np.unique(starts * 16**3 + rng.integers(0, 16**3, people)).tolist()
            counts = {f"{name:0{digits}x}": 1 for name in names}
            found = discover(encoding, collected(encoding, counts, 2.0, seed=SEED + run), alpha=ALPHA)
            wrong += false_ones(found, counts) > 0
        yield NOBODY.row(wrong / runs, f"{people:,} people, {beginnings:,} beginnings, {runs} runs")


def words(runs: int, people: int, most: int) -> Iterator[Row]:
    """Real words with their real frequencies."""
    spaces = (
        ("English", "en", "abcdefghijklmnopqrstuvwxyz'", 10, (4, 7, 10, 10)),
        ("Russian", "ru", CYRILLIC, 8, (3, 5, 8, 8)),
        ("Japanese", "ja", "", 6, (2, 4, 6, 6)),
    )
    for language, code, alphabet, longest, prefixes in spaces:
        shares = dict(list(wordfreq.get_frequency_dict(code).items())[:most])
        best, wrong = [], 0
        for run in range(runs):
            rng = np.random.default_rng([SEED, 11, run])
            encoding = DiscoveredStrings(
                alphabet=alphabet,
                longest=longest,
                prefixes=prefixes,
                salt=rng.bytes(16),
                too_long="truncate",
                unknown="omit",
            )
            texts: Counts = {}
            drawn = rng.multinomial(people, np.array(list(shares.values())) / sum(shares.values()))
            for word, count in zip(shares, drawn, strict=True):
                if count:
                    texts[encoding.prepared_text(word)] = texts.get(encoding.prepared_text(word), 0) + int(count)
            found = discover(encoding, collected(encoding, texts, 4.0, seed=SEED + run), alpha=ALPHA, beam=512)
            best.append(recall([entry.string for entry in found.best(max(TOP, len(found.strings)))], texts))
            wrong += false_ones(found, texts) > 0
        yield WORDS.row(float(np.mean(best)), f"{language}, {people:,} people")
        yield WRONG.row(wrong / runs, f"{language}, {runs} run{'s' * (runs > 1)}")
