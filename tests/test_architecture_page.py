"""docs/architecture.md and docs/glossary.md: paths and packages exist, words are explained."""

import re
from pathlib import Path

from tests.test_architecture import SOURCE, USES

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")

WORDS = """
    advantage bracket campaign card client collector deck delta directory encoding eps estimate everlasting exact
    gamma interval ledger lower mechanism observer pin policy radius report round sampled slot state undetectable
    untrackable upper value
"""

FIELD = (
    "local differential privacy", "randomised response", "memoization", "shuffle model", "subsampling",
    "frequency oracle", "privacy loss distribution", "privacy accountant", "heavy hitters", "longitudinal privacy",
    "Oblivious HTTP",
)  # fmt: skip
"""Standard names by which experts look for an idea."""


def named_paths(text: str) -> set[str]:
    """Modules and folders below src/untrackable that the text names."""
    return set(re.findall(r"`([a-z_0-9/]+(?:\.py|/))`", text))


def picture(text: str) -> str:
    """The one diagram of the page."""
    (diagram,) = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(diagram)


def test_every_path_exists() -> None:
    paths = named_paths(PAGE) | set(re.findall(r"[a-z_/]+/(?= )", picture(PAGE)))
    assert [path for path in sorted(paths) if not (SOURCE / path).exists()] == []


def test_every_package_is_in_the_picture() -> None:
    assert set(re.findall(r"\b([a-z_]+)/", picture(PAGE))) >= set(USES)


def test_every_word_is_explained_once_and_briefly() -> None:
    entries = re.findall(r"^\| ([a-z ]+) \| ([^|]+) \| ([^|]*) ?\|$", GLOSSARY, re.MULTILINE)
    words = [word for word, _, _ in entries if word != "word"]
    assert set(WORDS.split()) <= set(words)
    assert len(words) == len(set(words))
    for word, meaning, _ in entries:
        assert len(meaning) <= 260, word


def test_the_names_that_the_field_uses_are_in_the_glossary() -> None:
    for name in FIELD:
        assert name in GLOSSARY, name
