"""The client without what Windows lacks: the same tests, with the other branch of locks and files."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.client.samples import turns_campaign

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="here it is pretended")
FAST = ("test_delivery.py", "test_turns.py", "test_restored_files.py", "test_preview.py", "test_send_times.py")


def passes(*arguments: str) -> None:
    """Run tests in a process of its own that has no fcntl."""
    command = [sys.executable, "-m", "tests.client.like_windows", "-q", "-x", "-p", "no:cacheprovider", *arguments]
    run = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, timeout=900, check=False, cwd=HERE.parent.parent
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-2000:]
    assert run.stdout.count(".") >= 4


def test_the_same_tests_pass_without_unix() -> None:
    passes(*(str(HERE / name) for name in FAST), "-m", "not slow")


def test_reports_are_sent_by_a_process_of_its_own_without_unix() -> None:
    passes(str(HERE / "test_take_part.py"), "-k", "due or two_programs or tried_again or full_look or first_answer")


def test_one_process_at_a_time_without_unix() -> None:
    wanted = "one_process or two_senders or damage_at or leftover"
    passes(str(HERE / "test_private_folder.py"), "-k", wanted)


@pytest.mark.slow
def test_kills_between_steps_without_unix() -> None:
    passes(str(HERE / "test_crashes.py"), "-k", "deck or value-False-False or path-True-False")


SCRIPT = """
import sys
from tests.client.like_windows import ABSENT, pretend
pretend()
import untrackable, untrackable.client.take_part, untrackable.client.client, untrackable.client.job
from untrackable import Client, Policy, take_part
sys.argv[0] = "untrackable"
from untrackable.__main__ import run
run()
"""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["policy", "show"], 0, "No policy is stored yet"),
        (["send", "http://127.0.0.1:9"], 0, "no campaign has been answered"),
        (["preview", "{campaign}"], 0, "An example of a report"),
        (["answer", "{campaign}", "--pin", "{id}"], 0, "noted"),
        (["answer", "{campaign}", "--leave"], 0, "left"),
        (["serve", "--store", "{folder}/store.db"], 1, "Linux or macOS\n"),
        (["relay", "--gateway", "https://collect.example"], 1, "Linux or macOS\n"),
        (["gateway", "new", "{folder}/keys"], 1, "Linux or macOS\n"),
    ],
    ids=lambda given: " ".join(given[:2]) if isinstance(given, list) else "",
)
def test_commands_work_or_say_in_one_line_that_they_do_not(
    words: list[str], code: int, said: str, tmp_path: Path
) -> None:
    asked = turns_campaign(first_round=4_000_000_000)
    (tmp_path / "campaign.json").write_bytes(asked.to_bytes())
    names = {"campaign": str(tmp_path / "campaign.json"), "id": asked.id, "folder": str(tmp_path)}
    given = [word.format(**names) for word in words]
    if words[0] in ("policy", "send", "preview", "answer"):
        given += ["--folder", str(tmp_path / "c")]
    command = [sys.executable, "-c", SCRIPT, *given]
    run = subprocess.run(  # noqa: S603
        command, input="2\n", capture_output=True, text=True, timeout=120, check=False, cwd=HERE.parent.parent
    )
    assert run.returncode == code, run.stderr
    assert said in run.stdout + run.stderr
    assert len(run.stderr.splitlines()) <= 1
