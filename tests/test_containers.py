"""The container image and the compose file: started where a container engine runs, else checked step by step."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml  # type: ignore[import-untyped]

from tests.collector.servers import process
from tests.distribution import package_files, said
from untrackable.cli.collect import relay as relay_command
from untrackable.cli.collect import serve as serve_command
from untrackable.collector.api import ADDRESS, GAUGES
from untrackable.collector.metrics import Metrics
from untrackable.collector.settings import Settings

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "docs" / "deploy"
COMPOSE = DEPLOY / "compose"
ENGINE = next((found for name in ("docker", "podman") if (found := shutil.which(name))), None)


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Containerfile in order, without comments."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Containerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [(word, rest) for word, rest in (line.split(maxsplit=1) for line in text.splitlines() if line)]


def composed() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    return found


def settings_of(command: Any) -> set[str]:
    flags = [max(option.opts, key=len).removeprefix("--") for option in command.params]
    return {f"UNTRACKABLE_{flag}".upper().replace("-", "_") for flag in flags}


def health_check() -> list[str]:
    (check,) = (rest for word, rest in instructions() if word == "HEALTHCHECK")
    found: list[str] = json.loads(check.partition(" CMD ")[2])
    return found


def test_the_image_can_be_built_from_what_it_copies(tmp_path: Path) -> None:
    """The step that installs the project, from the copied files alone."""
    steps = instructions()
    runs = [rest for word, rest in steps if word == "RUN"]
    assert "--require-hashes -r requirements.lock" in runs[0]
    copied = [rest.split() for word, rest in steps if word == "COPY" and "--from" not in rest]
    for *sources, target in copied:
        for source in sources:
            to = tmp_path / target / source if target == "./" else tmp_path / target
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, to, symlinks=True)
            else:
                shutil.copy(ROOT / source, to)
    (command,) = [run for run in runs if "--no-deps" in run]
    _, *arguments = shlex.split(command)
    said([sys.executable, "-m", "pip", *arguments, "--target", str(tmp_path / "installed")], tmp_path)
    assert [name for name in package_files() if not (tmp_path / "installed" / name).exists()] == []
    locked = (ROOT / "requirements.lock").read_text()
    assert re.search(r"^hatchling==", locked, re.M), "the step without isolation needs it"
    assert len(re.findall("--hash=sha256:", locked)) >= len(re.findall("^[a-z0-9-]+==", locked, re.M))


def test_the_image_runs_as_a_user_of_its_own_and_writes_to_one_folder() -> None:
    steps = instructions()
    given = dict(steps)
    assert [word for word, _ in steps].count("FROM") == 2
    assert given["USER"] == "10001:10001"
    assert json.loads(given["ENTRYPOINT"]) == ["untrackable"]
    assert json.loads(given["CMD"]) == ["serve"]
    assert given["VOLUME"] == given["WORKDIR"] == "/var/lib/untrackable"
    assert "-m 700 /var/lib/untrackable" in [rest for word, rest in steps if word == "RUN"][-1]
    variables = {word.partition("=")[0] for word in given["ENV"].split()}
    named = {name for name in variables if name.startswith("UNTRACKABLE_")}
    assert named <= settings_of(serve_command) & settings_of(relay_command)


def test_the_health_check_tells_a_collector_from_nothing(tmp_path: Path) -> None:
    python, *arguments = health_check()
    assert python == "python"
    with process(f"sqlite:///{tmp_path}/x.db") as server:
        asked = [each.replace("http://127.0.0.1:8000", server.address) for each in arguments]
        assert asked != arguments
        said([sys.executable, *asked], tmp_path)
        assert server.end() == 0
    with pytest.raises(AssertionError, match="refused"):
        said([sys.executable, *asked], tmp_path)


def test_the_services_of_the_compose_file_are_confined_and_their_files_exist() -> None:
    services = composed()["services"]
    assert set(services) == {"collector", "relay", "postgres", "prometheus", "grafana"}
    for name, command in (("collector", serve_command), ("relay", relay_command)):
        service = services[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert set(service["environment"]) <= settings_of(command)
        assert service["ulimits"]["nofile"] >= Settings().connections + 400
        context = COMPOSE / service["build"]["context"]
        assert context.resolve() == ROOT
        assert (context / service["build"]["dockerfile"]).samefile(DEPLOY / "Containerfile")
    assert services["relay"]["profiles"] == ["trial"], "nobody gets a relay of the collector's own by default"
    for name, service in services.items():
        assert service["image"] == "untrackable" or re.search(r":v?\d", service["image"]), "a version is pinned"
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), f"{name} is reached from this machine only"
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            there = (COMPOSE / source).exists() if source.startswith(".") else source in composed()["volumes"]
            assert there, volume


def test_prometheus_and_the_board_ask_for_metrics_that_exist() -> None:
    scraped = yaml.safe_load((COMPOSE / "prometheus.yml").read_text())["scrape_configs"]
    jobs = {job["job_name"]: job.get("metrics_path", "/metrics") for job in scraped}
    assert jobs == {"untrackable": "/metrics", "untrackable-estimates": ADDRESS}
    assert {target for job in scraped for each in job["static_configs"] for target in each["targets"]} == {
        "collector:8000"
    }
    there = set(re.findall(r"^# TYPE (\S+)", Metrics().text(), re.M)) | {f"untrackable_{name}" for name in GAUGES}
    board = json.loads((COMPOSE / "grafana" / "board.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    named = {name for text in asked for name in re.findall(r"untrackable_\w+", text)}
    assert named <= there
    assert {"untrackable_estimate", "untrackable_estimate_lower", "untrackable_estimate_upper"} <= named
    assert set(re.findall(r'job="(\w+)"', " ".join(asked) + (DEPLOY / "alerts.yml").read_text())) <= set(jobs)
    (source,) = yaml.safe_load((COMPOSE / "grafana" / "datasource.yml").read_text())["datasources"]
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {source["uid"]}
    assert all(panel["title"] and panel["description"] for panel in board["panels"])


@pytest.mark.skipif(
    ENGINE is None or subprocess.run([ENGINE, "info"], capture_output=True).returncode != 0,  # noqa: S603
    reason="needs a container engine that runs",
)
def test_it_is_built_started_and_ready() -> None:
    """Collector, database, Prometheus and Grafana, from nothing to a collector that is ready and watched."""
    assert ENGINE is not None
    passwords = {"POSTGRES_PASSWORD": "for-a-test", "GRAFANA_PASSWORD": "for-a-test"}
    command = [ENGINE, "compose", "--project-name", "untrackable-test", "--profile", "trial"]
    try:
        said([*command, "up", "--build", "--detach", "--wait"], COMPOSE, **passwords)
        assert httpx.get("http://127.0.0.1:8000/ready").json() == {"status": "ready"}
        assert httpx.get("http://127.0.0.1:8100/healthz").json() == {"status": "ok"}
        end = time.monotonic() + 60
        while not httpx.get("http://127.0.0.1:3000/api/health").is_success:
            assert time.monotonic() < end
            time.sleep(1)
    finally:
        said([*command, "down", "--volumes"], COMPOSE, **passwords)
