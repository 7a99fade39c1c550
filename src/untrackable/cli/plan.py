"""`untrackable plan`: what a campaign in which each person answers once will tell, for one question or several.

A file of several questions for one campaign is TOML. Its keys are the options of the command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from untrackable import strict_json
from untrackable.cli import options
from untrackable.cli.terminal import NewFile, PlainCommand, one_line_errors, progress, write_page
from untrackable.errors import EncodingError
from untrackable.planning.goal_fields import GOALS, GoalError

if TYPE_CHECKING:
    from untrackable.encodings.encoding import Encoding
    from untrackable.planning.plan import QuestionSet

_AFTER_ANSWERS = tuple(name for name in GOALS if name not in ("people", "values", "bits", "strings"))
_TOGETHER = ("together", "campaign", "as_json", "export", "plot", "html")
"""The options that go with a file of questions."""
_TIMES = ("every", "first")
_WAY = ("gateway", "hold-at", "release-after")
_FOR_ALL = (*(field.key for field in GOALS.values() if field.scope == "all"), *_WAY, *_TIMES)
_ANSWERS = (
    "categories",
    "buckets",
    "encoding",
    *(field.key for field in GOALS.values() if field.scope == "each"),
)
_OF_ONE = ("question", *_ANSWERS, "below", "above")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""A question's name is that of an attribute of the campaign's record, too."""


@click.command(cls=PlainCommand)
@options.goal_options("people", "values", "bits", "strings")
@click.option("--choice", "choices", multiple=True, metavar="NAME", help="Or one of several at once; give all.")
@options.bucket_options("encoding")
@click.option("--encoding", metavar="JSON|FILE", help="Or any other kind of answer, as JSON.")
@options.goal_options(*_AFTER_ANSWERS)
@click.option("--all", "everything", is_flag=True, help="Also what everybody in every round would give.")
@click.option(
    "--together", type=options.GIVEN_FILE, metavar="FILE", help="Several questions in one campaign (TOML)."
)
@click.option("--campaign", type=NewFile(), metavar="FILE", help="With --together: write the campaign here.")
@options.result_options("export", "plot", "html")
def plan(
    choices: tuple[str, ...],
    encoding: str | None,
    everything: bool,
    together: Path | None,
    campaign: Path | None,
    output: options.ResultOutput,
    **demands: Any,
) -> None:
    r"""How far off will figures be, and what can anybody learn?

    Each person answers once, in a round that their device draws in secret. Give all but one of --people, --rounds,
    --eps and --error: the one left out is computed. Numbers may be written as 1e6 or 1,000,000.

    Nobody has to be trusted: --eps is for everything that a person ever sends. A relay (--relay) hides from the
    collector who sent which report. It changes no error.

    One report may be about several consecutive rounds (--looks), which makes errors of a round smaller from about
    eps 2 on. A person then answers in all of them, and figures come when the last of them is over.

    --error is for answers that at most the share --typical of people give. Answers may be numbers in order: with
    --want quantiles, --error is that of the share of people at or below a number; with --want mean it is a share of
    the range of numbers. People may give several answers at once: each --choice is one of them, and a Record as
    --encoding has several attributes.

    With --together, a TOML file has several questions for one campaign: what is alike comes first (people, rounds,
    eps, every, first, …), then [questions.NAME] with `question` and its answers (categories, values, buckets, …).

    Example: untrackable plan --people 100,000 --values 16 --rounds 52 --eps 4
             untrackable plan --values 1024 --rounds 52 --eps 2 --error 0.01
             untrackable plan --people 1e6 --values 1024 --rounds 12 --eps 2 \
                 --want quantiles
             untrackable plan --people 1e6 --choice search --choice export \
                 --choice share --rounds 12 --eps 2
             untrackable plan --together questions.toml --campaign campaign.json
    """
    if together is not None:
        return _plan_together(together, campaign, output)
    if campaign is not None:
        raise click.UsageError("--campaign goes with --together; for one question, see `untrackable campaign new`")
    if choices and any(demands[name] is not None for name in ("values", "bits", "strings")):
        raise click.ClickException("--choice says what the answers are; leave out --values, --bits and --strings")
    again = options.typed_command()
    with one_line_errors():
        from untrackable.display.plan import plan_page, plan_view
        from untrackable.planning.goals import Goals
        from untrackable.planning.plan import instead_of
        from untrackable.planning.plan import plan as solve

        meant = options.encoding_of((), choices, None, encoding)
        try:
            goals = Goals(encoding=meant, **demands)
        except GoalError as error:
            raise click.ClickException(error.worded(options.option_of)) from None
        with progress() as show:
            result = solve(goals=goals, progress=lambda what, done: show("planning", done))
            instead = instead_of(result, mechanisms=everything, progress=show)
    view = plan_view(result, instead, again)
    output.give(result, view=view, page=lambda: plan_page(result, again, view))
    if not result.met:
        raise click.exceptions.Exit(1)
    return None


def _plan_together(file: Path, path: Path | None, output: options.ResultOutput) -> None:
    """Plan one campaign for the questions of a file, and write it."""
    given = filter(options.was_given, click.get_current_context().params)
    if others := [name for name in given if name not in _TOGETHER]:
        raise click.UsageError(
            f"{options.option_of(others[0])} does not go with --together: the file says what is asked for"
        )
    with one_line_errors():
        from untrackable.display.plan import plan_page, set_view
        from untrackable.planning.plan import plan_together

        asked = read_questions(file)
        with progress() as show:
            result = plan_together(
                asked.questions, progress=lambda what, done: show("planning", done), **asked.shared
            )
        document = b"" if path is None or not result.met else _campaign(result, asked)
    written = [path] if path is not None and document else []
    for place in written:
        write_page(place, document.decode())
    again = ["plan", "--together", str(file)]
    view = set_view(result, [] if written else [*again, "--campaign", "campaign.json"])
    output.give(result, view=view, page=lambda: plan_page(result, again, view), written=written)
    if not result.met:
        raise click.exceptions.Exit(1)


def _campaign(together: QuestionSet, asked: QuestionFile) -> bytes:
    """The campaign of all questions. A campaign with a relay needs the keys of the gateway."""
    from untrackable.accounting.check import make_campaign
    from untrackable.cli.campaign import gateway_of, held_at, looks_of

    if together.plan.solved.relay and asked.gateway is None:
        raise ValueError(
            "a campaign with a relay needs the public keys of the collector's gateway: add a line such as "
            'gateway = "gateway.json", a file with what `untrackable gateway new KEYS --json` prints'
        )
    draft, begins, length = (
        together.campaign(),
        options.first_moment(asked.first, "first"),
        options.round_length(asked.every, "every"),
    )
    gateway = None if asked.gateway is None else gateway_of(asked.gateway, needed=together.plan.solved.relay)
    gateway = held_at(gateway, asked.hold_at, asked.release_after, first_end=begins + length * looks_of(draft))
    made, _ = make_campaign(draft, question=asked.text, first_round=begins, round_seconds=length, gateway=gateway)
    return made.to_bytes()


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """What the file says: the demands on all questions and on each, the texts that are shown, and the times.

    `gateway` is a file with public keys, beside this one, for a campaign with a relay. `hold_at` is the relay that
    holds its reports, and `release_after` the time from the end of a round to its release.
    """

    shared: dict[str, Any]
    questions: dict[str, dict[str, Any]]
    texts: dict[str, str]
    every: str
    first: str | None
    gateway: Path | None
    hold_at: str | None
    release_after: str | None

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
    way = {name: _text(name, content.pop(name)) for name in _WAY if name in content}
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
        path.parent / way["gateway"] if "gateway" in way else None,
        way.get("hold-at"),
        way.get("release-after"),
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
    demands = dict(given)
    answers = [name for name in _ANSWERS if name in demands]
    if len(answers) > 1:
        raise ValueError(f"{' and '.join(answers)} contradict each other; give one of {', '.join(_ANSWERS)}")
    if "buckets" not in demands and (outside := [name for name in ("below", "above") if name in demands]):
        raise ValueError(f"{outside[0]} is for buckets, and there are none")
    if (meant := _encoding(demands)) is not None:
        demands["encoding"] = meant
    for field in GOALS.values():
        if field.kind == "no" and field.key in demands:
            denied = demands.pop(field.key)
            if not isinstance(denied, bool):
                raise TypeError(f"{field.key} must be true or false, not {type(denied).__name__}")
            demands[field.name] = not denied
    return demands


def _encoding(demands: dict[str, Any]) -> Encoding | None:
    """The encoding that is described, if any; what describes it is taken out."""
    from untrackable.encodings.encoding import Categories, from_json
    from untrackable.encodings.numbers import buckets_from_text

    if "categories" in demands:
        return Categories(names=_names("categories", demands.pop("categories")))
    if "buckets" in demands:
        outside = {name: demands.pop(name, "error") for name in ("below", "above")}
        return buckets_from_text(_text("buckets", demands.pop("buckets")), **outside)
    if "encoding" in demands:
        return from_json(demands.pop("encoding"))
    return None


def _names(name: str, given: Any) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise TypeError(f'{name} must be a list of texts, such as ["no", "yes"]')
    return given
