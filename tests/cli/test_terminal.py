"""Help at 80 columns; files that exist or are of another kind; how commands show work that takes long."""

import inspect
import json
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.cli.commands import run
from tests.cli.commands_page import PAGE, commands, commands_page
from tests.collector.samples import campaign
from tests.limited_memory import in_little_memory
from untrackable import Deck, IntegerRange
from untrackable.cli import JOBS, main, terminal
from untrackable.cli.terminal import NewFile, RemainingTime, Seconds, kind_of, progress, roughly, wrong_kind
from untrackable.demo.demo import steps_of
from untrackable.mechanisms import Unary


def test_a_file_that_exists_is_replaced_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("mine")
    arguments = ["simulate", "deck", "bits=2", "slots=3", "eps_report=1", "--people", "9", "--out", str(file)]
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert "exists already; choose another name, or give --force to replace it" in " ".join(refused.output.split())
    assert file.read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0
    assert file.read_text() != "mine"
    assert run(*arguments[:-1], "/dev/null", "--force").exit_code in (0, 1)


def test_every_command_that_writes_a_file_says_so() -> None:
    result = commands(main)
    writing = {
        name: command for name, command in result.items() if any("--force" in p.opts for p in command.params)
    }
    for name in ("audit", "compare", "demo", "estimate", "export", "plan", "rappor-decode", "simulate"):
        assert name in writing
    for command in writing.values():
        assert any(isinstance(parameter.type, NewFile) for parameter in command.params)
    for name, command in result.items():
        for parameter in command.params:
            unsafe = type(parameter.type) is click.Path and not parameter.type.exists and parameter.type.file_okay
            if unsafe and parameter.name in ("plot", "html", "out", "export"):
                pytest.fail(f"{name} {parameter.name} replaces files")


CONTENTS = {
    "table": b"PAR1 and so on",
    "picture": b"\x89PNG\r\n\x1a\n",
    "page": b"\n<!DOCTYPE html>",
    "store": b"SQLite format 3\0",
    "campaign": b'{"question": "Dark?", "mechanism": {}}',
    "plan": b'{"options": [], "campaign": {"mechanism": {}}}',
    "directory": b'{"campaigns": [], "version": 1}',
    "mechanism": json.dumps(Deck(bits=2, slots=3, eps_report=1.0).to_json()).encode(),
}
ASKING = {
    "estimate": "table",
    "discover": "table",
    "audit-file": "table",
    "campaign show": "campaign",
    "campaign verify": "campaign",
    "manage add": "campaign",
    "answer": "campaign",
    "audit": "mechanism",
    "simulate --people 9 --out x.csv": "mechanism",
    "estimate reports.csv --mechanism": "mechanism",
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_kinds_are_told_by_their_content(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(CONTENTS[kind])
    assert kind_of(path) == kind
    assert wrong_kind(path, kind) == ""
    assert wrong_kind(path, "thing").startswith(f"{path} is not a thing, but ")


@pytest.mark.parametrize("content", [b"", b"id,report\n1,2\n", b"{", b'{"a": 1}', b"\x00\xff"])
def test_what_is_not_recognised_is_not_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert kind_of(path) is None
    assert wrong_kind(path, "table") == ""
    assert kind_of(tmp_path) is None


@pytest.mark.parametrize("command", ASKING)
def test_every_command_says_what_it_was_given(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, content in CONTENTS.items():
        if kind == ASKING[command] or (ASKING[command] == "mechanism" and kind == "campaign"):
            continue
        Path(f"{kind}.json").write_bytes(content)
        done = run(*command.split(), f"{kind}.json")
        assert done.exit_code == 1
        assert f"{kind}.json is not a {ASKING[command]}, but " in done.stderr, done.output
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("rounds", [10**7, 10**9, 10**18])
def test_a_campaign_of_very_many_rounds_takes_little_memory(rounds: int, tmp_path: Path) -> None:
    """Its rounds are counted before anything is computed."""
    path = tmp_path / "campaign.json"
    unary = Unary(values=9, keep=0.9, add=0.2, q=0.8, p=0.3)
    document = campaign(unary, encoding=IntegerRange(low=0, high=8), rounds=3).to_bytes()
    path.write_bytes(document.replace(b'"rounds":3', b'"rounds":%d' % rounds))
    done = in_little_memory("campaign", "verify", path)
    wrong = f"{path}: the campaign is not valid: rounds must be between 1 and 100000, got {rounds}"
    assert (done.returncode, done.stderr) == (1, f"Error: {wrong}\n")


@pytest.mark.parametrize(
    "command",
    [
        "campaign verify FILE",
        "campaign directory FILE",
        "campaign new x.json --question Smoking? --rounds 9 --categories FILE",
        "campaign new x.json --question Smoking? --plan FILE",
        "manage add FILE",
        "serve --config FILE",
        "estimate x.csv --encoding FILE",
    ],
)
def test_files_without_end_are_refused(command: str) -> None:
    done = in_little_memory(*command.replace("FILE", "/dev/zero").split())
    assert done.returncode == 1
    assert "cannot read /dev/zero: it has more than 4,194,304 bytes, the most that are read" in done.stderr
    assert done.stderr.count("\n") == 1


class Ticks:
    """Tells the display that time passes, in place of a clock and a thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(terminal, "_LONG", 10.0)

    def time(self) -> RemainingTime:
        return RemainingTime({}, lambda: self.now)


def test_lines_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ticks = Ticks(monkeypatch)
    time = ticks.time()
    with terminal._lines(time) as tick:
        time.update("reading", 0.0)
        for second in range(1, 101):
            ticks.now = float(second)
            time.update("reading", second / 100)
            tick()
    out, err = capsys.readouterr()
    assert out == ""
    first, *lines = err.splitlines()
    assert first == "This takes about 2 minutes."
    assert lines[0] == "reading: 10 % of all is done, about 90 seconds left"
    assert lines[-1].startswith("reading: ")
    assert 3 <= len(lines) <= 6, "fewer and fewer"


def test_short_work_says_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ticks = Ticks(monkeypatch)
    time = ticks.time()
    with terminal._lines(time) as tick:
        for second in range(1, 9):
            ticks.now = float(second)
            time.update("reading", second / 9)
            tick()
    assert capsys.readouterr().err == ""


def test_work_of_unknown_length_says_how_long_it_took_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = Ticks(monkeypatch)
    time = ticks.time()
    time.update("looking for leaks", None)
    ticks.now = 25.0
    assert terminal.line(time) == "looking for leaks: about 30 seconds so far"


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ticks = Ticks(monkeypatch)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    time = ticks.time()
    with terminal._bar(time) as tick:
        time.update("reading", 0.0)
        ticks.now = 5.0
        time.update("reading", 0.1)
        tick()
    out, err = capsys.readouterr()
    assert out == ""
    assert "This takes about 50 seconds." in err
    assert "reading" in err
    assert "about 50 seconds left" in err


def test_an_error_inside_ends_the_display() -> None:
    before = set(threading.enumerate())

    def work() -> None:
        with progress() as show:
            show("working", 0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert set(threading.enumerate()) <= before


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_one_step_goes_on_as_it_began() -> None:
    clock = Clock()
    time = RemainingTime({}, clock)
    assert (time.left(), time.share()) == (None, None)
    time.update("reading", 0.0)
    clock.now += 5
    assert time.left() is None
    time.update("reading", 0.25)
    assert time.left() == pytest.approx(15)
    assert time.share() == pytest.approx(0.25)
    clock.now += 3
    assert time.left() == pytest.approx(12), "the share is old by now"
    time.update("reading", 0.5)
    assert time.left() == pytest.approx(6), "by the pace since the first share"


def test_what_is_loaded_first_does_not_count_for_the_pace() -> None:
    clock = Clock()
    time = RemainingTime({}, clock)
    time.update("reading", 0.0)
    clock.now += 5
    time.update("reading", 0.02)
    assert time.left() is None, "nobody knows whether it goes on like that"
    clock.now += 0.5
    time.update("reading", 0.07)
    assert time.left() == pytest.approx(9.3)


def test_a_pace_needs_some_work() -> None:
    clock = Clock()
    time = RemainingTime({}, clock)
    time.update("reading", 0.5)
    assert time.left() is None, "no time has passed"
    clock.now += 60
    time.update("reading", 0.001)
    assert time.left() is None, "nearly nothing is done"


def test_nothing_is_promised_after_the_end_of_the_last_step() -> None:
    clock = Clock()
    time = RemainingTime({}, clock)
    clock.now += 5
    time.update("reading", None)
    clock.now += 5
    time.update("reading", 1.0)
    clock.now += 1
    assert time.left() is None


def test_later_steps_have_the_pace_of_earlier_ones() -> None:
    clock = Clock()
    time = RemainingTime({"reading": 1.0, "searching": 3.0}, clock)
    time.update("reading", 0.0)
    clock.now += 5
    time.update("reading", 0.5)
    assert time.left() == pytest.approx(5 + 30)
    clock.now += 5
    time.update("searching", None)
    assert time.left() == pytest.approx(30)
    clock.now += 10
    assert time.left() == pytest.approx(20)
    time.update("searching", 0.1)
    assert time.left() == pytest.approx(90), "it is slower than expected"


def test_a_step_that_is_left_out_is_not_waited_for() -> None:
    clock = Clock()
    time = RemainingTime({"hashing": 5.0, "choosing": 1.0, "fitting": 1.0}, clock)
    time.update("choosing", None)
    clock.now += 4
    time.update("fitting", None)
    assert time.left() == pytest.approx(4)


def test_a_trial_is_in_seconds_whatever_the_pace() -> None:
    clock = Clock()
    time = RemainingTime({"guarantees": 1.0, "matching": Seconds(60), "changes": 1.0}, clock)
    time.update("guarantees", 0.0)
    clock.now += 2
    time.update("guarantees", 0.5)
    assert time.left() == pytest.approx(2 + 60 + 4)
    clock.now += 2
    time.update("simulating", 0.5)
    assert time.left() is None, "an unexpected step that has just begun"
    time.update("matching", 0.0)
    clock.now += 20
    assert time.left() == pytest.approx(40 + 4)
    clock.now += 60
    assert time.left() == pytest.approx(4), "longer than the trial said"


@pytest.mark.parametrize("slowness", [0.3, 4.0])
def test_the_demonstration_says_how_long_it_takes_after_its_first_step(slowness: float) -> None:
    """On any machine on which steps take as long in relation to each other: the first step shows how fast it is."""
    sizes, clock = steps_of(1000, 99_000), Clock()
    time, left = RemainingTime(sizes, clock), []
    for step, size in sizes.items():
        for part in range(11):
            time.update(step, part / 10 if step != next(iter(sizes)) else None)
            left.append(time.left())
            clock.now += slowness * size / 11
    known = [each for each in left if each is not None]
    assert known[0] == pytest.approx(slowness * (sum(sizes.values()) - next(iter(sizes.values()))))
    assert all(later < earlier * 1.1 for earlier, later in pairwise(known))
    assert len(known) == len(left) - 11, "only the first step does not know it"


def test_steps_of_the_demonstration_are_as_long_as_the_work_that_they_have() -> None:
    few, many = steps_of(100, 30_000), steps_of(1000, 1_000_000)
    assert len(few) == len(many) == 10
    for (step, short), (_, long) in zip(few.items(), many.items(), strict=True):
        assert short <= long, step
    assert sum(many.values()) > 2 * sum(few.values())


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "a few seconds"),
        (11, "about 20 seconds"),
        (90, "about 2 minutes"),
        (3000, "about 50 minutes"),
        (9000, "about 3 hours"),
    ],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert roughly(seconds) == words


COMMANDS = commands(main)


def shown(name: str) -> list[str]:
    """The lines of a command's help on a terminal of 80 columns."""
    done = CliRunner(env={"COLUMNS": "80"}).invoke(main, [*name.split(), "--help"])
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_and_nothing_is_cut_off(name: str) -> None:
    lines = shown(name)
    assert all(len(line) <= 80 for line in lines)
    assert not any(line.endswith("...") and "Usage:" not in line for line in lines)
    options = lines[lines.index("Options:") + 1 :]
    assert all(line.startswith("  -") for line in options), "an option's help takes more than its line"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_first_sentence_json_and_an_example(name: str) -> None:
    command = COMMANDS[name]
    first, *others = inspect.cleandoc(command.help or "").splitlines()
    assert len(first) <= 70
    assert first.endswith((".", "?"))
    assert others[0] == ""
    assert f"Example: untrackable {name}" in "\n".join(shown(name))
    if not isinstance(command, click.Group):
        assert any("--json" in parameter.opts for parameter in command.params)
    for option in command.params:
        assert not isinstance(option, click.Option) or (option.help or "").endswith((".", "?")), option.opts


def test_the_list_has_one_line_for_each_command_under_its_job() -> None:
    lines = shown("")
    for job, modules in JOBS.items():
        names = " ".join(modules.values()).split()
        start = lines.index(f"{job}:") + 1
        for line, name in zip(lines[start : start + len(names)], names, strict=True):
            assert line.split(maxsplit=1) == [name, inspect.cleandoc(COMMANDS[name].help or "").splitlines()[0]]
    assert next(line for line in lines if line.endswith(":")) == "Try it:"


def test_the_page_of_commands_is_what_help_says() -> None:
    """`python -m tests.cli.commands_page` writes it."""
    assert PAGE.read_text(encoding="utf-8") == commands_page(), "run python -m tests.cli.commands_page"


def test_people_may_still_be_called_users() -> None:
    for name in ("audit", "compare"):
        (option,) = [each for each in COMMANDS[name].params if each.name == "people"]
        assert option.opts == ["--people", "--users"]
        assert "--users" not in "\n".join(shown(name))


def test_help_loads_nothing_heavy_and_a_command_only_itself() -> None:
    script = """
import sys
from click.testing import CliRunner
from untrackable.cli import main
CliRunner().invoke(main, ["keys", "--help"], catch_exceptions=False)
assert "untrackable.cli.audit" not in sys.modules
assert CliRunner().invoke(main, ["--help"], catch_exceptions=False).exit_code == 0
assert "untrackable.cli.audit" in sys.modules
heavy = {"numpy", "scipy", "rich", "altair", "pyarrow", "numba"} & set(sys.modules)
sys.exit(f"loaded {heavy}" if heavy else 0)
"""
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603
