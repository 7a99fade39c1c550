"""The browser's client in Node.js: its sources, its tools, and one process that answers what tests ask."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
SOURCES = ROOT / "clients" / "browser"
SHIPPED = ROOT / "src" / "untrackable" / "collector" / "browser_client"


def node(*arguments: str, given: str = "") -> str:
    """Run Node.js, and return what it prints."""
    program = shutil.which("node")
    assert program, "there is no Node.js; make test installs it"
    assert (SOURCES / "node_modules").exists(), "run `npm ci` in clients/browser, as make test does"
    done = subprocess.run(  # noqa: S603
        [program, *arguments], input=given, capture_output=True, text=True, cwd=SOURCES, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def build(folder: Path) -> dict[str, bytes]:
    """The files that the build writes, by name."""
    node("build.mjs", str(folder))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def script(folder: Path, source: str = "test/vectors.ts") -> Path:
    """The program that answers what tests ask, as one file."""
    path = (folder / Path(source).name).with_suffix(".mjs")
    node("test/bundle.mjs", str(path), source)
    return path


def ask(program: Path, tasks: Iterable[dict[str, Any]]) -> list[Any]:
    """The answers to some tasks, by one process."""
    found = node(str(program), given="\n".join(json.dumps(task) for task in tasks))
    return [json.loads(line) for line in found.split("\n") if line]
