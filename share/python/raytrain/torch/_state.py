"""load_state(): the tensors of a checkpoint into those of a state that exists already,
however each of them is divided among processes."""

from __future__ import annotations

from typing import Any, Iterator

import torch

from .. import errors
from .._context import get_checkpoint
from .._shard import Shard, ShardedArray
from .._sharded import is_divided, part_of
from ..checkpoint import Checkpoint

BATCH = 256 << 20  # bytes of slabs that are read at a time


class _Part:
    """A tensor of this process that waits for its elements."""

    __slots__ = ("path", "tensor", "start", "stored")

    def __init__(self, path: str, tensor: torch.Tensor, start: tuple[Any, ...],
                 stored: Any) -> None:
        self.path = path
        self.tensor = tensor
        self.start = start
        self.stored = stored  # a tensor, or a ShardedArray

    @property
    def nbytes(self) -> int:
        return self.tensor.numel() * self.tensor.element_size()

    def fill(self, elements: Any) -> None:
        with torch.no_grad():
            self.tensor.copy_(torch.as_tensor(elements))


class _Filling:
    """One walk over a state and the dict of a checkpoint."""

    def __init__(self) -> None:
        self.parts: list[_Part] = []  # to be read from the file

    def walk(self, mine: Any, stored: Any, path: str) -> Any:
        """What takes the place of `mine` in the state."""
        if isinstance(mine, torch.Tensor) or is_divided(mine):
            if isinstance(stored, (torch.Tensor, ShardedArray)):
                self.tensor(mine, stored, path)
                return mine
        elif isinstance(mine, dict) and isinstance(stored, dict):
            for key in mine:
                name = f"{path}/{key}" if path else str(key)
                if key not in stored:
                    raise KeyError(f"the checkpoint has no {name!r}")
                mine[key] = self.walk(mine[key], stored[key], name)
            return mine
        elif isinstance(mine, (list, tuple)) and isinstance(stored, (list, tuple)):
            if len(mine) == len(stored) and type(mine) in (list, tuple):
                return type(mine)(
                    self.walk(item, other, f"{path}/{i}")
                    for i, (item, other) in enumerate(zip(mine, stored))
                )
        return stored.read() if isinstance(stored, ShardedArray) else stored

    def tensor(self, mine: Any, stored: Any, path: str) -> None:
        whole = tuple(mine.size())
        if tuple(stored.shape) != whole:
            raise ValueError(
                f"{path} has the shape {tuple(stored.shape)} in the checkpoint, and "
                f"{whole} in the state"
            )
        part, start = mine, (0,) * len(whole)
        if is_divided(mine):
            part = part_of(mine, path)
            if type(part) is Shard:
                part, start = part.array, part.start
        if part.numel() == 0:
            return
        found = _Part(path, part, start, stored)
        if isinstance(stored, ShardedArray):
            self.parts.append(found)
            return
        slab = tuple(slice(at, at + n) for at, n in zip(start, part.shape))
        found.fill(stored.detach()[slab])

    def batches(self) -> Iterator[list[_Part]]:
        """Parts that are read together; no array is in one of them twice."""
        batch: dict[str, _Part] = {}
        total = 0
        for part in self.parts:
            if batch and (total + part.nbytes > BATCH or part.stored.name in batch):
                yield list(batch.values())
                batch, total = {}, 0
            batch[part.stored.name] = part
            total += part.nbytes
        if batch:
            yield list(batch.values())

    def read(self) -> None:
        for batch in self.batches():
            slabs = [
                (part.stored._node, list(part.start), list(part.tensor.shape))
                for part in batch
            ]
            arrays = batch[0].stored._stored.read_slabs(slabs)
            for part, elements in zip(batch, arrays):
                part.fill(elements)


def load_state(state: dict[str, Any],
               checkpoint: Checkpoint | None = None) -> dict[str, Any]:
    """Fill a state, such as {"model": model.state_dict(), "epoch": 0}, from a
    checkpoint that was made of such a state. Nothing here waits for other processes.

    Args:
        state: A nested dict. Tensors are filled in place: of a DTensor or
            ShardedTensor, this process reads its own part alone, however the workers
            that saved the checkpoint had divided it, or if they had not. Other values
            are replaced. The checkpoint may have more than the state.
        checkpoint: The checkpoint; None: that of get_checkpoint().

    Returns:
        The state.

    Raises:
        TypeError: The state is not a dict.
        KeyError: The checkpoint does not have something.
        ValueError: A tensor has another shape.
        NotFound: There is no checkpoint.
    """
    if not isinstance(state, dict):
        raise TypeError(f"load_state() fills a dict, not {type(state).__name__}")
    if checkpoint is None:
        checkpoint = get_checkpoint()
        if checkpoint is None:
            raise errors.NotFound("this attempt does not start from a checkpoint")
    filling = _Filling()
    filling.walk(state, checkpoint.to_dict(shards=False), "")
    filling.read()
    return state
