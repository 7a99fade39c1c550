"""Work that takes long: one at a time, in a process of its own with low priority, never where reports are taken.

A job that nobody wants any more looks for that now and then, and stops. Its process stays with all that it has
loaded, which takes seconds to load. So this is not `pebble`, which ends the process of a job that is cancelled.
"""

import contextlib
import logging
import multiprocessing
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from math import inf
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, ClassVar

from untrackable.collector.problems import Problem
from untrackable.errors import UntrackableError
from untrackable.serving.problems import Refused, error_location
from untrackable.serving.server import RepeatedLines, end_with_parent, shielded_from_interrupts

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
_LOOK_SECONDS = 0.1
"""How often it is looked at whether a job takes too long."""
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
        self._child: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._asking = threading.Lock()
        """Held while the process is started, asked for something, or killed."""
        self._killed = False
        self._number = self._outdated = 0
        """The numbers of the last job, and of the last one that nobody wants any more."""
        self._latest = inf
        """When the job that is being done must have ended."""

    def run(self, job: Job, arguments: tuple[Any, ...]) -> Any:
        try:
            with self._asking:
                if self._outdated == self._number:
                    raise WorkOutdated(_OUTDATED)
                child, pipe = self._started()
                self._latest = time.monotonic() + _LONGEST
                pipe.send((self._number, job, arguments))
            while not pipe.poll(_LOOK_SECONDS):
                if time.monotonic() > self._latest:
                    child.kill()
            worked, result = pipe.recv()
        except (OSError, EOFError):
            self._end_child()
            if self._outdated == self._number:
                raise WorkOutdated(_OUTDATED) from None
            raise WorkFailed("it took too long or needed too much memory") from None
        if not worked:
            raise WorkOutdated(_OUTDATED) if result is None else WorkFailed(result)
        return result

    def begin_job(self) -> None:
        """Count a job, before it is run."""
        with self._asking:
            self._number += 1

    def stop_job(self) -> None:
        """Tell the process that nobody wants the result of its job any more. It stops where the job allows it."""
        with self._asking, contextlib.suppress(OSError):  # It may just have ended.
            self._outdated, self._latest = self._number, time.monotonic() + _STOP_SECONDS
            if self._pipe is not None:
                self._pipe.send((self._number, None, ()))

    def kill(self) -> None:
        self._killed = True
        self._end_child()

    def _end_child(self) -> None:
        with self._asking:
            child, self._child = self._child, None
            if child is not None:
                child.kill()
                child.join()

    def _started(self) -> tuple[BaseProcess, Connection]:
        if self._killed:
            raise WorkFailed("the collector is shutting down")
        if self._child is None or self._pipe is None or not self._child.is_alive():
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            with shielded_from_interrupts():  # Ctrl-C in a terminal reaches the collector only.
                self._child = context.Process(target=main, args=(theirs,), daemon=True)
                self._child.start()
            theirs.close()
        return self._child, self._pipe


class Outdated(BaseException):
    """Nobody wants the result of this job any more."""


class Asked:
    """Where the worker process gets its jobs from, and the number of the one that it does now."""

    pipe: ClassVar[Connection | None] = None
    running: ClassVar[int] = 0


def stop_if_outdated() -> None:
    """End the job that calls this if its asker asked for another one meanwhile."""
    while Asked.pipe is not None and Asked.pipe.poll():
        if Asked.pipe.recv()[0] >= Asked.running:
            raise Outdated


_NICE = 15
_log = logging.getLogger("untrackable.collector")


def main(pipe: Connection) -> None:
    """Do one job after another in the worker process, until the process that asks for them is gone."""
    Asked.pipe = pipe
    end_with_parent()
    os.setsid()
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    os.dup2(2, 1)  # What jobs print is no output of the collector.
    log = logging.StreamHandler()
    log.addFilter(RepeatedLines())
    logging.basicConfig(handlers=[log], format="%(levelname)s: %(message)s", level=logging.WARNING)
    with contextlib.suppress(EOFError, OSError):
        while True:
            Asked.running, job, arguments = pipe.recv()
            if job is not None:
                pipe.send(done(job, arguments))


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
