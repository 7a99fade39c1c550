"""Heavy hitters without a list: how many of the ten most frequent strings are found, beside what others find.

The same population and the same eps for everyone, one report per person, mean over runs: PEM over HCMS of pure-ldp
(its ten best, with the sketch of its own experiments); our certain strings; our ten best; all that we name, which
are the certain ones, and at least ten; and two limits that read the same reports as ours. The ideal decoder looks
at every one of the 2^32 strings, as if each had a bucket of its own. The told one is given all strings that occur.
Then a model of the ideal decoder for populations of any size, runs with no heavy hitter, and real words.

    python benchmarks/heavy_hitters.py [--runs 32] [--pem-runs 8] [--only zipf|reach|none|words]
"""

import argparse
import contextlib
import importlib
import io
import math
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import wordfreq
import xxhash
from numpy.typing import NDArray
from scipy import stats

from untrackable import DiscoveredStrings, Fresh, NoisyInnerProduct, discover
from untrackable.discovery.discovered import Discovered
from untrackable.mechanisms.local.level_aggregator import LevelAggregator

HEX = "0123456789abcdef"
CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяё-"
TOP = 10
SETTINGS = ((100_000, 1.0), (100_000, 2.0), (100_000, 4.0), (1_000_000, 1.0))
ALPHA = 0.05

Counts = dict[str, int]


def zipf(people: int, strings: int, rng: np.random.Generator, power: float = 1.3) -> Counts:
    """Random 32-bit strings, in hexadecimal, with Zipf's frequencies."""
    weights = np.arange(1, strings + 1) ** -power
    counts = rng.multinomial(people, weights / weights.sum())
    counts = counts[counts > 0]
    names = rng.choice(1 << 32, counts.size, replace=False)
    return {f"{name:08x}": int(count) for name, count in zip(names.tolist(), counts, strict=True)}


def hexadecimal(rng: np.random.Generator) -> DiscoveredStrings:
    """Levels of 20, 32 and again 32 bits, under a new salt."""
    return DiscoveredStrings(alphabet=HEX, longest=8, shortest=8, prefixes=(5, 8, 8), salt=rng.bytes(16))


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


def pem(counts: Counts, eps: float) -> list[str]:
    """The ten best of PEM, prefixes of 16, 24 and 32 bits, over HCMS with 128 hash functions into 1024."""
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
    server = sketches.CMSServer(eps, 128, 1024, is_hadamard=True)
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
    return [f"{int(binary, 2):08x}" for binary in found]


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


def zipf_runs(runs: int, pem_runs: int, strings: int, seed: int) -> None:
    """Recall at every setting, with the standard errors of the means."""
    print(f"Zipf(1.3) over {strings:,} random 32-bit strings: share of the top ten found, mean of {runs} runs")
    columns = ("PEM", "certain", "ten best", "all named", "ideal", "told")
    print("   people  eps" + "".join(f"{name:>15}" for name in columns) + "  named/PEM     s     false     missed")
    for people, eps in SETTINGS:
        shares: dict[str, list[float]] = defaultdict(list)
        seconds, wrong, sure, lost = 0.0, 0, 0, 0
        for run in range(runs):
            rng = np.random.default_rng([seed, people, int(eps), run])
            counts, encoding = zipf(people, strings, rng), hexadecimal(rng)
            sums = collected(encoding, counts, eps, seed=seed + run)
            start = time.perf_counter()
            found = discover(encoding, sums, alpha=ALPHA)
            seconds += time.perf_counter() - start
            named = found.best(max(TOP, len(found.strings)))
            answers = {
                "certain": [entry.string for entry in found.strings],
                "ten best": [entry.string for entry in found.best(TOP)],
                "all named": [entry.string for entry in named],
                "ideal": ideal(encoding, sums, counts, eps, rng),
                "told": told(encoding, sums, counts),
            }
            if run < (pem_runs if people < 1_000_000 else -(-pem_runs // 2)):
                answers["PEM"] = pem(counts, eps)
            for name, answer in answers.items():
                shares[name].append(recall(answer, counts))
            wrong += false_ones(found, counts) > 0
            there, absent = missed(found, counts, encoding, eps)
            sure, lost = sure + there, lost + absent
        ratio = np.mean(shares["all named"]) / np.mean(shares["PEM"]) if any(shares["PEM"]) else math.nan
        print(
            f"{people:>9,} {eps:>4g}"
            + "".join(f"{_mean(shares[name]):>15}" for name in columns)
            + f" {ratio:>10.1f} {seconds / runs:>5.1f} {wrong:>3} of {runs} {lost:>4} of {sure}",
            flush=True,
        )


def _mean(found: list[float]) -> str:
    """With its standard error."""
    if not found:
        return "-"
    return f"{np.mean(found):.3f} ± {np.std(found) / math.sqrt(max(1, len(found) - 1)):.3f}"


def within_reach(runs: int, seed: int) -> None:
    """A model of the ideal decoder: its ten best, and with all that exceed the simultaneous threshold of 2^32."""
    print(f"the ideal decoder, modelled, mean of {runs} populations: ten best, all named")
    for strings in (100, 1000, 10_000, 1 << 20, 1 << 32):
        weights = np.arange(1, min(strings, 1 << 20) + 1) ** -1.3
        rest = (weights.size**-0.3 - strings**-0.3) / 0.3  # those in the tail are found by nobody
        law = np.append(weights, rest) / (weights.sum() + rest)
        print(f"{strings:>14,}", end="")
        for people, eps in SETTINGS:
            rng = np.random.default_rng([seed, strings, people, int(eps)])
            error = NoisyInnerProduct(bits=20, eps=eps).accuracy(people, beta=ALPHA).standard_error
            ten, all_named = [], []
            for _ in range(runs):
                held = rng.multinomial(people, law)[:-1][:300] / people
                found = held + error * rng.standard_normal(held.size)
                chance = error * stats.norm.isf(np.cumsum(rng.exponential(size=TOP)) / 2**32)
                order = np.argsort(-np.concatenate((found, chance)))
                sure = np.count_nonzero(found > error * stats.norm.isf(ALPHA / 2**32))
                top = np.argsort(-held, kind="stable")[:TOP]
                ten.append(np.isin(top, order[:TOP]).mean())
                all_named.append(np.isin(top, order[: max(TOP, sure)]).mean())
            print(f"   {np.mean(ten):.3f} {np.mean(all_named):.3f}", end="", flush=True)
        print()


def no_heavy_hitter(runs: int, seed: int) -> None:
    """Everyone holds a string of their own, or of their own but for a frequent beginning: all certain are false."""
    for beginnings in (16**5, 20):
        wrong = 0
        for run in range(runs):
            rng = np.random.default_rng([seed, 7, beginnings, run])
            encoding = hexadecimal(rng)
            starts = rng.choice(16**5, beginnings, replace=False)[rng.integers(0, beginnings, 50_000)]
            names = np.unique(starts * 16**3 + rng.integers(0, 16**3, 50_000)).tolist()
            counts = {f"{name:08x}": 1 for name in names}
            found = discover(encoding, collected(encoding, counts, 2.0, seed=seed + run), alpha=ALPHA)
            wrong += false_ones(found, counts) > 0
        print(
            f"no heavy hitter, 50,000 strings, {beginnings:,} beginnings of five digits, eps 2: "
            f"{wrong} of {runs} runs with a string that nobody holds; stated: {ALPHA:g}",
            flush=True,
        )


def words(runs: int, seed: int) -> None:
    """Real words with their real frequencies."""
    print("words with their frequencies (wordfreq), 1,000,000 people, eps 4")
    print("  language   certain strings   of the most frequent as many   ten best   false   s")
    spaces = (
        ("en", "abcdefghijklmnopqrstuvwxyz'", 10, (4, 7, 10, 10)),
        ("ru", CYRILLIC, 8, (3, 5, 8, 8)),
        ("ja", "", 6, (2, 4, 6, 6)),
    )
    for language, alphabet, longest, prefixes in spaces:
        shares = wordfreq.get_frequency_dict(language)
        all_certain, hits, best, wrong, seconds = 0, 0, [], 0, 0.0
        for run in range(runs):
            rng = np.random.default_rng([seed, 11, run])
            encoding = DiscoveredStrings(
                alphabet=alphabet,
                longest=longest,
                prefixes=prefixes,
                salt=rng.bytes(16),
                too_long="truncate",
                unknown="omit",
            )
            texts: Counts = {}
            drawn = rng.multinomial(1_000_000, np.array(list(shares.values())) / sum(shares.values()))
            for word, count in zip(shares, drawn, strict=True):
                if count:
                    texts[encoding.prepared_text(word)] = texts.get(encoding.prepared_text(word), 0) + int(count)
            sums = collected(encoding, texts, 4.0, seed=seed + run)
            start = time.perf_counter()
            found = discover(encoding, sums, alpha=ALPHA, beam=512)
            seconds += time.perf_counter() - start
            certain = {entry.string for entry in found.strings}
            first = sorted(texts, key=lambda word: -texts[word])[: len(certain)]
            all_certain, hits = all_certain + len(certain), hits + len(certain & set(first))
            best.append(recall([entry.string for entry in found.best(max(TOP, len(certain)))], texts))
            wrong += false_ones(found, texts) > 0
        print(
            f"{language:>10} {all_certain / runs:>17.1f} {hits / max(1, all_certain):>30.2f} {np.mean(best):>9.2f} "
            f"{wrong:>4} of {runs} {seconds / runs:>5.1f}"
        )


def main() -> None:
    """Print recalls, ratios and false ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--pem-runs", type=int, default=8, help="half as many for a million people")
    parser.add_argument("--strings", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--seed", type=int, default=2027)
    parser.add_argument("--only", choices=("zipf", "reach", "none", "words"))
    given = parser.parse_args()
    if given.only in (None, "zipf"):
        for strings in given.strings:
            zipf_runs(given.runs, given.pem_runs, strings, given.seed)
    if given.only in (None, "reach"):
        within_reach(100, given.seed)
    if given.only in (None, "none"):
        no_heavy_hitter(2 * given.runs, given.seed)
    if given.only in (None, "words"):
        words(max(1, given.runs // 4), given.seed)


if __name__ == "__main__":
    main()
