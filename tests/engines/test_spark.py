"""Reports added up by a Spark cluster of several processes: the same sums, the same errors."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from untrackable import (
    Bitwise,
    Deck,
    Fading,
    Fresh,
    NoisyInnerProduct,
    Rappor,
    audit_file,
    estimate_files,
    write_reports,
)
from untrackable.encodings.strings import DiscoveredStrings
from untrackable.errors import AuditError, ReportFileError
from untrackable.mechanisms.deck import Dealt
from untrackable.reports.sums import discover_files

pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None:
    pytest.skip("there is no Java", allow_module_level=True)

from pyspark.sql import SparkSession

from untrackable.engines.spark import SparkEngine, audit_on_spark
from untrackable.theory.turns import Turns

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

DECK = Deck(bits=6, slots=4, eps_report=2.0)
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java compiles little and quickly: these processes end before more would pay."""
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.executor.extraJavaOptions": SHORT_LIVED,
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.files.maxPartitionBytes": "4096",
    "spark.sql.files.openCostInBytes": "0",
}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two workers with a process each."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patched.setenv("SPARK_WORKER_DIR", str(tmp_path_factory.mktemp("workers")))
        patched.setenv("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master("local-cluster[2,1,1024]")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        running = builder.getOrCreate()
        yield running
        running.stop()


@pytest.fixture(scope="module")
def engine(session: SparkSession) -> SparkEngine:
    return SparkEngine(session)


def write(path: Path, mechanism: Any, values: Any, rounds: int = 2, encoding: Any = None) -> Path:
    (batch,) = mechanism.simulate(values, rounds=rounds, seed=3)
    reports = [(r, batch.reports[:, r - 1]) for r in range(1, rounds + 1)]
    write_reports(path, reports, mechanism=mechanism, encoding=encoding, turns=Turns(rounds=2))
    return path


MECHANISMS: dict[str, tuple[Any, list[Any] | None]] = {
    "deck": (DECK, None),
    "one bit a report": (Fresh(NoisyInnerProduct(bits=8, eps=1.0, width=1)), None),
    "integers of 64 bits": (Fresh(NoisyInnerProduct(bits=40, eps=1.0, width=1)), [0, 1, 2, 9]),
    "bytes": (Deck(bits=40, slots=3, eps_report=2.0), [0, 1, 2, 9]),
    "bitwise": (Bitwise(eps_state=2.0, eps_report=1.0), None),
    "rappor with cohorts": (Rappor(bloom_bits=16, hashes=2, f=0.2, p=0.4, q=0.6, cohorts=4), ["0", "1", "2"]),
    "fading": (Fading(bits=2, eps=6.0, delta=1e-3), None),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_has_the_same_estimate_as_on_one_machine(
    engine: SparkEngine, tmp_path: Path, name: str
) -> None:
    mechanism, candidates = MECHANISMS[name]
    values: Any = np.arange(1500) % (2 if name == "bitwise" else 3)
    if mechanism.takes_strings:
        values = [str(value) for value in values]
    path = write(tmp_path / "reports.parquet", mechanism, values, rounds=2 if name != "fading" else 3)
    expected = estimate_files(path, candidates=candidates)
    answer = estimate_files(path, candidates=candidates, add_up=engine)
    assert list(answer.rounds) == list(expected.rounds)
    for number in expected.rounds:
        assert answer.rounds[number].frequencies.tobytes() == expected.rounds[number].frequencies.tobytes()
        assert answer.rounds[number].radius.tobytes() == expected.rounds[number].radius.tobytes()
    assert answer.best.frequencies.tobytes() == expected.best.frequencies.tobytes()
    assert answer.best.turns == Turns(rounds=2), "the file says it"
    assert answer.reports == expected.reports
    assert answer.files[0].checked


def test_strings_are_discovered_as_on_one_machine(engine: SparkEngine, tmp_path: Path) -> None:
    encoding = DiscoveredStrings(salt=bytes(16), longest=4, prefixes=(2, 4, 4), alphabet="abcdef", bucket_bits=12)
    mechanism = Dealt(encoding.local(5.0), 30)
    people = encoding.encode_many(["abba"] * 2400 + ["fade"] * 1600)
    path = write(tmp_path / "strings.parquet", mechanism, people, encoding=encoding)
    strings = discover_files([path], add_up=engine)
    assert [entry.string for entry in strings.strings] == ["abba", "fade"]
    assert strings == discover_files([path])


def test_files_are_added_up_together_and_rounds_selected(engine: SparkEngine, tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{i}.parquet", DECK, np.arange(400) % (i + 2), rounds=3) for i in range(3)]
    expected, answer = estimate_files(paths, rounds=[1, 3]), estimate_files(paths, rounds=[1, 3], add_up=engine)
    assert answer.best.frequencies.tobytes() == expected.best.frequencies.tobytes()
    assert answer.best.n == expected.best.n == 2400


def test_a_data_frame_is_taken_and_reports_with_one_nonce_count_once(session: SparkSession) -> None:
    (batch,) = DECK.simulate(np.arange(300) % 3, rounds=1, seed=1)
    reports = batch.reports[:, 0].astype(np.int64)
    once = pa.table({"round": np.ones(300, np.int64), "report": reports, "nonce": np.arange(300)})
    twice = session.createDataFrame(pa.concat_tables([once, once.slice(100)]))
    expected = estimate_files(once, mechanism=DECK)
    answer = estimate_files(twice, mechanism=DECK, add_up=SparkEngine(session, nonce="nonce"))
    assert answer.best.frequencies.tobytes() == expected.best.frequencies.tobytes()
    other = once.slice(0, 2).set_column(1, "report", pa.array(reports[2:4]))
    both = session.createDataFrame(pa.concat_tables([once, other]))
    with pytest.raises(ReportFileError, match="two different reports with one nonce"):
        estimate_files(both, mechanism=DECK, add_up=SparkEngine(session, nonce="nonce"))


def test_a_report_that_no_client_sends_is_named_as_on_one_machine(engine: SparkEngine, tmp_path: Path) -> None:
    good = write(tmp_path / "good.parquet", DECK, np.arange(2000) % 3, rounds=1)
    table = pq.read_table(good).replace_schema_metadata(None)
    reports = table["report"].to_numpy().copy()
    reports[1234] = reports.dtype.type((1 << (DECK.report_bits + 1)) - 1)
    bad = tmp_path / "bad.parquet"
    pq.write_table(table.set_column(1, "report", pa.array(reports)), bad, row_group_size=300)
    with pytest.raises(ReportFileError) as local:
        estimate_files([good, bad], mechanism=DECK)
    with pytest.raises(ReportFileError) as on_cluster:
        estimate_files([good, bad], mechanism=DECK, add_up=engine)
    assert str(on_cluster.value) == str(local.value)
    assert f"{bad}, row 1235" in str(local.value)


def test_a_damaged_file_is_an_error_and_never_an_answer(engine: SparkEngine, tmp_path: Path) -> None:
    path = write(tmp_path / "reports.parquet", DECK, np.arange(2000) % 3)
    data = bytearray(path.read_bytes())
    for name, damaged in {
        "changed": bytes([*data[:300], data[300] ^ 1, *data[301:]]),
        "cut": bytes(data[:-50]),
    }.items():
        (tmp_path / f"{name}.parquet").write_bytes(damaged)
        with pytest.raises(ReportFileError, match=f"{name}.parquet"):
            estimate_files(tmp_path / f"{name}.parquet", mechanism=DECK, add_up=engine)


def test_what_spark_does_not_take_is_refused(engine: SparkEngine, session: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "reports.parquet", DECK, np.arange(30) % 3)
    with pytest.raises(ReportFileError, match=r"none\.parquet"):
        estimate_files(tmp_path / "none.parquet", add_up=engine)
    with pytest.raises(ReportFileError, match="is given twice"):
        estimate_files([path, path], add_up=engine)
    with pytest.raises(ReportFileError, match="has no column 'report': its columns are round"):
        estimate_files(session.range(3).toDF("round"), mechanism=DECK, add_up=engine)
    with pytest.raises(ReportFileError, match="give the mechanism"):
        estimate_files(session.createDataFrame([(1, 5)], "round long, report long"), add_up=engine)
    with pytest.raises(TypeError, match="Spark takes Parquet files"):
        estimate_files([pq.read_table(path)], add_up=engine)


def test_an_executor_that_is_killed_in_mid_job_changes_nothing(
    engine: SparkEngine, session: SparkSession, tmp_path: Path
) -> None:
    path = write(tmp_path / "reports.parquet", DECK, np.arange(3000) % 3)
    frame, killed = session.read.parquet(str(path)), str(tmp_path / "killed")

    def kill_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pathlib
        import signal

        yield from batches
        if not pathlib.Path(killed).exists():
            pathlib.Path(killed).touch()
            parent = os.getppid()  # The daemon of the workers, whose parent is the executor.
            stat = pathlib.Path(f"/proc/{parent}/stat").read_text()
            os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)

    dying = frame.select("round", "report").mapInArrow(kill_once, frame.select("round", "report").schema)
    answer = estimate_files(dying, mechanism=DECK, add_up=engine)
    assert Path(killed).exists()
    assert answer.best.frequencies.tobytes() == estimate_files(path).best.frequencies.tobytes()
    assert answer.best.n == 6000


def test_recorded_reports_are_audited_by_their_sample(session: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = {
        "pseudonym": np.repeat([f"p{i}" for i in range(80)], 4),
        "window": np.tile(["home", "home", "work", "work"], 80),
        "report": np.repeat(rng.integers(0, 1 << 30, 80), 4),
    }
    pq.write_table(pa.table(rows), tmp_path / "recorded.parquet")
    expected = audit_file(tmp_path / "recorded.parquet", people=40)
    audit = audit_on_spark(session, [tmp_path / "recorded.parquet"], people=40)
    assert (audit.rows, audit.people, audit.sampled) == (320, 40, True) == (320, expected.people, expected.sampled)
    assert (audit.tracking.same, audit.pseudonyms) == (expected.tracking.same, expected.pseudonyms)
    assert (audit.columns, audit.windows) == (expected.columns, ("home", "work"))
    rows["window"] = np.tile(["home", "cafe", "work", "work"], 80)
    rows["day"] = np.tile([1, 2, 3, 4], 80)
    pq.write_table(pa.table(rows), tmp_path / "many.parquet")
    for options in ({}, {"window": "day"}, {"windows": ("home", "work")}, {"window": "none"}):
        expected = audit_file(tmp_path / "many.parquet", people=80, **options)
        audit = audit_on_spark(session, [tmp_path / "many.parquet"], people=80, **options)
        assert (audit.columns, audit.windows, audit.rounds) == (expected.columns, expected.windows, expected.rounds)
        assert (audit.elsewhere, audit.people, audit.reports) == (
            expected.elsewhere,
            expected.people,
            expected.reports,
        )
    with pytest.raises(ValueError, match="no column of windows is to be used"):
        audit_on_spark(session, [tmp_path / "many.parquet"], window="none", windows=("home", "work"))
    with pytest.raises(AuditError, match=r"none\.parquet"):
        audit_on_spark(session, [tmp_path / "none.parquet"])


def test_the_command_prints_what_it_prints_on_one_machine(tmp_path: Path) -> None:
    path = write(tmp_path / "reports.parquet", DECK, np.arange(500) % 3)
    command = [sys.executable, "-m", "untrackable", "estimate", str(path), "--json"]
    expected = subprocess.run(command, capture_output=True, check=True, text=True)  # noqa: S603
    command += ["--engine", "spark", "--master", "local[1]"]
    environment = {**os.environ, "JAVA_TOOL_OPTIONS": SHORT_LIVED}
    result = subprocess.run(command, capture_output=True, check=False, text=True, env=environment)  # noqa: S603
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == json.loads(expected.stdout)
