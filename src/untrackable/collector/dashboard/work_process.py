"""The process that does heavy work: `python -m untrackable.collector.dashboard.work_process`."""

import contextlib
import logging
import os
import pickle
import queue
import sys
import threading
from typing import Any, BinaryIO

from untrackable.collector.dashboard import heavy_work
from untrackable.errors import UntrackableError
from untrackable.serving.problems import error_location
from untrackable.serving.server import RepeatedLines

_NICE = 15
_log = logging.getLogger("untrackable.collector")


def main() -> None:
    """Do one job after another until the process that asks for them is gone."""
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Nothing else may write between the answers.
    log = logging.StreamHandler()
    log.addFilter(RepeatedLines())
    logging.basicConfig(handlers=[log], format="%(levelname)s: %(message)s", level=logging.WARNING)
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, jobs), daemon=True).start()
    while True:
        number, job, arguments = jobs.get()
        heavy_work.begin(number)
        pickle.dump(done(job, arguments), answers)
        answers.flush()


def _read(asked: BinaryIO, jobs: "queue.SimpleQueue[Any]") -> None:
    """Pass jobs on. Once nobody can ask any more, this process ends, even in the middle of a job."""
    try:
        while True:
            number, job, arguments = pickle.load(asked)  # noqa: S301 (from the process that started this one)
            if job is None:
                heavy_work.stop(number)
            else:
                jobs.put((number, job, arguments))
    except EOFError:
        os._exit(0)


def done(job: Any, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """Whether a job worked, and its result or why not. That is None if nobody wants it any more."""
    try:
        return True, job(*arguments)
    except (ValueError, UntrackableError) as error:  # Their texts are for people.
        return False, str(error)
    except heavy_work.Outdated:
        return False, None
    except Exception as error:
        _log.error("A page's computation failed because of a fault: %s", error_location(error))
        return False, "this is a fault of the collector; the operator finds it in the log"


if __name__ == "__main__":
    main()
