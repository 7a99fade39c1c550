"""docs/architecture.md and docs/glossary.md: every path is there, the packages are those of the imports."""

import re
from pathlib import Path

from tests.test_architecture import BASICS, SOURCE, USES

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")

WORDS = """
    advantage bracket campaign card client collector deck delta directory encoding eps estimate everlasting exact
    gamma interval ledger lower mechanism observer pin policy radius report round sampled slot state undetectable
    untrackable upper value
"""


def named_paths(text: str) -> set[str]:
    """Modules, pages and folders below src/untrackable."""
    return set(re.findall(r"`([a-z_0-9/]+(?:\.py|/))`", text))


def packages(text: str) -> dict[str, set[str]]:
    """The table of packages."""
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", used)) for name, used in rows}


def test_every_path_exists() -> None:
    paths = named_paths(PAGE)
    assert len(paths) > 60
    assert [path for path in sorted(paths) if not (SOURCE / path).exists()] == []


def test_every_package_is_on_the_way_of_the_data() -> None:
    """Research and demonstration beside it are in the table only."""
    reached = {path.split("/")[0] for path in named_paths(PAGE) if "/" in path}
    assert set(USES) - reached <= {"demo", "kernels", "paper", "rappor_decode"}


def test_the_table_of_packages_is_what_the_imports_are_tested_against() -> None:
    assert packages(PAGE) == USES


def test_what_everyone_may_import_is_named() -> None:
    sentence = re.search(r"everyone may import ([^.]+(?:\.py[^.]+)+)\.", PAGE)
    assert sentence is not None
    assert {Path(path).stem for path in named_paths(sentence[1])} == BASICS


def test_every_word_is_explained_once_and_briefly() -> None:
    entries = re.findall(r"^\| ([a-z ]+) \| ([^|]+) \|$", GLOSSARY, re.MULTILINE)
    words = [word for word, _ in entries if word != "word"]
    assert set(WORDS.split()) <= set(words)
    assert len(words) == len(set(words))
    for word, meaning in entries:
        assert len(meaning) <= 260, word
