"""Sums are deleted when the operator's time for them is over; the rounds stay closed."""

from collections.abc import Callable, Iterator

import pytest

from tests.collector.conftest import KINDS
from tests.collector.samples import BEGIN, HOUR, bodies, campaign
from tests.collector.servers import Collector, collecting
from tests.collector.test_store import rows
from untrackable.collector.closing import close_round, drop_old_sums
from untrackable.collector.settings import Settings, open_store
from untrackable.collector.store import Round, RoundsClosed, Store, StoredCampaign

DAY = 86_400
KEEPING = Settings(minimum_reports=10, sweep=3600.0, keep_sums=2.0)


@pytest.fixture
def collector(store: Store) -> Iterator[Collector]:
    with collecting(store, KEEPING) as result:
        yield result


@pytest.mark.parametrize("kind", KINDS)
def test_sums_go_after_their_days_and_not_before(kind: str, new_url: Callable[[str], str]) -> None:
    url, asked = new_url(kind), campaign()
    store = open_store(url)
    store.add_campaign(StoredCampaign(asked.id, asked.to_bytes(), "{}", published=True))
    for number in (1, 2, 3):
        store.add({Round(asked.id, number): rows(20, payload=1) % 30 + 2})
    for number in (1, 2):
        close_round(store, asked, number)
    end = BEGIN + HOUR + KEEPING.grace + 2 * DAY
    assert drop_old_sums(store, end + 10 * DAY, Settings()) == 0
    assert drop_old_sums(store, end - 1, KEEPING) == 0
    assert drop_old_sums(store, end, KEEPING) == 1
    assert drop_old_sums(store, end, KEEPING) == 0
    assert store.sums(Round(asked.id, 1)) is None
    assert [(each.state, each.reports) for each in store.rounds(asked.id)] == [
        ("closed", None),
        ("closed", 20),
        ("open", None),
    ]
    assert drop_old_sums(store, end + 10 * DAY, KEEPING) == 1  # The open one has no sums.
    assert store.count(Round(asked.id, 3)) == 20
    with pytest.raises(RoundsClosed):
        store.add({Round(asked.id, 1): rows(1)})
    assert close_round(store, asked, 1).reports is None
    store.close()
    open_store(url).close()  # Deleted sums are no damage.


def test_an_estimate_of_deleted_sums_is_not_remembered(collector: Collector) -> None:
    asked = collector.create(campaign())
    for number in (1, 2):
        collector.clock.now = BEGIN + (number - 1) * HOUR + 10.0
        collector.send(asked, b"".join(bodies(asked, 30, round=number)))
        assert collector.close(asked, number).status_code == 200
    one = f"/campaigns/{asked.id}"
    assert collector.http.get(f"{one}/rounds/1/estimate").status_code == 200
    assert collector.http.get(f"{one}/estimate").json()["rounds"] == [1, 2]
    collector.clock.now = BEGIN + HOUR + KEEPING.grace + 2 * DAY
    collector.http.app.state.service.close_overdue()  # type: ignore[attr-defined]
    gone = collector.http.get(f"{one}/rounds/1/estimate")
    assert (gone.status_code, gone.json()["detail"]) == (404, "the sums of round 1 were deleted")
    assert collector.http.get(f"{one}/estimate").json()["rounds"] == [2]
    listed = collector.http.get(f"{one}/rounds").json()["rounds"]
    assert [(each["state"], each["reports"], each["withheld"]) for each in listed] == [
        ("closed", None, False),
        ("closed", 30, False),
    ]
    assert collector.http.get(f"/view/{asked.id}").status_code == 200


def test_days_must_be_positive() -> None:
    with pytest.raises(ValueError, match="keep_sums"):
        Settings(keep_sums=0.0)
