"""Answers as files: each has what the page shows."""

import csv
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.collector.dashboard.test_campaign_page import filled
from tests.collector.samples import campaign
from tests.collector.servers import Collector, collecting
from untrackable import Categories, HashedStrings, IntegerRange
from untrackable.collector.dashboard.answer_files import COLUMNS
from untrackable.collector.stores.store_address import open_store
from untrackable.estimation.estimate_export import csv_text


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db")) as found:
        yield found


def test_every_kind_of_file_has_the_same_answers(collector: Collector) -> None:
    asked = campaign(question="Which <page>?")
    filled(collector.store, asked, people=400, rounds=2)
    path = f"/view/{asked.id}"
    expected = collector.http.get(f"/campaigns/{asked.id}/estimate?top=12").json()
    rows = sorted(expected["values"], key=lambda row: row["value"])
    found = {kind: collector.http.get(f"{path}/download.{kind}") for kind in ("csv", "json", "parquet")}
    assert found["json"].json() == {"campaign": asked.id, **expected, "values": rows}
    table = list(csv.DictReader(io.StringIO(found["csv"].text)))
    assert [row["label"] for row in table] == [row["label"] for row in rows]
    assert [float(row["upper"]) for row in table] == [row["upper"] for row in rows]
    columns = pyarrow.parquet.read_table(io.BytesIO(found["parquet"].content)).to_pylist()
    assert columns == [{name: row[name] for name in COLUMNS} for row in rows]
    for kind, response in found.items():
        assert f'filename="answers-{asked.id[:12]}-rounds-1-to-2.{kind}"' in response.headers["content-disposition"]
        assert response.headers["cache-control"] == "no-store"
    one = json.loads(collector.http.get(f"{path}/download.json?round=2").content)
    assert (one["rounds"], one["reports"]) == ([2], 400)


def test_pictures(collector: Collector) -> None:
    asked = campaign(question="Which <page>?")
    filled(collector.store, asked, people=400)
    drawn = collector.http.get(f"/view/{asked.id}/picture.svg")
    assert drawn.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    picture = ET.fromstring(drawn.text)  # noqa: S314 (our own)
    texts = ["".join(element.itertext()) for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Which <page>?", "400 reports of round 1", "page 0", "page 11"} <= set(texts)
    assert "All intervals hold at once, except with probability 5 % (upper)." in texts
    pixels = collector.http.get(f"/view/{asked.id}/picture.png")
    assert pixels.headers["content-type"] == "image/png"
    assert pixels.content.startswith(b"\x89PNG")


def test_no_spreadsheet_takes_an_answer_for_a_formula(collector: Collector) -> None:
    """Strings come from people who answer, or from an address that somebody sent. Other files are exact."""
    names = ["=1+1", "+1", "-1+1|x!A0", "@SUM(1)", "a=b", "'=1", '"=1', "ü"]
    asked = campaign(encoding=Categories(names=names))
    filled(collector.store, asked, people=400)
    answer = collector.http.get(f"/view/{asked.id}/download.csv").text
    labels = [row["label"] for row in csv.DictReader(io.StringIO(answer))]
    assert labels == ["'=1+1", "+1", "'-1+1|x!A0", "'@SUM(1)", "a=b", "''=1", '"=1', "ü"]
    assert [csv_text(label) for label in labels] == names
    exact = collector.http.get(f"/view/{asked.id}/download.json").json()
    assert [row["label"] for row in exact["values"]] == names
    numbers = campaign(encoding=IntegerRange(low=-3, high=3))
    filled(collector.store, numbers, people=400)
    answer = collector.http.get(f"/view/{numbers.id}/download.csv").text
    assert [row["label"] for row in csv.DictReader(io.StringIO(answer))][:4] == ["-3", "-2", "-1", "0"]


@pytest.mark.parametrize("odd", ["\x00", "\x01", "a\x1bb", "\ufffe", "\U0001f600", "\u202e"])
def test_pictures_of_any_string(collector: Collector, odd: str) -> None:
    """A character that no XML has would be a fault of the process that draws, with a line in its log."""
    asked = campaign(encoding=HashedStrings(bits=4, salt=bytes(16), longest=50))
    filled(collector.store, asked, people=400)
    drawn = collector.http.get(f"/view/{asked.id}/picture.svg", params={"strings": f"x{odd}y"})
    assert drawn.status_code == 200
    picture = ET.fromstring(drawn.text)  # noqa: S314 (our own)
    texts = ["".join(element.itertext()) for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert any(text.startswith("x") and text.endswith("y") for text in texts)


def test_files_that_there_are_not(collector: Collector) -> None:
    asked = campaign()
    filled(collector.store, asked, people=5)
    for path, status, words in (
        ("download.exe", 409, "No closed round has the 10 reports"),
        ("picture.gif", 404, "Pictures are svg or png."),
        ("download.csv", 409, "No closed round has the 10 reports"),
        ("download.csv?round=1", 409, "Round 1 has fewer than 10 reports"),
    ):
        response = collector.http.get(f"/view/{asked.id}/{path}")
        assert response.status_code == status
        assert words in response.text
        assert response.headers["content-type"] == "text/html; charset=utf-8"
