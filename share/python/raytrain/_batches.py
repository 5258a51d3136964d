"""What iter_batches() and its relatives return: the batches of a dataset, over and over."""

from __future__ import annotations

from typing import Any, Callable, Iterator


class Batches:
    """The batches of one dataset. Each iter() is one epoch, a pass over the rows of this
    worker; next() takes the batches of a single one."""

    def __init__(self, begin: Callable[[], Iterator[Any]]) -> None:
        self._begin = begin
        self._current: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self._begin()

    def __next__(self) -> Any:
        if self._current is None:
            self._current = self._begin()
        return next(self._current)
