"""Memory for batches that this process and its worker map, and whether a batch in it is
still in use."""
from __future__ import annotations

import os
from typing import Any

from . import _frame

# Batches that may be in use at a time without being copied; as in batch_slot.h.
SLOTS = 8


class Slots:
    """The client's side: it chooses the slot of each batch. Slot 0 is never lent, but
    copied from."""

    def __init__(self) -> None:
        self._slots: list[Any] = []

    def choose(self) -> int:
        """The number of a slot that nothing refers to."""
        for number in range(1, SLOTS):
            if number >= len(self._slots):
                return number if _frame.numpy_or_none() else 0
            if self._slots[number].is_free():
                return number
        return 0

    def map(self, number: int, fd: int) -> None:
        """The slot has new memory. Closes the descriptor."""
        import mmap

        while len(self._slots) <= number:
            self._slots.append(_Slot())
        try:
            self._slots[number] = _Slot(mmap.mmap(fd, 0))
        finally:
            os.close(fd)

    def lend(self, number: int) -> Any:
        """An array of bytes, of which the columns are views: they keep it alive."""
        return self._slots[number].lend(copied=number == 0)


class _Slot:
    """Memory for one batch, and whether something still refers to the last one in
    it."""

    def __init__(self, memory: Any = None) -> None:
        self.memory = memory
        self.lease: Any = None

    def is_free(self) -> bool:
        return self.memory is None or self.lease is None or self.lease() is None

    def lend(self, copied: bool) -> Any:
        numpy = _frame.numpy_or_none()

        if numpy is None:
            return memoryview(bytearray(self.memory))
        lent = numpy.frombuffer(self.memory, dtype=numpy.uint8)
        if copied:
            return lent.copy()
        import weakref

        self.lease = weakref.ref(lent)
        return lent
