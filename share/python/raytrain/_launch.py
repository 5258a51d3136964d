"""Runs raytrain-run for fit(): finds it, passes signals on to it, shows what it prints."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

# The first of these asks raytrain-run to stop, the second kills the workers.
PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")


def program(name: str = "raytrain-run") -> str:
    """The path of a program of raytrain: beside $RAYTRAIN_RUN, of the installation to which
    this module belongs, on PATH, or of the installation from which pip has copied it."""
    import shutil

    chosen = os.environ.get("RAYTRAIN_RUN")
    if chosen:
        return chosen if name == "raytrain-run" else os.path.join(os.path.dirname(chosen),
                                                                  name)
    prefix = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))
    beside = os.path.join(prefix, "bin", name)
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which(name) or shutil.which(name, path=_copied_from())
    if not found:
        raise FileNotFoundError(
            f"there is no {name}, neither at {beside} nor on PATH: this module is the client "
            "alone. Install raytrain (INSTALL.md of its source), load the module of your site, or "
            "set RAYTRAIN_RUN to the path of raytrain-run")
    return found


def _copied_from() -> str:
    """The directory of programs from beside which pip has copied this module; "": unknown."""
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
    raise FileNotFoundError(f"there is no raytrain-worker that belongs to {run}: install "
                            "raytrain, or set RAYTRAIN_RUN to the path of raytrain-run")


def _stderr_is_plain() -> bool:
    """Does what a child prints to descriptor 2 appear where Python's messages do? Not in a
    notebook."""
    try:
        return sys.stderr is None or sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):
        return False


class _Signals:
    """While a child runs, this process's signals are the child's. Signals that the program
    handles itself, or ignores, are left to it; only the main thread can take any."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[str] | None = None
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

    def started(self, child: subprocess.Popen[str]) -> None:
        self.child = child
        while self.early:
            child.send_signal(self.early.pop(0))


def _with_parent(command: list[Any]) -> list[Any]:
    """If the caller of fit() is killed, the run is asked to stop: it saves a checkpoint."""
    import shutil

    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM", "--", *command] if setpriv else command


def _show(child: subprocess.Popen[str]) -> None:
    for line in child.stderr or ():
        sys.stderr.write(line)
        sys.stderr.flush()


def run(command: list[Any], environment: dict[str, Any],
        scratch: str) -> tuple[Any, ...]:
    """Run it to its end. It has a session of its own, so that signals of the terminal reach
    it through this process alone, once each. Returns its exit status, the JSON object that
    it printed or None, and the signals that arrived meanwhile."""
    plain = _stderr_is_plain()
    out = os.path.join(scratch, "result.json")

    with open(out, "w+b") as stdout, _Signals() as signals:
        child = subprocess.Popen(
            _with_parent(command), stdin=subprocess.DEVNULL, stdout=stdout,
            stderr=None if plain else subprocess.PIPE, env=environment,
            start_new_session=True, text=True, errors="replace")
        signals.started(child)
        while True:
            # If this is not the main thread, or under a handler of the program, a
            # KeyboardInterrupt can still arrive.
            try:
                if not plain:
                    _show(child)
                status = child.wait()
                break
            except KeyboardInterrupt:
                signals._pass_on(signal.SIGINT, None)
            except BaseException:
                child.send_signal(signal.SIGTERM)
                child.wait()
                raise
        stdout.seek(0)
        text = stdout.read().decode("utf-8", "replace")
    try:
        result = json.loads(text.rstrip().rpartition("\n")[2])  # of the last process
    except ValueError:
        result = None
    return status, result, signals.seen


def interpreter() -> list[str]:
    """The caller's interpreter with its flags, except those that hide this package."""
    flags: list[str] = getattr(subprocess, "_args_from_interpreter_flags", list)()
    return [sys.executable or "python3"] + [f for f in flags if f not in ("-I", "-E", "-P")]
