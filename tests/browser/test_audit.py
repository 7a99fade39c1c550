"""The client for web pages passes `untrackable audit-client` at its campaign's own claim."""

import json

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser

from tests.browser import audit_driver
from tests.browser.people import Asking
from tests.browser.questions import question
from untrackable.cli import main
from untrackable.encodings.encoding import Bit
from untrackable.mechanisms.local import RandomizedResponse

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]


def test_the_shipped_client_passes_an_audit(browser: Browser, asking: Asking) -> None:
    """Each report is made in a storage of its own. (`test_vectors` audits more of them, and refutes a claim.)"""
    asked = asking.ask(question(RandomizedResponse(eps=2.0), Bit(), rounds=1, wipes=1))
    context = browser.new_context()
    page = asking.page(context, asked)
    audit_driver.open_page(page, asked, {"eps": 4})
    command = [
        *("audit-client", "tests.browser.audit_driver:make_client", "--json", "--check"),
        *("--value", "0", "--value", "1", "--reports", "2", "--clients", "128", "--level", "0.99"),
    ]
    done = CliRunner().invoke(main, [*command, "--claimed-eps", str(asked.guarantee.eps)])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert not found["refuted"]
    assert not found["shares_randomness"]
    assert not found["persists"]
    assert found["eps_lower"] > 0.3
    assert found["eps_lower"] <= 4
    assert asking.complaints == []
    context.close()
