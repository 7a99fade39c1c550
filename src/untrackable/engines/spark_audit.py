"""Audits recorded reports that one machine does not read in reasonable time: Spark finds the sample of people.

The people with the smallest keyed digests are the sample, as on one machine. Only their rows leave the cluster.
"""

import dataclasses
import heapq
from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from typing import Any

from untrackable import checks
from untrackable.auditing.evidence.attack_bounds import FEWEST_PEOPLE
from untrackable.auditing.evidence.file_audit import FileAudit, audit_file, pseudonym_bytes
from untrackable.auditing.evidence.people_sample import rank
from untrackable.auditing.evidence.recorded_table import NO_WINDOW, find_columns, has_two_values, open_recorded
from untrackable.engines.spark import failures
from untrackable.errors import AuditError
from untrackable.extras import extra

with extra("spark"):
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession, functions
    from pyspark.sql.types import DecimalType, StructField, StructType

_RANK = "untrackable_rank"


def audit_on_spark(
    session: SparkSession,
    paths: Sequence[str | PathLike[str]] | DataFrame,
    *,
    pseudonym: str | None = None,
    window: str | None = None,
    report: str | None = None,
    round: str | None = None,
    windows: tuple[str, str] | None = None,
    people: int = 10_000,
    seed: int = 0,
    **options: Any,
) -> FileAudit:
    """Measure how well the people in Parquet files or in a data frame can be followed; see `audit_file`.

    Malformed rows, those in other windows, and rounds are counted for the people in the sample. If a named column
    of windows has more than two values, the rows of these people decide which values are compared with which.
    """
    people = checks.integer("people", people, low=FEWEST_PEOPLE)
    files = [] if isinstance(paths, DataFrame) else [fspath(path) for path in paths]
    name = ", ".join(files) or "<DataFrame>"
    with failures(name, AuditError):
        frame = paths if isinstance(paths, DataFrame) else session.read.parquet(*files)

        def two_values(column: str) -> bool:
            return has_two_values((row[0] for row in frame.select(column).distinct().toLocalIterator()), column)

        empty = open_recorded(frame.limit(0).toArrow())
        columns = find_columns(empty, pseudonym, window, report, round, windows, two_values)
        frame = frame.select(*dict.fromkeys(columns.present))
        who = functions.col(columns.pseudonym)
        distinct = frame.select(who).where(who.isNotNull()).distinct()
        kept = StructType([*distinct.schema.fields, StructField(_RANK, DecimalType(20))])
        ranked = distinct.mapInArrow(_Smallest(people, seed), kept).orderBy(_RANK).limit(people)
        chosen = ranked.select(columns.pseudonym)
        rows = frame.join(functions.broadcast(chosen), columns.pseudonym, "left_semi").toArrow()
        count, everybody = frame.count(), distinct.count()
    named: dict[str, Any] = {"pseudonym": columns.pseudonym, "report": columns.report, "round": columns.round}
    named["window"] = columns.window or NO_WINDOW
    found = audit_file(rows, windows=windows, people=people, seed=seed, **named, **options)
    return dataclasses.replace(found, path=name, rows=count, sampled=everybody > people, columns=columns)


class _Smallest:
    """The pseudonyms of one task with the smallest keyed digests. It is sent to the executors."""

    def __init__(self, people: int, seed: int) -> None:
        self._people, self._seed = people, seed

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ranked = ((rank(pseudonym_bytes(who), self._seed), who) for b in batches for who in b.column(0).to_pylist())
        found = heapq.nsmallest(self._people, ranked, key=lambda pair: pair[0])
        if found:
            numbers = pa.array([number for number, _ in found], pa.decimal128(20, 0))
            yield pa.RecordBatch.from_arrays([pa.array([who for _, who in found]), numbers], ["who", _RANK])
