"""A campaign's answers as files and as pictures."""

import csv
import io
import re
from textwrap import wrap
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from untrackable import strict_json
from untrackable.collector.dashboard.campaign_access import visible_campaign
from untrackable.collector.dashboard.campaign_answers import (
    FEW_ROWS,
    CampaignAnswers,
    candidates_of,
    largest,
)
from untrackable.collector.dashboard.chart_shapes import bars, ticks, widest_share
from untrackable.collector.dashboard.heavy_work import HeavyWork, awaited
from untrackable.collector.dashboard.page_rendering import HEADERS
from untrackable.collector.dashboard.page_turns import in_turn, page_turn
from untrackable.collector.http.problems import Problem, Refused
from untrackable.collector.http.service import Service
from untrackable.display.answer_words import interval_words, rounds_words
from untrackable.display.page_shell import page_template
from untrackable.display.percentages import percent
from untrackable.encodings.asked_tables import AskedTable
from untrackable.estimation.estimate_export import csv_cell
from untrackable.extras import extra

COLUMNS = ("label", "frequency", "tells", "unclamped", "standard_error", "lower", "upper", "stands_out")
"""The columns of files. Intervals hold for all answers at once."""
_KINDS = {"label": "string", "tells": "bool", "stands_out": "bool"}
"""The kinds of the columns of Parquet files that are not numbers."""
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "parquet": "application/vnd.apache.parquet",
    "svg": "image/svg+xml",
    "png": "image/png",
}
_SECONDS = 15.0
"""How long somebody waits for a file that the process for heavy work makes."""
_LETTERS = 120
"""How many letters of the words below a picture fit on a line."""
_SHARPNESS = 2.0
"""How many pixels of a PNG are one unit of the drawing."""
_NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""The characters that no XML may contain, but that a string to look for may have."""


class AnswerFiles:
    """The endpoints of files. What a campaign's page shows is in them, and nothing else."""

    def __init__(self, service: Service, work: HeavyWork) -> None:
        self._service, self._work = service, work

    def download(self, request: Request) -> Response:
        """The answers as CSV, JSON or Parquet."""
        kind = request.path_params["kind"]
        answers, rounds, table, found = self._asked(request)
        if kind == "csv":
            content = _csv(found["values"])
        elif kind == "json":
            about = {"campaign": answers.campaign.id} | ({} if table is None else {"table": table.name})
            content = strict_json.write({**about, **found}).encode()
        elif kind == "parquet":
            rows = tuple(tuple(row[name] for name in COLUMNS) for row in found["values"])
            content = awaited(self._work.submit(parquet, rows, found["reports"], found["beta"]), _SECONDS)
        else:
            raise Refused(Problem.NOT_FOUND, "answers can be downloaded as csv, json or parquet")
        return _file(content, kind, answers, rounds, table)

    def picture(self, request: Request) -> Response:
        """The answers with the largest estimates as bars with their intervals."""
        kind = request.path_params["kind"]
        if kind not in ("svg", "png"):
            raise Refused(Problem.NOT_FOUND, "pictures are svg or png")
        answers, rounds, table, found = self._asked(request)
        with page_turn():
            drawing = picture(answers, rounds, table, found)
        content = drawing.encode() if kind == "svg" else awaited(self._work.submit(png, drawing), _SECONDS)
        return _file(content, kind, answers, rounds, table)

    @in_turn
    def _asked(
        self, request: Request
    ) -> tuple[CampaignAnswers, tuple[int, ...], AskedTable | None, dict[str, Any]]:
        stored = visible_campaign(self._service, request)
        answers = CampaignAnswers(self._service, self._service.campaign(stored.id))
        rounds = answers.chosen(request.query_params.get("round"))
        table = answers.table(request.query_params.get("table"))
        candidates = candidates_of(request.query_params.get("strings"))
        return answers, rounds, table, answers.estimate(rounds, candidates, table)


def picture(
    answers: CampaignAnswers, rounds: tuple[int, ...], table: AskedTable | None, found: dict[str, Any]
) -> str:
    """The picture as SVG, on white paper."""
    rows = largest(found["values"], FEW_ROWS)
    highest = widest_share(rows)
    discovered = answers.campaign.encoding.kind == "discovered-strings"
    words = interval_words(found["beta"], rows, discovered=discovered)
    drawn = page_template("untrackable.collector.dashboard", "templates/picture.svg").render(
        question=answers.campaign.question,
        about=f"{'' if table is None else f'{table.name}: '}{found['reports']:,} reports of {rounds_words(rounds)}",
        bars=bars(rows, rows),
        marks=[(tick / highest, percent(tick).replace(".00 %", " %")) for tick in ticks(0.0, highest)],
        words=[line for said in words for line in wrap(said, _LETTERS)],
    )
    return _NOT_XML.sub("\ufffd", drawn)


def png(drawing: str) -> bytes:
    """A drawing in pixels. This runs in the process for heavy work."""
    with extra("plots"):
        import vl_convert

    return vl_convert.svg_to_png(drawing, scale=_SHARPNESS)


def parquet(rows: tuple[tuple[Any, ...], ...], reports: int, beta: float) -> bytes:
    """Answers as a Parquet file. This runs in the process for heavy work."""
    with extra("files"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    columns = zip(*rows, strict=True) if rows else ((),) * len(COLUMNS)
    table = pa.table(
        {
            name: pa.array(column, type=_KINDS.get(name, "float64"))
            for name, column in zip(COLUMNS, columns, strict=True)
        }
    )
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({"reports": str(reports), "beta": repr(beta)}), file)
    return file.getvalue()


def _csv(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(csv_cell(row[name]) for name in COLUMNS)
    return text.getvalue().encode()


def _file(
    content: bytes, kind: str, answers: CampaignAnswers, rounds: tuple[int, ...], table: AskedTable | None
) -> Response:
    which = f"round-{rounds[0]}" if len(rounds) == 1 else f"rounds-{rounds[0]}-to-{rounds[-1]}"
    asked = answers.campaign.encoding.asked
    if asked is not None and table is not None and len(asked.tables) > 1:
        which = f"table-{asked.tables.index(table) + 1}-{which}"
    name = f"answers-{answers.campaign.id[:12]}-{which}.{kind}"
    # A picture has its own style inside, and nothing else may run in it.
    policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    headers = {
        **HEADERS,
        "content-security-policy": policy,
        "content-disposition": f'attachment; filename="{name}"',
    }
    return Response(content, headers=headers, media_type=_TYPES[kind])
