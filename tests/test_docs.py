"""README and docs: their Python runs, their links lead somewhere, their tests exist."""

import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks_run(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "<docs>", "exec"), {"__name__": "__docs__"})  # noqa: S102
    printed = capsys.readouterr().out
    # Comments behind a print say what it prints, up to an ellipsis.
    for line, said in re.findall(r"^print\((.*)\)  # ([^\s:,]+)", block, re.MULTILINE):
        assert said.rstrip("….") in printed, line


def test_there_are_blocks_to_run() -> None:
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_erratum_names_a_test_that_exists() -> None:
    rows = re.findall(
        r"^\| (E\d+) \|.*\| ([^|]+) \|$", (ROOT / "docs" / "errata.md").read_text(encoding="utf-8"), re.M
    )
    assert [number for number, _ in rows] == [f"E{i}" for i in range(1, len(rows) + 1)]
    for number, tests in rows:
        names = re.findall(r"`([^`]+)`", tests)
        assert names, number
        for name in names:
            assert list(ROOT.glob(name if "/" in name else f"tests/**/{name}")), name


def test_the_paper_map_names_things_that_exist() -> None:
    text = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`((?:theory|mechanisms)\.[A-Za-z_.]+)`", text))
    assert len(names) > 20
    for name in names:
        pkgutil.resolve_name(f"untrackable.{name}")
