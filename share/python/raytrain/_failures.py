"""The exceptions of workers, as objects: a worker leaves the one that has ended its
function in the directory of its attempt, and the caller of fit() gets it back."""
from __future__ import annotations

import os
import pickle
import re
import sys
from typing import TYPE_CHECKING, Any

from . import _preemption, _records, errors

if TYPE_CHECKING:
    from .errors import WorkerError
    from .result import Result

MAGIC = b"raytrain exception 1\n"
BYTES_MAX = 16 << 20
_NAME = re.compile(r"rank-(\d+)\.exception")


def _place(run_dir: str, attempt: int) -> str:
    return os.path.join(run_dir, "logs", f"attempt-{attempt}")


def _dump(error: object) -> bytes:
    """A class of a notebook or of the script is the same one in the process it came
    from, if cloudpickle has brought it here."""
    pickler: Any = sys.modules.get("cloudpickle") or pickle
    data: bytes = pickler.dumps(error)
    return data


def keep(error: BaseException, run_dir: str, attempt: int, rank: int) -> None:
    """Leave it for load(), if it can be pickled. The file is written at once: a worker
    may be killed meanwhile, since another one has failed, and leaves no temporary
    file."""
    path = os.path.join(_place(run_dir, attempt), f"rank-{rank:05d}.exception")
    try:
        data = MAGIC + _dump(error)
        if len(data) > BYTES_MAX:
            return
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
    except Exception:  # it is not to hide the exception itself
        pass


class _Unpickler(pickle.Unpickler):
    """What a worker has imported as a module in place of the script is the script's."""

    def find_class(self, module: str, name: str) -> object:
        if module == "__raytrain_main__":
            module = "__main__"
        return super().find_class(module, name)


def _read(path: str) -> BaseException | None:
    """Loading it runs code of its owner: this user."""
    try:
        with open(_records.open_fd(path, _records.OF_ATTEMPT), "rb") as file:
            if (_records.foreign(path, os.fstat(file.fileno()))
                    or file.read(len(MAGIC)) != MAGIC):
                return None
            error = _Unpickler(file).load()
    except Exception:  # a module that is not here, a class that needs other arguments
        return None
    return error if isinstance(error, BaseException) else None


def load(run_dir: str, attempt: int) -> dict[int, BaseException]:
    """{rank: exception} of the workers that have left one."""
    place = _place(run_dir, attempt)
    found: dict[int, BaseException] = {}
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return {}
    for name in names:
        match = _NAME.fullmatch(name)
        error = _read(os.path.join(place, name)) if match else None
        if match and error is not None:
            found[int(match.group(1))] = error
    return found


def of_attempt(first: WorkerError, run_dir: str,
               attempt: int | None) -> dict[int, BaseException]:
    """{rank: exception} of an attempt that has failed. first: the WorkerError of the
    worker that failed first, which stands for an exception that could not be
    pickled."""
    found = load(run_dir, attempt) if attempt is not None else {}
    found.setdefault(first.rank, first)
    return {first.rank: found.pop(first.rank), **found}


# ---- Preemption ----

def _notice_of(run_dir: str, attempt: dict[str, Any]) -> dict[str, Any] | None:
    """What raytrain-run has written before it asked the workers to stop, with the
    deadline that Slurm has named later; or all ranks of a node whose workers received
    SIGTERM."""
    notice, end = (_records.of_attempt(run_dir, attempt["attempt"], name)
                   for name in ("preemption", "preemption.end"))
    if notice:
        both = (notice.get("deadline_ms"), end.get("deadline_ms"))
        deadlines = [deadline for deadline in both if deadline]
        return {**notice, "deadline_ms": min(deadlines) if deadlines else None}
    if attempt.get("cause") != "preempted":
        return None
    first, nodes = 0, []
    for node in attempt.get("nodes", []):
        if node["name"] == attempt.get("host"):
            nodes.append([node["name"], first, node["tasks"]])
        first += node["tasks"]
    return {"deadline_ms": None, "nodes": nodes}


def preemption(result: Result | None) -> errors.PreemptionError | None:
    """Why a run has stopped, if it was preempted; for a stop that a user asked for:
    None."""
    if result is None or result.path is None:
        return None
    attempt = _records.last_attempt(result.path)
    notice = _notice_of(result.path, attempt) if "attempt" in attempt else None
    if notice is None:
        return None
    info = _preemption.info_of(notice)
    late = (info.deadline_ms is not None
            and attempt.get("end", 0) * 1000 >= info.deadline_ms)
    return errors.PreemptionError(info, deadline_exceeded=late, result=result)
