"""The helper process: outside workers, a program of raytrain's that reads checkpoints
and datasets for this process. It speaks the protocol of a session, and ends with this
process, or when it is the last to hold the socket."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from . import _launch, _wire, errors

if TYPE_CHECKING:
    from ._protocols import Asks, Buffer, Reply

_helper: Helper | None = None
_lock = threading.Lock()


class Helper:
    """A helper and the connection to it."""

    def __init__(self) -> None:
        import socket
        import subprocess

        self.pid = os.getpid()
        sock, other = socket.socketpair()
        self._connection = _wire.Connection(sock)
        with other:
            self._process = subprocess.Popen(
                [_launch.worker(), "--serve", str(other.fileno())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                pass_fds=[other.fileno()], start_new_session=True,
                env=_environment())

    def call(self, op: str, args: Mapping[str, Any] = {}, data: Buffer = b"",
             fds: Sequence[int] = (), asks: Asks | None = None) -> Reply:
        """As Session.call()."""
        try:
            return self._connection.call({"op": op, **args}, data, fds, asks)
        except _wire.Disconnected:
            self.end()
            raise errors.RaytrainError(
                "the helper process, raytrain-worker, has ended with status "
                f"{self._process.returncode}; the next call starts another "
                "one") from None

    def end(self) -> None:
        """Close the connection: the helper ends by that."""
        global _helper

        self._connection.close()
        self._process.wait()
        if _helper is self:
            _helper = None

    def forget(self) -> None:
        """In a forked process: this is the parent's."""
        self._connection.close()
        self._process.returncode = 0


def _environment() -> dict[str, str]:
    """Without what belongs to a job step: the helper is no rank of anything."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("PMI_", "PMIX_", "RAYTRAIN_"))}


def helper() -> Helper:
    """This process's helper, started at its first use."""
    global _helper

    with _lock:
        if _helper is not None and _helper.pid != os.getpid():
            _helper.forget()
            _helper = None
        if _helper is None:
            import atexit

            _helper = Helper()
            atexit.register(_end, _helper)
        return _helper


def _end(which: Helper) -> None:
    if which is _helper and which.pid == os.getpid():
        which.end()
