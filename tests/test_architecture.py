"""The folder is the architecture: imports point one way, and starting up is cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "untrackable"
LAYERS = ["errors", "checks", "brackets", "kernels", "theory", "mechanisms", "encodings"]
LAYERS += ["campaign", "verification", "wire", "client"]
LAYERS += ["discovery", "decoding", "files", "auditing", "planning", "paper", "collector", "demo", "cli"]
FILES = sorted(SOURCE.rglob("*.py"))


def layer(module: str) -> int:
    return LAYERS.index(module.split(".")[1])


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("untrackable.") and name.split(".")[1] in LAYERS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    if path.parent == SOURCE and path.stem.startswith("__"):
        return  # the root only hands out names, lazily
    own = ".".join(("untrackable", *path.relative_to(SOURCE).with_suffix("").parts))
    for name in imports(path):
        assert layer(name) <= layer(own), f"{own} imports {name}"


def test_every_folder_is_a_layer() -> None:
    top = {path.stem for path in SOURCE.iterdir() if path.suffix in ("", ".py")}
    assert top - {"__pycache__", "__init__", "__main__"} == set(LAYERS)


def test_theory_has_no_io_no_clock_and_no_randomness_of_its_own() -> None:
    forbidden = {"os", "io", "time", "datetime", "random", "secrets", "pathlib", "socket", "subprocess"}
    for path in (SOURCE / "theory").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & forbidden, path
        assert "default_rng" not in path.read_text(encoding="utf-8"), path


def test_help_and_import_load_nothing_heavy() -> None:
    script = (
        "import sys, untrackable, untrackable.cli;"
        "heavy = {'numpy', 'scipy', 'matplotlib', 'rich', 'altair', 'pyarrow', 'numba'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603


def test_no_file_is_overlong() -> None:
    for path in FILES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path


def test_public_names_are_there() -> None:
    import untrackable

    for name in untrackable.__all__:
        assert getattr(untrackable, name).__name__ == name
        assert name in dir(untrackable)
        assert name in (untrackable.__doc__ or "")
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = untrackable.Nothing
