"""`audit-client` looks at whole reports with ballots: they link nothing, and a ballot that is shown twice does."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.ballots.samples import Mint
from tests.client.samples import turns_campaign
from untrackable.auditing.black_box import audit_client
from untrackable.client.state import State
from untrackable.randomizers.randomness import system

MINT = Mint()
ASKED = turns_campaign(rounds=1, ballots=MINT.ballots)
CLIENTS = 256


def report(value: int, ballot: bytes) -> bytes:
    """All bytes of somebody's report."""
    state = State.new(ASKED, value, 1, system, ballot=ballot)
    assert state is not None
    prepared = state.answered(ASKED, 1).prepared
    assert prepared is not None
    return prepared.body


def person(value: int, *, twice: bool) -> Callable[[], bytes]:
    """A device that is wiped after its report and has a further enrolment; or that shows its ballot again."""
    ballot = MINT.ballot(ASKED.id)
    return lambda: report(value, ballot if twice else MINT.ballot(ASKED.id))


@pytest.mark.parametrize("twice", [False, True])
def test_ballots_link_no_reports_unless_one_is_shown_twice(twice: bool) -> None:
    found = audit_client(partial(person, twice=twice), [0, 1], reports=2, clients=CLIENTS, seed=1)
    assert found.tracking is not None
    assert (found.tracking.lower > 0.5) == twice
    assert (found.tracking.lower > 0.1) == twice
