"""What kind of file somebody gave, for errors that say which command reads it."""

from pathlib import Path

from untrackable import strict_json

_BEGINNINGS = {
    b"PAR1": "table",
    b"ARROW1": "table",
    b"\xff\xff\xff\xff": "table",
    b"\x93NUMPY": "table",
    b"PK\x03\x04": "table",
    b"\x89PNG": "picture",
    b"%PDF": "picture",
    b"<svg": "picture",
    b"<?xml": "picture",
    b"<!doctype html": "page",
    b"SQLite format 3": "store",
}
_FIELDS = {
    "question": "campaign",
    "campaign": "plan",
    "campaigns": "directory",
    "mechanism": "mechanism",
    "public_key": "keys",
    "keys": "keys",
}
"""A field of JSON that tells what it is, the most telling first."""
_WORDS = {
    "table": "a table, such as `untrackable estimate` and `untrackable audit-file` read",
    "picture": "a picture",
    "page": "a web page",
    "store": "a database, such as `untrackable manage list --store sqlite:///…` reads",
    "campaign": "a campaign, which `untrackable campaign show` reads",
    "plan": "a plan, of which `untrackable campaign new --plan` makes a campaign",
    "directory": "a directory of campaigns, which `untrackable answer --directory` reads",
    "mechanism": "the description of a mechanism, which `untrackable audit` reads",
    "keys": "a list of keys",
}


def kind_of(path: str | Path) -> str | None:
    """The kind of a file by its content: one of those above, or None if it is not recognised."""
    try:
        with Path(path).open("rb") as file:
            beginning = file.read(64).lstrip().lower()
            for mark, kind in _BEGINNINGS.items():
                if beginning.startswith(mark.lower()):
                    return kind
            if not beginning.startswith(b"{"):
                return None
            file.seek(0)
            document = strict_json.parse(file.read(strict_json.LARGEST_FILE))
    except (OSError, ValueError):
        return None
    return next((kind for field, kind in _FIELDS.items() if field in document), None)


def wrong_kind(path: str | Path, wanted: str) -> str:
    """A sentence that says what a file is in place of what is wanted, if it is recognised; or else nothing."""
    kind = kind_of(path)
    return "" if kind is None or kind == wanted else f"{path} is not a {wanted}, but {_WORDS[kind]}"
