"""Calls the UserCallbacks of a fit(). raytrain-run writes a line of JSON for each event into a
FIFO; a thread reads them at once, so that raytrain-run never waits, and another one makes
the calls."""
from __future__ import annotations

import collections
import dataclasses
import json
import os
import select
import shutil
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
WAITING_BYTES = 64 << 20  # of events for slow callbacks; further ones are lost
LATE_S = 2.0  # for the end of the FIFO after raytrain-run has ended

def _warn(text: str) -> None:
    """Also if warnings are errors, this is no exception."""
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:
        sys.stderr.write(f"RuntimeWarning: {text}\n")


class _Fifo:
    """The reading end of a FIFO in a directory of its own."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="raytrain-fit-")
        self.path = os.path.join(self.folder, "events")
        self.fd = -1
        try:
            os.mkfifo(self.path, 0o600)
            self.fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        except BaseException:
            self.close()
            raise

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


class Listener:
    """From the start of raytrain-run to the last call of a callback."""

    def __init__(self, callbacks: list[Any], run_context: RunContext) -> None:
        self._calls = _Calls(callbacks, run_context)
        self._lines = _Lines()
        self._fifo = _Fifo()
        self._ended, self._end = os.pipe()  # readable: raytrain-run has ended
        self._reader = threading.Thread(target=self._read, name="raytrain-events",
                                        daemon=True)
        self._caller = threading.Thread(target=self._call, name="raytrain-callbacks",
                                        daemon=True)
        self.environment = {VARIABLE: self._fifo.path}

    def __enter__(self) -> Listener:
        self._reader.start()
        self._caller.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """raytrain-run has ended. Wait for the calls, unless there is an exception; another
        one, such as KeyboardInterrupt, ends the wait."""
        try:
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

    def _report_losses(self) -> None:
        lost = self._lines.lost + self._calls.lost
        if lost:
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
            self._calls.event(line)


class _Calls:
    """Events as calls of the callbacks' methods."""

    def __init__(self, callbacks: list[Any], run_context: RunContext) -> None:
        self._callbacks = callbacks
        self._context = run_context
        self.lost = 0

    def event(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            handler = getattr(self, "_on_" + event["event"], None)
        except (ValueError, KeyError, TypeError):
            return
        if handler:
            handler(event)

    def _all(self, method: str, *arguments: object) -> None:
        for callback in self._callbacks:
            function = getattr(callback, method, None)
            if function is None:
                continue
            try:
                function(*arguments)
            except BaseException:  # also SystemExit: the run goes on
                _warn(f"{type(callback).__name__}.{method}() has failed; the run goes on\n"
                      + traceback.format_exc().rstrip())

    def _group(self, attempt: dict[str, Any]) -> object:
        scaling = self._context.scaling_config
        return WorkerGroupContext(
            run_attempt_id=attempt.get("attempt", 0), num_workers=attempt.get("workers", 0),
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
        self._all("after_report", self._context, [_metrics.of_rank0(event["report"])],
                  checkpoint or None)

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
