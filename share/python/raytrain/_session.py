"""The session of this process: its connection to its worker, or, outside raytrain-run,
a stand-in for a single worker. The calls of a training function are in _context.py."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Callable, Mapping, NoReturn, Sequence, cast

from . import _exit, _metrics, _wire, errors
from ._helper import helper
from ._settings import Settings

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from ._protocols import Asks, Buffer, Facts, Offer, Reply, Server
    from .checkpoint import Checkpoint

VERSION = 1
EXIT_STOPPED = 75

_session: Session | LoneSession | None = None
metadata: dict[str, Any] = {}  # of the trainer: for get_metadata(), and in checkpoints
uses_gpu: bool | None = None  # of the trainer; None: there is no trainer
gathers = False  # does fit() need the metrics of all workers?
_lock = threading.Lock()


def session() -> Session | LoneSession:
    """The session of this process, opened at its first use."""
    global _session
    if _session is None:
        with _lock:
            if _session is None:
                path = os.environ.get("RAYTRAIN_SESSION")
                _session = Session(path) if path else LoneSession()
    return _session


def server() -> Server:
    """The process that reads checkpoints and datasets for this one: its worker, or its
    helper."""
    connection = session()
    if isinstance(connection, LoneSession):
        return helper()
    return connection


# ---- Facts: in every process of a worker ----

_facts: Facts | None = None


def facts() -> Facts:
    """The ranks of this worker, its run and so on. Every process of the worker can read
    them; in the process that trains, this opens the session."""
    global _facts

    if _session is not None:
        return _session.info
    if _facts is None:
        path = os.environ.get("RAYTRAIN_SESSION")
        if not path or not _is_child():
            try:
                return session().info
            except errors.InvalidArgument:  # it belongs to another process
                if not path:
                    raise
        _facts = _read_facts(path)
    return _facts


def _is_child() -> bool:
    """Is this a process of multiprocessing? Spawned processes, and a forkserver, import
    the script, perhaps before its own process has opened the session."""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and (
        module.parent_process() is not None
        or getattr(module.current_process(), "_inheriting", False))


def _read_facts(path: str) -> Facts:
    """The file that the worker leaves beside the socket."""
    import json

    file = os.path.join(os.path.dirname(path), "facts.json")
    try:
        with open(file, encoding="utf-8") as text:
            return cast("Facts", {**json.load(text), "iteration": 0})
    except OSError as e:
        raise errors.RaytrainError(
            f"cannot read {file}: {e.strerror}. Has the worker that started this "
            "process ended?", "ECOMM") from None


# ---- The newest checkpoint of this attempt ----


class Newest:
    """The checkpoint that was reported last.

    path: Its file, which may not exist before it is saved.
    iteration: That of its report; 0: it is saved.
    """

    def __init__(self, path: str, iteration: int = 0) -> None:
        self.path = path
        self.iteration = iteration
        self.checkpoint: Checkpoint | None = None  # the object for it


# ---- A worker of raytrain-run ----


class Session:
    """The connection to the worker that started this process or an ancestor of it. A
    lock allows one request at a time."""

    def __init__(self, path: str) -> None:
        import socket

        self.pid = os.getpid()
        self.asked_stop = False
        self.asked_checkpoint = False
        self._skipped: set[str] = set()
        self._mask = threading.local()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connection = _wire.Connection(sock)
        try:
            sock.connect(path)
        except OSError as e:
            raise errors.RaytrainError(
                f"cannot connect to the worker at {path}: {e.strerror}. Has the worker "
                f"that started this process ended?", "ECOMM") from None
        self.info = self._hello()
        self.newest: Newest | None = None
        self._settings = Settings(self.info["config"])
        self.info["config"] = self._settings
        self._is_first = True  # the next report is
        # The positions of data loaders, for each report: _positions.py.
        self.positions: Callable[[], str] | None = None
        self.should_stop = self.info["should_stop"]
        self.should_checkpoint = self.info["should_checkpoint"]
        self._install()

    def _hello(self) -> Facts:
        """If the session belongs to another process, the worker may have replied and
        closed the socket before the request: the reply can still be read."""
        try:
            return cast("Facts", self._connection.call(
                {"op": "hello", "version": VERSION, "pid": self.pid})[0])
        except _wire.Disconnected:
            try:
                reply = _wire.receive(self._connection.socket)[0]
            except _wire.Disconnected:
                self._gone()
            raise errors.from_reply(reply.get("error", {})) from None

    def _install(self) -> None:
        """A request to stop reaches this process through its session, so it must not
        end on SIGTERM, which Slurm sends to all processes. The worker is notified of an
        exception that ends it."""
        import atexit
        import signal

        atexit.register(_exit.threads_settle)
        if threading.current_thread() is threading.main_thread() and \
                signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._sigterm)
        os.register_at_fork(before=self._fork_begin, after_in_parent=self._fork_end,
                            after_in_child=self._forked)
        threading.Thread(target=self._watch, name="raytrain-watch", daemon=True).start()
        self._excepthook, sys.excepthook = sys.excepthook, self._uncaught

    def _sigterm(self, number: int, frame: FrameType | None) -> None:
        pass

    def _fork_begin(self) -> None:
        """A forked process has the handler of this one until _forked(). A SIGTERM in
        between would be lost, and a Pool that ends its processes by SIGTERM would wait
        forever: so the signal is blocked."""
        import signal

        self._mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def _fork_end(self) -> None:
        import signal

        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask.before)

    def _forked(self) -> None:
        """A forked process, such as a DataLoader worker, is not a worker of
        raytrain."""
        import signal

        self._connection.close()
        if signal.getsignal(signal.SIGTERM) == self._sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._fork_end()

    def _watch(self) -> None:
        """Without its worker this process must not continue to train, even if it makes
        no calls. The kernel ends it with the worker, but not below a setuid program,
        which starts some containers."""
        import select

        poll = select.poll()
        poll.register(self._connection.socket, select.POLLRDHUP)
        poll.poll()
        if os.getpid() == self.pid:
            self._gone()

    def _uncaught(self, kind: type[BaseException], value: BaseException,
                  traceback: TracebackType | None) -> None:
        if os.getpid() == self.pid and not issubclass(kind, KeyboardInterrupt):
            late = threading.Timer(self.info["exit_grace_s"], self._leave,
                                   (kind, value, traceback))
            late.daemon = True
            late.start()
            try:
                self.report_exception(kind, value, traceback)
            except Exception:  # the worker may be gone; the traceback is still printed
                pass
            late.cancel()  # the worker knows, and ends this process if it has to
        self._excepthook(kind, value, traceback)

    def _leave(self, kind: type[BaseException], value: BaseException,
               traceback: TracebackType | None) -> None:
        """End this process although another thread is in a call, which may wait for
        other workers."""
        try:
            self._excepthook(kind, value, traceback)
        finally:
            os._exit(1)

    def report_exception(self, kind: type[BaseException], value: BaseException,
                         traceback: TracebackType | None) -> None:
        """Send the worker the exception that ends this process."""
        from traceback import format_exception, format_exception_only

        text = "".join(format_exception_only(kind, value)).strip()
        self.call("uncaught", {
            "text": text[:4000],
            "traceback": "".join(format_exception(kind, value, traceback))[-60000:],
            "code": getattr(value, "code", "EFAILED")
                    if isinstance(value, errors.RaytrainError) else "EFAILED"})

    def check_process(self) -> None:
        """Refuse a process that is not the one with the session."""
        if os.getpid() != self.pid:
            raise errors.RaytrainError(
                f"the session belongs to process {self.pid}: a process that it has "
                "forked, such as a DataLoader worker, cannot use it, except for "
                "get_context(); return the results to that process",
                "EINVAL")

    def _gone(self) -> NoReturn:
        """End this process: without its worker it must not continue to train."""
        sys.stderr.write("raytrain: the worker of this process is gone\n")
        sys.stderr.flush()
        os._exit(1)

    def call(self, op: str, args: Mapping[str, Any] = {}, data: Buffer = b"",
             fds: Sequence[int] = (), asks: Asks | None = None) -> Reply:
        """Make a request, like Connection.call(): (reply, data, descriptors), or a
        RaytrainError. SystemExit if the run has been stopped on request meanwhile."""
        self.check_process()
        try:
            return self._connection.call({"op": op, **args}, data, fds, asks)
        except _wire.Disconnected:
            self._gone()
        except errors.RaytrainError as e:
            if e.code == "ESTOPPED":
                raise SystemExit(EXIT_STOPPED) from None
            raise

    def post(self, data: bytes, message: dict[str, Any]) -> None:
        """Send a request that has no reply."""
        self.check_process()
        try:
            self._connection.post(message, data)
        except _wire.Disconnected:
            self._gone()

    def warn(self, text: str) -> None:
        """Show the user a warning, once for each text and rank."""
        if text not in self._skipped:
            self._skipped.add(text)
            self.call("warning", {"text": text})

    def report(self, metrics: dict[str, Any], offer: Offer | None = None) -> None:
        """End an iteration. offer() returns the table of a checkpoint, and a function
        that answers the worker's questions about it. An error of this rank's call is
        sent to the other ranks, too, since they wait."""
        request: dict[str, Any] = {"asks_stop": self.asked_stop, "gathers": gathers,
                                   "asks_checkpoint": self.asked_checkpoint}
        asks = None
        wrong = None
        if self._is_first and not self._settings.all_asked:
            request["asked"] = self._settings.known()
        self._is_first = False
        try:
            recorded = _metrics.recorded(metrics)
            request["metrics"] = recorded.numbers
            if recorded.typed:
                request["typed"] = recorded.typed
            # The contents are needed only from rank 0, unless a callback gets them.
            is_first = self.info["rank"] == 0
            request["reported"] = recorded.reported if is_first or gathers else "{}"
            for note in recorded.notes if is_first else ():
                self.warn(note)
            positions = self.positions() if self.positions else ""
            if positions:
                request["loaders"] = positions
            if offer is not None:
                request["checkpoint"], asks = offer()
        except Exception as e:
            wrong = e
            request.pop("checkpoint", None)
            request["refused"] = str(e)
        try:
            reply, _, _ = self.call("report", request, asks=asks)
        except errors.RaytrainError:
            if wrong is not None:
                raise wrong from None
            raise
        self.info["iteration"] = reply["iteration"]
        self.should_stop = reply["should_stop"]
        self.should_checkpoint = reply["should_checkpoint"]
        if reply["saved"]:
            file = f"checkpoint_{reply['iteration']:06d}.h5"
            self.newest = Newest(os.path.join(self.info["run_dir"], file),
                                 reply["iteration"])
        if reply["exit"]:
            raise SystemExit(EXIT_STOPPED if self.should_stop else 0)


# ---- A single worker ----


def torchrun_place() -> Facts | None:
    """The ranks and sizes in the variables of torchrun; None without them."""
    values = os.environ
    if "RANK" not in values or "WORLD_SIZE" not in values:
        return None
    try:
        rank, size = int(values["RANK"]), int(values["WORLD_SIZE"])
        here = int(values.get("LOCAL_WORLD_SIZE", size))
        return {"rank": rank, "world_size": size,
                "local_rank": int(values.get("LOCAL_RANK", 0)),
                "local_world_size": here,
                "node_rank": int(values.get("GROUP_RANK", rank // here)),
                "nodes": max(1, size // here)}
    except (ValueError, ZeroDivisionError):
        raise errors.InvalidArgument(
            "RANK, WORLD_SIZE, LOCAL_RANK or LOCAL_WORLD_SIZE in the environment is "
            "not a number that torchrun sets; unset them to train as one "
            "process") from None


class LoneSession:
    """Outside raytrain-run: one worker, whose reports are checked and then
    discarded."""

    def __init__(self) -> None:
        import socket

        self.pid = os.getpid()
        self.asked_stop = self.asked_checkpoint = False
        self.should_stop = False
        self.should_checkpoint = True
        self.newest: Newest | None = None
        self._warned = False
        self.info: Facts = {
            "rank": 0, "world_size": 1, "local_rank": 0, "local_world_size": 1,
            "node_rank": 0, "nodes": 1, "host": socket.gethostname(), "run_name": "",
            "run_dir": os.getcwd(), "attempt": 0, "iteration": 0, "args": sys.argv[1:],
            "config": {}, "has_checkpoint": False}

    def call(self, op: str, args: Mapping[str, Any] = {}, data: Buffer = b"",
             fds: Sequence[int] = (), asks: Asks | None = None) -> Reply:
        """Do what one worker can do alone; the helper does the rest (reading files)."""
        if op in ("barrier", "checkpoint_wait", "preemption", "total"):
            return {}, b"", []
        if op == "broadcast":
            return {}, bytes(data), []
        if op == "gather":
            return {"sizes": [len(data)]}, bytes(data), []
        if op == "artifacts":
            return {"path": os.getcwd()}, b"", []
        return helper().call(op, args, data, fds, asks)

    def warn(self, text: str) -> None:
        """Print a warning."""
        import warnings

        warnings.warn(text, stacklevel=3)

    def report(self, metrics: dict[str, Any], offer: Offer | None = None) -> None:
        """Check the metrics, and count."""
        _metrics.recorded(metrics)
        self.info["iteration"] += 1
        if offer is not None and not self._warned:
            self._warned = True
            self.warn("outside raytrain-run, checkpoints that are reported are not "
                      "kept")
