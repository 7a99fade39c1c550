"""The example notebooks: they show what they show when they are run, and their links lead somewhere."""

import copy
import re
from pathlib import Path

import pytest

from tests.notebooks import FOLDER, NOTEBOOKS, executed, read, words

IDS = [path.stem for path in NOTEBOOKS]


def test_there_is_one_for_each_kind_of_user() -> None:
    assert IDS == ["auditor", "product-team", "researcher"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_they_show_what_they_show_when_they_are_run(path: Path) -> None:
    stored = read(path)
    shown = executed(stored)
    assert words(stored) == words(shown), "python -m tests.notebooks"
    assert [cell.source for cell in stored.cells] == [cell.source for cell in shown.cells]
    assert all(cell.outputs or "=" in cell.source for cell in stored.cells if cell.cell_type == "code")


def test_a_wrong_digit_is_noticed_in_words_tables_and_pictures() -> None:
    stored = read(FOLDER / "product-team.ipynb")
    seen = set()
    for number, cell in enumerate(stored.cells):
        for place, output in enumerate(cell.get("outputs", ())):
            parts = {"text": output.text} if output.output_type == "stream" else dict(output.data)
            for kind, content in parts.items():
                written = content if kind != "image/svg+xml" else re.findall(r">([^<]*\d %)</text>", content)[-1]
                digit = re.findall(r"\d", written)[-1] if re.search(r"\d", written) else None
                if digit is None:
                    continue
                changed = copy.deepcopy(stored)
                other = changed.cells[number].outputs[place]
                wrong = written[: written.rindex(digit)] + str((int(digit) + 1) % 10)
                holder, key = (other, "text") if kind == "text" else (other.data, kind)
                holder[key] = content.replace(written, wrong)
                assert words(changed) != words(stored), kind
                seen.add(kind)
    assert seen >= {"text", "text/html", "image/svg+xml"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_links_lead_somewhere(path: Path) -> None:
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    assert targets
    for target in targets:
        assert (path.parent / target).exists(), target
