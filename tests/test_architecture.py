"""The folder is the architecture: which package may use which, no cycles, and starting up is cheap."""

import ast
import functools
import graphlib
import importlib
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "untrackable"
CLIENTS = Path(__file__).parent.parent / "clients"
"""Clients in other languages, one folder each."""
FILES = sorted(SOURCE.rglob("*.py"))

BASICS = {
    "arrays", "errors", "checks", "brackets", "csv_cells", "early_interrupts", "extras", "framing", "lazy_names",
    "notebook_view", "progress", "strict_json", "units", "web_address", "whole_files",
}  # fmt: skip
"""Small modules at the root that every package may use."""

USES: dict[str, set[str]] = {
    "kernels": set(),
    "serving": set(),
    "relay": {"serving"},
    "theory": set(),
    "oblivious": set(),
    "randomizers": set(),
    "estimation": {"kernels", "theory"},
    "mechanisms": {"randomizers", "kernels", "theory", "estimation"},
    "settings": {"theory", "estimation", "mechanisms"},
    "encodings": {"randomizers", "theory", "estimation", "mechanisms"},
    "protocol": {"randomizers", "theory", "estimation", "mechanisms", "encodings", "oblivious"},
    "ballots": {"protocol", "randomizers", "serving"},
    "accounting": {"randomizers", "theory", "mechanisms", "protocol"},
    "client": {"randomizers", "theory", "mechanisms", "encodings", "protocol", "accounting", "oblivious"},
    "discovery": {"randomizers", "kernels", "theory", "estimation", "mechanisms", "encodings"},
    "answers": {"theory", "estimation", "mechanisms", "encodings"},
    "engines": {"theory", "mechanisms", "encodings", "answers", "reports", "auditing"},
    "reports": {"kernels", "theory", "estimation", "mechanisms", "encodings", "discovery", "answers"},
    "rappor_decode": {"estimation", "mechanisms", "reports"},
    "auditing": {"randomizers", "kernels", "theory", "mechanisms", "settings", "reports"},
    "planning": {"randomizers", "theory", "estimation", "mechanisms", "settings", "encodings", "protocol"},
    "paper": {"kernels", "theory", "mechanisms", "display"},
    "display": {
        "theory", "estimation", "protocol", "discovery", "answers", "reports", "rappor_decode", "auditing",
        "planning",
    },
    "collector": {
        "estimation", "mechanisms", "encodings", "protocol", "accounting", "discovery", "answers", "reports",
        "auditing", "ballots", "display", "oblivious", "planning", "serving", "settings",
    },
    "demo": {
        "theory", "mechanisms", "encodings", "protocol", "client", "auditing", "collector", "display", "serving",
        "oblivious",
    },
    "cli": {
        "theory", "mechanisms", "encodings", "protocol", "accounting", "client", "discovery", "answers", "reports",
        "rappor_decode", "auditing", "planning", "paper", "display", "collector", "demo",
        "ballots", "engines", "oblivious", "relay", "serving", "settings",
    },
}  # fmt: skip
"""Which packages each package may import from, beside the basics. docs/architecture.md has a picture of them."""

LAYERS: dict[str, tuple[str, ...]] = {
    "collector": (
        "store", "sqlite postgres ballots", "settings problems metrics", "writer closing estimates", "service",
        "browser uploads gateway api", "dashboard dashboard.heavy_work dashboard.sessions", "dashboard.rendering",
        "dashboard.signed_in", "dashboard.*", "app",
    ),
    "mechanisms": ("randomness", "*"),
    "theory": ("factor search", "convolution kept_*", "experiment", "*"),
    "estimation": ("intervals", "estimate", "aggregators", "*"),
    "reports": ("files", "arrow csv numpy", "reader", "*"),
    "auditing": ("streams attacks", "audit black_box", "recordings comparison floor", "file_audit"),
    "planning": ("goal_fields", "goals", "forecast", "plan"),
    "client": (
        "folder policy quiet", "state ledger sender sending", "ballot preview", "client", "job", "take_part",
    ),
    "cli": ("terminal", "mechanism_argument", "options", "campaign", "*"),
}  # fmt: skip
"""Layers of modules within a package, from the lowest one. A module uses its own layer and those below."""


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(("untrackable", *parts)).removesuffix(".__init__")


MODULES = {module_name(path): path for path in FILES}


def for_types_only(tree: ast.AST) -> set[ast.AST]:
    """What stands below `if TYPE_CHECKING:`, which is never imported at run time."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            found |= {inner for statement in node.body for inner in ast.walk(statement)}
    return found


def imports(path: Path, *, types: bool = True) -> set[str]:
    """The modules of this package that a file imports, at its top or within a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set() if types else for_types_only(tree)
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name in MODULES and name != "untrackable"}


@pytest.mark.parametrize("name", MODULES)
def test_packages_use_only_what_they_may(name: str) -> None:
    if name in ("untrackable", "untrackable.__main__"):
        return  # the root only hands out names, lazily
    own = name.split(".")[1]
    allowed = BASICS | ({own} | USES[own] if own in USES else set())
    for used in imports(MODULES[name]):
        assert used.split(".")[1] in allowed, f"{name} imports {used}"


@pytest.mark.parametrize("package", LAYERS)
def test_modules_use_only_their_own_layer_and_those_below(package: str) -> None:
    layers = {name: layer_of(package, name) for name in MODULES if name.startswith(f"untrackable.{package}.")}
    for name, layer in layers.items():
        for used in imports(MODULES[name]) & set(layers):
            assert layers[used] <= layer, f"{name} imports {used}, which is above it"
    assert set(layers.values()) == set(range(len(LAYERS[package]))), "a layer of the table has no module"


def layer_of(package: str, name: str) -> int:
    """The first layer that names a module, or that has a pattern for it."""
    short = name.removeprefix(f"untrackable.{package}.")
    layers = {each: number for number, names in enumerate(LAYERS[package]) for each in names.split()}
    if short in layers:
        return layers[short]
    fitting = [number for pattern, number in layers.items() if fnmatch(short, pattern)]
    assert fitting, f"{name} is in no layer of {package}"
    return fitting[0]


def test_only_the_application_uses_the_dashboard() -> None:
    users = {name for name, path in MODULES.items() if any(map(is_dashboard, imports(path)))}
    assert {name for name in users if not is_dashboard(name)} == {"untrackable.collector.app"}


def is_dashboard(name: str) -> bool:
    return name.startswith("untrackable.collector.dashboard")


def test_stores_know_nothing_of_http() -> None:
    script = (
        "import sys, untrackable.collector.sqlite, untrackable.collector.postgres;"
        "http = {'starlette', 'uvicorn', 'untrackable.serving'} & set(sys.modules);"
        "sys.exit(f'loaded {http}' if http else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603


def test_every_package_says_what_it_may_use() -> None:
    top = {path.stem for path in SOURCE.iterdir() if path.suffix in ("", ".py")}
    assert top - {"__pycache__", "__init__", "__main__"} == BASICS | set(USES)


def test_no_package_depends_on_itself_through_others() -> None:
    graphlib.TopologicalSorter(USES).prepare()


def test_no_module_imports_itself_through_others() -> None:
    graph = {name: imports(path, types=False) - {name} for name, path in MODULES.items() if name != "untrackable"}
    graphlib.TopologicalSorter(graph).prepare()


def test_tests_mirror_the_source() -> None:
    root = Path(__file__).parent
    for path in root.rglob("test_*.py"):
        folder = path.parent.relative_to(root)
        client = CLIENTS / str(folder).replace("_", "-")
        assert folder == Path() or (SOURCE / folder).is_dir() or client.is_dir(), path


ROLES = {"Mechanism", "Local", "BareClient", "Batch", "LevelSums"}
"""Classes of `mechanisms` that say what a thing is for, rather than which mechanism it is."""
EXEMPT = {"estimates", "mechanisms", "randomizers"}


@functools.cache
def classes_of_mechanisms() -> set[str]:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (SOURCE / "mechanisms").rglob("*.py"))
    return {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)} - ROLES


def classes_asked_for(source: str) -> set[str]:
    """Names that stand as a class in isinstance, issubclass, `type(…) is` or a match pattern."""
    asked: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass"):
                asked += node.args[1:]
        elif isinstance(node, ast.MatchClass):
            asked.append(node.cls)
        elif isinstance(node, ast.Compare) and any(map(is_type_call, [node.left, *node.comparators])):
            asked += [node.left, *node.comparators]
    parts = [inner for part in asked for inner in ast.walk(part)]
    plain = {node.id for node in parts if isinstance(node, ast.Name)}
    return plain | {node.attr for node in parts if isinstance(node, ast.Attribute)}


def is_type_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


@pytest.mark.parametrize("name", MODULES)
def test_nobody_else_asks_which_class_a_mechanism_is(name: str) -> None:
    if not EXEMPT & set(name.split(".")):
        source = MODULES[name].read_text(encoding="utf-8")
        assert classes_asked_for(source) & classes_of_mechanisms() == set()


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(m, Deck)",
        "isinstance(m, (int, deck.Deck | str))",
        "issubclass(type(m), Deck)",
        "type(m) is Deck",
        "match m:\n    case [Deck(slots=3), *_] | None:\n        pass",
    ],
)
def test_asking_for_a_class_is_noticed(source: str) -> None:
    assert classes_asked_for(source) & classes_of_mechanisms() == {"Deck"}
    assert classes_asked_for("isinstance(m, Mechanism) and Deck(slots=3)") & classes_of_mechanisms() == set()


def test_theory_has_no_io_no_clock_and_no_randomness_of_its_own() -> None:
    forbidden = {"os", "io", "time", "datetime", "random", "secrets", "pathlib", "socket", "subprocess"}
    for path in (SOURCE / "theory").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.split(".")[0] for name in names} & forbidden, path
        assert "default_rng" not in path.read_text(encoding="utf-8"), path


def test_json_is_read_and_written_in_one_place() -> None:
    """Or some reader would be less strict than others."""
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert "json" not in names or path.stem == "strict_json", path


def test_help_and_import_load_nothing_heavy() -> None:
    script = (
        "import sys, untrackable, untrackable.cli;"
        "heavy = {'numpy', 'scipy', 'rich', 'altair', 'pyarrow', 'numba'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603


def test_a_client_loads_nothing_that_only_servers_and_estimates_need() -> None:
    """And before it joins or sends, nothing of what only these need."""
    script = (
        "import sys; from untrackable import Client;"
        "loaded = {'untrackable.protocol.campaign'} & set(sys.modules);"
        "from untrackable import Campaign, Policy;"
        "loaded |= {'numpy', 'click', 'ssl', 'http.client', 'urllib.request'} & set(sys.modules);"
        "loaded |= {name for name in sys.modules if name.startswith('untrackable.mechanisms')};"
        "sys.exit(f'loaded {loaded}' if loaded else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603


def test_a_run_without_a_turn_loads_next_to_nothing() -> None:
    script = (
        "import sys; before = set(sys.modules); from untrackable import take_part;"
        "loaded = {'contextlib', 'dataclasses', 'hashlib', 'pathlib', 'typing', 'untrackable.errors'};"
        "loaded &= set(sys.modules) - before;"
        "sys.exit(f'loaded {loaded}' if loaded else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603


def test_a_collector_loads_nothing_heavy_before_somebody_asks_for_it() -> None:
    """Every process of a collector would hold it in memory."""
    script = (
        "import sys, untrackable.collector.app;"
        "heavy = {'scipy', 'altair', 'pyarrow', 'numba', 'vl_convert'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)  # noqa: S603


@pytest.mark.parametrize("package", ["", ".encodings", ".estimation", ".mechanisms", ".randomizers", ".theory"])
def test_public_names_are_there(package: str) -> None:
    """They are loaded where they are used, told to type checkers, listed and mentioned."""
    found = importlib.import_module(f"untrackable{package}")
    assert found.__all__ == sorted(set(found.__all__))
    assert dir(found) == found.__all__
    for name in found.__all__:
        assert getattr(found, name).__name__ == name
        assert f"`{name}`" in (found.__doc__ or "")
    with pytest.raises(AttributeError, match=f"module 'untrackable{package}' has no attribute 'Nothing'"):
        _ = found.Nothing
    stub = ast.parse(Path(found.__file__ or "").with_suffix(".pyi").read_text(encoding="utf-8"))
    typed = {
        alias.asname: (node.module, alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == {name: (getattr(found, name).__module__, name) for name in found.__all__}
