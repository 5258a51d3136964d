"""Tensors of torch that are divided among processes: DTensor, which FSDP2 and tensor
parallelism have, and ShardedTensor, which FSDP has. Nothing here communicates."""

from __future__ import annotations

import sys
from typing import Any

from ._shard import Shard

# Modules that define DTensor, in newer and in older releases of torch.
_DTENSOR = ("torch.distributed.tensor", "torch.distributed._tensor")
_SHARDED_TENSOR = "torch.distributed._shard.sharded_tensor"


def _is_of(value: Any, name: str, *modules: str) -> bool:
    """Is it of a class that one of these modules has? Modules that nothing has imported
    are not imported: then there is no such object, either."""
    for module in modules:
        kind = getattr(sys.modules.get(module), name, None)
        if isinstance(kind, type) and isinstance(value, kind):
            return True
    return False


def is_dtensor(value: Any) -> bool:
    return _is_of(value, "DTensor", *_DTENSOR)


def is_sharded_tensor(value: Any) -> bool:
    return _is_of(value, "ShardedTensor", _SHARDED_TENSOR)


def is_divided(value: Any) -> bool:
    """Is it a tensor of torch.distributed, of which each process may have a part?"""
    return is_dtensor(value) or is_sharded_tensor(value)


def part_of(value: Any, path: str) -> Any:
    """What this process has of a DTensor or ShardedTensor, as a Shard whose array
    shares the memory of the tensor; or a plain tensor, if every process has all of it.

    Raises TypeError if the part is no slab of the whole, or a term of a sum.
    """
    if is_dtensor(value):
        return _part_of_dtensor(value, path)
    return _part_of_sharded_tensor(value, path)


# ---- DTensor ----


def _chunk(size: int, n: int, nth: int) -> tuple[int, int]:
    """The nth of n chunks along an axis of this size: (start, size). As torch.chunk()
    divides it: all chunks but the last ones are equal, and the last ones may be
    empty."""
    each = -(-size // n)
    start = min(nth * each, size)
    return start, min(each, size - start)


def _part_of_dtensor(value: Any, path: str) -> Any:
    import torch

    with torch.no_grad():
        local = value.to_local()
    if hasattr(local, "wait"):  # it still arrives from another process
        local = local.wait()
    if all(placement.is_replicate() for placement in value.placements):
        return local
    mesh = value.device_mesh
    where = mesh.get_coordinate()
    count = [int(size) for size in value.shape]
    start = [0] * len(count)
    if where is None:  # this process is not one of the mesh
        count[0] = 0
        return Shard(local.new_empty(count), value.shape, start)
    for nth, n, placement in zip(where, mesh.mesh.shape, value.placements):
        if placement.is_replicate():
            continue
        axis = _axis_of(placement, path)
        first, count[axis] = _chunk(count[axis], n, nth)
        start[axis] += first
    if tuple(local.shape) != tuple(count):
        raise TypeError(
            f"{path}: this process has a part of shape {tuple(local.shape)} of a "
            f"DTensor, and {tuple(count)} follows from its placements: give a "
            f"raytrain.Shard instead"
        )
    return Shard(local, value.shape, start)


def _axis_of(placement: Any, path: str) -> int:
    """The axis that a placement divides."""
    if placement.is_shard() and type(placement).__name__ == "Shard":
        return placement.dim
    raise TypeError(
        f"{path}: a checkpoint cannot have a DTensor with the placement {placement}: "
        f"give its full_tensor(), or redistribute() it to Shard and Replicate"
    )


# ---- ShardedTensor ----


def _part_of_sharded_tensor(value: Any, path: str) -> Shard:
    import torch

    whole = tuple(value.size())
    parts = value.local_shards()
    if len(parts) > 1:
        raise TypeError(
            f"{path}: this process has {len(parts)} shards of a ShardedTensor: a "
            f"checkpoint takes one from each process"
        )
    if parts:
        return Shard(parts[0].tensor.detach(), whole, parts[0].metadata.shard_offsets)
    dtype = value.metadata().tensor_properties.dtype
    return Shard(torch.empty((0,) + whole[1:], dtype=dtype), whole, [0] * len(whole))
