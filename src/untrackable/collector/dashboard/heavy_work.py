"""Work that takes long: one at a time, in a process of its own with low priority, never where reports are taken.

A job that nobody wants any more looks for that now and then, and stops. Its process stays with all that it has
loaded, which takes seconds to load. So this is not `pebble`, which ends the process of a job that is cancelled.
"""

import contextlib
import logging
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any, BinaryIO

from untrackable.collector.problems import Problem
from untrackable.errors import UntrackableError
from untrackable.serving.problems import Refused, error_location
from untrackable.serving.server import RepeatedLines

Job = Callable[..., Any]
"""A function at the top of a module. What goes in and out is pickled, and what goes in is hashable too."""
_Call = tuple[Job, tuple[Any, ...]]
"""A job and its arguments."""
_WAITING = 8
"""The largest number of jobs that wait."""
_REMEMBERED = 64
"""The largest number of results that are kept."""
_FAILED_SECONDS = 60.0
"""For this time a failure is kept. Then the job may be tried again."""
_LONGEST = 120.0
"""The longest time in seconds that a job may take."""


_STOP_SECONDS = 3.0
"""A job that nobody wants any more may take this time to stop. Then the process is replaced."""
_OUTDATED = "another job is wanted"


class WorkFailed(Exception):
    """A job failed. The text says why, in words for people."""


class WorkOutdated(WorkFailed):
    """A job was stopped because its asker asked for another one."""


class HeavyWork:
    """Runs jobs in one worker process, which starts with the first of them, and keeps their results."""

    def __init__(self, run: Callable[[Job, tuple[Any, ...]], Any] | None = None) -> None:
        """`run` is for tests; without it, there is a process."""
        self._process = _Process()
        self._run = self._process.run if run is None else run
        self._changed = threading.Condition()
        self._known: OrderedDict[_Call, Future[Any]] = OrderedDict()
        self._waiting: OrderedDict[_Call, str | None] = OrderedDict()
        """The jobs that wait, and who asked for each of them."""
        self._failed: dict[_Call, float] = {}
        self._asker: str | None = None
        """Who asked for the job that runs."""
        self._thread: threading.Thread | None = None
        self._ending = False

    def submit(self, job: Job, *arguments: Any, asker: str | None = None) -> "Future[Any]":
        """The future result of `job(*arguments)`. The same job with the same arguments is done once.

        If an `asker` is named, only their newest job is done: an earlier one that waits is cancelled, and one that
        runs is told to stop. `Refused` if too many jobs wait.
        """
        call = (job, arguments)
        with self._changed:
            known = self._known_result(call)
            if known is not None:
                return known
            if asker is not None:
                for earlier in [each for each, who in self._waiting.items() if who == asker]:
                    del self._waiting[earlier]
                    self._known[earlier].cancel()
                if self._asker == asker:
                    self._process.stop_job()
            if self._ending or len(self._waiting) >= _WAITING:
                raise Refused(Problem.BUSY, "the collector is computing too much for other people now")
            future: Future[Any] = Future()
            self._known[call], self._waiting[call] = future, asker
            self._forget()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="heavy work", daemon=True)
                self._thread.start()
            self._changed.notify()
        return future

    def stop(self) -> None:
        """End at once. Those who wait get an error."""
        with self._changed:
            self._ending = True
            for call in self._waiting:
                self._known[call].cancel()
            self._waiting.clear()
            self._changed.notify()
        self._process.kill()
        if self._thread is not None:
            self._thread.join()

    def _known_result(self, call: _Call) -> "Future[Any] | None":
        future = self._known.get(call)
        if future is None:
            return None
        tried_again = self._failed.get(call, time.monotonic()) < time.monotonic() - _FAILED_SECONDS
        if future.cancelled() or tried_again:
            self._failed.pop(call, None)
            return None
        self._known.move_to_end(call)
        return future

    def _forget(self) -> None:
        """Forget the oldest results if there are too many."""
        done = [call for call, future in self._known.items() if future.done()]
        for call in done[: max(0, len(self._known) - _REMEMBERED)]:
            del self._known[call]
            self._failed.pop(call, None)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ending)
                if self._ending:
                    return
                call, asker = self._waiting.popitem(last=False)
                future = self._known[call]
                if not future.set_running_or_notify_cancel():
                    continue
                self._asker = asker
                self._process.begin_job()
            try:
                result = self._run(*call)
            except WorkOutdated as error:
                with self._changed:
                    self._known.pop(call, None)
                future.set_exception(error)
            except Exception as error:
                self._failed[call] = time.monotonic()
                future.set_exception(error)
            else:
                future.set_result(result)
            with self._changed:
                self._asker = None


def awaited(future: "Future[Any]", seconds: float) -> Any:
    """The result of a job, for which this thread waits. `Refused` if it does not come in time."""
    try:
        return future.result(seconds)
    except WorkFailed as error:
        raise Refused(Problem.COMPUTATION_FAILED, str(error)) from None
    except (TimeoutError, CancelledError):
        raise Refused(Problem.BUSY, "this takes longer than expected") from None


class _Process:
    """The worker process. It ends with this one, and is started again after it died."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        self._killed = False
        self._writing = threading.Lock()
        self._number = self._outdated = 0
        """The numbers of the last job, and of the last one that nobody wants any more."""
        self._working = False
        """Whether the last job is still being done."""

    def run(self, job: Job, arguments: tuple[Any, ...]) -> Any:
        child = self._started()
        timer = threading.Timer(_LONGEST, child.kill)
        timer.start()
        try:
            with self._writing:
                if self._outdated == self._number:
                    raise WorkOutdated(_OUTDATED)
                self._working = True
                self._write(child, (self._number, job, arguments))
            worked, result = pickle.load(child.stdout)  # type: ignore[arg-type]  # noqa: S301 (our own process)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            self._close(child)
            if self._outdated == self._number:
                raise WorkOutdated(_OUTDATED) from None
            raise WorkFailed("it took too long or needed too much memory") from None
        finally:
            self._working = False
            timer.cancel()
        if not worked:
            raise WorkOutdated(_OUTDATED) if result is None else WorkFailed(result)
        return result

    def begin_job(self) -> None:
        """Count a job, before it is run."""
        with self._writing:
            self._number += 1

    def stop_job(self) -> None:
        """Tell the process that nobody wants the result of its job any more. It stops where the job allows it."""
        with self._writing, contextlib.suppress(OSError, ValueError):  # It may just have ended.
            self._outdated = number = self._number
            if self._child is not None:
                self._write(self._child, (number, None, ()))
        patience = threading.Timer(_STOP_SECONDS, self._kill_if_stuck, (number,))
        patience.daemon = True
        patience.start()

    def _kill_if_stuck(self, number: int) -> None:
        """Kill the process if it still does the job that it was told to stop."""
        with self._writing:
            if self._number == number and self._working and self._child is not None:
                self._child.kill()

    @staticmethod
    def _write(child: "subprocess.Popen[bytes]", message: tuple[int, Job | None, tuple[Any, ...]]) -> None:
        pickle.dump(message, child.stdin)  # type: ignore[arg-type]
        child.stdin.flush()  # type: ignore[union-attr]

    def kill(self) -> None:
        with self._starting:
            self._killed = True
            child = self._child
        if child is not None:
            child.kill()
            self._close(child)

    def _started(self) -> "subprocess.Popen[bytes]":
        with self._starting:
            if self._killed:
                raise WorkFailed("the collector is shutting down")
            if self._child is None or self._child.poll() is not None:
                self._child = subprocess.Popen(  # noqa: S603 (our own)
                    [sys.executable, "-c", f"from {__name__} import main; main()"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                    start_new_session=True,  # Ctrl-C in a terminal reaches the collector only.
                )
            return self._child

    def _close(self, child: "subprocess.Popen[bytes]") -> None:
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # What was not yet written cannot be.
                    stream.close()


_numbers = {"running": 0, "outdated": 0}
"""The number of the job that is done now, and of the last one that nobody wants any more."""


class Outdated(BaseException):
    """Nobody wants the result of this job any more."""


def begin(number: int) -> None:
    """Note that the job with this number is done now."""
    _numbers["running"] = number


def stop(number: int) -> None:
    """Note that nobody wants the results up to the job with this number any more."""
    _numbers["outdated"] = number


def stop_if_outdated() -> None:
    """End the job that calls this if its asker asked for another one meanwhile."""
    if 0 < _numbers["running"] <= _numbers["outdated"]:
        raise Outdated


_NICE = 15
_log = logging.getLogger("untrackable.collector")


def main() -> None:
    """Do one job after another in the worker process, until the process that asks for them is gone."""
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
        begin(number)
        pickle.dump(done(job, arguments), answers)
        answers.flush()


def _read(asked: BinaryIO, jobs: "queue.SimpleQueue[Any]") -> None:
    """Pass jobs on. Once nobody can ask any more, this process ends, even in the middle of a job."""
    try:
        while True:
            number, job, arguments = pickle.load(asked)  # noqa: S301 (from the process that started this one)
            if job is None:
                stop(number)
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
    except Outdated:
        return False, None
    except Exception as error:
        _log.error("A page's computation failed because of a fault: %s", error_location(error))
        return False, "this is a fault of the collector; the operator finds it in the log"
