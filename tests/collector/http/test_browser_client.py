"""The client for web pages, as the collector serves it and shows how to embed it."""

import base64
import hashlib
import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collector.http.test_app import problem
from tests.collector.samples import campaign
from tests.collector.servers import Collector, collecting
from untrackable import Bit, Bitwise, InnerProduct, Rappor
from untrackable.collector.http import browser_client
from untrackable.collector.stores.store_address import open_store
from untrackable.encodings.discovered_strings import DiscoveredStrings
from untrackable.mechanisms.inner_product.deck import Deck
from untrackable.mechanisms.local.noisy_inner_product import NoisyInnerProduct
from untrackable.mechanisms.local.string_levels import Levelled
from untrackable.mechanisms.wrappers.card_dealing import Dealt
from untrackable.protocol.campaign import Guarantee
from untrackable.theory.attendance import Attendance


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    with collecting(open_store(f"sqlite:///{tmp_path}/x.db")) as found:
        yield found


def test_files_are_served_for_ever_and_to_every_origin(collector: Collector) -> None:
    assert len(browser_client.files()) == 2
    for name, content in browser_client.files().items():
        digest = re.fullmatch(r"[a-z]+-([0-9a-f]{16})\.js", name)
        assert digest
        assert hashlib.sha256(content).hexdigest().startswith(digest[1])
        found = collector.http.get(f"/client/{name}")
        assert found.content == content
        assert found.headers["content-type"].startswith("text/javascript")
        assert "immutable" in found.headers["cache-control"]
        assert found.headers["access-control-allow-origin"] == "*"
        assert found.headers["x-content-type-options"] == "nosniff"
    for name in ("untrackable.js", "nothing", "..%2Fapp.py"):
        assert problem(collector.http.get(f"/client/{name}")) == (404, "not-found")


def test_lines_to_embed_it_are_on_the_page(collector: Collector) -> None:
    asked = collector.create(campaign())
    lines = html.unescape(collector.http.get("/").text.split("<pre")[1].split("</pre>")[0])
    name, content = next(item for item in browser_client.files().items() if item[0].startswith("untrackable-"))
    digest = base64.b64encode(hashlib.sha384(content).digest()).decode()
    address = f"https://testserver/client/{name}"
    assert f'href="{address}" integrity="sha384-{digest}"' in lines
    assert f'from "{address}"' in lines
    assert f'campaign: "{asked.id}"' in lines
    assert 'policy: {"eps": 8, "delta": 1e-06, "gamma": 0, "tracking_delta": 0}' in lines
    local = collector.http.get("/", headers={"host": "localhost:8080"}).text
    assert "http://localhost:8080/client/" in local


def test_campaigns_that_the_client_cannot_answer_have_no_such_lines(collector: Collector) -> None:
    declared = Guarantee(eps=8.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0, recognition=1.0)
    strings = DiscoveredStrings(salt=bytes(16), longest=4, prefixes=(2, 4), alphabet="abcdef", bucket_bits=8)
    answered = [
        campaign(),
        campaign(Bitwise(eps_state=1, eps_report=1), encoding=Bit()),
        campaign(InnerProduct(bits=4, slots=9, eps_report=1)),
    ]
    others = [
        campaign(guarantee=declared, attendance=Attendance(one_network=True)),
        campaign(Rappor(bloom_bits=8, hashes=1, f=0.5, p=0.5, q=0.75, cohorts=1)),
        campaign(Deck(bits=4, slots=1_000_001, eps_report=1e-3), rounds=9),
        campaign(Dealt(Levelled(NoisyInnerProduct(bits=8, eps=1), 2), 30), encoding=strings),
    ]
    assert all(map(browser_client.takes_part, answered))
    assert not any(map(browser_client.takes_part, others))
