"""Runs raytrain-run for fit(): finds it, passes signals on to it, shows what it
prints."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any, Callable

# The first of these asks raytrain-run to stop, the second kills the workers.
PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")


def program(name: str = "raytrain-run") -> str:
    """The path of a program of raytrain: beside $RAYTRAIN_RUN, of the installation to
    which this module belongs, on PATH, or of the installation from which pip has copied
    it."""
    import shutil

    chosen = os.environ.get("RAYTRAIN_RUN")
    if chosen:
        return chosen if name == "raytrain-run" else os.path.join(
            os.path.dirname(chosen), name)
    prefix = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    beside = os.path.join(prefix, "bin", name)
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which(name) or shutil.which(name, path=_copied_from())
    if not found:
        raise FileNotFoundError(
            f"there is no {name}, neither at {beside} nor on PATH: this module is the "
            "client alone. Install raytrain (INSTALL.md of its source), load the "
            "module of your site, or set RAYTRAIN_RUN to the path of raytrain-run")
    return found


def _copied_from() -> str:
    """The directory of programs from beside which pip has copied this module; "":
    unknown."""
    try:
        from ._home import PREFIX  # pip-backend/raytrain_wheel.py wrote it
    except ImportError:
        return ""
    return os.path.join(PREFIX, "bin")


def worker() -> str:
    """The path of raytrain-worker, which is installed beside that raytrain-run."""
    run = os.path.realpath(program())
    prefix = os.path.dirname(os.path.dirname(run))

    for folder in ("libexec/raytrain", "lib/raytrain", "bin"):
        path = os.path.join(prefix, folder, "raytrain-worker")
        if os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(f"there is no raytrain-worker that belongs to {run}: "
                            "install raytrain, or set RAYTRAIN_RUN to the path of "
                            "raytrain-run")


def _is_plain(stream: Any, descriptor: int) -> bool:
    """Does what a child prints to the descriptor appear where this process prints to
    the stream? Not in a notebook."""
    try:
        return stream is None or stream.fileno() == descriptor
    except (AttributeError, OSError, ValueError):
        return False


class _Output:
    """What raytrain-run prints, for sys.stdout and sys.stderr where these are no
    descriptors, as in the cell of a notebook. It is read in this thread, to which a
    cell belongs, and in pieces, so that a progress bar moves."""

    def __init__(self) -> None:
        self.pipes = [not _is_plain(sys.stdout, 1), not _is_plain(sys.stderr, 2)]
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()

    def arguments(self) -> dict[str, Any]:
        """The arguments of Popen."""
        return {name: subprocess.PIPE if pipe else None
                for name, pipe in zip(("stdout", "stderr"), self.pipes)}

    def show(self, child: subprocess.Popen[bytes]) -> None:
        """Until the child has closed its pipes."""
        import codecs
        import selectors

        with selectors.DefaultSelector() as selector:
            for pipe, name in ((child.stdout, "stdout"), (child.stderr, "stderr")):
                if pipe is not None and not pipe.closed:
                    decoder = codecs.getincrementaldecoder("utf-8")("replace")
                    selector.register(pipe, selectors.EVENT_READ, (name, decoder))
            while selector.get_map():
                for key, _ in selector.select():
                    self._copy(selector, key.fileobj, *key.data)

    @staticmethod
    def _copy(selector: Any, pipe: Any, name: str, decoder: Any) -> None:
        data = os.read(pipe.fileno(), 65536)
        text = decoder.decode(data, not data)
        if text:
            stream = getattr(sys, name)
            stream.write(text)
            stream.flush()
        if not data:
            selector.unregister(pipe)
            pipe.close()


class _Signals:
    """While a child runs, this process's signals are the child's. Signals that the
    program handles itself, or ignores, are left to it; only the main thread can take
    any."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self.early: list[int] = []
        self.seen: list[int] = []
        self.before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        import threading

        if threading.current_thread() is not threading.main_thread():
            return self
        for name in PASSED_ON:
            number = getattr(signal, name)
            usual = (signal.default_int_handler if number == signal.SIGINT
                     else signal.SIG_DFL)
            if signal.getsignal(number) in (usual, signal.SIG_DFL):
                self.before[number] = signal.signal(number, self._pass_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def _pass_on(self, number: int, _frame: object) -> None:
        self.seen.append(number)
        if self.child is None:
            self.early.append(number)
        else:
            self.child.send_signal(number)

    def started(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child
        while self.early:
            child.send_signal(self.early.pop(0))


def _with_parent(command: list[Any]) -> list[Any]:
    """If the caller of fit() is killed, the run is asked to stop: it saves a
    checkpoint."""
    import shutil

    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--", *command] if setpriv else command


def run(command: list[Any], environment: dict[str, Any], scratch: str,
        started: Callable[[subprocess.Popen[bytes]], None] | None = None
        ) -> tuple[Any, ...]:
    """Run it to its end. It has a session of its own, so that signals of the terminal
    reach it through this process alone, once each.

    Args:
        command: raytrain-run with its arguments.
        environment: Its environment.
        scratch: A directory for its result.
        started: It is called with the process.

    Returns:
        Its exit status, the JSON object that is its result or None, and the signals
        that arrived meanwhile.
    """
    output = _Output()
    path = os.path.join(scratch, "result.json")

    with _Signals() as signals:
        child = subprocess.Popen(
            _with_parent(command), stdin=subprocess.DEVNULL,
            env={**environment, "RAYTRAIN_FIT_RESULT": path}, start_new_session=True,
            **output.arguments())
        signals.started(child)
        if started is not None:
            started(child)
        while True:
            # If this is not the main thread, or under a handler of the program, a
            # KeyboardInterrupt can still arrive.
            try:
                output.show(child)
                status = child.wait()
                break
            except KeyboardInterrupt:
                signals._pass_on(signal.SIGINT, None)
            except BaseException:
                child.send_signal(signal.SIGTERM)
                child.wait()
                raise
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            result = json.load(file)
    except (OSError, ValueError):
        result = None
    return status, result, signals.seen


def interpreter() -> list[str]:
    """The caller's interpreter with its flags, except those that hide this package."""
    flags: list[str] = getattr(subprocess, "_args_from_interpreter_flags", list)()
    return [sys.executable or "python3",
            *(flag for flag in flags if flag not in ("-I", "-E", "-P"))]
