"""`make check` runs the tests of what changed."""

from pathlib import Path

import pytest

from tests.changed import FAST, changed, selected

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("src/untrackable/reports/reader.py", "tests/reports/test_reader.py"),
        ("src/untrackable/extras.py", "tests/test_extras.py"),
        ("src/untrackable/collector/app.py", "tests/collector/test_app.py"),
        ("src/untrackable/collector/openapi.json", "tests/collector/test_openapi.py"),
        ("src/untrackable/reports/arrow.py", "tests/reports"),
        ("src/untrackable/collector/store.py", "tests/collector/test_store.py"),
        ("src/untrackable/accounting/__init__.py", "tests/accounting"),
        ("tests/reports/samples.py", "tests/reports"),
        ("tests/reports/test_files.py", "tests/reports/test_files.py"),
        ("tests/estimation/test_that_was_deleted.py", "tests/estimation"),
        ("clients/browser/src/client.ts", "tests/browser"),
        ("clients/relay-worker/worker.mjs", "tests/relay_worker"),
        ("benchmarks/measured/planning.json", "tests/test_benchmarks.py"),
        ("README.md", "tests/test_docs.py"),
        ("docs/engine.md", "tests/test_docs.py"),
        ("docs/numbers/engine.txt", "tests/test_docs.py"),
        ("pyproject.toml", "tests/test_extras.py"),
    ],
)
def test_a_file_has_its_tests(file: str, test: str) -> None:
    fast = set(selected([]))
    assert set(selected([Path(file)])) == fast | {test}
    assert (ROOT / test).exists()


def test_the_fast_ones_are_always_run_and_none_twice() -> None:
    assert selected([]) == sorted(f"tests/{name}" for name in FAST)
    assert all((ROOT / path).exists() for path in selected([]))
    nothing = [Path("src/untrackable/__main__.py"), Path("tests/conftest.py"), Path("LICENSE")]
    assert selected(nothing) == selected([])
    within = [Path("tests/reports/samples.py"), Path("tests/reports/test_files.py")]
    assert selected(within) == selected(within[:1])


def test_changes_are_asked_of_git() -> None:
    assert all(isinstance(path, Path) and not path.is_absolute() for path in changed())
