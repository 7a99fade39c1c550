"""Questions with several answers at once, from the command that writes the campaign to the pages that show it."""

import json
import re
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from tests.client.samples import turns_campaign
from tests.collector.samples import BEGIN, answers, campaign, sealed
from tests.collector.servers import collecting
from untrackable import Campaign
from untrackable.cli import main
from untrackable.collector.api import create_campaign
from untrackable.collector.closing import close_round
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round, Store
from untrackable.encodings import Bit, Categories, Record
from untrackable.encodings import Path as AnswerPath
from untrackable.mechanisms.deck import dealt_for_budget
from untrackable.mechanisms.views import Views
from untrackable.protocol.campaign import Guarantee

PEOPLE = 5_000


def closed(store: Store, asked: Campaign, held: np.ndarray) -> None:
    create_campaign(store, asked.to_bytes(), published=True)
    for number in (1, 2):
        reports = answers(asked.mechanism, held, round=number, seed=number)
        rows = np.array([list(body[5:]) for body in sealed(asked, reports, round=number)], dtype=np.uint8)
        store.add({Round(asked.id, number): rows})
        close_round(store, asked, number)


def test_choices_from_the_command_to_the_page(tmp_path: Path) -> None:
    file = tmp_path / "asked.json"
    names = [word for name in ("search", "export", "share") for word in ("--choice", name)]
    question = ("--question", "Which did you use?", "--rounds", "30", "--every", "1h", "--eps", "8")
    first = ("--first", "2027-01-15T08:00")
    done = CliRunner().invoke(main, ["campaign", "new", str(file), *question, *names, *first])
    assert done.exit_code == 0, done.output
    assert "any number of 3: search, export, share" in done.output
    assert "are off by at most" in " ".join(done.output.split())
    asked = Campaign.from_bytes(file.read_bytes())
    assert asked.first_round == BEGIN
    chosen = np.random.default_rng(1).random((PEOPLE, 3)) < [0.9, 0.5, 0.1]
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db")) as collector:
        closed(collector.store, asked, (chosen @ (1, 2, 4)).astype(np.uint64))
        rows = collector.http.get(f"/campaigns/{asked.id}/estimate").json()["values"]
        shown = {row["label"]: row for row in rows}
        assert set(shown) == {"search", "export", "share"}
        for name, share in zip(("search", "export", "share"), chosen.mean(axis=0), strict=True):
            assert shown[name]["lower"] <= share <= shown[name]["upper"]
        assert shown["search"]["stands_out"]
        page = collector.http.get(f"/view/{asked.id}")
        assert page.status_code == 200
        assert "any number of 3: search, export, share" in page.text.casefold()
        assert "more answers" not in page.text
        assert "Trend" in page.text


def test_the_tables_of_a_record(tmp_path: Path) -> None:
    person = Record(attributes={"system": Categories(names=["linux", "mac"]), "dark": Bit(), "new": Bit()})
    base = Views(bits=person.bits, views=person.asked.views, eps=1.0)
    deck = dealt_for_budget(base, slots=30, eps=8.0, delta=1e-6)
    guarantee = Guarantee(eps=8.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0)
    asked = campaign(deck, encoding=person, guarantee=guarantee)
    records = [{"system": "mac", "dark": 1, "new": 0}] * 3000 + [{"system": "linux", "dark": 0, "new": 1}] * 2000
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db")) as collector:
        closed(collector.store, asked, person.encode_many(records))
        for table, label, share in (
            ("", "mac × yes", 0.6),
            ("?table=system", "mac", 0.6),
            ("?table=new", "yes", 0.4),
        ):
            rows = collector.http.get(f"/campaigns/{asked.id}/estimate{table}").json()["values"]
            (row,) = [row for row in rows if row["label"] == label]
            assert row["lower"] <= share <= row["upper"]
        refused = collector.http.get(f"/campaigns/{asked.id}/estimate?table=age")
        assert refused.status_code == 400
        assert "others were not asked for" in json.loads(refused.text)["detail"]
        page = collector.http.get(f"/view/{asked.id}?table=dark").text
        assert re.findall('<option value="([^"]*)" dir="auto"( selected)?>', page) == [
            ("system, dark", ""),
            ("system, new", ""),
            ("dark, new", ""),
            ("system", ""),
            ("dark", " selected"),
            ("new", ""),
        ]
        assert re.findall('<th scope="row" dir="auto"><bdi>(.*)</bdi>', page) == ["no", "yes"]
        assert sorted(re.findall("<figcaption><bdi>(.*)</bdi>", page)) == ["no", "yes"]
        assert "more answers" not in page
        assert f"/view/{asked.id}/download.csv?table=dark" in page
        pairs = collector.http.get(f"/view/{asked.id}?table=dark%2C+new&round=2").text
        assert re.findall('<th scope="row" dir="auto"><bdi>(.*)</bdi>', pairs) == [
            f"{dark} × {new}" for dark in ("no", "yes") for new in ("no", "yes")
        ]
        assert f"/view/{asked.id}/picture.svg?table=dark%2C+new&amp;round=2" in pairs
        file = collector.http.get(f"/view/{asked.id}/download.json?table=dark%2C+new&round=2")
        assert "table-3-round-2.json" in file.headers["content-disposition"]
        content = file.json()
        assert content["table"] == "dark, new"
        (row,) = [row for row in content["values"] if row["label"] == "yes × no"]
        assert row["lower"] <= 0.6 <= row["upper"]
        assert (
            "dark, new: 5,000 reports of round 2"
            in collector.http.get(f"/view/{asked.id}/picture.svg?table=dark%2C+new&round=2").text
        )
        unknown = collector.http.get(f"/view/{asked.id}?table=%3Cb%3E").text
        assert "others were not asked for, so nothing is known of them.</bdi>" in unknown
        assert "<b>" not in unknown
        assert collector.http.get(f"/view/{asked.id}/download.csv?table=age").status_code == 400
        other = campaign(question="Other?")
        create_campaign(collector.store, other.to_bytes(), published=True)
        assert '<select id="table"' not in collector.http.get(f"/view/{other.id}").text
        assert collector.http.get(f"/view/{asked.id}").status_code == 200


def test_the_looks_of_a_path(tmp_path: Path) -> None:
    path = AnswerPath(of=Bit(), looks=3)
    base = Views(bits=3, views=path.asked.views, eps=5.0, width=3)
    asked = turns_campaign(base, encoding=path, rounds=2, eps=5.0, first_round=BEGIN, round_seconds=3600)
    held = path.encode_many([[0, 0, 1]] * 3000 + [[0, 1, 1]] * 2000)
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db")) as collector:
        closed(collector.store, asked, held)
        for table, label, share in (
            ("?table=look+1", "yes", 0.0),
            ("?table=look+2", "yes", 0.4),
            ("?table=look+1%2C+look+2", "no × yes", 0.4),
            ("", "yes", 1.4 / 3),
        ):
            estimate = collector.http.get(f"/campaigns/{asked.id}/estimate{table}").json()
            (row,) = [row for row in estimate["values"] if row["label"] == label]
            assert row["lower"] <= share <= row["upper"]
            assert estimate["reports"] == 2 * PEOPLE
        page = collector.http.get(f"/view/{asked.id}").text
        assert "all looks together" in page
        assert "Each of the 3 looks of a round is shown like a round of its own." in page
        trend = re.findall(r'<th scope="row">(\d+)</th>', page)
        assert {str(number) for number in range(1, 7)} <= set(trend)
        assert collector.http.get(f"/view/{asked.id}?table=look+2%2C+look+3").status_code == 200
        assert collector.http.get(f"/view/{asked.id}/download.csv").status_code == 200
        assert collector.http.get("/metrics/estimates").status_code in (200, 404)
