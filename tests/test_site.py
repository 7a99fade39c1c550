"""The site of documents: it is built without a warning, has every page, and fetches nothing from elsewhere."""

import html
import re
import sys
from pathlib import Path

import pytest

import untrackable
from tests.collector.http_api_page import PAGE, http_api_page
from tests.distribution import ROOT, said
from tests.notebooks import NOTEBOOKS, read

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A link that leads nowhere, or a page that is not in the navigation, is an error."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    assert "WARNING" not in said(build, ROOT, NO_MKDOCS_2_WARNING="1")
    return folder


def test_every_page_is_there(site: Path) -> None:
    for page in DOCS.glob("*.md"):
        assert (site / f"{page.stem}.html").exists(), page.name
    assert (site / "search" / "search_index.json").stat().st_size > 100_000


def test_comments_do_not_show(site: Path) -> None:
    for page in (*site.glob("*.html"), site / "search" / "search_index.json"):
        text = re.sub("<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"(?:&lt;|\\u003c|<)!--|-->|--&gt;", text), page.name


def test_notebooks_are_pages_with_their_pictures(site: Path) -> None:
    for path in NOTEBOOKS:
        text = (site / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
        stored = read(path)
        drawn = [
            output.data["text/plain"]
            for cell in stored.cells
            for output in cell.get("outputs", ())
            if "image/svg+xml" in output.get("data", {})
        ]
        assert drawn
        pictures = re.findall(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,', text)
        assert [f"<Picture: {html.unescape(words)}>" for words in pictures] == drawn
        assert (site / "notebooks" / path.name).read_bytes() == path.read_bytes(), "it can be downloaded"
        for target in ("product-team", "researcher", "auditor"):
            assert f"notebooks/{target}.html" in (site / "api.html").read_text(encoding="utf-8")


def test_it_fetches_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        if page.parent.name == "examples":  # Files to download.
            continue
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"', text)
        fetched += re.findall(
            r'<link\b[^>]*\brel="(?:stylesheet|preconnect|preload|icon)"[^>]*\bhref="([^"]+)"', text
        )
        assert fetched
        assert not [address for address in fetched if re.match("(https?:)?//", address)], page.name


def test_the_reference_has_every_public_name(site: Path) -> None:
    text = (site / "api.html").read_text(encoding="utf-8")
    documented = set(re.findall(r"^::: untrackable\.(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.M))
    assert documented == set(untrackable.__all__)
    for name in documented:
        assert re.search(rf'id="untrackable\.{name}"', text), name


def test_the_page_of_the_http_api_is_what_the_collector_describes() -> None:
    assert PAGE.read_text(encoding="utf-8") == http_api_page(), "python -m tests.collector.http_api_page"
