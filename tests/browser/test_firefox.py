"""People with Firefox, where it is installed: each answers once."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.firefox import EXECUTABLE, Firefox
from tests.browser.people import Asking, refusal
from tests.browser.questions import question

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.slow,
    pytest.mark.skipif(EXECUTABLE is None, reason="Firefox is not installed"),
]

PEOPLE = 10
WIPED = """() => new Promise((done, failed) => {
    const deleting = indexedDB.deleteDatabase("untrackable");
    deleting.onsuccess = () => done();
    deleting.onerror = deleting.onblocked = failed;
})"""


def all_send(*pages: Any) -> list[str]:
    for page in pages:
        page.evaluate("() => { window.sending = client.send() }")
    return [page.evaluate("window.sending") for page in pages]


def test_nobody_answers_twice(asking: Asking, tmp_path: Path) -> None:
    asked = asking.ask(question())
    with Firefox(tmp_path / "profile") as firefox:
        pages: list[Any] = [firefox.page() for _ in range(PEOPLE)]
        tabs: list[Any] = [pages[0], *(firefox.page(pages[0].person) for _ in range(4))]
        for page in (*pages, *tabs[1:]):
            asking.load(page, asked)
        assert refusal(pages[0], "client.answer('private page')") == "the answer must be one of the list"
        asking.join(asked, *pages[:4], turn=1)
        asking.join(asked, *pages[4:], turn=2)
        everybody = [*pages, *tabs[1:]]

        # Round 1: one person has five tabs, one page is loaded again with its report made, and storage is wiped.
        asking.late_in(asked, 1, *everybody)
        assert sorted(all_send(*tabs)) == ["accepted", *["nothing"] * 4]
        body = pages[1].evaluate("async () => [...await client.report()]")
        asking.load(pages[1], asked)
        assert pages[1].evaluate("async () => [...await client.report()]") == body
        assert all_send(*pages[1:4]) == ["accepted"] * 3
        pages[3].evaluate(WIPED)
        assert pages[3].evaluate("client.answer('page 5')") == "not yet"
        assert all_send(*pages) == ["nothing"] * PEOPLE
        assert asking.counted(asked, 1) == 4

        # Round 2: one clock is ahead, then right; and the browser is killed after one report was made.
        asking.late_in(asked, 2, *everybody)
        pages[4].evaluate("now => { window.now = now }", asked.begins(4) - 1)
        assert all_send(pages[4]) == ["nothing"]
        asking.at(pages[4])
        assert all_send(*pages[4:9]) == ["nothing", *["accepted"] * 4]
        body = pages[9].evaluate("async () => [...await client.report()]")
        assert firefox.complaints() == []
    with Firefox(tmp_path / "profile") as firefox:
        again: Any = firefox.page(pages[9].person)
        asking.load(again, asked)
        assert again.evaluate("async () => [...await client.report()]") == body
        assert all_send(again) == ["accepted"]
        assert all_send(again) == ["nothing"]
        assert asking.counted(asked, 2) == 5
        assert firefox.complaints() == []
