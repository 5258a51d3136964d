"""What the training function of rank 0 has returned: the worker leaves it in the
directory of its attempt, for the caller of fit()."""
from __future__ import annotations

import os
import pickle
from typing import Any

from . import _failures, _records, _shipping

MAGIC = b"raytrain value 1\n"
NAME = "rank-00000.returned"
BYTES_MAX = 256 << 20


class NotKept(Exception):
    """Why the value is not kept: a sentence."""


def keep(value: Any, run_dir: str, attempt: int) -> None:
    """Leave it for load(). None needs no file.

    Args:
        value: What the function has returned.
        run_dir: The directory of the run.
        attempt: The number of the attempt.

    Raises:
        NotKept: It cannot be pickled, is too large, or cannot be written.
    """
    if value is None:
        return
    kind = type(value).__name__
    what = (f"Result.return_value is None, since the {kind} that the training function "
            "returned")
    try:
        data = _failures._dump(value)
    except Exception as error:
        raise NotKept(f"{what} cannot be pickled: {error}; return plain values, and "
                      "report models as checkpoints") from error
    if len(data) > BYTES_MAX:
        raise NotKept(f"{what} is larger than {BYTES_MAX >> 20} MiB; report it as a "
                      "checkpoint")
    path = os.path.join(_failures._place(run_dir, attempt), NAME)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(MAGIC + data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise NotKept(f"{what} cannot be written: {error}") from error


def load(run_dir: str, plain: bool = False) -> Any:
    """That of the newest attempt.

    Args:
        run_dir: The directory of the run.
        plain: Numbers, texts, bytes and containers of these alone, which run no code:
            the run may come from elsewhere.

    Returns:
        The value; None if the function has returned none, or has not ended.
    """
    attempt = _records.last_attempt(run_dir)
    if attempt.get("outcome") != "finished":
        return None
    path = os.path.join(_failures._place(run_dir, attempt["attempt"]), NAME)
    if not os.path.lexists(path):
        return None
    try:
        return _read(path, plain)
    except Exception as error:  # of classes of the script, or torch without a GPU
        import warnings

        warnings.warn(f"{path} cannot be read, and Result.return_value is None: "
                      f"{error}",
                      RuntimeWarning, stacklevel=3)
        return None


def _read(path: str, plain: bool) -> Any:
    """Unless it is plain, loading it runs code of its owner: this user."""
    with open(_records.open_fd(path, _records.OF_ATTEMPT), "rb") as file:
        status = os.fstat(file.fileno())
        foreign = _records.foreign(path, status)
        if foreign:
            raise NotKept(foreign)
        if status.st_size > len(MAGIC) + BYTES_MAX or file.read(len(MAGIC)) != MAGIC:
            raise NotKept("it is not a file that a worker has left")
        return (_shipping._PlainUnpickler if plain
                else _failures._Unpickler)(file).load()
