"""The Worker script under Node.js: as a server, and called directly."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent.parent / "clients" / "relay-worker"
SCRIPT = FOLDER / "worker.mjs"

_CALLS = """
const real = globalThis.setTimeout;
globalThis.setTimeout = (work, milliseconds) => real(work, milliseconds / 100);
const [script, tasks] = process.argv.slice(1);
const worker = (await import(script)).default;
const body = new ReadableStream();  // Nothing ever comes.
for (const { url, settings, ...sent } of JSON.parse(tasks)) {
  const request = new Request(url, sent.method == "POST" ? { ...sent, body, duplex: "half" } : sent);
  const reply = await worker.fetch(request, settings);
  console.log(JSON.stringify({ status: reply.status, ...(await reply.json()) }));
}
"""


def node() -> str:
    program = shutil.which("node")
    assert program, "there is no Node.js; make test installs it"
    return program


@contextmanager
def worker_process(*options: str, environment: dict[str, str] | None = None) -> Iterator[str]:
    """The script as a server on a free port, at the yielded address. It must not write anything but that."""
    with subprocess.Popen(  # noqa: S603
        [node(), str(FOLDER / "serve.mjs"), "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(environment or {})},
    ) as process:
        assert process.stdout is not None
        try:
            begin, _, address = process.stdout.readline().strip().rpartition(" ")
            assert begin == "Relaying at", address
            yield address
        finally:
            process.terminate()
            later = process.stdout.read()
    assert later == ""


def called(tasks: Sequence[dict[str, Any]]) -> list[Any]:
    """The answers of the script itself, for which a second takes 10 milliseconds. No body ever arrives."""
    command = [node(), "--input-type=module", "--eval", _CALLS, SCRIPT.as_uri(), json.dumps(tasks)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]
