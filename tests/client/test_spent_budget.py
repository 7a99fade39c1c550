"""What is spent of a budget, as the smallest eps that holds at the person's delta."""

import math
import re
from pathlib import Path

import pytest

from tests.client.samples import Clock, campaign, client, policy
from untrackable.accounting.spent_budget import spent_eps
from untrackable.brackets import at_least
from untrackable.client.ledger import Ledger
from untrackable.client.private_folder import Folder
from untrackable.client.stored_policy import spent_budget
from untrackable.errors import CampaignRefused


def test_it_is_the_smallest_eps_and_never_below_it() -> None:
    for delta in (1e-9, 1e-6, 1e-3):
        exact = -math.log(delta) / 9
        for allowed in (0.1, 1.0, exact * 1.0001, 90.0):
            found = spent_eps(lambda eps: math.exp(-9 * eps), allowed, delta)
            assert exact <= found <= 1.001 * exact
            assert found <= allowed or allowed < exact
    assert spent_eps(lambda eps: 0.0, 1.0, 1e-6) == 0
    assert spent_eps(lambda eps: 1.0, 1.0, 1e-6) == math.inf


def test_a_folder_says_what_its_campaigns_spend(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    assert spent_budget(folder) is None
    asked = campaign()
    limits = policy(eps=40.0)
    client(folder, asked, Clock(), eps=40.0).answer(1)
    found = spent_budget(folder)
    assert found is not None
    opened = Folder(folder)
    with opened.locked():
        ledger = Ledger.read(opened)
    declared = asked.guarantee
    assert found.eps <= declared.eps * 1.001
    assert ledger.check(limits)[0] <= limits.delta
    fits = policy(eps=found.eps * 1.01)
    assert ledger.check(fits)[0] <= fits.delta
    with pytest.raises(CampaignRefused, match=r"they would spend eps .* \(upper\)\. `untrackable policy show`"):
        ledger.check(policy(eps=found.eps * 0.98))
    smaller = policy(eps=found.eps * 0.98)
    left = re.escape(at_least(smaller.eps, 3))
    before = rf"Before this one, eps {left} is left \(lower\)\. .* `untrackable policy set --eps"
    with pytest.raises(CampaignRefused, match=before):
        ledger.check(smaller, Ledger())


@pytest.mark.parametrize("allowed", [1e-4, 1.0, 30.0])
def test_what_is_spent_is_found_in_few_steps(allowed: float) -> None:
    """Also where less is allowed than is resolved, and where more is spent than is allowed."""
    asked: list[float] = []

    def delta_at(eps: float) -> float:
        asked.append(eps)
        return math.exp(-10 * eps**2)

    found = spent_eps(delta_at, allowed, 1e-6)
    exact = math.sqrt(math.log(1e6) / 10)
    assert exact <= found <= exact * (1 + 1e-3)
    assert len(asked) < 16
    assert spent_eps(lambda eps: 0.0, allowed, 1e-6) == 0
    assert spent_eps(lambda eps: 1.0, allowed, 1e-6) == math.inf


def test_what_is_spent_if_no_delta_is_allowed_or_any() -> None:
    assert 2 <= spent_eps(lambda eps: 0.1 if eps < 2 else 0.0, 5.0, 0.0) <= 2.002
    assert spent_eps(lambda eps: 0.1, 5.0, 0.0) == math.inf
    assert spent_eps(lambda eps: 0.1, 5.0, 1.0) == 0
