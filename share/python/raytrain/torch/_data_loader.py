"""Data loaders of which each worker reads its share."""

from __future__ import annotations

from typing import Any, Iterator

import torch
from torch.utils.data import (DataLoader, IterableDataset, RandomSampler,
                              SequentialSampler)

from ._place import place
from ._resume import EpochSampler, Resumable, drawn_seed, resumable, with_sampler
from ._train_loop import get_device


def prepare_data_loader(
    data_loader: DataLoader,
    add_dist_sampler: bool = True,
    move_to_device: bool = True,
    auto_transfer: bool = True,
    resume_position: bool = True,
) -> Any:
    """The same loader, for this worker's share of the data.

    Args:
        data_loader: A loader as for one worker.
        add_dist_sampler: Give the loader a DistributedSampler, which shuffles if the
            loader did. It stays as it is if its data set is iterable, or if it has
            another sampler than DataLoader's own, or a batch sampler. A shuffled order
            changes in every epoch.
        move_to_device: Batches are tensors on this worker's device.
        auto_transfer: On a GPU, copy the next batch while this one is computed on.
        resume_position: Each checkpoint has the position of the loader, and the first
            pass after a restart begins there; prefetched batches do not count. False:
            it begins at the start of an epoch, for a script that leaves out batches by
            itself. If the script calls sampler.set_epoch(), the position is used if
            that is the epoch of the checkpoint. An iterable dataset needs state_dict()
            and load_state_dict().

    Returns:
        The loader for this worker.
    """
    resumes = resume_position and place().has_companion
    if add_dist_sampler and _is_divisible(data_loader):
        if place().world_size > 1:
            data_loader = _divided(data_loader)
        elif resumes and getattr(data_loader.sampler, "_num_samples", None) is None:
            data_loader = _ordered(data_loader)
    if resumes:
        data_loader = resumable(data_loader)
    device = get_device()
    if not move_to_device or device.type == "cpu":
        return data_loader
    return _DeviceLoader(data_loader, device, auto_transfer)


def _is_divisible(loader: DataLoader) -> bool:
    return (not isinstance(loader.dataset, IterableDataset)
            and type(loader.sampler) in (SequentialSampler, RandomSampler)
            and not getattr(loader.sampler, "replacement", False)
            and loader.batch_size is not None)


def _divided(loader: DataLoader) -> DataLoader:
    shuffle = isinstance(loader.sampler, RandomSampler)
    sampler = EpochSampler(loader.dataset, num_replicas=place().world_size,
                           rank=place().rank, shuffle=shuffle)
    kwargs = {
        "dataset": loader.dataset,
        "batch_size": loader.batch_size,
        "sampler": sampler,
        "num_workers": loader.num_workers,
        "collate_fn": loader.collate_fn,
        "pin_memory": loader.pin_memory,
        "drop_last": loader.drop_last,
        "timeout": loader.timeout,
        "worker_init_fn": loader.worker_init_fn,
        "generator": loader.generator,
        "multiprocessing_context": loader.multiprocessing_context,
        "persistent_workers": loader.persistent_workers,
    }
    if loader.num_workers > 0:
        kwargs["prefetch_factor"] = loader.prefetch_factor
    if get_device().type == "cuda":
        kwargs["pin_memory"] = True
    return DataLoader(**kwargs)


def _ordered(loader: DataLoader) -> DataLoader:
    """For one worker: with an order that other numbers of workers can divide."""
    shuffle = isinstance(loader.sampler, RandomSampler)
    seed = drawn_seed(loader.generator) if shuffle else 0
    return with_sampler(loader, EpochSampler(loader.dataset, 1, 0, shuffle, seed))


class _DeviceLoader:
    """Batches of another loader, moved to a device."""

    def __init__(self, loader: DataLoader, device: torch.device, ahead: bool) -> None:
        self._loader = loader
        self._device = device
        self._ahead = ahead and device.type == "cuda"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_loader"], name)

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        if not isinstance(self._loader, Resumable):
            for batch, _ in self._on_device((batch, None) for batch in self._loader):
                yield batch
            return
        position = self._loader.position
        number = position.begin(self._loader)
        try:
            for batch, stamp in self._on_device(self._loader.steps()):
                position.took(number, stamp)
                yield batch
        finally:  # also of a loop that is left before its end
            position.end(number)

    def _on_device(self, steps: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        if self._ahead:
            return self._moved_ahead(steps)
        return ((_moved(batch, self._device, False), stamp) for batch, stamp in steps)

    def _moved_ahead(
            self, steps: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
        stream = torch.cuda.Stream(self._device)

        def fetch() -> tuple[Any, Any] | None:
            step = next(steps, None)
            with torch.cuda.stream(stream):
                return None if step is None else (_moved(step[0], self._device, True),
                                                  step[1])

        following = fetch()
        while following is not None:
            current = torch.cuda.current_stream(self._device)
            current.wait_stream(stream)
            _record(following[0], current)
            step, following = following, fetch()
            yield step


def _moved(batch: Any, device: torch.device, later: bool) -> Any:
    """The batch with all of its tensors on the device."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=later)
    if isinstance(batch, dict):
        return {k: _moved(v, device, later) for k, v in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_moved(v, device, later) for v in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(_moved(v, device, later) for v in batch)
    return batch


def _record(batch: Any, stream: Any) -> None:
    """The tensors are used on this stream: their memory must not be reused before."""
    if isinstance(batch, torch.Tensor):
        if batch.is_cuda:
            batch.record_stream(stream)
    elif isinstance(batch, dict):
        for value in batch.values():
            _record(value, stream)
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            _record(value, stream)
