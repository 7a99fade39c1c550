"""People with Firefox, where it is installed: each is counted exactly once."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.firefox import EXECUTABLE, Firefox
from tests.browser.people import Asking, refusal
from tests.browser.test_rounds import every_round

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


def test_everybody_is_counted_once(asking: Asking, tmp_path: Path) -> None:
    asked = asking.ask(every_round())
    asking.clock.now = asked.first_round - 100
    with Firefox(tmp_path / "profile") as firefox:
        pages: list[Any] = [firefox.page() for _ in range(PEOPLE)]
        tabs: list[Any] = [pages[0], *(firefox.page(pages[0].person) for _ in range(4))]
        for page in (*pages, *tabs[1:]):
            asking.load(page, asked)
        for i, page in enumerate(pages):
            assert page.evaluate("answer => client.answer(answer)", f"page {i % 12}") is True
        assert refusal(pages[0], "client.answer('private page')") == "the answer must be one of the list"
        everybody = [*pages, *tabs[1:]]

        # Round 1: one person has five tabs, and one page is loaded again after the report was marked.
        asking.late_in(asked, 1, *everybody)
        assert sorted(all_send(*tabs)) == ["accepted", *["nothing"] * 4]
        body = pages[1].evaluate("async () => [...await client.report()]")
        asking.load(pages[1], asked)
        assert pages[1].evaluate("async () => [...await client.report()]") == body
        assert all_send(*pages[1:]) == ["accepted"] * (PEOPLE - 1)
        assert asking.counted(asked, 1) == PEOPLE

        # Round 2: one storage is wiped, and one clock is ahead, then right.
        asking.late_in(asked, 2, *everybody)
        wiped, moved, *others = pages[1:]
        assert all_send(wiped) == ["accepted"]
        wiped.evaluate(WIPED)
        assert wiped.evaluate("client.answer('page 5')") is True
        assert all_send(wiped) == ["nothing"]
        moved.evaluate("now => { window.now = now }", asked.begins(4) - 1)
        asking.clock.now = asked.begins(2) + 600
        assert all_send(moved) == ["refused"]
        asking.late_in(asked, 2, *everybody)
        assert all_send(moved) == ["nothing"]
        assert set(all_send(pages[0], *others)) == {"accepted"}
        assert asking.counted(asked, 2) == PEOPLE - 1

        # Round 4: the browser is killed after one report was marked. The next process sends the same bytes.
        asking.late_in(asked, 4, *everybody)
        assert set(all_send(*pages[1:])) == {"accepted"}
        body = pages[0].evaluate("async () => [...await client.report()]")
        assert firefox.complaints() == []
    with Firefox(tmp_path / "profile") as firefox:
        again: Any = firefox.page(pages[0].person)
        asking.load(again, asked)
        assert again.evaluate("async () => [...await client.report()]") == body
        assert all_send(again) == ["accepted"]
        assert asking.counted(asked, 4) == PEOPLE
        assert firefox.complaints() == []
