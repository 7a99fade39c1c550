"""The beginning of a campaign, as a plan writes it and `campaign new` reads it."""

import json
from typing import Any

import pytest

from untrackable import Bit, Categories, Deck
from untrackable.errors import CampaignError
from untrackable.protocol.campaign import Campaign, Guarantee
from untrackable.protocol.campaign_draft import CampaignDraft

DRAFT = CampaignDraft(
    encoding=Bit(),
    mechanism=Deck(bits=1, slots=5, eps_report=0.25, width=1),
    rounds=5,
    guarantee=Guarantee(eps=2.0, delta=1e-6, values="any", gamma=0.0, tracking_delta=0.0),
)


@pytest.mark.parametrize(("encoding", "rounds"), [(Bit(), 5), (None, 5), (Bit(), None)])
def test_json_and_back(encoding: Bit | None, rounds: int | None) -> None:
    draft = CampaignDraft(encoding=encoding, mechanism=DRAFT.mechanism, rounds=rounds, guarantee=DRAFT.guarantee)
    written = json.loads(json.dumps(draft.to_json()))
    assert list(written) == ["encoding", "mechanism", "rounds", "guarantee"]
    assert CampaignDraft.from_json(written) == draft


def test_a_whole_campaign() -> None:
    made = DRAFT.campaign(question="Is it?", first_round=7, round_seconds=60)
    assert made == Campaign(
        question="Is it?",
        encoding=Bit(),
        randomizer=DRAFT.mechanism,
        first_round=7,
        round_seconds=60,
        rounds=5,
        guarantee=DRAFT.guarantee,
    )
    assert {name: made.to_json()[name] for name in DRAFT.to_json()} == DRAFT.to_json()
    others = Categories(names=["a", "b"])
    assert DRAFT.with_encoding(others).campaign(question="?", first_round=0, round_seconds=1).encoding == others


def test_without_an_encoding_there_is_no_campaign() -> None:
    draft = CampaignDraft(encoding=None, mechanism=DRAFT.mechanism, rounds=5, guarantee=DRAFT.guarantee)
    with pytest.raises(ValueError, match="only says how wide answers are"):
        draft.campaign(question="Is it?", first_round=0, round_seconds=60)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "rounds must be between 1 and"),
        ({"rounds": 1.5}, "rounds must be an integer"),
        ({"rounds": True}, "rounds must be an integer, not bool"),
        ({"mechanism": {"mechanism": "nothing"}}, "mechanism must be one of"),
        ({"encoding": {"type": "nothing"}}, "type must be one of"),
        ({"guarantee": {}}, "the guarantee must have exactly the fields eps, delta"),
        ({"guarantee": {**DRAFT.to_json()["guarantee"], "eps": -1}}, "eps must be at least 0"),
        ({"guarantee": {**DRAFT.to_json()["guarantee"], "more": 1}}, "exactly the fields"),
        (
            {"question": "Is it?"},
            "a campaign draft must be a JSON object: it must have exactly the fields encoding",
        ),
    ],
)
def test_anything_else_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CampaignError, match=message):
        CampaignDraft.from_json({**DRAFT.to_json(), **changes})


@pytest.mark.parametrize("document", [None, [], "draft", {}])
def test_what_is_no_draft(document: Any) -> None:
    with pytest.raises(CampaignError, match="a campaign draft must be a JSON object"):
        CampaignDraft.from_json(document)


@pytest.mark.parametrize("name", ["encoding", "mechanism", "guarantee"])
def test_parts_have_their_types(name: str) -> None:
    parts: dict[str, Any] = {part: getattr(DRAFT, part) for part in DRAFT.to_json()}
    with pytest.raises(TypeError, match=f"{name} must not be of type str"):
        CampaignDraft(**{**parts, name: "text"})
