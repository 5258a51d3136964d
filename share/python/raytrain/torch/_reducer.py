"""Gradients of DistributedDataParallel, averaged by the workers.

DDP calls a communication hook for each bucket of gradients, in the order of the
buckets. On one node the workers average the buckets themselves, in memory that all of
them have mapped (_InPlace). Else the hook copies a bucket into memory that the
companion of this worker has mapped, too, and the companions reduce it (_ByCompanion).
At the last bucket the hook waits for all of them, and completes the futures; so no
thread is needed.

The mean has the same bits on every rank. Gradients that are not dense floating-point
numbers go through the process group, as they do without the hook.
"""

from __future__ import annotations

import mmap
import os
import weakref
from typing import Any, Callable, cast

import torch
import torch.distributed as dist

from .._session import Session, session
from ._average import Average
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
        self._transport = _transport_open(cast(Session, session()), _room(model))
        self._futures: list[tuple[Any, ...]] = []  # (future, what it gets) of this step

    def hook(self, bucket):  # type: ignore[no-untyped-def]  # torch looks at hints
        """Average a bucket: for register_comm_hook()."""
        if bucket.index() == 0:
            self._begin()
        buffer = bucket.buffer()
        if not _is_reducible(buffer):
            result = self._all_reduce(buffer)
        else:
            result = torch.futures.Future()
            self._futures.append((result, self._transport.add(buffer)))
        if bucket.is_last():
            self._finish()
        else:
            self._transport.go_on()
        return result

    def _begin(self) -> None:
        """A step begins. A backward pass that raised has left the one before
        unfinished."""
        if self._futures:
            self._transport.finish()
            self._futures.clear()

    def _finish(self) -> None:
        """All buckets are known: wait for their means, and hand these to DDP."""
        if not self._futures:
            return
        self._transport.finish()
        futures, self._futures = self._futures, []
        for future, take in futures:
            future.set_result(take())

    def _all_reduce(self, buffer: torch.Tensor) -> Any:
        """What DDP does without a hook."""
        buffer.div_(self._size)
        work = dist.all_reduce(buffer, group=self._group, async_op=True)
        return work.get_future().then(lambda done: done.value()[0])


def _transport_open(session: Session, room: int) -> _InPlace | _ByCompanion:
    """COLLECTIVE: memory for `room` bytes of gradients, and how they are averaged."""
    while _unused:
        session.call("gradients_close", {"id": _unused.pop()})
    reply, _, fds = session.call("gradients_open", {"bytes": room})
    memory, fd = reply["id"], fds[0]
    transport: _InPlace | _ByCompanion
    try:
        average = _average_open(session, reply, fd, room)
        transport = _InPlace(session, average) if average else _ByCompanion(
            session, memory, _map(fd, reply["offset"], room))
    finally:
        os.close(fd)
    weakref.finalize(transport, _unused.append, memory)
    return transport


def _average_open(session: Session, reply: dict[str, Any], fd: int,
                  room: int) -> Average | None:
    """For averages in place, if that is possible on every rank."""
    place_there = reply.get("average")
    if place_there is None:
        return None
    try:
        average = Average(session, reply["id"], fd, room, place_there,
                          _cores_are_enough(0))
    except OSError:  # another libc than that of raytrain, say
        average = None
    able, _, _ = session.call("gradients_agree", {"id": reply["id"],
                                                  "able": average is not None})
    return average if able["all"] else None


class _InPlace:
    """The ranks of a node average the buckets of DDP themselves."""

    def __init__(self, session: Session, average: Average) -> None:
        self._session = session
        self._average = average
        self._at = 0

    def add(self, buffer: torch.Tensor) -> Callable[[], torch.Tensor]:
        """Add a bucket; what is returned gives its mean after finish()."""
        if self._at == 0:
            self._session.check_process()
        kind, _, width = _KINDS[buffer.dtype]
        numbers = buffer if kind == buffer.dtype else buffer.to(kind)
        self._average.add(numbers.data_ptr(), self._at, numbers.numel(), width == 8)
        self._at = _rounded(self._at + numbers.numel() * width)
        # DDP copies nothing if the result is the bucket itself.
        return lambda: buffer if numbers is buffer else buffer.copy_(numbers)

    def go_on(self) -> None:
        """There is more to come in this step."""

    def finish(self) -> None:
        """COLLECTIVE: wait for all that was added in this step."""
        self._at = 0
        self._average.finish()


class _ByCompanion:
    """The companions reduce what is in their memory; DDP then copies the means into the
    gradients."""

    def __init__(self, session: Session, memory_id: int, memory: _Mapping) -> None:
        self._session = session
        self._id = memory_id
        self._memory = memory
        self._slots: dict[tuple[Any, ...], _Slot] = {}
        # If all cores of a node compute, the companion would only interrupt them; but
        # what other nodes send takes time, which is not to be lost.
        self._ahead = place().nodes > 1 or _cores_are_enough(1)
        self._at = 0
        # Ranges that the companion does not know of.
        self._unsent: list[tuple[Any, ...]] = []

    def add(self, buffer: torch.Tensor) -> Callable[[], torch.Tensor]:
        """Add a bucket; what is returned gives its mean after finish()."""
        slot = self._slot(buffer)
        slot.memory.copy_(buffer)
        self._unsent.append(slot.range)
        return lambda: (slot.memory if slot.memory.dtype == buffer.dtype
                        else buffer.copy_(slot.memory))

    def go_on(self) -> None:
        """There is more to come in this step: is it of use to reduce the first buckets
        while the last are computed?"""
        if self._ahead and self._unsent:
            self._session.post(b"", self._request("gradients_ready"))

    def finish(self) -> None:
        """COLLECTIVE: wait for all that was added in this step."""
        self._at = 0
        self._session.call("gradients_wait", self._request("gradients_wait"))

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
    return memory


def _is_reducible(buffer: torch.Tensor) -> bool:
    return (buffer.dtype in _KINDS and not buffer.is_sparse
            and buffer.device.type == "cpu")


def _cores_are_enough(more: int) -> bool:
    """Has this node a core for each thread of the workers, and some more?"""
    cores = len(os.sched_getaffinity(0))
    workers = place().local_world_size if cores == os.cpu_count() else 1
    return cores >= workers * torch.get_num_threads() + more


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
