"""An issuer's register: one SQLite file with the private key, who is entitled, and who has had a ballot.

**Who, and never which.** An enrolment is a keyed hash of a code or of an account. Beside it is the hash of the
blinded request that was signed for it, which fits every ballot equally well. There is no time in the file, and rows
are in the order of hashes. The key of the hashes is in the file, too: somebody who takes it and knows the accounts
can find out which of them had a ballot. `close` destroys all of it once no more ballots are issued. Ballots for
anybody are only counted, so strangers cannot make the file grow.

**Exactly one.** An enrolment is on disk before the signature is given out. The same request is always signed again,
so an answer that was lost costs nobody their voice, and another request of the same enrolment is refused.
"""

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from untrackable import checks
from untrackable.ballots.enrolment import (
    Entitled,
    NotEntitled,
    enrolment_of_code,
    enrolment_of_token,
    new_code,
)
from untrackable.ballots.signing import SigningKey, check_request
from untrackable.errors import BallotError, StoreUnavailable
from untrackable.protocol.ballots import BallotKey

_APPLICATION = 0x756E7262
"""The application id that marks a SQLite file as a register."""
_LAST_SECOND = 1 << 40
_MOST_CODES = 10_000_000
_SECRET = 32
_PATIENCE_SECONDS = 5.0
_TABLES = """
CREATE TABLE issuer (
    entitled TEXT NOT NULL, expires INTEGER NOT NULL, public BLOB NOT NULL,
    signing BLOB, hashing BLOB, secret BLOB, issued INTEGER NOT NULL
);
CREATE TABLE enrolments (enrolment BLOB PRIMARY KEY, request BLOB) WITHOUT ROWID;
"""


class AlreadyIssued(BallotError):
    """This enrolment has had its ballot."""


class NoMoreBallots(BallotError):
    """The time for this campaign's ballots is over."""


@dataclass(frozen=True, slots=True)
class RegisterState:
    """What may be told of a register: numbers, and nobody in particular."""

    entitled: Entitled
    key: BallotKey
    expires: int
    issued: int
    unused_codes: int
    closed: bool

    def to_json(self) -> dict[str, Any]:
        """The state as JSON. The number of codes is there just if codes entitle."""
        codes = {"unused_codes": self.unused_codes} if self.entitled is Entitled.CODES else {}
        return {
            "closed": self.closed,
            "entitled": self.entitled.value,
            "expires": self.expires,
            "issued": self.issued,
            "key": self.key.to_bytes().hex(),
            **codes,
        }


class Register:
    """A register in a file. Several processes may use the file, each with a `Register` of its own."""

    def __init__(self, path: Path) -> None:
        """Open a register. `BallotError` if there is none, or it is damaged."""
        if not path.is_file():
            raise BallotError(f"there is no register {path}; `untrackable ballots new` makes one")
        self._database, self._using = _connected(path), threading.RLock()
        try:
            with self._told_failures():
                self._read_fixed(path)
        except BaseException:
            self.close_file()
            raise

    def _read_fixed(self, path: Path) -> None:
        if self._one("PRAGMA application_id") != (_APPLICATION,):
            raise BallotError(f"{path} is not a register of ballots")
        entitled, self.expires, public = self._one("SELECT entitled, expires, public FROM issuer")
        self.entitled, self.key = Entitled(entitled), BallotKey.from_bytes(public)

    @staticmethod
    def make(path: Path, entitled: Entitled, expires: int) -> "Register":
        """Make a register with a new key. It never replaces a file, because a key cannot be made again."""
        expires = checks.integer("expires", expires, low=1, high=_LAST_SECOND)
        signing = SigningKey.new()
        secret = secrets.token_bytes(_SECRET) if entitled is Entitled.ACCOUNTS else None
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            raise BallotError(f"cannot make {path}: {error.strerror}") from None
        try:
            database = _connected(path)
            try:
                database.executescript(f"PRAGMA application_id = {_APPLICATION}; BEGIN; {_TABLES}")
                row = (entitled.value, expires, signing.public.to_bytes(), signing.to_bytes())
                database.execute(
                    "INSERT INTO issuer VALUES (?, ?, ?, ?, ?, ?, 0)",
                    (*row, secrets.token_bytes(_SECRET), secret),
                )
                database.execute("COMMIT")
            finally:
                database.close()
            return Register(path)
        except BaseException as error:
            path.unlink()
            if isinstance(error, sqlite3.Error):
                raise BallotError(f"cannot make {path}: {error}") from None
            raise

    def close_file(self) -> None:
        """Close the file."""
        self._database.close()

    def account_secret(self) -> bytes:
        """The secret that the operator's own system signs tokens with."""
        with self._told_failures():
            (secret,) = self._one("SELECT secret FROM issuer")
        if secret is None:
            raise BallotError("these ballots are not for accounts, or the register is closed: there is no secret")
        return bytes(secret)

    def new_codes(self, count: int) -> list[str]:
        """Make invitation codes. The register keeps hashes of them, so they are known this once."""
        checks.integer("count", count, low=1, high=_MOST_CODES)
        if self.entitled is not Entitled.CODES:
            raise BallotError(f"these ballots are for {self.entitled.value}, so there are no codes")
        codes = [new_code() for _ in range(count)]
        with self._transaction():
            _, hashing, _ = self._secrets()
            self._database.executemany(
                "INSERT INTO enrolments VALUES (?, NULL)", [(enrolment_of_code(hashing, code),) for code in codes]
            )
        return codes

    def issue(self, enrolment: str, blinded: bytes, now: float | None = None) -> bytes:
        """The signature of a blinded request, for a code, for an account's token, or for anybody.

        `NotEntitled`, `AlreadyIssued` and `NoMoreBallots` say why there is none.
        """
        now = time.time() if now is None else now
        check_request(self.key, blinded)
        with self._transaction():
            if now >= self.expires:
                raise NoMoreBallots("the time for these ballots is over")
            signing, hashing, secret = self._secrets()
            if self.entitled is Entitled.ANYBODY or self._note(
                self._enrolment(enrolment, now, hashing, secret), sha256(blinded).digest()
            ):
                self._database.execute("UPDATE issuer SET issued = issued + 1")
        return _signing_key(signing).sign(blinded)

    def _enrolment(self, given: str, now: float, hashing: bytes, secret: bytes | None) -> bytes:
        """The enrolment of a code or of an account's token, if it entitles to a ballot."""
        if secret is not None:
            return enrolment_of_token(hashing, secret, self.key.id, given, now)
        enrolment = enrolment_of_code(hashing, given)
        if not self._database.execute("SELECT 1 FROM enrolments WHERE enrolment = ?", (enrolment,)).fetchone():
            raise NotEntitled("there is no such invitation code")
        return enrolment

    def _note(self, enrolment: bytes, request: bytes) -> bool:
        """Note the request of an enrolment, unless it had another one. False if it had this one before."""
        run = self._database.execute
        run("INSERT OR IGNORE INTO enrolments VALUES (?, NULL)", (enrolment,))
        (known,) = self._one("SELECT request FROM enrolments WHERE enrolment = ?", enrolment)
        if known not in (None, request):
            raise AlreadyIssued("a ballot was issued for this already, and there is one for each person")
        run("UPDATE enrolments SET request = ? WHERE enrolment = ?", (request, enrolment))
        return known is None

    def _secrets(self) -> tuple[bytes, bytes, bytes | None]:
        """The signing key, the key of the hashes, and the secret for tokens."""
        signing, hashing, secret = self._one("SELECT signing, hashing, secret FROM issuer")
        if signing is None:
            raise NoMoreBallots("the time for these ballots is over")
        return bytes(signing), bytes(hashing), secret

    def state(self) -> RegisterState:
        """How many ballots were issued, and to whom they are open."""
        with self._told_failures():
            issued, closed = self._one("SELECT issued, signing IS NULL FROM issuer")
            (unused,) = self._one("SELECT count(*) FROM enrolments WHERE request IS NULL")
        return RegisterState(self.entitled, self.key, self.expires, issued, unused, bool(closed))

    def close(self) -> None:
        """Issue no more ballots: destroy the private key, all secrets and all enrolments. Their number stays."""
        with self._transaction():
            self._database.execute("UPDATE issuer SET signing = NULL, hashing = NULL, secret = NULL")
            self._database.execute("DELETE FROM enrolments")
        with self._told_failures():
            self._database.executescript("VACUUM")
            busy, *_ = self._one("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise StoreUnavailable(
                "no more ballots are issued, but another process keeps what the register had on disk: end it, and "
                "close the register again"
            )

    def _one(self, question: str, *values: bytes) -> tuple[Any, ...]:
        found = self._database.execute(question, values).fetchone()
        if found is None:
            raise BallotError("the register is damaged")
        return tuple(found)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._told_failures():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    @contextmanager
    def _told_failures(self) -> Iterator[None]:
        try:
            with self._using:  # Threads share the connection.
                yield
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise StoreUnavailable(f"the register of ballots cannot be used now: {error}") from None
            raise BallotError(f"this is not a register of ballots, or it is damaged: {error}") from None


@lru_cache(maxsize=64)
def _signing_key(data: bytes) -> SigningKey:
    """A private key, checked once."""
    return SigningKey.from_bytes(data)


def open_registers(paths: Sequence[Path]) -> list[Register]:
    """The registers of an issuer that looks at nobody's address, so their ballots must not be for anybody."""
    registers = [Register(path) for path in paths]
    for path, register in zip(paths, registers, strict=True):
        if register.entitled is Entitled.ANYBODY:
            for each in registers:
                each.close_file()
            raise BallotError(
                f"the ballots of {path} are for anybody, so the issuer has to count addresses, which a collector "
                "never looks at: use `untrackable ballots serve`"
            )
    return registers


def _connected(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_PATIENCE_SECONDS)
    try:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
            database.execute(f"PRAGMA {pragma}").fetchall()
    except sqlite3.DatabaseError as error:
        database.close()
        raise BallotError(f"{path} is not a register of ballots: {error}") from None
    return database
