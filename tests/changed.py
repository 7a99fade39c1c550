"""The tests of what changed, and some fast ones that notice most mistakes: `make check`."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, TESTS, CLIENTS = Path("src/untrackable"), Path("tests"), Path("clients")
BENCHMARKS = Path("benchmarks")
FAST = (
    "test_architecture.py",
    "test_brackets.py",
    "test_strict_json.py",
    "cli/test_cli.py",
    "client/test_vectors.py",
    "encodings/test_json.py",
    "mechanisms/test_json.py",
    "mechanisms/test_vectors.py",
    "protocol",
)
"""Always run: names and imports, golden vectors, documents and messages."""
ELSEWHERE = {
    ".ipynb": "test_notebooks.py",
    ".md": "test_docs.py",
    ".txt": "test_docs.py",
    ".lock": "collector/test_uvicorn.py",
    ".toml": "test_extras.py",
}
"""The tests of files that are neither source nor tests, by their endings."""


def main() -> int:
    """Run them; the tests that take longest are left to `make test`."""
    chosen = selected(changed())
    command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "loadgroup", "-m", "not slow", *chosen]
    print("testing", *chosen, flush=True)  # noqa: T201
    return subprocess.run(command, cwd=ROOT, check=False).returncode  # noqa: S603


def changed() -> list[Path]:
    """Files that differ from what the main branch had when this one left it, committed or not."""
    left = _git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    names = [*_git("diff", "--name-only", left[0]), *_git("ls-files", "--others", "--exclude-standard")]
    return [Path(name) for name in names]


def selected(files: Iterable[Path]) -> list[str]:
    """The tests of these files and the fast ones, each once."""
    chosen = {TESTS / name for name in FAST} | {test for file in files if (test := _test_of(file)) is not None}
    within = {path for path in chosen if any(parent in chosen for parent in path.parents)}
    return sorted(str(path) for path in chosen - within)


def _test_of(file: Path) -> Path | None:
    """A module's own test, or all tests of its folder; a test itself, or all tests beside what they share.

    A client in another language has one folder of tests.
    """
    if file.is_relative_to(SOURCE):
        inner = file.relative_to(SOURCE)
        return _nearest(TESTS / inner.with_name(f"test_{inner.stem}.py"))
    if file.is_relative_to(TESTS):
        return _nearest(file if file.name.startswith("test_") else file.parent)
    if file.is_relative_to(CLIENTS):
        return _nearest(TESTS / str(file.relative_to(CLIENTS)).replace("-", "_"))
    if file.is_relative_to(BENCHMARKS):
        return TESTS / "test_benchmarks.py"
    return TESTS / ELSEWHERE[file.suffix] if file.suffix in ELSEWHERE else None


def _nearest(test: Path) -> Path | None:
    """This test, or the folder around it that has tests; none where that would be all of them."""
    for path in (test, *test.parents):
        if path == TESTS:
            return None
        if (ROOT / path).is_file() or any((ROOT / path).rglob("test_*.py")):
            return path
    return None


def _git(*arguments: str) -> list[str]:
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603, S607
    return found.stdout.split("\n")[:-1]


if __name__ == "__main__":
    sys.exit(main())
