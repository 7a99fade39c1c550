"""Simulated populations in files: the law they say, the same file again, memory of a block."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests.reports.samples import DECK, FORMATS, MECHANISMS
from untrackable import Bitwise, Categories, Deck, Fading, Rappor, estimate_files
from untrackable.errors import DecodeError, ReportFileError
from untrackable.mechanisms import DBitFlip, Lgrr
from untrackable.mechanisms.interface import Mechanism
from untrackable.reports import simulation
from untrackable.reports.simulation import Population, population, simulate_file

COLOURS = Categories(names=["red", "green", "blue"], unknown="other")


@pytest.mark.parametrize("ending", FORMATS)
def test_the_same_arguments_give_the_same_file(ending: str, tmp_path: Path) -> None:
    zipf = population("zipf:1.3", DECK)
    paths = [tmp_path / f"{name}{ending}" for name in "abc"]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        file = simulate_file(path, DECK, zipf, people=500, rounds=3, seed=seed)
        assert (file.people, file.written.reports, file.written.rounds) == (500, 1500, (1, 2, 3))
    assert paths[0].read_bytes() == paths[1].read_bytes() != paths[2].read_bytes()


def test_what_is_told_of_a_simulation_is_what_was_held(tmp_path: Path) -> None:
    sharp = Deck(bits=4, slots=9, eps_report=30.0)
    file = simulate_file(tmp_path / "x.parquet", sharp, population("zipf:2", sharp), people=200_000, seed=3)
    answer = estimate_files(tmp_path / "x.parquet")
    lower, upper = answer.best.interval(simultaneous=True)
    for value, share in file.most_held:  # Reports this loud tell the very number, up to rounding.
        assert lower[value] - 1e-12 <= share <= upper[value] + 1e-12
        assert upper[value] - lower[value] < 1e-3
    # the law: chi-square of the held shares; a false alarm once in 1e9, and a slightly other exponent is noticed
    shares = {value: round(share * 200_000) for value, share in file.most_held}
    for exponent, right in ((2.0, True), (2.05, False)):
        weights = np.arange(1.0, 17) ** -exponent
        weights /= weights.sum()
        counts = [shares[value] for value in range(5)]
        expected = 200_000 * weights[:5]
        rest = 200_000 - sum(counts), 200_000 - expected.sum()
        p_value = stats.chisquare([*counts, rest[0]], [*expected, rest[1]]).pvalue
        assert (p_value > 1e-9) == right


def test_blocks_are_of_bounded_size_and_exact_counts_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "_BLOCK", 7)
    counts = np.array([3, 0, 20, 1])
    some = Population(np.array([0, 1, 5, 9]), counts / counts.sum(), counts)
    blocks = list(some.blocks(None, seed=1))
    assert [block.size for block in blocks] == [7, 7, 7, 3]
    assert np.concatenate(blocks).tolist() == [0] * 3 + [5] * 20 + [9]
    drawn = list(some.blocks(30, seed=1))
    assert [block.size for block in drawn] == [7, 7, 7, 7, 2]
    assert set(np.concatenate(drawn).tolist()) <= {0, 5, 9}
    with pytest.raises(ValueError, match="people must be given"):
        list(population("uniform", DECK).blocks(None, seed=1))


@pytest.mark.parametrize(
    ("mechanism", "room"),
    [
        (DECK, 16),
        (Fading(bits=3, eps=1.0, delta=1e-3), 8),
        (Bitwise(eps_state=1.0, eps_report=1.0), 2),
        (Lgrr(values=9, keep=0.9, tell=0.8), 9),
        (DBitFlip(buckets=9, sampled=2, eps=2.0), 9),
        (Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.5, q=0.75), None),
    ],
)
def test_how_many_values_there_are(mechanism: Mechanism, room: int | None) -> None:
    assert mechanism.capacity == room
    if room is not None:
        held = population("uniform", mechanism)
        mechanism.simulate(held.values, rounds=1, seed=1)
        with pytest.raises(ValueError):
            mechanism.simulate([room], rounds=1, seed=1)


def test_populations_from_files(tmp_path: Path) -> None:
    path = tmp_path / "held.csv"
    path.write_text("value,count\nred,5\npink,2\nblue,3\nviolet,1\n")
    held = population(str(path), DECK, COLOURS)
    assert held.people == 11
    assert held.counts is not None
    assert dict(zip(held.values.tolist(), held.counts.tolist(), strict=True)) == {0: 5, 2: 3, 3: 3}
    file = simulate_file(tmp_path / "x.csv", DECK, held, encoding=COLOURS)
    assert file.people == 11
    path.write_text("value,count\ncat,5\ndog,2\n")
    rappor = Rappor(bloom_bits=16, hashes=2, f=0.5, p=0.5, q=0.75)
    file = simulate_file(tmp_path / "x.csv", rappor, population(str(path), rappor))
    assert dict(file.most_held) == {"cat": 5 / 7, "dog": 2 / 7}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("value;count\n", "line 1: the header must be value,count"),
        ("value,count\n1,2,3\n", "line 2: 3 columns instead of 2"),
        ("value,count\nred,2\n", "line 2: value must be an integer"),
        ("value,count\n1,-2\n", "line 2: count must be a whole number"),
        ("value,count\n1,0\n", "holds nobody"),
        ("value,count\n", "holds nobody"),
    ],
)
def test_populations_that_are_wrong(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "held.csv"
    path.write_text(content)
    with pytest.raises((ValueError, DecodeError), match=message):
        population(str(path), DECK)


@pytest.mark.parametrize(
    "asked", ["zipf", "zipf:", "zipf:x", "zipf:-1", "zipf:nan", "uniform:0", "uniform:17", "?"]
)
def test_populations_that_are_not_known(asked: str) -> None:
    with pytest.raises(ValueError):
        population(asked, DECK)


def test_whatever_is_wrong_is_said_before_the_work(tmp_path: Path) -> None:
    uniform = population("uniform", DECK)
    for wrong, kind in (
        ({"rounds": 10}, ValueError),
        ({"people": -1}, ValueError),
        ({"seed": -1}, ValueError),
        ({"encoding": Categories(names=[str(i) for i in range(17)])}, ValueError),
    ):
        with pytest.raises(kind):
            simulate_file(tmp_path / "x.csv", DECK, uniform, **{"people": 5, **wrong})  # type: ignore[arg-type]
    with pytest.raises(ReportFileError, match="must end in"):
        simulate_file(tmp_path / "x.txt", DECK, uniform, people=5)
    with pytest.raises(ValueError, match="values must be between"):
        simulate_file(tmp_path / "x.csv", DECK, Population(np.array([16]), np.ones(1)), people=5)
    assert list(tmp_path.iterdir()) == []
    assert simulate_file(tmp_path / "x.csv", DECK, uniform, people=0).people == 0


def test_progress_goes_up_to_one(tmp_path: Path) -> None:
    told: list[float] = []
    simulate_file(
        tmp_path / "x.csv",
        DECK,
        population("uniform", DECK),
        people=3000,
        rounds=2,
        progress=lambda what, done: told.append(done or 0.0),
    )
    assert told[-1] == 1.0


@pytest.mark.parametrize("name", ["bitwise", "one-change"])
def test_reading_goes_from_0_to_1(name: str, tmp_path: Path) -> None:
    """Also if files are read twice, first to see of which rounds the reports are."""
    mechanism, told = MECHANISMS[name], list[float]()
    held = np.zeros(50, dtype=np.int64)
    simulate_file(tmp_path / "x.csv", mechanism, Population(held[:1], np.ones(1)), people=50, rounds=3)

    def show(what: str, done: float | None) -> None:
        if what == "reading":
            told.append(done or 0.0)

    estimate_files(tmp_path / "x.csv", progress=show)
    assert told[0] == 0.0
    assert told[-1] == 1.0
    assert told == sorted(told)
    assert len(set(told)) == (2 if name == "bitwise" else 3)
