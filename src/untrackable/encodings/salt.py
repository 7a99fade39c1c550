"""The public salt of a hash, and what else encodings by hashes have in common."""

import secrets
from typing import Any, Literal

from untrackable import checks

SHORTEST_SALT, LONGEST_SALT = 16, 64

TooLong = Literal["error", "truncate"]
"""A string of more than the longest: refused, or cut there."""


def check_hashed(salt: object, too_long: str) -> None:
    """Whether an encoding by hashes can have this salt, and this rule for strings that are too long."""
    if not isinstance(salt, bytes):
        raise TypeError(f"salt must be bytes, not {type(salt).__name__}")
    if not SHORTEST_SALT <= len(salt) <= LONGEST_SALT:
        raise ValueError(f"salt must have {SHORTEST_SALT} to {LONGEST_SALT} bytes, got {len(salt)}")
    checks.choice("too_long", too_long, ("error", "truncate"))


def fresh_salt() -> bytes:
    """From the operating system's entropy."""
    return secrets.token_bytes(SHORTEST_SALT)


def with_salt(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters from JSON, the salt as bytes."""
    if not isinstance(parameters["salt"], str):
        raise TypeError("salt must be hexadecimal digits")
    return {**parameters, "salt": bytes.fromhex(parameters["salt"])}


def too_long_words(too_long: str) -> str:
    """What becomes of a string that is too long, for people."""
    return "cut there" if too_long == "truncate" else "refused"
