"""From files of reports to answers: the frequencies of values, or the strings that many people hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from untrackable import checks
from untrackable.answers.answer import Answer, answer
from untrackable.answers.question import Question
from untrackable.discovery.discovered import Discovered
from untrackable.discovery.search_work import search_share
from untrackable.discovery.string_discovery import BEAM, discover
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.encodings.encoding import Encoding
from untrackable.errors import EncodingError, ReportFileError
from untrackable.estimation.sampling import share_heard
from untrackable.kernels.engine import Engine, running_on
from untrackable.mechanisms.interface import Mechanism
from untrackable.progress import Progress
from untrackable.reports.header import agreed
from untrackable.reports.summing import ReadFile, SumFiles, sum_files
from untrackable.reports.table import Source
from untrackable.theory.turns import Turns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FileAnswer(Answer):
    """The answer, and the files that the reports were in."""

    files: tuple[ReadFile, ...]

    @property
    def reports(self) -> int:
        """How many reports were read, whether or not their round was selected."""
        return sum(file.reports for file in self.files)


def estimate_files(
    paths: Sequence[Source] | Source,
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    assume_round: int | None = None,
    rounds: Sequence[int] | None = None,
    candidates: Sequence[Any] | None = None,
    table: str | None = None,
    beta: float = 0.05,
    turns: Turns | None = None,
    engine: Engine = "local",
    progress: Progress | None = None,
    add_up: SumFiles = sum_files,
) -> FileAnswer:
    """Estimate frequencies from files of reports, of all rounds or of `rounds`. Each file is read to its end.

    In place of a file, anything does that gives Arrow data, such as a DuckDB query or a Polars data frame.
    `mechanism`, `encoding` and `assume_round` are for files that do not say them. `candidates` are what people may
    hold, as the encoding takes it: they are needed for hashed strings, and if there are too many values to
    estimate. Intervals fail with probability at most `beta`. With `turns`, by default what the files say, each
    person answered once: estimates of a round are of all who were active in it. The engine `cuda` compares reports
    with candidates, and transforms large tables, on a GPU. `add_up` adds up the reports: on this machine, or on a
    cluster (`untrackable.engines.spark`). The answer is the same. Of a question that asks for several tables,
    `table` names the one to estimate, by default the first.
    """
    beta = checks.open_probability("beta", beta)
    with running_on(engine):
        return _estimated(
            add_up,
            list(paths) if isinstance(paths, (list, tuple)) else [cast(Source, paths)],
            beta,
            mechanism=mechanism,
            encoding=encoding,
            assume_round=assume_round,
            rounds=rounds,
            ask=lambda made, meant, said: Question(
                made, meant, candidates, turns=agreed("turns", said, turns), table=table
            ),
            progress=progress,
        )


def _estimated(add_up: SumFiles, paths: Sequence[Source], beta: float, **reading: Any) -> FileAnswer:
    found = add_up(paths, **reading)
    counted = {number: sums for number, sums in found.sums.items() if sums.n}
    if found.question is None or not counted:
        selected = "" if not found.reports else " in these rounds from which frequencies can be estimated"
        raise ReportFileError(
            f"{', '.join(str(file.path) for file in found.files)}: there are no reports{selected}"
        )
    if reading["progress"] is not None:
        reading["progress"]("estimating", None)
    given = answer(found.question, counted, beta=beta)
    return FileAnswer(
        question=given.question,
        rounds=given.rounds,
        pooled=given.pooled,
        pooling=given.pooling,
        files=tuple(found.files),
    )


def discover_files(
    paths: Sequence[Source],
    *,
    mechanism: Mechanism | None = None,
    encoding: Encoding | None = None,
    assume_round: int | None = None,
    rounds: Sequence[int] | None = None,
    alpha: float = 0.05,
    leads: int = 10,
    beam: int = BEAM,
    engine: Engine = "local",
    progress: Progress | None = None,
    add_up: SumFiles = sum_files,
) -> Discovered:
    """Find the frequent strings of all reports in these files, of all rounds or of `rounds`.

    The other arguments are those of `estimate_files` and `discover`. If the reports of a client's rounds do not
    pool, as with stored reports, one round must be selected. The engine `cuda` searches on a GPU and finds
    the same.
    """
    with running_on(engine):
        found = add_up(
            paths,
            mechanism=mechanism,
            encoding=encoding,
            assume_round=assume_round,
            rounds=rounds,
            together=True,
            progress=progress,
        )
    if not isinstance(found.encoding, DiscoveredStrings):
        raise EncodingError(
            "these reports are not of strings to be discovered; `untrackable estimate` reads those of known values"
        )
    if not found.sums:
        raise ValueError("there are no reports of these rounds")
    strings = found.encoding

    def searching(passes: int, level: int, done: float) -> None:
        if progress is not None:
            progress("searching", search_share(strings, beam, passes, level, done))

    (sums,) = found.sums.values()
    with running_on(engine):
        return discover(
            strings,
            sums,
            alpha=alpha,
            leads=leads,
            beam=beam,
            heard=share_heard(found.turns, len(found.rounds)),
            progress=searching,
        )
