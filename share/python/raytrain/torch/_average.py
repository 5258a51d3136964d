"""Means of gradients that the processes of one node compute themselves, in memory that
all of them have mapped: what raytrain-average.so does
(src/worker/average/average.h)."""

from __future__ import annotations

import ctypes
import os
import time
import weakref
from typing import Any, Callable

from .. import errors
from .._session import Session

_DONE, _WAITS, _DIFFERS = 0, 1, 2

# Milliseconds after which a call returns, so that signals are handled.
_SLICE = 100
# Seconds after which the companion is asked whether the others can still come.
_ASK = 1.0


class _Place(ctypes.Structure):
    _fields_ = [("first", ctypes.c_size_t), ("stride", ctypes.c_size_t),
                ("room", ctypes.c_size_t), ("rank", ctypes.c_int),
                ("size", ctypes.c_int)]


def _library(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path, use_errno=True)
    size, number, pointer = ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p
    library.average_open.restype = pointer
    library.average_open.argtypes = [number, ctypes.POINTER(_Place), number]
    library.average_close.argtypes = [pointer]
    library.average_add.argtypes = [pointer, pointer, size, size, number, number]
    library.average_finish.argtypes = [pointer, number]
    return library


def _close(library: ctypes.CDLL, handle: int, pid: int) -> None:
    """A forked process has no such memory, and something else may be at its place."""
    if os.getpid() == pid:
        library.average_close(handle)


class Average:
    """Memory of the ranks of a node, in which they average.

    Args:
        session: For questions while this rank waits.
        memory: The number of the memory, for the session.
        fd: The file, which remains the caller's.
        room: Bytes of a rank's numbers.
        place: {"library", "first", "stride", "rank", "size"}, as the companion says it.
        spins: Each rank has a core of its own.

    Raises:
        OSError: The library cannot be loaded here, or the file not be mapped.
    """

    def __init__(self, session: Session, memory: int, fd: int, room: int,
                 place: dict[str, Any], spins: bool) -> None:
        self._session = session
        self._memory = memory
        if not place["library"]:
            raise FileNotFoundError("raytrain-average.so is not installed")
        self._library = _library(place["library"])
        here = _Place(place["first"], place["stride"], room, place["rank"],
                      place["size"])
        self._handle = self._library.average_open(fd, ctypes.byref(here), spins)
        if not self._handle:
            raise OSError(ctypes.get_errno(), "memory of gradients cannot be mapped")
        self.close = weakref.finalize(self, _close, self._library, self._handle,
                                      os.getpid())
        self.close.atexit = False
        self._waits = False  # the companion knows that this step waits

    def add(self, pointer: int, at: int, n: int, wide: bool) -> None:
        """Add n numbers, float32 or float64, whose means finish() writes over them.

        Args:
            pointer: Their address; they stay the caller's.
            at: The byte of this rank's numbers from which on the others see them.
            n: How many.
            wide: They are float64.

        Raises:
            CommunicationError: Another rank does something else.
        """
        add, handle = self._library.average_add, self._handle
        self._until_done(lambda: add(handle, pointer, at, n, wide, _SLICE))

    def finish(self) -> None:
        """COLLECTIVE: wait until all numbers that were added are means.

        Raises:
            CommunicationError: Another rank does something else.
        """
        finish, handle = self._library.average_finish, self._handle
        self._until_done(lambda: finish(handle, _SLICE))
        self._waits = False

    def _until_done(self, call: Callable[[], int]) -> None:
        begun = asked = time.monotonic()
        while (result := call()) == _WAITS:
            now = time.monotonic()
            if self._waits and now - asked < _ASK:
                continue
            asked = now
            self._session.call("gradients_waiting", {
                "id": self._memory, "seconds": now - begun if self._waits else 0.0})
            self._waits = True
        if result == _DIFFERS:
            raise errors.CommunicationError(
                "the workers do not agree: they average gradients of other sizes, or "
                "in another order. Is the model the same on every worker?")
        if result != _DONE:
            raise MemoryError("gradients outside of the memory for them, or no memory "
                              "left")
