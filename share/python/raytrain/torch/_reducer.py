"""Gradients of DistributedDataParallel, averaged by the workers' companions.

DDP calls a communication hook for each bucket of gradients, in the order of the
buckets. The hook copies the bucket into memory that the companion of this worker has
mapped, too, and the companions reduce it in place: on one node without messages. At the
last bucket the hook waits for all of them, and completes the futures; so no thread is
needed. DDP then copies the means into the gradients.

The mean has the same bits on every rank. Gradients that are not dense floating-point
numbers go through the process group, as they do without the hook.
"""

from __future__ import annotations

import mmap
import os
import weakref
from typing import Any, cast

import torch
import torch.distributed as dist

from .._session import Session, session
from ._place import place

_LINE = 64  # bytes: each bucket starts at a multiple
_PAGE = mmap.ALLOCATIONGRANULARITY

# What a bucket is reduced as. Halves are summed as float32, which loses less than a sum
# of halves would.
_KINDS = {
    torch.float32: (torch.float32, "float32", 4),
    torch.float64: (torch.float64, "float64", 8),
    torch.float16: (torch.float32, "float32", 4),
    torch.bfloat16: (torch.float32, "float32", 4),
}

# Memory of models that no longer exist. It is given back when the next model opens its
# own: a finalizer may run in the middle of another request.
_unused: list[int] = []


class Reducer:
    """The state of the hook of one DDP model: memory for all of its gradients.

    Creating one is a collective call: every rank creates it for the same model.
    """

    def __init__(self, model: torch.nn.Module, process_group: Any = None) -> None:
        self._group = process_group if process_group is not None else dist.group.WORLD
        self._size = dist.get_world_size(self._group)
        self._session = cast(Session, session())
        while _unused:
            self._session.call("gradients_close", {"id": _unused.pop()})
        self._room = _room(model)
        reply, _, fds = self._session.call("gradients_open", {"bytes": self._room})
        self._memory = _map(fds[0], reply["offset"], self._room)
        self._id = reply["id"]
        weakref.finalize(self, _unused.append, self._id)
        self._slots: dict[tuple[Any, ...], _Slot] = {}
        self._ahead = _has_core_to_spare()
        self._at = 0
        self._copied: list[tuple[Any, ...]] = []  # (slot, bucket, future) of this step
        self._unsent: list[tuple[Any, ...]] = []  # ranges that the companion does not know of

    def hook(self, bucket):  # type: ignore[no-untyped-def]  # torch looks at hints
        """Average a bucket: for register_comm_hook()."""
        if bucket.index() == 0:
            self._begin()
        buffer = bucket.buffer()
        if not _is_reducible(buffer):
            result = self._all_reduce(buffer)
        else:
            result = torch.futures.Future()
            slot = self._slot(buffer)
            slot.memory.copy_(buffer)
            self._copied.append((slot, buffer, result))
            self._unsent.append(slot.range)
        if bucket.is_last():
            self._finish()
        elif self._ahead and self._unsent:
            self._session.post(b"", self._request("gradients_ready"))
        return result

    def _begin(self) -> None:
        """A step begins. A backward pass that raised has left the one before
        unfinished."""
        if self._copied:
            self._copied.clear()
            self._wait()
        self._at = 0

    def _slot(self, buffer: torch.Tensor) -> _Slot:
        key = (self._at, buffer.dtype, buffer.numel())
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = _Slot(self._memory, *key)
        self._at = slot.end
        return slot

    def _request(self, op: str) -> dict[str, Any]:
        ranges, self._unsent = self._unsent, []
        return {"op": op, "id": self._id, "ranges": ranges}

    def _wait(self) -> None:
        self._session.call("gradients_wait", self._request("gradients_wait"))

    def _finish(self) -> None:
        """All buckets are copied: wait for their means, and hand these to DDP."""
        if not self._copied:
            return
        self._wait()
        copied, self._copied = self._copied, []
        for slot, buffer, future in copied:
            mean = slot.memory
            if mean.dtype != buffer.dtype:
                mean = buffer.copy_(mean)
            future.set_result(mean)

    def _all_reduce(self, buffer: torch.Tensor) -> Any:
        """What DDP does without a hook."""
        buffer.div_(self._size)
        work = dist.all_reduce(buffer, group=self._group, async_op=True)
        return work.get_future().then(lambda done: done.value()[0])


class _Slot:
    """Where a bucket lies in the shared memory."""

    __slots__ = ("memory", "range", "end")

    def __init__(self, memory: _Mapping, at: int, dtype: torch.dtype, n: int) -> None:
        kind, name, width = _KINDS[dtype]
        start = memory.start + at
        self.memory = torch.frombuffer(memory, dtype=kind, count=n, offset=start)
        self.range = (at, n, name)
        self.end = _rounded(at + n * width)


class _Mapping(mmap.mmap):
    start = 0


def _map(fd: int, offset: int, n: int) -> _Mapping:
    first = offset // _PAGE * _PAGE
    memory = _Mapping(fd, offset - first + n, offset=first)
    memory.start = offset - first
    os.close(fd)
    return memory


def _is_reducible(buffer: torch.Tensor) -> bool:
    return (buffer.dtype in _KINDS and not buffer.is_sparse
            and buffer.device.type == "cpu")


def _has_core_to_spare() -> bool:
    """Is it of use to reduce the first buckets while the last are computed? If all
    cores of a node compute, the companion would only interrupt them; but what other
    nodes send takes time, which is not to be lost."""
    if place().nodes > 1:
        return True
    cores = len(os.sched_getaffinity(0))
    workers = place().local_world_size if cores == os.cpu_count() else 1
    return cores > workers * torch.get_num_threads()


def _rounded(n: int) -> int:
    return (n + _LINE - 1) // _LINE * _LINE


def _room(model: torch.nn.Module) -> int:
    """Bytes that hold the gradients of the model, however DDP distributes them to
    buckets."""
    n = 0
    for parameter in model.parameters():
        if parameter.requires_grad:
            n += _rounded(parameter.numel() * max(4, parameter.element_size()))
    return max(n, _LINE)
