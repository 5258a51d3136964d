"""Files of a run directory. Another user may have written them, or put something else in
their place: they are opened without following links and without waiting, and only a small
regular file is read as a whole. What they say may be shown; before it is acted upon (code, an
address that gets a token, a file that it names), foreign() has to agree."""
from __future__ import annotations

import errno
import os
import stat

BYTES_MAX = 64 << 20  # of a record, and of a line

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
    """A descriptor of the file. depth: how many of the last parts of the path belong to the
    run, and are no links."""
    try:
        fd = _open_parts(path, depth)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise RecordError(error.errno, "it is a link, which is not followed, since "
                              "another user may have made it; put a copy of the file there", path) from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise RecordError(errno.EINVAL, "not a regular file", path)
    return fd


def read(path: str, depth: int = OF_RUN) -> tuple:
    """The bytes of the file, and its os.stat_result."""
    with open(open_fd(path, depth), "rb") as file:
        status = os.fstat(file.fileno())
        data = file.read(BYTES_MAX + 1)
    if len(data) > BYTES_MAX:
        raise RecordError(errno.EFBIG, "too large for one of raytrain's files", path)
    return data, status


def lines(path: str, depth: int = OF_RUN):
    """The lines of a text of any length, as bytes."""
    with open(open_fd(path, depth), "rb") as file:
        while True:
            line = file.readline(BYTES_MAX + 1)
            if len(line) > BYTES_MAX:
                raise RecordError(errno.EFBIG, "a line is too long for one of raytrain's "
                                  "files", path)
            if not line:
                return
            yield line


def foreign(path: str, status: os.stat_result) -> str | None:
    """Why the file is not acted upon: None if it belongs to this user or to root, and no one
    else may write it."""
    if status.st_uid not in (os.geteuid(), 0):
        return f"{path} belongs to another user (uid {status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{path} may be written by other users; if it is yours: chmod go-w"
    return None
