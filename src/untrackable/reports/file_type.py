"""What kind of file this is, told by its first bytes."""

from pathlib import Path
from typing import Literal

Kind = Literal["parquet", "arrow", "stream", "npz", "npy", "gzip", "text", "empty", "unknown"]

_MAGIC: dict[bytes, Kind] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "stream",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"\x93NUMPY": "npy",
    b"\x1f\x8b": "gzip",
}


def is_parquet(path: Path) -> bool:
    """Whether it is a Parquet file that can be read."""
    try:
        return kind_of(path) == "parquet"
    except OSError:
        return False


def kind_of(path: Path) -> Kind:
    """By content; `OSError` if it cannot be read."""
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        return "empty"
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    return "unknown" if b"\0" in head or not any(mark in head for mark in (b"\n", b"\r")) else "text"
