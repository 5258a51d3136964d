"""What iter_batches() and its relatives return: the batches of a dataset, over and
over."""

from __future__ import annotations

from typing import Callable, Generic, Iterator, TypeVar

T = TypeVar("T")


class Batches(Generic[T]):
    """The batches of one dataset. Each iter() is one epoch, a pass over the rows of
    this worker; next() takes the batches of a single one.

    Args:
        begin: Begins an epoch, and returns the iterator over its batches.
    """

    def __init__(self, begin: Callable[[], Iterator[T]]) -> None:
        self._begin = begin
        self._current: Iterator[T] | None = None

    def __iter__(self) -> Iterator[T]:
        return self._begin()

    def __next__(self) -> T:
        if self._current is None:
            self._current = self._begin()
        return next(self._current)
