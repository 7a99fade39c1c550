"""JSON that every reader takes."""

import json
import math
from collections.abc import Mapping
from typing import Any


def finite(data: Any) -> Any:
    """The same with the numbers that JSON cannot say as strings."""
    if isinstance(data, Mapping):
        return {str(key): finite(item) for key, item in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(item) for item in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def canonical(document: Mapping[str, Any]) -> bytes:
    """The one way to write a document: sorted keys, no spaces, UTF-8, and no number that JSON cannot say."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
