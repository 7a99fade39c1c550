"""A file of several questions for one campaign, in TOML. Its keys are the options of `untrackable plan`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from untrackable import strict_json
from untrackable.errors import EncodingError

if TYPE_CHECKING:
    from pathlib import Path

    from untrackable.encodings.encoding import Encoding

_TIMES = ("every", "first")
_FOR_ALL = ("people", "rounds", "eps", "error", "largest_eps", "beta", "pooled", "typical", "one_value", "share",
            "wipes", "relay", "crowd_delta", "margin", "gateway", *_TIMES)  # fmt: skip
_ANSWERS = ("categories", "buckets", "encoding", "values", "bits")
_OF_ONE = ("question", *_ANSWERS, "below", "above")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""A question's name is that of an attribute of the campaign's record, too."""


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """What the file says: the demands on all questions and on each, the texts that are shown, and the times.

    `gateway` is a file with public keys, beside this one, for a campaign with a relay.
    """

    shared: dict[str, Any]
    questions: dict[str, dict[str, Any]]
    texts: dict[str, str]
    every: str
    first: str | None
    gateway: Path | None

    @property
    def text(self) -> str:
        """The texts of all questions, as the one campaign shows them."""
        return " ".join(f"{name}: {text}" for name, text in self.texts.items())


def read_questions(path: Path) -> QuestionFile:
    """Read a file of questions. A ValueError says what is wrong with it, and where."""
    import tomllib

    try:
        content = tomllib.loads(strict_json.small_text(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    listed = content.pop("questions", None)
    if not isinstance(listed, dict) or not all(isinstance(asked, dict) for asked in listed.values()):
        raise ValueError(f"{path} has no questions; begin each with a line such as [questions.smoking]")
    _check_keys("", content, _FOR_ALL, _FOR_ALL)
    times = {name: _text(name, content.pop(name)) for name in _TIMES if name in content}
    keys = _text("gateway", content.pop("gateway")) if "gateway" in content else None
    questions: dict[str, dict[str, Any]] = {}
    texts: dict[str, str] = {}
    for name, asked in listed.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"question {name!r}: a name has letters, digits, - and _ only")
        _check_keys(f"question {name}: ", asked, (*_OF_ONE, *_FOR_ALL), _OF_ONE)
        if "question" not in asked:
            raise ValueError(f'question {name}: its text is missing; add a line such as question = "Do you smoke?"')
        texts[name] = _text(f"question {name}: question", asked.pop("question"))
        try:
            questions[name] = _demands(asked)
        except (TypeError, ValueError, EncodingError) as error:
            raise ValueError(f"question {name}: {error}") from None
    return QuestionFile(
        _demands(content),
        questions,
        texts,
        times.get("every", "1d"),
        times.get("first"),
        None if keys is None else path.parent / keys,
    )


def _check_keys(where: str, given: dict[str, Any], known: tuple[str, ...], told: tuple[str, ...]) -> None:
    if wrong := [key for key in given if key not in known]:
        raise ValueError(f"{where}{wrong[0]} is not known; known are {', '.join(told)}")
    if twice := [key for key in given if where and key in _FOR_ALL]:
        raise ValueError(f"{where}{twice[0]} is for all questions together, so give it once for all")


def _text(name: str, given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{name} must be a text in quotes, not {type(given).__name__}")
    return given


def _demands(given: dict[str, Any]) -> dict[str, Any]:
    """The demands as the library names them."""
    found = dict(given)
    answers = [name for name in _ANSWERS if name in found]
    if len(answers) > 1:
        raise ValueError(f"{' and '.join(answers)} contradict each other; give one of {', '.join(_ANSWERS)}")
    if "buckets" not in found and (outside := [name for name in ("below", "above") if name in found]):
        raise ValueError(f"{outside[0]} is for buckets, and there are none")
    if (meant := _encoding(found)) is not None:
        found["encoding"] = meant
    if "one_value" in found:
        one = found.pop("one_value")
        if not isinstance(one, bool):
            raise TypeError(f"one_value must be true or false, not {type(one).__name__}")
        found["simultaneous"] = not one
    return found


def _encoding(found: dict[str, Any]) -> Encoding | None:
    """The encoding that is described, if any; what describes it is taken out."""
    from untrackable.encodings.bucket_text import buckets_from_text
    from untrackable.encodings.categories import Categories
    from untrackable.encodings.encoding import from_json

    if "categories" in found:
        return Categories(names=_names("categories", found.pop("categories")))
    if "buckets" in found:
        outside = {name: found.pop(name, "error") for name in ("below", "above")}
        return buckets_from_text(_text("buckets", found.pop("buckets")), **outside)
    if "encoding" in found:
        return from_json(found.pop("encoding"))
    return None


def _names(name: str, given: Any) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise TypeError(f'{name} must be a list of texts, such as ["no", "yes"]')
    return given
