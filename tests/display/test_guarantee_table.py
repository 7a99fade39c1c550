"""The guarantee as tables: both observers, and what rounds cost."""

from dataclasses import replace

from tests.client.samples import turns_campaign
from tests.collector.samples import campaign
from tests.collector.test_small_rounds import crowded
from untrackable import Bit, Bitwise
from untrackable.display.campaign import costs, observers
from untrackable.display.numbers import upper
from untrackable.protocol.campaign import Guarantee


def test_each_observer_has_its_numbers() -> None:
    (alone,) = observers(campaign())
    assert alone[1:] == ("8", "1e-06", "2981", "99.97 %")
    without, together = observers(crowded())
    assert without[1:] == ("1", "1e-06", "2.719", "73.2 %")
    assert together[1:] == alone[1:]


def test_costs_end_at_the_guarantee() -> None:
    asked = campaign(rounds=3)
    result = costs(asked)
    assert [each.rounds for each in result] == [1, 3]
    assert result[0].alone == ("0.4024", "exact")
    assert all(each.crowd is None for each in result)
    assert costs(campaign())[-1].alone == ("8", "exact")


def test_costs_in_a_crowd_are_upper_bounds() -> None:
    asked = replace(crowded(), rounds=2)
    crowd = asked.guarantee.crowd
    assert crowd is not None
    last = costs(asked)[-1]
    hidden = asked.mechanism.crowd(people=crowd.reports, reports=2)
    assert last.crowd == (upper(hidden.gamma(crowd.delta).upper), "upper")


def test_turns_cost_one_report() -> None:
    asked = turns_campaign()
    assert costs(asked) == []
    (alone,) = observers(asked)
    assert alone[:3] == ("The collector, which knows which report is yours", "1", "0")


def test_a_campaign_without_end_and_without_delta() -> None:
    declared = Guarantee(eps=1.0, delta=0.0, values="fixed", gamma=2.0, tracking_delta=0.0)
    asked = campaign(Bitwise(eps_state=1.0, eps_report=1.0), encoding=Bit(), rounds=None, guarantee=declared)
    result = costs(asked)
    assert [each.rounds for each in result] == [1, 10]
    assert float(result[0].alone[0]) < float(result[1].alone[0]) <= 1
    assert observers(asked)[0].delta == "0"
