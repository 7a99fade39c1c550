"""The public salt of a hash, and the other parameters that hashing encodings share."""

import secrets
from typing import Any, Literal

from untrackable import checks

SHORTEST_SALT, LONGEST_SALT = 16, 64
"""The smallest and the largest number of bytes of a salt."""

TooLong = Literal["error", "truncate"]
"""How a string above the length limit is treated: refused, or cut at the limit."""


def check_hash_parameters(salt: object, too_long: str) -> None:
    """Refuse a salt of the wrong length or an unknown rule for strings that are too long."""
    if not isinstance(salt, bytes):
        raise TypeError(f"salt must be bytes, not {type(salt).__name__}")
    if not SHORTEST_SALT <= len(salt) <= LONGEST_SALT:
        raise ValueError(f"salt must have {SHORTEST_SALT} to {LONGEST_SALT} bytes, got {len(salt)}")
    checks.choice("too_long", too_long, ("error", "truncate"))


def fresh_salt() -> bytes:
    """A new random salt from the operating system's entropy."""
    return secrets.token_bytes(SHORTEST_SALT)


def parse_salt(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters from JSON with the salt turned into bytes."""
    if not isinstance(parameters["salt"], str):
        raise TypeError("salt must be a string of hexadecimal digits")
    return {**parameters, "salt": bytes.fromhex(parameters["salt"])}


def too_long_words(too_long: str) -> str:
    """The words that say what happens to a string that is too long."""
    return "cut there" if too_long == "truncate" else "refused"
