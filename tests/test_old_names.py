"""The names of version 0.1 are kept for every mechanism that it had."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from untrackable.old_names import _CLASSES, old_name

STATES = json.loads((Path(__file__).parent / "version_0_1" / "frames.json").read_text(encoding="utf-8"))["states"]


@pytest.mark.parametrize("entry", STATES, ids=lambda entry: str(entry["mechanism"]["mechanism"]))
def test_the_name_is_the_one_that_was_hashed(entry: dict[str, Any]) -> None:
    name = old_name(entry["mechanism"])
    assert name is not None
    assert hashlib.sha256(name.encode()).digest()[:8] == bytes.fromhex(entry["state"])[4:12]


def test_every_mechanism_with_a_state_of_version_0_1_has_a_name() -> None:
    within = {
        str(described["mechanism"])
        for entry in STATES
        for described in (entry["mechanism"], entry["mechanism"].get("base", entry["mechanism"]))
    }
    assert within <= set(_CLASSES)
    assert len(within) > 20


def test_what_version_0_1_did_not_know_has_no_name() -> None:
    assert old_name({"mechanism": "later", "bits": 1}) is None
    assert old_name({"mechanism": "fresh", "base": {"mechanism": "later"}}) is None
    assert old_name({"mechanism": "bitwise", "eps_state": 1, "eps_report": 1, "more": 1}) is None
    assert old_name({"mechanism": ["deck"]}) is None
    assert old_name({}) is None
