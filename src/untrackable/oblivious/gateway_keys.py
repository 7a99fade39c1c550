"""The file with a gateway's private keys. It is for its owner alone, and is replaced whole or not at all.

Keys come in lists. A campaign pins the public part of one list: each key serves from its first round until the next
one's. Several campaigns may share a list, and should: a relay sees the number of the key that a request is sealed
with. A revoked key has lost its secret for good; its number stays taken, so that a request that still names it is
recognised.
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from untrackable import checks, strict_json
from untrackable.errors import GatewayKeysError, SealingError
from untrackable.oblivious.key_config import PUBLIC_KEY_BYTES, KeyConfig
from untrackable.oblivious.sealing import OpeningKey
from untrackable.whole_files import replace_private

_VERSION = 1
_MOST_KEYS = 256
"""The number of keys that can be told apart by their number."""
_LARGEST_FILE = 1 << 20
_FIELDS = {"list", "config", "first_round", "secret"}


@dataclass(frozen=True, slots=True)
class StoredKey:
    """One key of a gateway: its list, its public part, the first round that it serves, and its secret."""

    list: int
    config: KeyConfig
    first_round: int
    secret: bytes | None = field(repr=False)
    """None if the key is revoked."""

    @property
    def id(self) -> int:
        """The number by which sealed requests name the key."""
        return self.config.id

    @property
    def revoked(self) -> bool:
        """Whether nothing can be opened with this key any more."""
        return self.secret is None

    def to_json(self) -> dict[str, Any]:
        """What is public of the key, as a campaign has it."""
        return {"config": self.config.to_bytes().hex(), "first_round": self.first_round}


@dataclass(frozen=True, slots=True)
class GatewayKeys:
    """All keys of a gateway, in the order in which they were made."""

    keys: tuple[StoredKey, ...] = ()

    def __post_init__(self) -> None:
        if [key.id for key in self.keys] != list(range(len(self.keys))):
            raise ValueError("the keys of a gateway must be numbered from 0 on")

    @property
    def last_list(self) -> int:
        """The number of the last list, or 0 if there is none."""
        return max((key.list for key in self.keys), default=0)

    def opening_keys(self) -> dict[int, OpeningKey]:
        """The keys that open requests, by their numbers."""
        return {key.id: OpeningKey.from_bytes(key.id, key.secret) for key in self.keys if key.secret is not None}

    def published(self) -> tuple[KeyConfig, ...]:
        """The public keys that are not revoked, those of the last list first."""
        valid = [key for key in self.keys if not key.revoked]
        return tuple(key.config for key in sorted(valid, key=lambda key: -key.list))

    def public_list(self, number: int) -> dict[str, Any]:
        """The public keys of one list as JSON, for a campaign. Its first key that is not revoked serves round 1."""
        valid = [key for key in self.keys if key.list == number and not key.revoked]
        if not valid:
            raise GatewayKeysError(f"there is no list {number} with a key that is not revoked")
        before = valid[0].first_round - 1
        return {"keys": [replace(key, first_round=key.first_round - before).to_json() for key in valid]}

    def with_list(self, count: int, every: int) -> "GatewayKeys":
        """These keys and a new list of `count` keys, each of which serves `every` rounds."""
        checks.integer("keys", count, low=1, high=_MOST_KEYS)
        checks.integer("every", every, low=1, high=1 << 24)
        if len(self.keys) + count > _MOST_KEYS:
            raise GatewayKeysError(
                f"a gateway has at most {_MOST_KEYS} keys, revoked ones included, and this one has "
                f"{len(self.keys)}; use another file and another gateway"
            )
        new_keys = []
        for number in range(count):
            secret = os.urandom(PUBLIC_KEY_BYTES)
            config = OpeningKey.from_bytes(len(self.keys) + number, secret).config
            new_keys.append(StoredKey(self.last_list + 1, config, 1 + number * every, secret))
        return GatewayKeys((*self.keys, *new_keys))

    def without(self, ids: Collection[int]) -> "GatewayKeys":
        """These keys, with the secrets of some of them destroyed."""
        unknown = sorted(set(ids) - {key.id for key in self.keys})
        if unknown:
            raise GatewayKeysError(f"there is no key {unknown[0]}; `untrackable gateway show` lists all")
        return GatewayKeys(tuple(replace(key, secret=None) if key.id in ids else key for key in self.keys))

    def served_before(self, round: int, number: int) -> frozenset[int]:
        """The keys of a list that serve only rounds before this one."""
        keys = [key for key in self.keys if key.list == number]
        later = [key.first_round for key in keys[1:]]
        return frozenset(key.id for key, end in zip(keys, later, strict=False) if end <= round)


def read_keys(path: Path) -> GatewayKeys:
    """The keys in a file. `GatewayKeysError` if it is missing, damaged, or readable for others."""
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise GatewayKeysError(f"{path} must be for its owner alone: run `chmod 600` on it")
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise GatewayKeysError(f"cannot read {path}: {error.strerror}") from None
    try:
        return _from_json(strict_json.parse(data[: _LARGEST_FILE + 1]))
    except (ValueError, KeyError, TypeError, AttributeError, SealingError):  # Their messages may show a secret.
        raise GatewayKeysError(f"{path} is not a file with a gateway's keys, or it is damaged") from None


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let no other command change the files of this folder within the block."""
    try:
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise GatewayKeysError(f"cannot open the folder of {path}: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_keys(path: Path, keys: GatewayKeys) -> None:
    """Replace the file. At every moment, either the old one or the new one is there, whole, for its owner alone."""
    stored = [
        {"list": key.list, **key.to_json(), "secret": None if key.secret is None else key.secret.hex()}
        for key in keys.keys
    ]
    try:
        replace_private(path, strict_json.write({"version": _VERSION, "keys": stored}, indent=1).encode())
    except OSError as error:
        raise GatewayKeysError(f"cannot write {path}: {error.strerror}") from None


def _from_json(given: Any) -> GatewayKeys:
    if set(given) != {"version", "keys"} or given["version"] != _VERSION:
        raise ValueError("unknown version or fields")
    return GatewayKeys(tuple(map(_key, given["keys"])))


def _key(given: Any) -> StoredKey:
    if set(given) != _FIELDS:
        raise ValueError("unknown fields")
    config = KeyConfig.from_bytes(bytes.fromhex(given["config"]))
    secret = None if given["secret"] is None else bytes.fromhex(given["secret"])
    if secret is not None and OpeningKey.from_bytes(config.id, secret, config.suites).config != config:
        raise ValueError("the secret is another key's")
    list_ = checks.integer("list", given["list"], low=1)
    return StoredKey(list_, config, checks.integer("first_round", given["first_round"], low=1), secret)
