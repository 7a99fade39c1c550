"""Data inside a page's script element stays data."""

import json
from typing import Any

import pytest

from untrackable.display.page import _json


@pytest.mark.parametrize("name", ["</script>", "</SCRIPT ><img src=x onerror=alert(1)>", "<!--<script>", "a < b"])
def test_no_name_ends_the_script_element(name: str) -> None:
    data: Any = {name: [name, 1.5]}
    written = str(_json(data))
    assert "<" not in written
    assert json.loads(written) == data
