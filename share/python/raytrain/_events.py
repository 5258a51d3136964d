"""Calls the UserCallbacks of a fit(). raytrain-run writes a line of JSON for each event
into a FIFO; a thread reads them at once, so that raytrain-run never waits, and another
one makes the calls."""
from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from typing import Any

from . import _failures, _metrics
from ._records import error_of
from .callback import RunContext, WorkerGroupContext
from .checkpoint import Checkpoint
from .result import Result

VARIABLE = "RAYTRAIN_FIT_EVENTS"  # for raytrain-run: the path of the FIFO
FAILURE = "RAYTRAIN_FIT_FAILURE"  # of a file that says how a method has failed
WAITING_BYTES = 64 << 20  # of events for slow callbacks; further ones are lost
# Between requests to stop: the first one asks the workers, the second one kills them.
# Two at the same time would be one, and a third one interrupts the writing of the
# result.
STOP_AFTER_S = (1.0, 60.0)
LATE_S = 2.0  # for the end of the FIFO after raytrain-run has ended

def _warn(text: str) -> None:
    """Also if warnings are errors, this is no exception."""
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:
        sys.stderr.write(f"RuntimeWarning: {text}\n")


class _Fifo:
    """The reading end of a FIFO in a directory of its own, and a file beside it."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="raytrain-fit-")
        self.path = os.path.join(self.folder, "events")
        self.failure = os.path.join(self.folder, "failure")
        self.fd = -1
        try:
            os.mkfifo(self.path, 0o600)
            self.fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        except BaseException:
            self.close()
            raise

    def keep_failure(self, text: str) -> None:
        """For raytrain-run, which records it as the end of the run. Without room for
        it, that is a stop."""
        try:
            with open(self.failure + ".new", "w", encoding="utf-8",
                      errors="replace") as file:
                file.write(text.replace("\0", "\ufffd"))
            os.rename(self.failure + ".new", self.failure)
        except OSError:
            pass

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1
        shutil.rmtree(self.folder, ignore_errors=True)


class _Lines:
    """Lines that one thread adds and another one takes."""

    def __init__(self) -> None:
        self._lines: collections.deque[bytes] = collections.deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._complete = self._dropped = False
        self.lost = 0

    def add(self, line: bytes) -> None:
        with self._changed:
            if self._bytes + len(line) > WAITING_BYTES:
                self.lost += 1
                return
            self._bytes += len(line)
            self._lines.append(line)
            self._changed.notify()

    def complete(self) -> None:
        """There are no more."""
        with self._changed:
            self._complete = True
            self._changed.notify()

    def drop(self) -> None:
        """Nothing is to be taken any more."""
        with self._changed:
            self._dropped = True
            self._lines.clear()
            self._changed.notify()

    def take(self) -> bytes | None:
        """The next line; None after the last one."""
        with self._changed:
            while not self._lines and not self._complete and not self._dropped:
                self._changed.wait()
            if not self._lines:
                return None
            line = self._lines.popleft()
            self._bytes -= len(line)
            return line


class NoListener:
    """In place of a Listener for a fit() without callbacks."""

    failure: BaseException | None = None
    failure_text = ""

    def __enter__(self) -> NoListener:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self) -> None:
        pass

    def started(self, child: subprocess.Popen[bytes]) -> None:
        pass

    def end(self, result: Result | None, error: BaseException | None) -> None:
        pass


class Listener:
    """From before_run() to after_run(): between these it is a context manager around
    raytrain-run, at whose end the other calls have been made."""

    def __init__(self, callbacks: list[Any], run_context: RunContext) -> None:
        self._calls = _Calls(callbacks, run_context)
        self._lines = _Lines()
        self._fifo = _Fifo()
        self._ended, self._end = os.pipe()  # readable: raytrain-run has ended
        self._reader = threading.Thread(target=self._read, name="raytrain-events",
                                        daemon=True)
        self._caller = threading.Thread(target=self._call, name="raytrain-callbacks",
                                        daemon=True)
        self.environment = {VARIABLE: self._fifo.path, FAILURE: self._fifo.failure}
        self._child: subprocess.Popen[bytes] | None = None
        self._over = threading.Event()

    def __enter__(self) -> Listener:
        self._reader.start()
        self._caller.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """raytrain-run has ended. Wait for the calls, unless there is an exception;
        another one, such as KeyboardInterrupt, ends the wait."""
        try:
            self._over.set()
            os.write(self._end, b"\n")
            if kind is None:
                self._reader.join()
                self._caller.join()
                self._report_losses()
        finally:
            self._lines.drop()
            self._reader.join()  # takes LATE_S at most
            for fd in (self._ended, self._end):
                os.close(fd)
            self._fifo.close()

    @property
    def failure(self) -> BaseException | None:
        """The exception of a method that has ended the run."""
        return self._calls.failure

    @property
    def failure_text(self) -> str:
        return self._calls.failure_text

    def begin(self) -> None:
        self._calls.run_begins()

    def end(self, result: Result | None, error: BaseException | None) -> None:
        """The last call. If it fails, what the run has failed with is the context."""
        failed = self.failure
        self._calls.run_ends(result)
        if failed is None and self.failure is not None and error is not None:
            self.failure.__context__ = error

    def started(self, child: subprocess.Popen[bytes]) -> None:
        """raytrain-run runs."""
        self._child = child

    def _report_losses(self) -> None:
        lost = self._lines.lost + self._calls.lost
        if lost and self.failure is None:
            _warn(f"the callbacks were too slow for {lost} events, which were lost")

    # ---- The threads ----

    def _read(self) -> None:
        rest = b""
        poll = select.poll()
        poll.register(self._fifo.fd, select.POLLIN)
        poll.register(self._ended, select.POLLIN)
        heard = False
        limit = None  # milliseconds, after raytrain-run has ended
        while True:
            ready = dict(poll.poll(limit))
            if self._ended in ready:
                poll.unregister(self._ended)
                limit = LATE_S * 1e3 if heard else 0
                continue
            if not ready:
                break
            heard = True
            data = os.read(self._fifo.fd, 1 << 16)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._lines.add(line)
        self._lines.complete()

    def _call(self) -> None:
        while True:
            line = self._lines.take()
            if line is None:
                return
            failed = self.failure
            self._calls.event(line)
            if self.failure is not failed:
                self._fifo.keep_failure(self.failure_text)
                self._stop()

    def _stop(self) -> None:
        """End raytrain-run, by SIGINT as from a terminal: of several SIGTERMs it takes
        those of the first seconds, and in a job of Slurm all, for one request."""
        for delay in itertools.chain(STOP_AFTER_S, itertools.repeat(STOP_AFTER_S[-1])):
            if self._child is not None:
                self._child.send_signal(signal.SIGINT)
            if self._over.wait(delay):
                return


class _Calls:
    """Events as calls of the callbacks' methods."""

    def __init__(self, callbacks: list[Any], run_context: RunContext) -> None:
        self._callbacks = callbacks
        self._context = run_context
        self.lost = 0
        self.failure: BaseException | None = None
        self.failure_text = ""

    def event(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            handler = getattr(self, "_on_" + event["event"], None)
        except (ValueError, KeyError, TypeError):
            return
        if handler and self.failure is None:
            handler(event)

    def run_begins(self) -> None:
        self._all("before_run", self._context)

    def run_ends(self, result: object) -> None:
        """Of all callbacks, whatever happens: they may have something to close."""
        for callback in self._callbacks:
            self._call(callback, "after_run", self._context, result)

    def _all(self, method: str, *arguments: object) -> None:
        for callback in self._callbacks:
            if not self._call(callback, method, *arguments):
                return

    def _call(self, callback: object, method: str, *arguments: object) -> bool:
        function = getattr(callback, method, None)
        try:
            if function is not None:
                function(*arguments)
        except BaseException as error:  # also SystemExit: fit() raises it
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is \
                    threading.main_thread():
                raise
            self._fail(error, f"{type(callback).__name__}.{method}()")
            return False
        return True

    def _fail(self, error: BaseException, method: str) -> None:
        """The first failure ends the run; after it only after_run() is called."""
        if self.failure is None:
            said = "".join(traceback.format_exception_only(type(error), error))
            self.failure = error
            self.failure_text = f"{method} has failed: {said.strip()}"

    def _group(self, attempt: dict[str, Any]) -> object:
        scaling = self._context.scaling_config
        return WorkerGroupContext(
            run_attempt_id=attempt.get("attempt", 0),
            num_workers=attempt.get("workers", 0),
            nodes=list(attempt.get("nodes") or ()),
            resources_per_worker=scaling.resources_per_worker,
            placement_strategy=scaling.placement_strategy)

    # ---- The events of raytrain-run; raytrain.cfg(5) describes them ----

    def _on_lost(self, event: dict[str, Any]) -> None:
        self.lost += event.get("lines", 0)

    def _on_start(self, event: dict[str, Any]) -> None:
        self._context = dataclasses.replace(self._context, name=event["run"],
                                            path=event["path"])
        self._all("after_controller_start", self._context)

    def _on_attempt_start(self, event: dict[str, Any]) -> None:
        attempt = event["attempt"]
        self._context = dataclasses.replace(self._context, attempt=attempt["attempt"],
                                            world_size=attempt["workers"])
        self._all("before_worker_group_start", self._group(attempt))

    def _on_report(self, event: dict[str, Any]) -> None:
        report = _metrics.of_report(event["report"]).report
        checkpoint = report.get("checkpoint")
        self._context = dataclasses.replace(self._context, report=report)
        if checkpoint:
            checkpoint = Checkpoint(os.path.join(self._context.path, checkpoint))
        metrics = [_metrics.decoded(of_one) for of_one in event.get("workers", ())]
        self._all("after_report", self._context,
                  metrics or [_metrics.of_rank0(event["report"])], checkpoint or None)

    def _on_attempt_end(self, event: dict[str, Any]) -> None:
        attempt, path = event["attempt"], self._context.path
        if attempt.get("outcome") == "failed":
            error = error_of(attempt, path, attempt)
            self._all("after_exception", self._context,
                      _failures.of_attempt(error, path, attempt.get("attempt")))
        self._all("after_worker_group_shutdown", self._group(attempt))

    def _on_end(self, event: dict[str, Any]) -> None:
        result = Result._from_record(event["result"], self._context.train_loop_config)
        self._all("after_controller_finish", result)
