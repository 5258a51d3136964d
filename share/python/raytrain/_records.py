"""The records of a run: how its files are opened, and what is read from them. Another
user may have written them, or put something else in their place: they are opened
without following links and without waiting, and only a small regular file is read as a
whole. What they say may be shown; before it is acted upon (code, an address that gets a
token, a file that it names), foreign() has to agree."""
from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from typing import Any, Iterator

from .errors import ControllerError, RaytrainError, WorkerError

BYTES_MAX = 64 << 20  # of a record, and of a line
TAIL = 1 << 16  # bytes of a log in which a traceback is looked for

OF_RUN = 1      # RUN/FILE
OF_ATTEMPT = 3  # RUN/logs/attempt-K/FILE
OF_SERVICE = 3  # RUN/serve/HOST.PID/FILE

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_PART = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class RecordError(OSError):
    """It is not one of raytrain's files: a link, or not regular, or too large."""


def _open_parts(path: str, depth: int) -> int:
    parts = path.rstrip("/").split("/")
    base, own = "/".join(parts[:-depth]), parts[-depth:]
    if not base:
        base = "/" if path.startswith("/") else "."
    at = os.open(base, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for left, name in enumerate(own, 1 - len(own)):
        try:
            fd = os.open(name, _PART if left else _FILE, dir_fd=at)
        finally:
            os.close(at)
        at = fd
    return at


def open_fd(path: str, depth: int = OF_RUN) -> int:
    """A descriptor of the file. depth: how many of the last parts of the path belong to
    the run, and are no links."""
    try:
        fd = _open_parts(path, depth)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise RecordError(error.errno, "it is a link, which is not followed, since "
                              "another user may have made it; put a copy of the file "
                              "there", path) from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise RecordError(errno.EINVAL, "not a regular file", path)
    return fd


def read(path: str, depth: int = OF_RUN) -> tuple[bytes, os.stat_result]:
    """The bytes of the file, and its os.stat_result."""
    with open(open_fd(path, depth), "rb") as file:
        status = os.fstat(file.fileno())
        data = file.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise RecordError(errno.EFBIG, "too large for one of raytrain's files", path)
    return data, status


def lines(path: str, depth: int = OF_RUN) -> Iterator[bytes]:
    """The lines of a text of any length, as bytes."""
    with open(open_fd(path, depth), "rb") as file:
        while True:
            line = file.readline(BYTES_MAX + 1)
            if len(line) > BYTES_MAX:
                raise RecordError(errno.EFBIG, "a line is too long for one of "
                                  "raytrain's files", path)
            if not line:
                return
            yield line


def foreign(path: str, status: os.stat_result) -> str | None:
    """Why the file is not acted upon: None if it belongs to this user or to root, and
    no one else may write it."""
    if status.st_uid not in (os.geteuid(), 0):
        return f"{path} belongs to another user (uid {status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{path} may be written by other users; if it is yours: chmod go-w"
    return None


def _seen_as(directory: str) -> int | None:
    """The owner of files that this process makes there: storage may give those of root
    to another one. None: it cannot make any."""
    try:
        fd, path = tempfile.mkstemp(prefix=".owner.tmp-", dir=directory)
    except OSError:
        return None
    os.unlink(path)
    with os.fdopen(fd) as file:
        return os.fstat(file.fileno()).st_uid


def _may_keep(path: str, status: os.stat_result) -> bool:
    if status.st_uid in (os.geteuid(), 0):
        return True
    if stat.S_ISLNK(status.st_mode):
        return False
    shared = status.st_mode & stat.S_IWGRP and not status.st_mode & stat.S_IWOTH
    groups = [os.getegid(), *os.getgroups()]
    return bool(shared and status.st_gid in groups) or status.st_uid == _seen_as(path)


def check_dir(path: str) -> None:
    """May this process keep files in the directory that it reads again? Raises
    PermissionError if another user could put others in their place, who has not shared
    it with a group of this one."""
    for status in os.lstat(path), os.stat(path):
        if not _may_keep(path, status):
            raise PermissionError(
                f"{path} belongs to another user (uid {status.st_uid}), who could put "
                "other files in the place of those that are written there; choose "
                "another name or storage_path")


# ---- What the files of a run directory say ----


def checkpoint_files(path: str) -> dict[int, str]:
    """{iteration: path} of the complete checkpoints."""
    found = {}

    for name in os.listdir(path):
        digits = name[len("checkpoint_"):-len(".h5")]
        if (name.startswith("checkpoint_") and name.endswith(".h5") and digits.isdigit()
                and name == f"checkpoint_{int(digits):06d}.h5"):
            found[int(digits)] = os.path.join(path, name)
    return found


def _read_json(path: str) -> dict[str, Any]:
    try:
        data, _ = read(path, OF_ATTEMPT)
        value = json.loads(data.decode("utf-8", "replace"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _log_dir(path: str, attempt: int) -> str:
    return os.path.join(path, "logs", f"attempt-{attempt}")


def of_attempt(path: str, attempt: int, name: str) -> dict[str, Any]:
    """A record in the directory of an attempt; {} if there is none."""
    return _read_json(os.path.join(_log_dir(path, attempt), name))


def last_attempt(path: str) -> dict[str, Any]:
    """attempt.json of the latest attempt; {} if there is none."""
    numbers = []

    try:
        names = os.listdir(os.path.join(path, "logs"))
    except OSError:
        names = []
    for name in names:
        if name.startswith("attempt-") and name[8:].isdigit():
            numbers.append(int(name[8:]))
    if not numbers:
        return {}
    last = max(numbers)
    return {"attempt": last,
            **_read_json(os.path.join(_log_dir(path, last), "attempt.json"))}


def _log_of(path: str, attempt: dict[str, Any]) -> str:
    rank = attempt.get("rank", -1)
    if "attempt" not in attempt or rank is None or rank < 0:
        return ""
    log = os.path.join(_log_dir(path, attempt["attempt"]), f"rank-{rank:05d}.err")
    return log if os.path.exists(log) else ""


TRACEBACK = "Traceback (most recent call last):"


def failure_of(record: dict[str, Any], path: str, attempt: dict[str, Any],
               cause: object) -> WorkerError | ControllerError:
    """From the record of a failure. cause: "callback" if a method of a UserCallback has
    ended the run; otherwise it is a worker's."""
    if cause == "callback":
        said = record.get("message") or "a callback has failed"
        return ControllerError(RaytrainError(said))
    return error_of(record, path, attempt)


def error_of(record: dict[str, Any], path: str, attempt: dict[str, Any]) -> WorkerError:
    """From the record of a worker's failure. A worker puts the traceback of its script
    after the message, as much as there is room for; its log has all of it."""
    message, at, tail = (record.get("message") or "").partition("\n" + TRACEBACK)
    log = record.get("log") or _log_of(path, attempt)
    traceback = TRACEBACK + tail if at else ""

    if not at and '\n  File "' in message:
        message = message[:message.index('\n  File "')]
        traceback = _traceback_in(log)
    return WorkerError({"attempt": attempt.get("attempt"), **record, "log": log,
                        "message": message.strip()}, traceback.strip())


def _traceback_in(log: str) -> str:
    """The last traceback in a log. Indented lines are its frames; the first other one
    is the exception, and what follows belongs to its text until a program of raytrain
    speaks."""
    try:
        with open(open_fd(log, OF_ATTEMPT), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    starts = [i for i, line in enumerate(lines) if line == TRACEBACK]
    if not starts:
        return ""
    end = starts[-1] + 1
    while end < len(lines) and lines[end].startswith(" "):
        end += 1
    end += 1
    while end < len(lines) and not lines[end].startswith("raytrain"):
        end += 1
    return "\n".join(lines[starts[-1]:end])


def read_history(path: str) -> list[dict[str, Any]]:
    """The valid reports: one of iteration k supersedes all earlier ones of k or
    later."""
    reports: list[Any] = []

    try:
        for line in lines(os.path.join(path, "result.json")):
            try:
                report = json.loads(line.decode("utf-8", "replace"))
            except ValueError:
                continue
            if not isinstance(report, dict):
                continue
            iteration = report.get("training_iteration")
            if not isinstance(iteration, int):
                continue
            while reports and reports[-1]["training_iteration"] >= iteration:
                reports.pop()
            reports.append(report)
    except FileNotFoundError:
        pass
    return reports


def value_of(metrics: dict[str, Any], name: str) -> float | None:
    """Also of nested ones: "valid/loss" of {"valid": {"loss": ...}}."""
    value: object = metrics.get(name)
    if value is None and "/" in name:
        value = metrics
        for part in name.split("/"):
            value = value.get(part) if isinstance(value, dict) else None
    return float(value) if isinstance(value, (int, float)) else None
