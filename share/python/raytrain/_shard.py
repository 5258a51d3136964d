"""Leaves of a checkpoint's dict that are not plain values: Shard, and the objects that
to_dict() may return in place of a Shard or of a pickled object."""

from __future__ import annotations

import pickle
from typing import Any, Callable, Sequence


class Shard:
    """This worker's part of an array of which every worker has one.

    All workers that report a checkpoint have a Shard in the same place of their dicts,
    of the same type and global shape. Together the parts cover the whole array; equal
    parts are fine (one is stored), and so are empty ones, but no others that overlap.
    The array can be read in other parts by any number of workers (Checkpoint.read()).

    Args:
        array: A NumPy array or a torch tensor, the part.
        global_shape: The shape of the whole array, in elements.
        start: Where the part begins, one number for each axis.
    """

    __slots__ = ("array", "global_shape", "start")

    def __init__(self, array: Any, global_shape: Sequence[int],
                 start: Sequence[int]) -> None:
        self.array = array
        self.global_shape = tuple(int(size) for size in global_shape)
        self.start = tuple(int(first) for first in start)

    def check(self, name: str, shape: Sequence[int]) -> None:
        """Refuse a part that is not within the whole.

        Args:
            name: Of the array.
            shape: Of the part.

        Raises:
            ValueError: It is not.
        """
        whole, start = self.global_shape, self.start
        if not len(shape) == len(whole) == len(start):
            raise ValueError(
                f"{name}: a Shard of {len(shape)} dimensions has a global shape of "
                f"{len(whole)} and a start of {len(start)}"
            )
        for axis, (first, size, all_of_it) in enumerate(zip(start, shape, whole)):
            if first < 0 or first + size > all_of_it:
                raise ValueError(
                    f"{name}: elements {first} to {first + size} of a Shard along axis "
                    f"{axis} are not within its global shape {whole}"
                )

    def __repr__(self) -> str:
        return (
            f"Shard({type(self.array).__name__}, global_shape={self.global_shape}, "
            f"start={self.start})"
        )


class ShardedArray:
    """A sharded array in a checkpoint that has not been read: its name, global shape
    and type of elements.

    Args:
        node: What the checkpoint says of it.
        shape: The global shape.
        stored: The checkpoint.
    """

    def __init__(self, node: dict[str, Any], shape: tuple[Any, ...],
                 stored: Any) -> None:
        self.name: str = node["name"]
        self.shape = shape
        self.dtype: str = node["dtype"]
        self._node = node
        self._stored = stored  # the checkpoint that has it

    def read(self, start: Sequence[int] | None = None,
             count: Sequence[int] | None = None) -> Any:
        """Read the array, or a part of it. InvalidArgument: the part is not within the
        shape.

        Args:
            start: Where the part begins, a number for each axis.
            count: How many elements it has, likewise. None for both: all.

        Returns:
            The array.
        """
        return self._stored.read_array(self.name, start, count)

    def __repr__(self) -> str:
        return f"ShardedArray({self.name!r}, shape={self.shape}, dtype={self.dtype!r})"


class Pickled:
    """An object in a checkpoint that is kept as the bytes that pickle made of it. To
    load it is to run what the bytes say: do so only if you trust the file.

    Args:
        kind: The name of the object's class.
        read: Reads the bytes.
    """

    def __init__(self, kind: str, read: Callable[[], bytes]) -> None:
        self.type = kind  # the name of the object's class
        self._read = read

    @property
    def data(self) -> bytes:
        """The bytes."""
        return self._read()

    def load(self) -> Any:
        """The object. This runs code from the checkpoint."""
        return pickle.loads(self.data)

    def __repr__(self) -> str:
        return f"Pickled({self.type!r}; load() runs code from the checkpoint)"
