"""Who is entitled to a ballot: somebody with an invitation code, with an account, or anybody.

An enrolment is what may have one ballot. An issuer knows it by 32 bytes only: a keyed hash of the code or of the
account. Enrolling is visible to the issuer, and it has to be: this is where people are counted.
"""

import base64
import hmac
import re
import secrets
from enum import Enum

from untrackable.errors import BallotError

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The letters of codes (Crockford's base 32), without those that look alike."""
_GROUPS, _GROUP = 4, 4
"""A code has 16 letters, so 80 random bits."""
_ALIKE = str.maketrans("OIL", "011")
LONGEST_TOKEN_SECONDS = 3600
"""The longest time from now for which an account's token may be valid."""
_TOKEN = re.compile(r"([A-Za-z0-9_.@-]{1,128}):([0-9]{1,12}):([0-9a-f]{64})")
_ACCOUNT = re.compile(r"[A-Za-z0-9_.@-]{1,128}")
_CODES, _ACCOUNTS = b"code", b"account"


class Entitled(Enum):
    """Who may have a ballot."""

    CODES = "codes"
    """Everybody with an invitation code, once each."""
    ACCOUNTS = "accounts"
    """Every account for which the operator's own system signs a token."""
    ANYBODY = "anybody"
    """Anybody, a few times an hour from one network address. This slows scripts down and does not count people."""


class NotEntitled(BallotError):
    """Nobody is entitled to a ballot by this."""


def new_code() -> str:
    """A new invitation code, such as 7Q3M-X0ZD-K9VB-2H5T."""
    groups = ("".join(secrets.choice(LETTERS) for _ in range(_GROUP)) for _ in range(_GROUPS))
    return "-".join(groups)


def enrolment_of_code(key: bytes, given: str) -> bytes:
    """The enrolment of a code, in small or capital letters and with any dashes or spaces."""
    code = re.sub(r"[\s-]", "", given).upper().translate(_ALIKE)
    if len(code) != _GROUPS * _GROUP or not set(code) <= set(LETTERS):
        raise NotEntitled("this is not an invitation code")
    return _hashed(key, _CODES, code)


def account_token(secret: bytes, ballot_key: str, account: str, until: int) -> str:
    """A token with which an account gets its ballot: account, time and HMAC-SHA-256, with colons between them.

    The operator's own system makes it for somebody who is signed in. `account` is an opaque id that never changes,
    `ballot_key` is the id of the issuer's key, and `until` is in seconds since 1970, at most an hour from now.
    """
    if not _ACCOUNT.fullmatch(account):
        raise ValueError("account must be 1 to 128 letters, digits and the characters _ . @ -")
    return f"{account}:{until}:{_signature(secret, ballot_key, account, str(until))}"


def enrolment_of_token(key: bytes, secret: bytes, ballot_key: str, given: str, now: float) -> bytes:
    """The enrolment of an account, if its token is signed with the shared secret and valid now."""
    parts = _TOKEN.fullmatch(given)
    if parts is None:
        raise NotEntitled("this is not a token of an account")
    account, until, signature = parts.groups()
    if not hmac.compare_digest(signature, _signature(secret, ballot_key, account, until)):
        raise NotEntitled("this token was not signed for these ballots")
    if not now <= int(until) <= now + LONGEST_TOKEN_SECONDS:
        raise NotEntitled("this token is over, or is valid for more than an hour; ask for a new one")
    return _hashed(key, _ACCOUNTS, account)


def _signature(secret: bytes, ballot_key: str, account: str, until: str) -> str:
    message = f"untrackable ballot\n{ballot_key}\n{account}\n{until}"
    return hmac.digest(secret, message.encode(), "sha256").hex()


def _hashed(key: bytes, kind: bytes, what: str) -> bytes:
    return hmac.digest(key, kind + b"\n" + what.encode(), "sha256")


def text_of(secret: bytes) -> str:
    """A secret as text for a setting of the operator's own system."""
    return base64.urlsafe_b64encode(secret).decode()
