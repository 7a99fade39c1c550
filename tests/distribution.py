"""Builds the release, looks at what is in it, and tries it: `make dist`.

    python -m tests.distribution dist

makes the wheels and the source archives of both distributions in `dist`: `untrackable`, the client, and
`untrackable-engine`, which has all other files of the same package. It compares their contents with the checkout,
installs the wheels into an empty environment with the locked dependencies, and runs the demo and a small round trip
from there. Last, it installs the client alone and with each extra into an empty environment, and does there what
the extra is for.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tests.collector.samples import campaign
from tests.collector.servers import process
from tests.relay.gateways import relay_process
from untrackable import Fresh, Guarantee, NoisyInnerProduct, __version__
from untrackable.collector.api import create_campaign
from untrackable.collector.settings import open_store
from untrackable.collector.store import Round
from untrackable.oblivious.gateway_keys import GatewayKeys, write_keys
from untrackable.protocol.campaign import CrowdGuarantee, Gateway
from untrackable.theory.turns import Turns

ROOT = Path(__file__).parent.parent
_TOP = ("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "pyproject.toml")
_SOURCE_FOLDERS = ("src", "clients", "tests", "docs", "benchmarks")
_OF_ENGINE = ("engine/README.md", "engine/pyproject.toml")
_TOP_OF_ENGINE = ("README.md", "LICENSE", "pyproject.toml")
LARGEST_CLIENT = 1_500_000
"""The most bytes of the client where it is installed, with its compiled files."""
_NOT_SHIPPED = ("__pycache__", "node_modules", "dist", ".hypothesis")
_LONGEST = 600
"""Seconds that a command may take."""
_ANSWER_AND_SEND = """
import sys
from pathlib import Path
from untrackable import Campaign, Client, Policy

document, server, *relays = sys.argv[1:]
asked = Campaign.from_bytes(Path(document).read_bytes())
policy = Policy(eps=2.0, relays=tuple(relays), pins=(asked.id,))
now = asked.first_round - 1.0
client = Client(asked, None, policy, folder=Path("mine"), clock=lambda: now)
client.answer("page 3")
now = client.due(now)
print(client.send(server).name)
"""
_SERVE_AND_SEND = """
import subprocess, sys
from untrackable.serving.server import start_server

server = start_server(sys.argv[2])
try:
    subprocess.run([sys.executable, "-c", sys.argv[1], "asked.json", server.address], check=True, timeout=60)
finally:
    server.end()
"""
_INSTALLED = """
import json
from importlib.metadata import distributions, files

size = sum(file.locate().stat().st_size for file in files("untrackable"))
print(json.dumps([size, [each.name for each in distributions()]]))
"""
_COMPILED = "from untrackable.kernels import engine; assert engine.compiled(engine.WORTHWHILE)"
_OPEN_STORE = """
import sys
from untrackable.collector.settings import open_store
from untrackable.errors import StoreError

try:
    open_store(sys.argv[1])
except StoreError as error:
    print(error)
"""


def said(command: list[str], folder: Path, **environment: str) -> str:
    """All that a command prints. It must succeed."""
    variables = {**os.environ, **environment}
    done = subprocess.run(  # noqa: S603
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=_LONGEST
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


class Built(NamedTuple):
    """The wheel and the source archive of a distribution."""

    wheel: Path
    archive: Path


def build(folder: Path, source: Path = ROOT) -> Built:
    """The wheel and the source archive of a distribution, made without any network."""
    before = set(folder.iterdir())
    said([sys.executable, "-m", "hatchling", "build", "--directory", str(folder.resolve())], source)
    archive, wheel = sorted(set(folder.iterdir()) - before, key=lambda made: made.suffix)
    return Built(wheel, archive)


def wheel_files(wheel: Path) -> set[str]:
    """The files in a wheel, without what describes it."""
    with zipfile.ZipFile(wheel) as opened:
        return {name for name in opened.namelist() if ".dist-info/" not in name}


def archive_files(archive: Path) -> set[str]:
    """The files in a source archive."""
    with tarfile.open(archive) as opened:
        return {name.partition("/")[2] for name in opened.getnames()}


def client_files() -> set[str]:
    """The files of the package that `untrackable` has by itself, as pyproject.toml lists them."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wheel = tomllib.loads(text)["tool"]["hatch"]["build"]["targets"]["wheel"]
    listed, left_out = wheel["only-include"], [name.strip("/") for name in wheel["exclude"]]
    return {
        name
        for name in package_files()
        if any(f"src/{name}" == each or f"src/{name}".startswith(f"{each}/") for each in listed)
        and f"src/{name}" not in left_out
    }


def package_files() -> set[str]:
    """What the two wheels must have together: every file of the package."""
    return {str(file.relative_to(ROOT / "src")) for file in _files(ROOT / "src" / "untrackable")}


def source_files() -> set[str]:
    """What the source archive must have: enough to build the client and to test all of the package."""
    files = {str(file.relative_to(ROOT)) for folder in _SOURCE_FOLDERS for file in _files(ROOT / folder)}
    return files | {*_TOP, *_OF_ENGINE}


def check(client: Built, engine: Built) -> None:
    """Compare the release with the checkout. What is missing or should not be there is an error."""
    assert client.wheel.name == f"untrackable-{__version__}-py3-none-any.whl", client.wheel.name
    assert client.archive.name == f"untrackable-{__version__}.tar.gz", client.archive.name
    assert engine.wheel.name == f"untrackable_engine-{__version__}-py3-none-any.whl", engine.wheel.name
    _same(wheel_files(client.wheel), client_files())
    _same(wheel_files(engine.wheel), package_files() - client_files())
    _same(archive_files(client.archive), source_files())
    _same(archive_files(engine.archive), {f"src/{name}" for name in package_files()} | {*_TOP_OF_ENGINE})


def _same(made: set[str], wanted: set[str]) -> None:
    missing, surplus = wanted - made, made - wanted - {"PKG-INFO", ".gitignore"}
    assert not missing, missing
    assert not surplus, surplus


def try_out(run: list[str], folder: Path) -> None:
    """A question, its reports and their estimate. `run` is the command that starts the installed program."""
    assert __version__ in said([*run, "--version"], folder)
    question = ("--question", "Which?", "--category", "a", "--category", "b", "--rounds", "30")
    said([*run, "campaign", "new", "asked.json", *question], folder)
    assert "Which?" in said([*run, "campaign", "show", "asked.json"], folder)
    made = ("simulate", "deck", "bits=2", "slots=30", "eps_report=1", "--people", "2000", "--out", "reports.csv")
    said([*run, *made], folder)
    assert "2,000" in said([*run, "estimate", "reports.csv"], folder)


def _answers_and_sends(python: str, folder: Path, *, sealed: bool = False, serves: bool = False) -> None:
    """A client answers and sends, and one report is counted: sealed and through a relay, or to a collector there.

    Otherwise the collector and the relay are of this environment.
    """
    asked = campaign(
        Fresh(NoisyInnerProduct(bits=4, eps=2.0)),
        begin=int(time.time()) - 600,
        seconds=86_400,
        rounds=1,
        guarantee=Guarantee(eps=2.0),
        turns=Turns(rounds=1),
    )
    store, keys = f"sqlite:///{folder}/store.db", GatewayKeys().with_list(1, 1)
    if sealed:
        crowd = CrowdGuarantee(eps=1.0, delta=1e-6, reports=2_000)
        gateway = Gateway.from_json(keys.public_list(1))
        asked = replace(asked, guarantee=replace(asked.guarantee, crowd=crowd), gateway=gateway)
    write_keys(folder / "keys.json", keys)
    (folder / "asked.json").write_bytes(asked.to_bytes())
    opened = open_store(store)
    create_campaign(opened, asked.to_bytes(), published=True)
    with ExitStack() as running:
        if serves:
            command = [python, "-c", _SERVE_AND_SEND, _ANSWER_AND_SEND, store]
        else:
            server = running.enter_context(process(store, "--gateway-keys", str(folder / "keys.json")))
            command = [python, "-c", _ANSWER_AND_SEND, "asked.json", server.address]
        if sealed:
            relay = running.enter_context(relay_process("--gateway", f"study={server.address}"))
            command.append(f"{relay.address}/gateways/study")
        assert "ACCEPTED" in said(command, folder)
    assert opened.count(Round(asked.id, 1)) == 1
    opened.close()


def _estimates(python: str, folder: Path, reports: str, *options: str) -> None:
    """An estimate of a file of reports, which is also written there."""
    run = [python, "-m", "untrackable"]
    said(
        [*run, "simulate", "deck", "bits=2", "slots=30", "eps_report=1", "--people", "2000", "--out", reports],
        folder,
    )
    assert "2,000" in said([*run, "estimate", reports, *options], folder)


def _draws(python: str, folder: Path) -> None:
    _estimates(python, folder, "reports.npz", "--plot", "picture.png")
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


def _compiles(python: str, folder: Path) -> None:
    said([python, "-c", _COMPILED], folder)


def _finds_no_server(python: str, folder: Path) -> None:
    told = said([python, "-c", _OPEN_STORE, "postgresql://nobody@127.0.0.1:1/nothing"], folder)
    assert told == "cannot use the PostgreSQL database: PostgreSQL: the server refused the connection\n", told


TRIALS: dict[str, Callable[[str, Path], None]] = {
    "untrackable": _answers_and_sends,
    "untrackable[collector]": lambda python, folder: _answers_and_sends(python, folder, serves=True),
    "untrackable[crowd]": lambda python, folder: _answers_and_sends(python, folder, sealed=True),
    "untrackable[fast]": _compiles,
    "untrackable[files]": lambda python, folder: _estimates(python, folder, "reports.parquet"),
    "untrackable[plots]": _draws,
    "untrackable[postgres]": _finds_no_server,
    "untrackable[spark]": lambda python, folder: _estimates(
        python, folder, "reports.parquet", "--engine", "spark", "--master", "local[2]"
    ),
    "untrackable-engine": lambda python, folder: _estimates(python, folder, "reports.npz"),
}
"""What each extra is for, done in an empty folder by a Python that has this extra alone.

`cuda` is not tried, because few machines have a GPU.
"""


def locked_versions() -> str:
    """The versions of requirements-dev.lock as constraints. Digests are left out: the wheel has none there."""
    locked = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^(\S+==[^\\\n]+?) *\\?$", locked, re.M))


def _files(folder: Path) -> list[Path]:
    return [
        file
        for file in folder.rglob("*")
        if file.is_file() and not any(part in _NOT_SHIPPED for part in file.parts)
    ]


def _new_environment(folder: Path) -> list[str]:
    """The command that installs packages into a new environment. Its first word is that environment's Python."""
    venv.create(folder, with_pip=True)
    return [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def try_extras(release: Path) -> None:
    """Install each requirement from these wheels into an empty environment, and do there what it is for."""
    for requirement, trial in TRIALS.items():
        _tell(f"trying out {requirement}, with nothing else")
        with tempfile.TemporaryDirectory() as name_of_folder:
            empty = Path(name_of_folder)
            (empty / "versions").write_text(locked_versions(), encoding="utf-8")
            install = _new_environment(empty / "environment")
            wheels = ("--find-links", str(release.resolve()))
            said([*install, "--constraint", "versions", *wheels, requirement], empty)
            trial(install[0], empty)
            if requirement == "untrackable":
                _check_small(install[0], empty)


def _check_small(python: str, folder: Path) -> None:
    """The client is small, and brings nothing."""
    size, names = json.loads(said([python, "-c", _INSTALLED], folder))
    _tell(f"the client takes {size:,} bytes where it is installed")
    assert size <= LARGEST_CLIENT, size
    assert {*names} <= {"pip", "setuptools", "untrackable"}, names


def main(folder: Path) -> None:
    """Build, check, install and try the release."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    client, engine = build(folder), build(folder, ROOT / "engine")
    check(client, engine)
    _tell(f"{client.wheel.name} and {engine.wheel.name} have what they should; installing them")
    with tempfile.TemporaryDirectory() as name:
        empty = Path(name)
        install = _new_environment(empty / "environment")
        said([*install, "--require-hashes", "-r", str(ROOT / "requirements.lock")], empty)
        said([*install, "--no-deps", str(client.wheel.resolve()), str(engine.wheel.resolve())], empty)
        _tell("trying it out")
        program = str(empty / "environment" / "bin" / "untrackable")
        try_out([program], empty)
        _tell(said([program, "demo", "--once"], empty))
    try_extras(folder)
    _tell(f"{folder} has a release of version {__version__} that can be installed")


def _tell(words: str) -> None:
    sys.stderr.write(f"{words}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
