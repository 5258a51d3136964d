"""The session of this process: its connection to its worker, and the calls of a training
function. Outside raytrain-run a stand-in for one lone worker."""

from __future__ import annotations

import math
import os
import re
import sys
import threading

from . import errors

VERSION = 1
EXIT_STOPPED = 75

_session = None
metadata: dict = {}  # of the trainer: for get_metadata(), and in checkpoints
uses_gpu: bool | None = None  # of the trainer; None: there is none
_lock = threading.Lock()


def session():
    """The session of this process, opened at its first use."""
    global _session
    if _session is None:
        with _lock:
            if _session is None:
                path = os.environ.get("RAYTRAIN_SESSION")
                _session = Session(path) if path else LoneSession()
    return _session


# ---- Facts: in every process of a worker ----

_facts: dict | None = None


def facts() -> dict:
    """Where this worker is, and what it is a part of. Every process of the worker can read
    it; the process that trains opens the session by that."""
    global _facts

    if _session is not None:
        return _session.info
    if _facts is None:
        path = os.environ.get("RAYTRAIN_SESSION")
        if not path or not _is_child():
            try:
                return session().info
            except errors.InvalidArgument:  # it is another process's
                if not path:
                    raise
        _facts = _read_facts(path)
    return _facts


def _is_child() -> bool:
    """Is this a process of multiprocessing? Those that are spawned, and a forkserver,
    import the script, maybe before its own process has opened the session."""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and (
        module.parent_process() is not None
        or getattr(module.current_process(), "_inheriting", False))


def _read_facts(path: str) -> dict:
    """The file that the worker leaves beside the socket."""
    import json

    file = os.path.join(os.path.dirname(path), "facts.json")
    try:
        with open(file, encoding="utf-8") as text:
            return {**json.load(text), "iteration": 0}
    except OSError as e:
        raise errors.RaytrainError(
            f"cannot read {file}: {e.strerror}. Has the worker that started this process "
            "ended?", "ECOMM") from None


# ---- Metrics ----


def _number(name: str, value):
    """A metric as a float: numbers, and arrays or tensors of one element."""
    if isinstance(value, (bool, int, float)):
        return value
    try:
        return _number_of(name, value)
    except errors.WrongType:
        raise
    except Exception:  # whatever the methods of a value do, it is not a number then
        return None


def _number_of(name: str, value):
    item = getattr(value, "item", None)
    if item is not None:
        if getattr(value, "numel", None) and value.numel() != 1 or \
                getattr(value, "size", 1) != 1 and not callable(value.size):
            raise errors.WrongType(
                f"metric {name!r} has more than one element: report a number, such as "
                f"its mean")
        value = item()
    return _json_float(value)


def _json_float(value) -> float:
    """As float(), but infinite if the value is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


TEXT_MAX = 4096  # bytes
VECTOR_MAX = 1024


def _element(value):
    """An element of a vector, as JSON has it; TypeError or ValueError: it is no number."""
    if isinstance(value, (str, bytes)):
        raise TypeError("a text is no number")
    number = value if isinstance(value, int) else float(value)
    if isinstance(number, int) and -(1 << 63) <= number < 1 << 63:
        return int(number)
    number = _json_float(number)
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return None if math.isnan(number) else number


def _typed(value):
    """A text, or a vector of numbers as a list; None: it is neither. They are recorded as
    they are on rank 0."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and \
            abs(value) > 1 << 53 and -(1 << 63) <= value < 1 << 63:
        return value  # a float would not be exact
    if isinstance(value, (list, tuple)) and 0 < len(value) <= VECTOR_MAX:
        try:
            return [_element(v) for v in value]
        except (TypeError, ValueError, OverflowError):
            return None
    return None


def split_metrics(metrics: dict, skipped: list) -> tuple:
    """({name: number}, {name: text, vector or large integer}). Names of other values, and of
    texts and vectors that are too long, are added to `skipped`."""
    others: list = []
    flat = flatten_metrics(metrics, others)
    typed = {}
    for name, value in others:
        value = _typed(value)
        if value is None or isinstance(value, str) and \
                len(value.encode("utf-8", "replace")) > TEXT_MAX:
            skipped.append(name)
        else:
            typed[name] = clean(value) if isinstance(value, str) else value
    return flat, typed


_UNCLEAN = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """With U+FFFD for what neither HDF5 nor UTF-8 has: NUL, and halves of pairs of
    surrogates."""
    return _UNCLEAN.sub("\ufffd", text)


def _changed(metrics: dict, prefix: str = "") -> list:
    """The names of metrics that are not recorded exactly as they were given, as sentences
    for a warning."""
    said = []
    for key, value in metrics.items():
        name = prefix + str(key)
        if isinstance(value, dict):
            said += _changed(value, name + "/")
            continue
        if clean(name) != name:
            said.append(f"the name of the metric {clean(name)} has U+FFFD in place of a NUL "
                        "or half of a pair of surrogates")
        if isinstance(value, str) and clean(value) != value:
            said.append(f"metric {clean(name)} has U+FFFD in place of a NUL or half of a "
                        "pair of surrogates")
        elif isinstance(value, int) and math.isinf(_json_float(value)):
            said.append(f"metric {clean(name)} is infinite: its value is beyond a float64")
    return said


def flatten_metrics(metrics: dict, skipped: list, prefix: str = "") -> dict:
    """{name: number}; nested dicts become "outer/inner". Values that are no
    numbers are added to `skipped`, as (name, value)."""
    if not isinstance(metrics, dict):
        raise errors.WrongType(f"report() takes a dict of metrics, not "
                               f"{type(metrics).__name__}")
    flat = {}
    for key, value in metrics.items():
        name = clean(prefix + str(key))
        if isinstance(value, dict):
            flat.update(flatten_metrics(value, skipped, name + "/"))
            continue
        number = None if _typed(value) is not None else _number(name, value)
        if number is None:
            skipped.append((name, value))
        else:
            flat[name] = number
    return flat


def _json_number(value):
    """JSON has no word for infinities and NaN, and no integers beyond 64 bits."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 63:
            return value
        value = _json_float(value)
    return value if math.isfinite(value) else repr(value)


# ---- A worker of raytrain-run ----


class Session:
    """The connection to the worker that started this process, or an ancestor of it. One
    request at a time: a lock makes calls of several threads follow each other."""

    def __init__(self, path: str):
        import socket

        from . import _wire

        self.pid = os.getpid()
        self.asked_stop = False
        self.asked_checkpoint = False
        self._skipped: set = set()
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
        self.info["config"] = Settings(self.info["config"])
        self._is_first = True  # the next report is
        self.should_stop = self.info["should_stop"]
        self.should_checkpoint = self.info["should_checkpoint"]
        self._install()

    def _hello(self) -> dict:
        """The reply of a worker whose session is another process's is there even if the
        worker has closed the socket before the request."""
        from . import _wire

        try:
            return self._connection.call({"op": "hello", "version": VERSION,
                                          "pid": self.pid})[0]
        except _wire.Disconnected:
            try:
                reply = _wire.receive(self._connection.socket)[0]
            except _wire.Disconnected:
                self._gone()
            raise errors.from_reply(reply.get("error", {})) from None

    def _install(self) -> None:
        """A request to stop reaches this process by its session, so SIGTERM, which Slurm
        sends to all processes, does not end it. And the worker learns of an exception
        that ends it."""
        import atexit
        import signal

        from . import _exit

        atexit.register(_exit.threads_settle)
        if threading.current_thread() is threading.main_thread() and \
                signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._sigterm)
        os.register_at_fork(before=self._fork_begin, after_in_parent=self._fork_end,
                            after_in_child=self._forked)
        threading.Thread(target=self._watch, name="raytrain-watch", daemon=True).start()
        self._excepthook, sys.excepthook = sys.excepthook, self._uncaught

    def _sigterm(self, number, frame) -> None:
        pass

    def _fork_begin(self) -> None:
        """A forked process has the handler of this one until _forked. A SIGTERM in
        between would be lost, and a Pool that ends its processes that way would wait for
        them forever: so it has to wait."""
        import signal

        self._mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def _fork_end(self) -> None:
        import signal

        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask.before)

    def _forked(self) -> None:
        """A forked process, such as a DataLoader worker, is not a worker of raytrain."""
        import signal

        self._connection.close()
        if signal.getsignal(signal.SIGTERM) == self._sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._fork_end()

    def _watch(self) -> None:
        """Without its worker this process must not train on, also if it makes no calls:
        the kernel ends it with the worker, but not below a setuid program, as some
        containers are started by."""
        import select

        poll = select.poll()
        poll.register(self._connection.socket, select.POLLRDHUP)
        poll.poll()
        if os.getpid() == self.pid:
            self._gone()

    def _uncaught(self, kind, value, traceback) -> None:
        if os.getpid() == self.pid and not issubclass(kind, KeyboardInterrupt):
            late = threading.Timer(self.info["exit_grace_s"], self._leave, (kind, value, traceback))
            late.daemon = True
            late.start()
            try:
                self.report_exception(kind, value, traceback)
            except Exception:  # the worker may be gone; the traceback is still printed
                pass
            late.cancel()  # the worker knows, and ends this process if it has to
        self._excepthook(kind, value, traceback)

    def _leave(self, kind, value, traceback) -> None:
        """Another thread is in the middle of a call, which may wait for other workers."""
        try:
            self._excepthook(kind, value, traceback)
        finally:
            os._exit(1)

    def report_exception(self, kind, value, traceback) -> None:
        """Let the worker know which exception ends this process."""
        from traceback import format_exception, format_exception_only

        text = "".join(format_exception_only(kind, value)).strip()
        self.call("uncaught", {
            "text": text[:4000],
            "traceback": "".join(format_exception(kind, value, traceback))[-60000:],
            "code": getattr(value, "code", "EFAILED")
                    if isinstance(value, errors.RaytrainError) else "EFAILED"})

    def _check_process(self) -> None:
        if os.getpid() != self.pid:
            raise errors.RaytrainError(
                f"the session belongs to process {self.pid}: a process that it has "
                "forked, such as a DataLoader worker, cannot make calls of it; it has "
                "what get_context() says, and gives its results to that process", "EINVAL")

    def _gone(self) -> None:
        """Without its worker this process is of no use, and must not train on."""
        sys.stderr.write("raytrain: the worker of this process is gone\n")
        sys.stderr.flush()
        os._exit(1)

    def call(self, op: str, args: dict = {}, data=b"", fds=(), asks=None):
        """Make a request: (reply, data, descriptors), or a RaytrainError; as
        Connection.call()."""
        from . import _wire

        self._check_process()
        try:
            return self._connection.call({"op": op, **args}, data, fds, asks)
        except _wire.Disconnected:
            self._gone()

    def post(self, data: bytes, message: dict) -> None:
        """Send a request that has no reply."""
        from . import _wire

        self._check_process()
        try:
            self._connection.post(message, data)
        except _wire.Disconnected:
            self._gone()

    def warn(self, text: str) -> None:
        """Show the user a warning, once for each text and rank."""
        if text not in self._skipped:
            self._skipped.add(text)
            self.call("warning", {"text": text})

    def report(self, metrics: dict, checkpoint=None) -> None:
        """What is wrong with this rank's call goes to the other ranks, too: they wait."""
        request: dict = {"asks_stop": self.asked_stop,
                         "asks_checkpoint": self.asked_checkpoint}
        asks = None
        wrong = None
        if self._is_first and not self.info["config"].all_asked:
            request["asked"] = self.info["config"].known()
        self._is_first = False
        try:
            skipped: list = []
            flat, typed = split_metrics(metrics, skipped)
            request["metrics"] = {k: _json_number(v) for k, v in flat.items()}
            if typed:
                request["typed"] = typed
            for said in _changed(metrics):
                self.warn(said)
            if skipped:
                self.warn(f"metrics that are no numbers, texts of at most {TEXT_MAX} bytes "
                          f"or lists of at most {VECTOR_MAX} numbers are not kept: "
                          f"{', '.join(sorted(skipped)[:10])}")
            if checkpoint is not None:
                from ._offer import offer

                request["checkpoint"], asks = offer(checkpoint)
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
        if reply["exit"]:
            raise SystemExit(EXIT_STOPPED if self.should_stop else 0)


# ---- One lone worker ----


class LoneSession:
    """Outside raytrain-run: one worker, whose reports are checked and then forgotten."""

    def __init__(self):
        import socket

        self.pid = os.getpid()
        self.asked_stop = self.asked_checkpoint = False
        self.should_stop = False
        self.should_checkpoint = True
        self._warned = False
        self.info = {
            "rank": 0, "world_size": 1, "local_rank": 0, "local_world_size": 1,
            "node_rank": 0, "nodes": 1, "host": socket.gethostname(), "run_name": "",
            "run_dir": os.getcwd(), "attempt": 0, "iteration": 0, "args": sys.argv[1:],
            "config": {}, "has_checkpoint": False}

    def call(self, op: str, args: dict = {}, data=b"", fds=(), asks=None):
        """What one worker can do alone; the rest is the helper's (reading files)."""
        if op in ("barrier", "checkpoint_wait", "total"):
            return {}, b"", []
        if op == "broadcast":
            return {}, bytes(data), []
        if op == "artifacts":
            return {"path": os.getcwd()}, b"", []
        from ._helper import helper

        return helper().call(op, args, data, fds, asks)

    def warn(self, text: str) -> None:
        """Print a warning."""
        import warnings

        warnings.warn(text, stacklevel=3)

    def report(self, metrics: dict, checkpoint=None) -> None:
        """Check the metrics, and count."""
        skipped: list = []
        split_metrics(metrics, skipped)
        self.info["iteration"] += 1
        if checkpoint is not None and not self._warned:
            self._warned = True
            self.warn("outside raytrain-run, checkpoints that are reported are not kept")


# ---- The calls ----


def report(metrics: dict, checkpoint=None) -> None:
    """End one training iteration. COLLECTIVE: every worker calls it.

    metrics: {name: number}; a bool counts as 0 or 1, an array or tensor of one element
    as that number, and nested dicts become "outer/inner". The run keeps rank 0's value and,
    if all workers report the same names, the mean, minimum and maximum. A str of at most
    4096 bytes, a list or tuple of at most 1024 numbers and an int beyond 2**53 are kept as
    they are on rank 0. Values of other types are not kept, with a warning.

    checkpoint: a Checkpoint, from any of the workers; its data are copied before this
    returns, and written while training goes on.

    If the run is to stop and the script never calls should_stop(), this raises SystemExit
    once a checkpoint is durable. Raises RaytrainError: the calls of the workers do not
    match, or the checkpoint could not be saved.
    """
    session().report(metrics, checkpoint)


def should_stop() -> bool:
    """Was a stop requested, or has the run reached what it was to reach? The same on every
    worker; changes only inside report(). A script that calls this ends by itself."""
    s = session()
    s.asked_stop = True
    return s.should_stop


def set_total(iterations: int) -> None:
    """The script is going to make so many iterations, over all attempts: for the display of
    progress. It ends nothing. Not collective; that of rank 0 counts. 0: not known."""
    session().call("total", {"iterations": int(iterations)})


def should_checkpoint() -> bool:
    """Is a checkpoint due with the next report? The same on every worker; changes only
    inside report()."""
    s = session()
    s.asked_checkpoint = True
    return s.should_checkpoint


def get_checkpoint():
    """The Checkpoint that this attempt starts from; None on a fresh start. The same on
    every worker."""
    s = session()
    if not s.info["has_checkpoint"]:
        return None
    from .checkpoint import restored

    return restored()


class Settings(dict):
    """A train_loop_config that remembers which keys were read, so that the worker can name
    those that were not, perhaps because they are misspelt. Who looks at all of it has
    read every key."""

    def __init__(self, values: dict):
        super().__init__({name: Settings(value) if type(value) is dict else value
                          for name, value in values.items()})
        self.asked: set = set()
        self.all_asked = False

    def _ask(self, name: object) -> None:
        if isinstance(name, str):
            self.asked.add(name)

    def _ask_all(self) -> None:
        self.all_asked = True
        for value in super().values():
            if isinstance(value, Settings):
                value._ask_all()

    def known(self, prefix: str = "") -> list:
        """The dotted names that were asked for, also those that are not there."""
        names = {prefix + name for name in
                 (self.asked | set(super().keys()) if self.all_asked else self.asked)}
        for name, value in super().items():
            if isinstance(value, Settings):
                names.update(value.known(f"{prefix}{name}."))
        return sorted(names)

    def __getitem__(self, name):
        self._ask(name)
        return super().__getitem__(name)

    def __contains__(self, name):
        self._ask(name)
        return super().__contains__(name)

    def get(self, name, default=None):
        self._ask(name)
        return super().get(name, default)

    def pop(self, name, *default):
        self._ask(name)
        return super().pop(name, *default)

    def setdefault(self, name, default=None):
        self._ask(name)
        return super().setdefault(name, default)

    def __iter__(self):
        self._ask_all()
        return super().__iter__()

    def keys(self):
        self._ask_all()
        return super().keys()

    def items(self):
        self._ask_all()
        return super().items()

    def values(self):
        self._ask_all()
        return super().values()

    def copy(self):
        return self._plain()

    def __eq__(self, other):
        self._ask_all()
        return super().__eq__(other)

    __hash__ = None

    def __or__(self, other):
        return self._plain() | other

    def __ror__(self, other):
        return other | self._plain()

    def __repr__(self):
        return repr(self._plain())

    def __reduce__(self):
        """A copy, or what a child gets, is a dict."""
        return dict, (self._plain(),)

    def _plain(self) -> dict:
        self._ask_all()
        return {name: value._plain() if isinstance(value, Settings) else value
                for name, value in super().items()}


class Context:
    """Where this worker is, and what it is a part of."""

    def __init__(self, info: dict):
        self._info = info

    def get_world_rank(self) -> int:
        """0 .. get_world_size() - 1."""
        return self._info["rank"]

    def get_world_size(self) -> int:
        """The number of workers."""
        return self._info["world_size"]

    def get_local_rank(self) -> int:
        """The rank among the workers of this node."""
        return self._info["local_rank"]

    def get_local_world_size(self) -> int:
        """The number of workers on this node."""
        return self._info["local_world_size"]

    def get_node_rank(self) -> int:
        """The rank of this node."""
        return self._info["node_rank"]

    def get_node_count(self) -> int:
        """The number of nodes."""
        return self._info["nodes"]

    def get_experiment_name(self) -> str:
        """The name of the run."""
        return self._info["run_name"]

    get_trial_name = get_trial_id = get_experiment_name

    def get_trial_dir(self) -> str:
        """The directory of the run, which all workers share."""
        return self._info["run_dir"]

    def get_storage(self):
        """Where the run keeps its files."""
        return Storage(self._info)

    def get_attempt(self) -> int:
        """How often the run has been started again after a failure: 0 at first."""
        return self._info["attempt"]

    def get_metadata(self) -> dict:
        """The metadata of the trainer."""
        return dict(metadata)

    def get_config(self) -> dict:
        """The configuration's train_loop_config: ``raytrain.config``."""
        return self._info["config"]


class Storage:
    """The storage of a run."""

    def __init__(self, info: dict):
        self._info = info

    @property
    def storage_path(self) -> str:
        """The directory that holds the run's directory."""
        return os.path.dirname(self._info["run_dir"])

    @property
    def experiment_fs_path(self) -> str:
        """The directory of the run."""
        return self._info["run_dir"]

    @property
    def artifacts_path(self) -> str:
        """A directory for the script's own files, which all workers share."""
        return session().call("artifacts")[0]["path"]


def get_context() -> Context:
    """This worker's place in the run."""
    return Context(facts())
